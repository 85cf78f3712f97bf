#include "treadle/transforms/outline_clusters/NativeOps.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

constexpr NativeForm computes = NativeForm::Computes, passes = NativeForm::Passes;

constexpr NativeOp table[] = {
    {"Abs", computes},
    {"Acos", computes},
    {"Acosh", computes},
    {"Add", computes},
    {"AddV2", computes},
    {"Asin", computes},
    {"Asinh", computes},
    {"Atan", computes},
    {"Atan2", computes},
    {"Atanh", computes},
    {"BiasAdd", computes},
    {"BitwiseAnd", computes},
    {"BitwiseOr", computes},
    {"BitwiseXor", computes},
    {"Cast", computes},
    {"Ceil", computes},
    {"Cos", computes},
    {"Cosh", computes},
    {"Div", computes},
    {"DivNoNan", computes},
    {"Elu", computes},
    {"Equal", computes},
    {"Erf", computes},
    {"Erfc", computes},
    {"Exp", computes},
    {"Expm1", computes},
    {"Floor", computes},
    {"FloorDiv", computes, /*scalarsOnly=*/true},
    {"FloorMod", computes, /*scalarsOnly=*/true},
    {"Greater", computes},
    {"GreaterEqual", computes},
    {"Inv", computes},
    {"Invert", computes},
    {"IsFinite", computes},
    {"IsInf", computes},
    {"IsNan", computes},
    {"Less", computes},
    {"LessEqual", computes},
    {"Log", computes},
    {"Log1p", computes},
    {"LogicalAnd", computes},
    {"LogicalNot", computes},
    {"LogicalOr", computes},
    {"Maximum", computes},
    {"Minimum", computes},
    {"Mul", computes},
    {"MulNoNan", computes},
    {"Neg", computes},
    {"NotEqual", computes},
    {"OnesLike", computes},
    {"Pow", computes},
    {"RealDiv", computes},
    {"Reciprocal", computes},
    {"Relu", computes},
    {"Relu6", computes},
    {"Rint", computes},
    {"Round", computes},
    {"Rsqrt", computes},
    {"SelectV2", computes},
    {"Selu", computes},
    {"Sigmoid", computes},
    {"Sign", computes},
    {"Sin", computes},
    {"Sinh", computes},
    {"Softplus", computes},
    {"Softsign", computes},
    {"Sqrt", computes},
    {"Square", computes},
    {"SquaredDifference", computes},
    {"Sub", computes},
    {"Tan", computes},
    {"Tanh", computes},
    {"TruncateDiv", computes, /*scalarsOnly=*/true},
    {"TruncateMod", computes, /*scalarsOnly=*/true},
    {"Xdivy", computes},
    {"Xlog1py", computes},
    {"Xlogy", computes},
    {"ZerosLike", computes},
    {"ExpandDims", passes},
    {"Identity", passes},
    {"Reshape", passes},
    {"Shape", passes},
    {"Squeeze", passes},
    {"StopGradient", passes},
};

/// f32, f64, i32, i64 and booleans.
bool isNativeType(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor)
    return true; // a token
  Type element = tensor.getElementType();
  return element.isF32() || element.isF64() || element.isSignlessInteger(32) ||
         element.isSignlessInteger(64) || element.isSignlessInteger(1);
}

bool isScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return !isa<TensorType>(type) || (tensor && tensor.getRank() == 0);
}

/// Whether elements are rounded to integers: numbers beyond their range are the kernel's business.
bool isRounding(Node node) {
  return node.opType() == "Cast" &&
         isa<FloatType>(cast<TensorType>(node->getOperand(0).getType()).getElementType()) &&
         cast<TensorType>(node->getResult(0).getType()).getElementType().isIntOrIndex();
}

bool isContraction(Node node) {
  static const llvm::StringSet<> ops = {"Conv2D", "Conv3D", "DepthwiseConv2dNative", "MatMul"};
  return ops.contains(node.opType());
}

/// Whether all that is made of `value` is made of it by `user`.
bool isOnlyUser(Value value, Operation *user) {
  return llvm::all_of(value.getUsers(), [&](Operation *other) { return other == user; });
}

const NativeOp *findNative(StringRef op) {
  static const llvm::StringMap<const NativeOp *> ops = [] {
    llvm::StringMap<const NativeOp *> made;
    for (const NativeOp &op : table)
      made[op.name] = &op;
    return made;
  }();
  return ops.lookup(op);
}

} // namespace

ArrayRef<NativeOp> nativeOps() { return table; }

bool computesElements(StringRef op) {
  const NativeOp *found = findNative(op);
  return found && found->form == computes;
}

NativeForm nativeForm(Node node) {
  const NativeOp *op = findNative(node.opType());
  if (!op || node->getNumRegions() || node.numResults() != 1 ||
      !llvm::all_of(node->getOperandTypes(), isNativeType) ||
      !llvm::all_of(node->getResultTypes(), isNativeType))
    return NativeForm::None;
  bool areScalars =
      llvm::all_of(node->getOperandTypes(), isScalar) && isScalar(node->getResult(0).getType());
  if (!areScalars && (op->scalarsOnly || isRounding(node)))
    return NativeForm::None;
  // Shapes that don't fit make these false instead of failing.
  if (auto strict = node.attr<BoolAttr>("incompatible_shape_error"); strict && !strict.getValue())
    return NativeForm::None;
  if (auto format = node.attr<StringAttr>("data_format"); format && format.getValue() != "NHWC")
    return NativeForm::None;
  return op->form;
}

bool followsContraction(Node node) {
  static const llvm::StringSet<> steps = {"Add",
                                          "AddV2",
                                          "BiasAdd",
                                          "FusedBatchNorm",
                                          "FusedBatchNormV2",
                                          "FusedBatchNormV3",
                                          "Mul",
                                          "Relu",
                                          "Relu6",
                                          "LeakyRelu",
                                          "Elu",
                                          "Tanh",
                                          "Sigmoid"};
  // A chain ends at an activation; where it is longer than that, all of it is left to kernels.
  constexpr int longest = 8;
  for (int length = 0; length < longest; ++length) {
    if (!steps.contains(node.opType()))
      return false;
    Node before;
    for (Value input : node.data()) {
      Node from = definingNode(input);
      if (from && isOnlyUser(input, node.getOperation()) &&
          (isContraction(from) || steps.contains(from.opType())))
        before = from;
      if (before && isContraction(before))
        return true;
    }
    if (!before)
      return false;
    node = before;
  }
  return false;
}

} // namespace treadle::tfg
