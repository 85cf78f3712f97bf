// Shape functions of elementwise and broadcasting ops.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

ShapeResults broadcasted(const ShapeQuery &query) {
  Shape shape = Shape::scalar();
  for (size_t i = 0; i < query.numInputs(); ++i) {
    std::optional<Shape> both = broadcast(shape, query.shape(i));
    if (!both)
      return shapeError(str("inputs of shape ", shape.text(), " and ", query.shape(i).text(),
                            " can't be broadcast to each other"));
    shape = *both;
  }
  return {shape};
}

// Equal and NotEqual may return false for shapes that aren't broadcastable.
ShapeResults compared(const ShapeQuery &query) {
  if (query.boolAttr("incompatible_shape_error", true))
    return broadcasted(query);
  if (!query.shape(0).isStatic() || !query.shape(1).isStatic())
    return {};
  return {broadcast(query.shape(0), query.shape(1)).value_or(Shape::scalar())};
}

// The condition is a scalar, a vector with one element per row, or of full shape.
ShapeResults selected(const ShapeQuery &query) {
  const Shape &condition = query.shape(0);
  std::optional<Shape> both = merge(query.shape(1), query.shape(2));
  if (!both)
    return shapeError(str("inputs 1 and 2 are of shapes ", query.shape(1).text(), " and ",
                          query.shape(2).text(), ", expected equal ones"));
  if (condition.hasRank() && condition.rank() > 1)
    return {meet(*both, condition)};
  return {*both};
}

// Strings of one shape; scalars are broadcast. An unknown shape may be a scalar.
ShapeResults joined(const ShapeQuery &query) {
  Shape shape = Shape::scalar();
  bool isKnown = true;
  for (size_t i = 0; i < query.numInputs(); ++i) {
    const Shape &input = query.shape(i);
    isKnown &= input.hasRank();
    if (!input.hasRank() || input.rank() == 0)
      continue;
    std::optional<Shape> both = shape.rank() == 0 ? input : merge(shape, input);
    if (!both)
      return shapeError(str("input ", i, " has shape ", input.text(),
                            ", expected a scalar or that of the other inputs: ", shape.text()));
    shape = *both;
  }
  return {isKnown || shape.rank() > 0 ? shape : Shape()};
}

ShapeResults quantizedBinary(const ShapeQuery &query) {
  return withRange({broadcast(query.shape(0), query.shape(1)).value_or(Shape())});
}

ShapeResults forwarded(const ShapeQuery &query) {
  ShapeResults out;
  for (size_t i = 0; i < query.numInputs(); ++i)
    out.values.push_back(query.input(i));
  return out;
}

// Also for list handles: the result holds elements of the same shape.
ShapeResults alike(const ShapeQuery &query) {
  KnownValue out = query.input(0);
  out.constant = {};
  out.integers = {};
  for (size_t i = 1; i < query.numInputs(); ++i) {
    std::optional<Shape> both = merge(out.shape, query.shape(i));
    if (!both)
      return shapeError(str("input ", i, " has shape ", query.shape(i).text(),
                            ", expected that of the other inputs: ", out.shape.text()));
    out.shape = *both;
  }
  return {out};
}

ShapeResults firstForwarded(const ShapeQuery &query) { return {query.input(0)}; }

// Reinterprets elements: smaller ones add a last dimension, larger ones consume it.
ShapeResults bitcast(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  DType from = query.typeAttr("T"), to = query.typeAttr("type");
  if (from == DType::Invalid || to == DType::Invalid || !isPlain(from) || !isPlain(to))
    return {};
  int64_t before = static_cast<int64_t>(dtypeSize(from)),
          after = static_cast<int64_t>(dtypeSize(to));
  if (before == after)
    return {input};
  if (before > after)
    return {input + Shape{before / after}};
  if (input.hasRank() &&
      (input.rank() == 0 || (dims::isKnown(input.dim(-1)) && input.dim(-1) * before != after)))
    return shapeError(
        str("input 0 has shape ", input.text(), ", expected a last dimension of ", after / before));
  return {input.take(-1)};
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"X -> X",
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
        "BesselK0e",
        "BesselK1e",
        "BesselJ0",
        "BesselJ1",
        "BesselY0",
        "BesselY1",
        "Dawsn",
        "Expint",
        "FresnelCos",
        "FresnelSin",
        "Spence",
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
        "Cast",
        "CheckNumerics",
        "CheckNumericsV2",
        "AsString",
        "StringToNumber",
        "StringLower",
        "StringUpper",
        "StringStrip",
        "StringLength",
        "StringToHashBucket",
        "StringToHashBucketFast",
        "_TensorToHashBucketFast",
        "StringToHashBucketStrong",
        "StaticRegexReplace",
        "StaticRegexFullMatch",
        "EncodeBase64",
        "DecodeBase64",
        "Bucketize",
        "QuantizeAndDequantize",
        "FakeQuantWithMinMaxArgs",
        "GuaranteeConst",
        "DataFormatDimMap",
        "_UnaryOpsComposition",
        "DecodeCompressed"}},
      {"[B,n] -> [B,n]", {"Softmax", "LogSoftmax"}},
      {"X, * -> X", {"Reverse", "Cumsum", "Cumprod", "CumulativeLogsumexp"}},
      {"X, *, * -> X", {"Roll", "ClipByValue"}},
      {"X, [], [] -> X", {"RegexReplace"}},
      {"X, [] -> X", {"RegexFullMatch"}},
      {"[n] -> [n]", {"InvertPermutation"}},
      {"X, * -> X", {"ReverseV2"}},
      {"[B,n], [n] -> [B,n]", {"BiasAddV1"}},
      {"X, [n] -> X", {"ReverseSequence"}},
      {"X, *, * -> X", {"QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"}},
      {"X, *, *, [] -> X", {"QuantizeAndDequantizeV3"}},
      {"X, X, Y, Y -> X, Y, Y", {"QuantizeAndDequantizeV4Grad"}},
      {"X, [], [] -> X", {"FakeQuantWithMinMaxVars"}},
      {"[B,d], [d], [d] -> [B,d]", {"FakeQuantWithMinMaxVarsPerChannel"}},
      {"X, X -> X", {"FakeQuantWithMinMaxArgsGradient"}},
      {"X, X, [], [] -> X, [], []", {"FakeQuantWithMinMaxVarsGradient"}},
      {"[B,d], [B,d], [d], [d] -> [B,d], [d], [d]", {"FakeQuantWithMinMaxVarsPerChannelGradient"}},
      {"X, X -> X",
       {"ReluGrad", "Relu6Grad", "LeakyReluGrad", "EluGrad", "SeluGrad", "SoftplusGrad",
        "SoftsignGrad", "TanhGrad", "SigmoidGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad",
        "InvGrad", "ApproximateEqual"}},
      {"X+ -> {shape}", {"AccumulateNV2"}},
      {"* -> []", {"L2Loss", "ToBool"}},
      {"X, *+ -> X", {"Print"}},
  };
  return table;
}

const std::vector<ShapeEntry> &functions() {
  static const std::vector<ShapeEntry> table = [] {
    std::vector<ShapeEntry> out = {
        {"Equal", compared},
        {"NotEqual", compared},
        {"Select", selected},
        {"StringJoin", joined},
        {"IdentityN", forwarded},
        {"Bitcast", bitcast},
        {"QuantizedAdd", quantizedBinary},
        {"QuantizedMul", quantizedBinary},
        {"ZerosLike", alike},
        {"OnesLike", alike},
        {"AddN", alike},
    };
    for (std::string_view op : {"Identity", "StopGradient", "PreventGradient", "Snapshot",
                                "RefIdentity", "Enter", "RefEnter", "Exit", "RefExit",
                                "NextIteration", "RefNextIteration", "DeepCopy", "_EagerConst"})
      out.push_back({op, firstForwarded});
    for (std::string_view op : {"Add",
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
                                "SelectV2",
                                "Betainc",
                                "RandomGammaGrad"})
      out.push_back({op, broadcasted});
    return out;
  }();
  return table;
}

} // namespace

ShapeFamily elementwiseShapes() { return {signatures(), functions()}; }

} // namespace treadle
