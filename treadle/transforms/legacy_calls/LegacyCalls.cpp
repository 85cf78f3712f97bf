#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/Passes.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_LIFTLEGACYCALL
#include "treadle/transforms/Passes.h.inc"

namespace {

struct LiftLegacyCall : impl::LiftLegacyCallBase<LiftLegacyCall> {
  void runOnOperation() override {
    llvm::StringSet<> functions;
    for (auto function : getOperation().getOps<tfg::FuncOp>())
      functions.insert(function.getName());
    getOperation().walk([&](Operation *op) {
      if (tfg::Node::isNode(op) && functions.contains(tfg::Node(op).opType()))
        op->setDiscardableAttr(tfg::legacyCallKey,
                               FlatSymbolRefAttr::get(&getContext(), tfg::Node(op).opType()));
    });
  }
};

} // namespace
} // namespace treadle
