#include "treadle/dialect/NodeAttributes.h"
#include "treadle/transforms/fuse_kernels/Fuser.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

constexpr unsigned imageRank = 4;

SmallVector<int64_t> integersOf(Node node, StringRef key) {
  SmallVector<int64_t> out;
  if (auto list = node.attr<ArrayAttr>(key))
    for (auto number : list.getAsRange<IntegerAttr>())
      out.push_back(number.getInt());
  return out;
}

bool isIn(StringRef op, std::initializer_list<StringRef> ops) {
  return llvm::is_contained(ops, op);
}

/// Returns whether the node is a convolution of channels-last images whose output positions can be
/// sampled.
bool isConvolution(Node node) {
  SmallVector<int64_t> strides = integersOf(node, "strides");
  return isIn(node.opType(),
              {"Conv2D", "_FusedConv2D", "DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative"}) &&
         node.numResults() == 1 && node.numData() >= 2 && strides.size() == imageRank &&
         strides[0] == 1 && strides[3] == 1 && formatOf(node) == "NHWC" &&
         !node.attr<IntegerAttr>("sampling");
}

/// Returns the stride of a convolution that may be 1x1; else 0.
int64_t stepOf(Node node) {
  auto padding = node.attr<StringAttr>("padding");
  if (!isConvolution(node) || !isIn(node.opType(), {"Conv2D", "_FusedConv2D"}) || !padding ||
      !isIn(padding.getValue(), {"VALID", "SAME"}))
    return 0;
  SmallVector<int64_t> strides = integersOf(node, "strides");
  return strides[1] == strides[2] ? strides[1] : 0;
}

/// Returns the stride if the filter is 1x1 according to the graph.
int64_t stepOfPoint(const FusionScope &scope, Node node) {
  int64_t step = stepOf(node);
  auto filter = step ? scope.declaredDims(node->getOperand(1)) : std::nullopt;
  auto format = node.attr<StringAttr>("filter_format");
  unsigned first = format && format.getValue() == "OIHW" ? 2 : 0;
  bool isPoint =
      filter && filter->size() == imageRank && (*filter)[first] == 1 && (*filter)[first + 1] == 1;
  return isPoint ? step : 0;
}

void setStep(Node node, int64_t step) {
  Builder builder(node->getContext());
  node->setDiscardableAttr("strides", builder.getI64ArrayAttr({1, step, step, 1}));
  node->setDiscardableAttr("padding", builder.getStringAttr("VALID"));
  node->setDiscardableAttr("is_pointwise", builder.getBoolAttr(true));
}

class Sampler {
public:
  explicit Sampler(const FusionScope &scope) : scope(scope) {}

  /// Restricts the computation of `user`'s input to the positions that it reads.
  void run(Node user) {
    for (Node from; (from = producerOf(user)); user = from) {
      int64_t step = stepOfPoint(scope, user);
      for (Operation *op : llvm::make_early_inc_range(from->getResult(0).getUsers()))
        setStep(Node(op), 1);
      sample(from, step);
    }
  }

private:
  /// Returns the convolution whose result only 1x1 convolutions with the stride of `user` use.
  Node producerOf(Node user) {
    int64_t step = stepOfPoint(scope, user);
    Node from = step > 1 ? definingNode(user->getOperand(0)) : Node();
    if (!from || !isConvolution(from) || scope.isKept(from) || scope.isFunction(from.opType()))
      return {};
    Value image = from->getResult(0);
    bool isSampled = llvm::all_of(image.getUses(), [&](OpOperand &use) {
      return Node::isNode(use.getOwner()) && use.getOperandNumber() == 0 &&
             !scope.isFunction(Node(use.getOwner()).opType()) &&
             stepOfPoint(scope, Node(use.getOwner())) == step;
    });
    return isSampled ? from : Node();
  }

  void sample(Node node, int64_t step) {
    Builder builder(node->getContext());
    sampleArguments(node, step);
    if (stepOfPoint(scope, node) == 1)
      setStep(node, step);
    else
      node->setDiscardableAttr("sampling", builder.getI64IntegerAttr(step));
    node->removeDiscardableAttr(outputShapesKey);
    Value image = node->getResult(0);
    image.setType(UnrankedTensorType::get(getElementTypeOrSelf(image.getType())));
  }

  /// Samples the other operands of elementwise ops on the image as well.
  void sampleArguments(Node node, int64_t step) {
    auto ops = node.attr<ArrayAttr>("fused_ops");
    if (!ops)
      return;
    unsigned argument = 2;
    for (auto op : ops.getAsRange<StringAttr>()) {
      if (argument >= node.numData())
        return;
      if (isIn(op.getValue(), {"Mul", "Add"}))
        node->setOperand(argument, sampleOf(node, argument, step));
      argument += op.getValue() == "FusedBatchNorm" ? 4 : 1;
    }
  }

  Value sampleOf(Node node, unsigned argument, int64_t step) {
    OpBuilder at(node.getOperation());
    Value image = node->getOperand(argument);
    Type element = getElementTypeOrSelf(image.getType());
    return NodeBuilder(at, "_SampleImage")
        .name((node.name() + "/sample_" + Twine(argument)).str())
        .placedAs(node)
        .attr("T", mlir::TypeAttr::get(element))
        .attr("step", at.getI64IntegerAttr(step))
        .inputs(image)
        .results(UnrankedTensorType::get(element))
        .build()
        ->getResult(0);
  }

  const FusionScope &scope;
};

} // namespace

bool mayBeSampled(Node node) { return stepOf(node) > 1; }

void sampleImages(const FusionScope &scope) {
  auto hasStep = [&](Node node) { return stepOfPoint(scope, node) > 1; };
  for (Node node : nodesOf(scope.body, hasStep))
    Sampler(scope).run(node);
}

} // namespace treadle::tfg
