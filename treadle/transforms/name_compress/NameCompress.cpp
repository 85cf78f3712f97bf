#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Colocation.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_NAMECOMPRESS
#include "treadle/transforms/Passes.h.inc"

namespace {

constexpr StringLiteral letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Returns the names a, b, ..., Z, aa, ba, ...
std::string shortName(size_t number) {
  std::string name;
  for (++number; number > 0; number = (number - 1) / letters.size())
    name += letters[(number - 1) % letters.size()];
  return name;
}

// Returns whether the node creates a resource that is known by the node's name, since it has no
// name of its own.
bool isKnownByName(tfg::Node node) {
  if (tfg::isPlaceholder(node))
    return true;
  const OpDef *def = lookupOp(node.opType());
  return def && (def->findAttr("shared_name") || def->findAttr("var_name"));
}

struct NameCompress : impl::NameCompressBase<NameCompress> {
  using Base::Base;

  void runOnOperation() override {
    kept.insert_range(keep);
    for (Operation &op : *getOperation().getBody())
      if (auto function = dyn_cast<tfg::FuncOp>(op)) {
        if (!function.isExternal() && !function.getGeneric())
          rename(function.getEntry(), {});
      } else if (auto graph = dyn_cast<tfg::GraphOp>(op); graph && this->graph) {
        rename(graph.getNodes().front(), kept);
      }
  }

private:
  void rename(Block &body, const llvm::StringSet<> &keptHere) {
    std::vector<tfg::Node> nodes;
    llvm::StringSet<> taken;
    if (auto function = dyn_cast<tfg::FuncOp>(body.getParentOp()))
      for (unsigned i = 0, e = function.getNumDataArguments(); i < e; ++i)
        taken.insert(function.getDataArgumentName(i));
    for (Operation &op : body) {
      if (!tfg::Node::isNode(&op))
        continue;
      tfg::Node node(&op);
      if (keptHere.contains(node.name()) || isKnownByName(node))
        taken.insert(node.name());
      else
        nodes.push_back(node);
    }
    llvm::StringMap<std::string> renamed;
    size_t number = 0;
    for (tfg::Node node : nodes) {
      std::string name = shortName(number++);
      while (taken.contains(name))
        name = shortName(number++);
      renamed[node.name()] = name;
      node.setName(name);
    }
    for (Operation &op : body)
      if (tfg::Node::isNode(&op)) {
        tfg::renameColocations(tfg::Node(&op), renamed);
        tfg::renameSoftInputs(tfg::Node(&op), renamed);
      }
  }

  llvm::StringSet<> kept;
};

} // namespace
} // namespace treadle
