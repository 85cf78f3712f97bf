#include "treadle/transforms/remap/Remap.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_REMAP
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

int64_t lastDim(Value value) {
  RankedTensorType type = rankedTypeOf(value);
  return type && type.getRank() > 0 ? type.getShape().back() : ShapedType::kDynamic;
}

/// Returns a scale or an offset (or the default if there is none) as a vector with one element for
/// each column of x; null if that is impossible.
Value columnsOf(Fuser &fuser, Node root, StringRef suffix, Value value, float otherwise, Value x) {
  int64_t n = lastDim(x);
  RankedTensorType type = value ? rankedTypeOf(value) : RankedTensorType();
  if (type && type.getShape() == ArrayRef(n))
    return value;
  Tensor given = value ? fuser.constant(value) : Tensor();
  bool fits =
      !value || (given && given.rank() <= rankedTypeOf(x).getRank() &&
                 (given.count() == 1 || (given.count() == n && given.dim(given.rank() - 1) == n)));
  if (!fits)
    return {};
  std::vector<double> columns(static_cast<size_t>(n), otherwise);
  for (int64_t i = 0; i < n && given; ++i)
    columns[static_cast<size_t>(i)] = given.data<float>()[given.count() == 1 ? 0 : i];
  return makeVector(fuser, root, suffix, columns, value ? ValueRange(value) : ValueRange(), x);
}

void remapLayerNorm(Fuser &fuser, const FormFinder &finder, Node root) {
  std::optional<LayerNorm> norm = finder.layerNorm(root);
  // TensorFlow's kernel supports two and three dimensions and normalizes the last one.
  RankedTensorType type = norm ? rankedTypeOf(norm->x) : RankedTensorType();
  if (!type || type.getRank() < 2 || type.getRank() > 3 || lastDim(norm->x) <= 0 ||
      (norm->axis != -1 && norm->axis != type.getRank() - 1))
    return;
  Value scale = columnsOf(fuser, root, "scale", norm->scale, 1, norm->x);
  Value offset = scale ? columnsOf(fuser, root, "offset", norm->offset, 0, norm->x) : Value();
  if (!offset)
    return;
  OpBuilder builder(root.getOperation());
  Node fused = NodeBuilder(builder, "_MklLayerNorm")
                   .placedAs(root)
                   .attr("T", dtypeAttr(norm->x.getType()))
                   .attr("epsilon", builder.getF32FloatAttr(norm->epsilon))
                   .inputs({norm->x, scale, offset})
                   .control(fuser.controlOf(norm->nodes))
                   .results(root->getResult(0).getType())
                   .build();
  fuser.replace(root, fused, norm->nodes);
}

void remapBatchNorm(Fuser &fuser, Node root) {
  Node norm = fuser.producer(root->getOperand(0));
  if (!norm || norm.opType() != "FusedBatchNormV3" || !isFloat32(root->getResult(0)) ||
      !isNormalisation(norm, formatOf(norm)) || fuser.follower(root, norm) != root)
    return;
  OpBuilder builder(root.getOperation());
  NodeBuilder node(builder, "_FusedBatchNormEx");
  for (NamedAttribute attr : norm.attrs())
    if (!isAboutNode(attr.getName()))
      node.attr(attr.getName(), attr.getValue());
  SmallVector<Type> types(norm.results().getTypes());
  types[0] = root->getResult(0).getType();
  NodeSet nodes;
  for (Node part : {root, norm})
    nodes.insert(part.getOperation());
  Node fused = node.attr("activation_mode", builder.getStringAttr("Relu"))
                   .attr("num_side_inputs", builder.getI64IntegerAttr(0))
                   .placedAs(root)
                   .inputs(norm.data())
                   .control(fuser.controlOf(nodes))
                   .results(types)
                   .build();
  fuser.replace(root, fused, nodes);
}

void remapBatchNorms(const FusionScope &scope) {
  Fuser fuser(scope, Fuser::TensorFlow);
  for (Node node : nodesOf(
           scope.body, [](Node node) { return node.opType() == "Relu" && node.numData() == 1; }))
    remapBatchNorm(fuser, node);
}

void remapLayerNorms(const FusionScope &scope) {
  Fuser fuser(scope, Fuser::TensorFlow);
  FormFinder finder(fuser);
  for (Node node : endsOfForms(scope.body))
    if (!fuser.isTaken(node))
      remapLayerNorm(fuser, finder, node);
}

} // namespace
} // namespace tfg

namespace {

struct Remap : impl::RemapBase<Remap> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    tfg::Constants constants;
    if (failed(tfg::markFed(getOperation(), llvm::to_vector(feeds), constants)))
      return signalPassFailure();
    tfg::forEachFusionScope(getOperation(), llvm::to_vector(keep), constants,
                            [&](const tfg::FusionScope &scope) {
                              if (layerNorm && oneDnn)
                                tfg::remapLayerNorms(scope);
                              if (contractions)
                                tfg::remapContractions(scope, oneDnn);
                              if (batchNorm && oneDnn)
                                tfg::remapBatchNorms(scope);
                            });
  }
};

} // namespace
} // namespace treadle
