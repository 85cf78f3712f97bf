#include "treadle/transforms/hoist_loop_invariants/TotalOps.h"

#include "treadle/analysis/shapes/TypeShapes.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// Fail for no input at all.
const llvm::StringSet<> unary = {
    "Const",      "Identity",   "Neg",       "Abs",      "Square",   "Sqrt",     "Rsqrt",
    "Exp",        "Expm1",      "Log",       "Log1p",    "Sin",      "Cos",      "Tanh",
    "Sigmoid",    "Erf",        "Floor",     "Ceil",     "Rint",     "Round",    "Sign",
    "LogicalNot", "Relu",       "Relu6",     "Elu",      "Selu",     "Softplus", "Softsign",
    "LeakyRelu",  "Reciprocal", "IsNan",     "IsInf",    "IsFinite", "Cast",     "Shape",
    "Rank",       "Size",       "ZerosLike", "OnesLike", "Invert"};

/// Fail where shapes don't fit.
const llvm::StringSet<> broadcasting = {
    "Add",        "AddV2",        "Sub",        "Mul",
    "Maximum",    "Minimum",      "Less",       "LessEqual",
    "Greater",    "GreaterEqual", "LogicalAnd", "LogicalOr",
    "RealDiv",    "DivNoNan",     "MulNoNan",   "SquaredDifference",
    "BitwiseAnd", "BitwiseOr",    "BitwiseXor"};

bool areNumbers(Node node) {
  return llvm::all_of(node.data(), [](Value value) {
    auto type = dyn_cast<TensorType>(value.getType());
    return type &&
           (type.getElementType().isIntOrFloat() || isa<ComplexType>(type.getElementType()));
  });
}

bool fitTogether(const Shape &a, const Shape &b) {
  bool hasScalar = (a.hasRank() && a.rank() == 0) || (b.hasRank() && b.rank() == 0);
  return hasScalar || (a.isStatic() && b.isStatic() && broadcast(a, b));
}

bool multipliesMatrices(Node node) {
  auto flag = [&](StringRef key) {
    auto attr = node.attr<BoolAttr>(key);
    return attr && attr.getValue();
  };
  Shape a = shapeOf(node->getOperand(0).getType()), b = shapeOf(node->getOperand(1).getType());
  int64_t inner = a.dim(flag("transpose_a") ? 0 : 1);
  return a.hasRank() && b.hasRank() && a.rank() == 2 && b.rank() == 2 && inner != Shape::unknown &&
         inner == b.dim(flag("transpose_b") ? 1 : 0);
}

} // namespace

bool cannotFail(Node node) {
  StringRef op = node.opType();
  if (op == "Const" || op == "Identity" || op == "Shape" || op == "Rank" || op == "Size")
    return true;
  if (!areNumbers(node))
    return false;
  if (unary.contains(op))
    return node.numData() == 1;
  if (node.numData() != 2)
    return false;
  if (op == "MatMul")
    return multipliesMatrices(node);
  return broadcasting.contains(op) && fitTogether(shapeOf(node->getOperand(0).getType()),
                                                  shapeOf(node->getOperand(1).getType()));
}

} // namespace treadle::tfg
