#include "treadle/transforms/fuse_kernels/FuseKernels.h"

#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_FUSEKERNELS
#include "treadle/transforms/Passes.h.inc"

namespace tfg {

Node FusionScope::producer(Value value, StringRef opType) const {
  auto result = dyn_cast<OpResult>(value);
  if (!result || result.getResultNumber() != 0)
    return {};
  Node node(result.getOwner());
  return Node::isNode(node.getOperation()) && node.opType() == opType && !isFunction(opType)
             ? node
             : Node();
}

static void fuse(const FusionScope &scope) {
  fuseLstmGates(scope);
  fuseContractions(scope);
}

// Most graphs of many nodes have nothing to fuse: they are not copied.
void fuseKernels(NeededPart &part, const ModuleIndex &index) {
  if (!part.hasNode(mayBeFused))
    return;
  Block &body = part.makeOwn();
  SoftEdges soft(body);
  Constants constants;
  auto isFunction = [&](StringRef name) { return static_cast<bool>(index.function(name)); };
  const llvm::StringSet<> nothingKept; // who gets results uses them
  fuse({body, isFunction, nothingKept, constants});
}

} // namespace tfg

namespace {

struct FuseKernels : impl::FuseKernelsBase<FuseKernels> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    llvm::StringSet<> kept, nothingKept, functions;
    for (const std::string &name : keep)
      kept.insert(name);
    for (auto function : getOperation().getOps<tfg::FuncOp>())
      functions.insert(function.getName());
    auto isFunction = [&](StringRef name) { return functions.contains(name); };
    tfg::forEachBody(getOperation(), [&](Block &body) {
      tfg::Constants constants;
      bool isGraph = isa<tfg::GraphOp>(body.getParentOp());
      tfg::fuse({body, isFunction, isGraph ? kept : nothingKept, constants});
    });
  }
};

} // namespace
} // namespace treadle
