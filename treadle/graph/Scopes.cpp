#include "treadle/graph/Scopes.h"

#include "treadle/graph/Dependencies.h"
#include "treadle/graph/GraphImpl.h"

#include <memory>

using namespace mlir;

namespace treadle {
namespace {

/// A scope under construction, with its inner scopes by name.
struct OpenScope {
  Scope scope;
  std::vector<OpenScope> inner;
  llvm::StringMap<size_t> places; // indices of scopes in `inner`

  void add(StringRef name, StringRef op) {
    ++scope.nodes;
    auto [first, rest] = name.split('/');
    if (rest.empty()) {
      inner.push_back({{name.str(), op.str(), 1, {}}, {}, {}});
      return;
    }
    auto [place, isNew] = places.try_emplace(first, inner.size());
    if (isNew)
      inner.push_back({{first.str(), "", 0, {}}, {}, {}});
    inner[place->second].add(rest, op);
  }

  Scope close() {
    bool isBody = scope.op.empty() && scope.name.empty();
    for (OpenScope &one : inner)
      scope.inner.push_back(one.close());
    while (!isBody && scope.inner.size() == 1 && scope.inner[0].op.empty()) {
      Scope only = std::move(scope.inner[0]);
      only.name = scope.name + "/" + only.name;
      scope = std::move(only);
    }
    return std::move(scope);
  }
};

/// `needed` restricts the scope to these nodes; null for all.
Scope scopeOf(Block &block, std::string name, const std::set<Operation *> *needed) {
  OpenScope open;
  for (Operation &op : block)
    if (!needed || needed->contains(&op))
      op.walk([&](Operation *inner) {
        if (tfg::Node::isNode(inner))
          open.add(tfg::Node(inner).name(), tfg::Node(inner).opType());
      });
  Scope body = open.close();
  body.name = std::move(name);
  return body;
}

} // namespace

Expected<std::vector<Scope>> scopesOf(const Graph &graph, const std::vector<std::string> &asked) {
  std::set<Operation *> needed = TREADLE_TRY(dependenciesOf(graph.impl->index(), asked));
  std::vector<Scope> bodies;
  graph.impl->module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto nodes = dyn_cast<tfg::GraphOp>(op))
      bodies.push_back(scopeOf(nodes.getNodes().front(), "", asked.empty() ? nullptr : &needed));
    else if (auto function = dyn_cast<tfg::FuncOp>(op); function && !function.isExternal())
      bodies.push_back(scopeOf(function.getEntry(), function.getName().str(), nullptr));
    else
      return isa<ModuleOp>(op) ? WalkResult::advance() : WalkResult::skip();
    return WalkResult::skip();
  });
  return bodies;
}

} // namespace treadle
