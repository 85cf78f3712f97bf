#include "treadle/rewriting/Frames.h"

#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Rewriting.h"

using namespace mlir;

namespace treadle::tfg {

static OpKind kindOf(Operation *op) {
  return op && Node::isNode(op) ? opKind(Node(op).opType()) : OpKind::Plain;
}

bool hasFrames(Block &body) {
  return llvm::any_of(body, [](Operation &op) { return entersFrame(&op); });
}

bool mayBeDead(Block &body) {
  return llvm::any_of(body, [](Operation &op) { return isV1ControlFlow(kindOf(&op)); });
}

bool isBackEdge(Operation *from, Operation *to) {
  return treadle::isBackEdge(kindOf(from), kindOf(to));
}
bool feedsNextIteration(Operation *op) { return treadle::feedsNextIteration(kindOf(op)); }
bool entersFrame(Operation *op) { return kindOf(op) == OpKind::Enter; }

Node enterLike(OpBuilder &builder, Node enter, Value value, StringRef name) {
  NodeBuilder made(builder, "Enter");
  made.name(name).placedAs(enter);
  for (StringRef key : {"frame_name", "is_constant", "parallel_iterations"})
    if (Attribute attr = enter.attr(key))
      made.attr(key, attr);
  return made.attr("T", dtypeAttr(value.getType()))
      .inputs(value)
      .control(SmallVector<Value>(enter.control()))
      .results(value.getType())
      .build();
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
