// Rules for neutral and absorbing elements, and for ops that undo or repeat each other. All of them
// are exact: every bit of the result is the same, for -0.0 and infinities too.
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/transforms/constant_folding/Simplifier.h"

#include <bit>

using namespace mlir;

namespace treadle::tfg {
namespace {

enum class Element { None, Zero, NegativeZero, One, AllOnes };

/// Returns the element's representation in memory, or nullopt if the dtype has no such element.
std::optional<uint64_t> bitsOf(Element element, DType dtype) {
  uint64_t signBit = 1ULL << (8 * dtypeSize(dtype) - 1);
  bool isPlainInteger = isInteger(dtype) && dtypeSize(dtype) <= 8 && dtype != DType::Int4 &&
                        dtype != DType::UInt4 && dtype != DType::Int2 && dtype != DType::UInt2;
  switch (element) {
  case Element::None:
    return std::nullopt;
  case Element::Zero:
    return 0;
  case Element::NegativeZero:
    return isFloating(dtype) && dtypeSize(dtype) > 1 ? std::optional(signBit) : std::nullopt;
  case Element::AllOnes:
    return isPlainInteger ? std::optional(~0ULL >> (64 - 8 * dtypeSize(dtype))) : std::nullopt;
  case Element::One:
    if (isPlainInteger || dtype == DType::Bool)
      return 1;
    switch (dtype) {
    case DType::Float16:
      return 0x3c00;
    case DType::BFloat16:
      return 0x3f80;
    case DType::Float32:
      return std::bit_cast<uint32_t>(1.0F);
    case DType::Float64:
      return std::bit_cast<uint64_t>(1.0);
    default:
      return std::nullopt;
    }
  }
  return std::nullopt;
}

bool isSplatOf(const Tensor &tensor, Element element) {
  if (!tensor || !isPlain(tensor.dtype()) || isComplex(tensor.dtype()))
    return false;
  std::optional<uint64_t> bits = bitsOf(element, tensor.dtype());
  size_t size = dtypeSize(tensor.dtype());
  if (!bits || size > sizeof(uint64_t) || tensor.count() == 0)
    return false;
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (std::memcmp(tensor.data<char>() + i * size, &*bits, size) != 0)
      return false;
  return true;
}

/// Returns whether the result of an elementwise op of both has the shape of `value`.
bool keepsShape(Value value, const Tensor &constant) {
  if (constant.rank() == 0)
    return true;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || constant.rank() > type.getRank())
    return false;
  ArrayRef<int64_t> tail = type.getShape().take_back(constant.rank());
  return llvm::all_of(llvm::zip(tail, constant.dims()), [](auto pair) {
    auto [dim, own] = pair;
    return own == 1 || own == dim;
  });
}

/// The effect of a special operand value on the other operand, for integers (and bools) and for
/// floats.
struct SpecialElement {
  std::string_view form;
  bool leftToo; // the constant may be the first operand
  Element integer, floating;
};

constexpr SpecialElement neutral[] = {
    {"add", true, Element::Zero, Element::NegativeZero},
    {"sub", false, Element::Zero, Element::Zero},
    {"mul", true, Element::One, Element::One},
    {"divide", false, Element::One, Element::One},
    {"div_no_nan", false, Element::None, Element::One},
    {"floor_div", false, Element::One, Element::None},
    {"truncate_div", false, Element::One, Element::None},
    {"pow", false, Element::One, Element::One},
    {"bitwise_or", true, Element::Zero, Element::None},
    {"bitwise_xor", true, Element::Zero, Element::None},
    {"bitwise_and", true, Element::AllOnes, Element::None},
    {"left_shift", false, Element::Zero, Element::None},
    {"right_shift", false, Element::Zero, Element::None},
    {"logical_and", true, Element::One, Element::None},
    {"logical_or", true, Element::Zero, Element::None},
};

constexpr SpecialElement absorbing[] = {
    {"mul", true, Element::Zero, Element::None},
    {"bitwise_and", true, Element::Zero, Element::None},
    {"bitwise_or", true, Element::AllOnes, Element::None},
    {"logical_and", true, Element::Zero, Element::None},
    {"logical_or", true, Element::One, Element::None},
};

/// Calls `apply` with the operand that is the special element.
template <typename Apply>
Node applyElement(Simplifier &simplifier, Node node, ArrayRef<SpecialElement> table, Apply apply) {
  if (node.numData() != 2)
    return {};
  const OpDef *def = lookupOp(node.opType());
  std::string_view form = def ? def->elementwise() : std::string_view();
  for (const SpecialElement &row : table) {
    if (row.form != form)
      continue;
    for (unsigned side : {1U, 0U}) {
      if (side == 0 && !row.leftToo)
        continue;
      Tensor constant = simplifier.constants.valueOf(node->getOperand(side));
      if (!constant)
        continue;
      bool isFloat = isFloating(constant.dtype());
      Element element = isFloat ? row.floating : row.integer;
      if (!isSplatOf(constant, element))
        continue;
      if (Node made = apply(node->getOperand(1 - side), constant, element))
        return made;
    }
  }
  return {};
}

Node applyNeutral(Simplifier &simplifier, Node node) {
  return applyElement(simplifier, node, neutral,
                      [&](Value other, const Tensor &constant, Element) -> Node {
                        if (!keepsShape(other, constant))
                          return {};
                        return simplifier.makeIdentity(node, other);
                      });
}

Node applyAbsorbing(Simplifier &simplifier, Node node) {
  return applyElement(simplifier, node, absorbing,
                      [&](Value, const Tensor &constant, Element element) -> Node {
                        return simplifier.makeSplat(node, *bitsOf(element, constant.dtype()));
                      });
}

Node applyBoth(Simplifier &simplifier, Node node) {
  Node made = applyNeutral(simplifier, node);
  return made ? made : applyAbsorbing(simplifier, node);
}

// f(f(x)) = x
Node undoTwice(Simplifier &simplifier, Node node) {
  Node inner = simplifier.producer(node->getOperand(0));
  if (!inner || inner.opType() != node.opType() || inner.numData() != 1)
    return {};
  return simplifier.makeIdentity(node, inner->getOperand(0));
}

// f(f(x)) = f(x)
Node applyOnce(Simplifier &simplifier, Node node) {
  Node inner = simplifier.producer(node->getOperand(0));
  if (!inner || inner.opType() != node.opType() || inner.numData() != 1)
    return {};
  return simplifier.makeIdentity(node, node->getOperand(0));
}

// f(x, x) = x
Node applyToItself(Simplifier &simplifier, Node node) {
  if (node.numData() != 2 || node->getOperand(0) != node->getOperand(1))
    return {};
  return simplifier.makeIdentity(node, node->getOperand(0));
}

Node logical(Simplifier &simplifier, Node node) {
  Node made = applyToItself(simplifier, node);
  return made ? made : applyBoth(simplifier, node);
}

// !(a < b) is a >= b if neither can be NaN.
Node negateComparison(Simplifier &simplifier, Node node) {
  if (Node made = undoTwice(simplifier, node))
    return made;
  Node inner = simplifier.producer(node->getOperand(0));
  const OpDef *def = inner && inner.numData() == 2 ? lookupOp(inner.opType()) : nullptr;
  if (!def || def->negation().empty())
    return {};
  bool isExactForFloats = def->isCommutative(); // for equality, NaN needs no exception
  if (!isExactForFloats && !isInteger(valueTypeOf(inner->getOperand(0).getType()).dtype))
    return {};
  SmallVector<NamedAttribute> attrs;
  for (NamedAttribute attr : inner.attrs())
    if (!isAboutNode(attr.getName()))
      attrs.push_back(attr);
  return simplifier.makeOp(node, def->negation(), SmallVector<Value>(inner.data()), attrs);
}

// A Select with a constant condition, and operands of the same shape.
Node selectByConstant(Simplifier &simplifier, Node node) {
  Tensor condition = simplifier.constants.valueOf(node->getOperand(0));
  if (!condition || condition.dtype() != DType::Bool || condition.count() == 0 ||
      node.numData() != 3)
    return {};
  auto left = dyn_cast<RankedTensorType>(node->getOperand(1).getType());
  auto right = dyn_cast<RankedTensorType>(node->getOperand(2).getType());
  if (!left || left != right || !left.hasStaticShape() ||
      !keepsShape(node->getOperand(1), condition))
    return {};
  bool first = condition.data<bool>()[0];
  if (llvm::any_of(condition.values<bool>(), [&](bool value) { return value != first; }))
    return {};
  return simplifier.makeIdentity(node, node->getOperand(first ? 1 : 2));
}

// A variadic op with a single input.
Node onlyInput(Simplifier &simplifier, Node node) {
  return node.numData() == 1 ? simplifier.makeIdentity(node, node->getOperand(0)) : Node();
}

Node isIdentity(Simplifier &simplifier, Node node) {
  return simplifier.makeIdentity(node, node->getOperand(0));
}

Node conjugateReal(Simplifier &simplifier, Node node) {
  if (!isComplex(valueTypeOf(node->getOperand(0).getType()).dtype))
    return simplifier.makeIdentity(node, node->getOperand(0));
  return undoTwice(simplifier, node);
}

// Rounding an integer is a no-op.
Node roundInteger(Simplifier &simplifier, Node node) {
  if (isInteger(valueTypeOf(node->getOperand(0).getType()).dtype))
    return simplifier.makeIdentity(node, node->getOperand(0));
  return applyOnce(simplifier, node);
}

constexpr RuleEntry table[] = {
    {"add", applyNeutral},
    {"sub", applyNeutral},
    {"mul", applyBoth},
    {"divide", applyNeutral},
    {"div_no_nan", applyNeutral},
    {"floor_div", applyNeutral},
    {"truncate_div", applyNeutral},
    {"pow", applyNeutral},
    {"bitwise_or", logical},
    {"bitwise_xor", applyNeutral},
    {"bitwise_and", logical},
    {"left_shift", applyNeutral},
    {"right_shift", applyNeutral},
    {"logical_and", logical},
    {"logical_or", logical},
    {"maximum", applyToItself},
    {"minimum", applyToItself},
    {"AddN", onlyInput},
    {"neg", undoTwice},
    {"invert", undoTwice},
    {"logical_not", negateComparison},
    {"conj", conjugateReal},
    {"real",
     [](Simplifier &s, Node node) {
       return isComplex(valueTypeOf(node->getOperand(0).getType()).dtype) ? Node()
                                                                          : isIdentity(s, node);
     }},
    {"abs", applyOnce},
    {"relu", applyOnce},
    {"relu6", applyOnce},
    {"sign", applyOnce},
    {"floor", roundInteger},
    {"ceil", roundInteger},
    {"round", roundInteger},
    {"select", selectByConstant},
    {"identity", isIdentity},
};

} // namespace

ArrayRef<RuleEntry> arithmeticRules() { return table; }

} // namespace treadle::tfg
