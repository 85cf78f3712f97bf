#include "treadle/rewriting/Frames.h"

#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Rewriting.h"

using namespace mlir;

namespace treadle::tfg {

bool hasFrames(Block &body) {
  return llvm::any_of(body, [](Operation &op) {
    return Node::isNode(&op) && opKind(Node(&op).opType()) == OpKind::Enter;
  });
}

bool hasFrames(ModuleOp module) {
  bool found = false;
  forEachBody(module, [&](Block &body) { found = found || hasFrames(body); });
  return found;
}

StringAttr frameName(Node enter) { return enter.attr<StringAttr>("frame_name"); }

bool isConstantEnter(Node enter) {
  auto isConstant = enter.attr<BoolAttr>("is_constant");
  return isConstant && isConstant.getValue();
}

int64_t parallelIterations(Node node) {
  constexpr int64_t ifNotSaid = 10;
  auto attr = node.attr<IntegerAttr>("parallel_iterations");
  return attr ? attr.getInt() : ifNotSaid;
}

} // namespace treadle::tfg
