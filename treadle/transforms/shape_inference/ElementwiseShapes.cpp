// Ops whose results are as their operands, one by one or broadcast.
#include "treadle/transforms/shape_inference/ShapeFunctions.h"

#include <vector>

using namespace mlir;

namespace treadle::tfg {
namespace {

Results likeFirst(const ShapeQuery &query) {
  Results out;
  if (query.numInputs() > 0)
    out.push_back(*query.inputs[0]);
  return out;
}
Results shapeOfFirst(const ShapeQuery &query) { return only(query.shape(0)); }
Results likeSecond(const ShapeQuery &query) { return only(query.shape(1)); }

// All operands have one shape, so what is known of one is known of all.
Results likeAll(const ShapeQuery &query) {
  Shape shape;
  for (const KnownValue *input : query.inputs)
    shape = meet(shape, input->shape);
  return only(shape);
}

Results selected(const ShapeQuery &query) { return only(meet(query.shape(1), query.shape(2))); }

Results broadcasted(const ShapeQuery &query) {
  Shape shape = Shape::scalar();
  for (const KnownValue *input : query.inputs)
    shape = broadcast(shape, input->shape);
  return only(shape);
}

// Equal and NotEqual may answer false to shapes that don't fit.
Results compared(const ShapeQuery &query) {
  auto checked = query.node.attr<BoolAttr>("incompatible_shape_error");
  if (checked && !checked.getValue() &&
      !(query.shape(0).isStatic() && query.shape(0) == query.shape(1)))
    return {};
  return broadcasted(query);
}

// Strings of one shape; scalars fit all.
Results joined(const ShapeQuery &query) {
  Shape shape = Shape::scalar();
  for (const KnownValue *input : query.inputs) {
    if (!input->shape.hasRank())
      return {};
    if (input->shape.rank() != 0)
      shape = shape.rank() == 0 ? input->shape : meet(shape, input->shape);
  }
  return only(shape);
}

Results passedOn(const ShapeQuery &query) {
  Results out;
  for (const KnownValue *input : query.inputs)
    out.push_back(*input);
  return out;
}

struct Family {
  ShapeFunction function;
  std::vector<std::string_view> ops;
};

std::vector<ShapeEntry> flatten(const std::vector<Family> &families) {
  std::vector<ShapeEntry> out;
  for (const Family &family : families)
    for (std::string_view op : family.ops)
      out.push_back({op, family.function});
  return out;
}

const std::vector<ShapeEntry> &entries() {
  static const std::vector<ShapeEntry> table = flatten({
      {likeFirst,
       {"Identity", "StopGradient", "PreventGradient", "Snapshot", "RefIdentity", "Enter",
        "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration", "DeepCopy"}},
      {passedOn, {"IdentityN"}},
      {shapeOfFirst,
       {"Abs",
        "Neg",
        "Exp",
        "Expm1",
        "Log",
        "Log1p",
        "Sqrt",
        "Rsqrt",
        "Square",
        "Reciprocal",
        "Inv",
        "Sin",
        "Cos",
        "Tan",
        "Asin",
        "Acos",
        "Atan",
        "Sinh",
        "Cosh",
        "Tanh",
        "Asinh",
        "Acosh",
        "Atanh",
        "Sigmoid",
        "Erf",
        "Erfc",
        "Erfinv",
        "Ndtri",
        "Lgamma",
        "Digamma",
        "BesselI0",
        "BesselI1",
        "BesselI0e",
        "BesselI1e",
        "BesselK0",
        "BesselK1",
        "BesselJ0",
        "BesselJ1",
        "Sign",
        "Floor",
        "Ceil",
        "Rint",
        "Round",
        "IsNan",
        "IsInf",
        "IsFinite",
        "LogicalNot",
        "Invert",
        "PopulationCount",
        "Real",
        "Imag",
        "Conj",
        "Angle",
        "ComplexAbs",
        "Relu",
        "Relu6",
        "LeakyRelu",
        "Elu",
        "Selu",
        "Softplus",
        "Softsign",
        "Softmax",
        "LogSoftmax",
        "Cast",
        "CheckNumerics",
        "CheckNumericsV2",
        "ZerosLike",
        "OnesLike",
        "Cumsum",
        "Cumprod",
        "CumulativeLogsumexp",
        "Reverse",
        "ReverseV2",
        "ReverseSequence",
        "Roll",
        "InvertPermutation",
        "AsString",
        "StringToNumber",
        "StringLower",
        "StringUpper",
        "StringStrip",
        "StringLength",
        "StringToHashBucket",
        "StringToHashBucketFast",
        "StringToHashBucketStrong",
        "RegexReplace",
        "StaticRegexReplace",
        "RegexFullMatch",
        "StaticRegexFullMatch",
        "EncodeBase64",
        "DecodeBase64",
        "BiasAdd",
        "BiasAddV1",
        "MatrixBandPart",
        "MatrixInverse",
        "Cholesky",
        "MatrixSetDiag",
        "MatrixSetDiagV2",
        "MatrixSetDiagV3",
        "LRN",
        "ClipByValue",
        "QuantizeAndDequantizeV2",
        "QuantizeAndDequantizeV3",
        "QuantizeAndDequantizeV4",
        "FakeQuantWithMinMaxArgs",
        "FakeQuantWithMinMaxVars",
        "TensorScatterUpdate",
        "TensorScatterAdd",
        "TensorScatterSub",
        "TensorScatterMax",
        "TensorScatterMin",
        "TensorStridedSliceUpdate",
        "InplaceUpdate",
        "FFT",
        "IFFT",
        "FFT2D",
        "IFFT2D",
        "FFT3D",
        "IFFT3D",
        "RandomShuffle",
        "AssignAdd",
        "AssignSub",
        "ScatterUpdate",
        "ScatterAdd",
        "ScatterSub",
        "ScatterMul",
        "ScatterDiv",
        "CountUpTo"}},
      {likeSecond, {"Assign"}},
      {likeAll,
       {"ReluGrad", "Relu6Grad", "LeakyReluGrad", "EluGrad", "SeluGrad", "SoftplusGrad",
        "SoftsignGrad", "TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad",
        "InvGrad", "AddN", "AccumulateNV2"}},
      {broadcasted,
       {"Add",
        "AddV2",
        "Sub",
        "Mul",
        "MulNoNan",
        "Div",
        "DivNoNan",
        "RealDiv",
        "FloorDiv",
        "TruncateDiv",
        "Mod",
        "FloorMod",
        "TruncateMod",
        "Pow",
        "Maximum",
        "Minimum",
        "SquaredDifference",
        "Atan2",
        "Complex",
        "Less",
        "LessEqual",
        "Greater",
        "GreaterEqual",
        "LogicalAnd",
        "LogicalOr",
        "BitwiseAnd",
        "BitwiseOr",
        "BitwiseXor",
        "LeftShift",
        "RightShift",
        "Xdivy",
        "Xlogy",
        "Xlog1py",
        "Igamma",
        "Igammac",
        "IgammaGradA",
        "Zeta",
        "Polygamma",
        "NextAfter",
        "SelectV2"}},
      {likeAll, {"ApproximateEqual"}},
      {compared, {"Equal", "NotEqual"}},
      {selected, {"Select"}},
      {joined, {"StringJoin"}},
  });
  return table;
}

} // namespace

ArrayRef<ShapeEntry> elementwiseShapes() { return entries(); }

} // namespace treadle::tfg
