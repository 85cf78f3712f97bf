#include "treadle/graph/Dependencies.h"

#include "treadle/dialect/FunctionNames.h"
#include "treadle/dialect/Regions.h"

using namespace mlir;

namespace treadle {

/// Returns the transitive dependencies of `roots`, including `roots`.
static std::set<Operation *> dependenciesOf(std::vector<Operation *> roots) {
  std::set<Operation *> needed(roots.begin(), roots.end());
  while (!roots.empty()) {
    Operation *op = roots.back();
    roots.pop_back();
    SmallVector<Value> inputs(op->getOperands());
    llvm::append_range(inputs, tfg::capturesOf(op));
    for (Value input : inputs)
      if (Operation *from = input.getDefiningOp(); from && needed.insert(from).second)
        roots.push_back(from);
  }
  return needed;
}

Expected<std::vector<Operation *>> nodesNamed(const ModuleIndex &index,
                                              const std::vector<std::string> &names) {
  std::vector<Operation *> roots;
  for (const std::string &name : names) {
    StringRef nodeName = StringRef(name).split(':').first;
    nodeName.consume_front("^");
    tfg::Node node = index.node(nodeName);
    if (!node)
      return Unexpected(invalidArgument("'", name, "' refers to node '", nodeName.str(),
                                        "', which isn't in the graph",
                                        index.suggestions(nodeName)));
    roots.push_back(node.getOperation());
  }
  return roots;
}

Expected<std::set<Operation *>> dependenciesOf(const ModuleIndex &index,
                                               const std::vector<std::string> &names) {
  return nodesNamed(index, names).map([](std::vector<Operation *> roots) {
    return dependenciesOf(std::move(roots));
  });
}

llvm::StringSet<> functionsCalledBy(const ModuleIndex &index,
                                    const std::set<mlir::Operation *> &nodes) {
  llvm::StringSet<> called;
  std::vector<mlir::Operation *> work(nodes.begin(), nodes.end());
  auto call = [&](llvm::StringRef name) {
    tfg::FuncOp function = index.function(name);
    if (function && !function->getRegion(0).empty() && called.insert(name).second)
      work.push_back(function);
  };
  while (!work.empty()) {
    mlir::Operation *op = work.back();
    work.pop_back();
    op->walk([&](mlir::Operation *inner) {
      if (!tfg::Node::isNode(inner))
        return;
      tfg::forEachCallee(inner, call);
    });
  }
  return called;
}

} // namespace treadle
