#include "treadle/lowering/VariableGather.h"

#include "treadle/lowering/Constants.h"
#include "treadle/ops/OpTable.h"

using namespace mlir;

namespace treadle::tfg {

Node gatherFrom(Value table, Node node, NameScope &names) {
  OpBuilder builder(node.getOperation());
  const OpDef *def = lookupOp(lookupOp(node.opType())->onTensor());
  NodeBuilder made(builder, def->name());
  SmallVector<Value> inputs = {table, node->getOperand(1)};
  made.attr("Tparams", dtypeAttr(table.getType()))
      .attr("Tindices", dtypeAttr(node->getOperand(1).getType()));
  if (def->findAttr("batch_dims")) {
    auto batchDims = node.attr<IntegerAttr>("batch_dims");
    int64_t axis = batchDims ? batchDims.getInt() : 0;
    // Created in the frame of the indices.
    Node constant = buildConst(builder, names.unique((node.name() + "/axis").str()),
                               Tensor::scalar(DType::Int32, static_cast<int32_t>(axis)), node,
                               controlTokenOf(node->getOperand(1)));
    inputs.push_back(constant->getResult(0));
    made.attr("Taxis", dtypeAttr(constant->getResult(0).getType()))
        .attr("batch_dims", builder.getI64IntegerAttr(axis));
  }
  return made.name(node.name())
      .placedAs(node)
      .inputs(inputs)
      .control(SmallVector<Value>(node.control()))
      .results(node->getResult(0).getType())
      .build();
}

} // namespace treadle::tfg
