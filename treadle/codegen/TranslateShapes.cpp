// Translates shape computations, in registers, and reshapes.
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/Translator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

bool isInteger(Type type) { return type.isSignlessInteger(32) || type.isSignlessInteger(64); }

Value toInteger(Translator &t, Value index, Type type) {
  return t.b.createOrFold<arith::IndexCastOp>(t.loc, type, index);
}

Value multiply(Translator &t, Value x, Value y) {
  return t.b.createOrFold<arith::MulIOp>(t.loc, x, y);
}

Value compare(Translator &t, arith::CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(t.b, t.loc, predicate, x, y);
}

/// Returns the dimensions of a value; nullopt if its rank isn't known.
std::optional<SmallVector<Value>> sizesOf(Translator &t, Value value) {
  SmallVector<Value> sizes;
  if (!isTensor(value.getType()))
    return sizes;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return std::nullopt;
  for (int64_t i = 0; i < type.getRank(); ++i)
    sizes.push_back(t.dim(value, i));
  return sizes;
}

MaybeValues shape(Translator &t, tfg::Node node, Values inputs) {
  Type element = t.elementType(node->getResult(0));
  std::optional<SmallVector<Value>> sizes = sizesOf(t, inputs[0].value);
  if (!sizes || sizes->empty() || !isInteger(element))
    return std::nullopt;
  SmallVector<Value> elements;
  for (Value size : *sizes)
    elements.push_back(toInteger(t, size, element));
  return Values{t.vector(elements, element, t.outcome(node, inputs))};
}

MaybeValues size(Translator &t, tfg::Node node, Values inputs) {
  Type element = t.elementType(node->getResult(0));
  std::optional<SmallVector<Value>> sizes = sizesOf(t, inputs[0].value);
  if (!sizes || !isInteger(element))
    return std::nullopt;
  Value product = t.index(1);
  for (Value size : *sizes)
    product = multiply(t, product, size);
  return Values{{toInteger(t, product, element), t.outcome(node, inputs)}};
}

MaybeValues rank(Translator &t, tfg::Node node, Values inputs) {
  std::optional<SmallVector<Value>> sizes = sizesOf(t, inputs[0].value);
  if (!sizes)
    return std::nullopt;
  Value number = t.index(static_cast<int64_t>(sizes->size()));
  return Values{{toInteger(t, number, t.b.getI32Type()), t.outcome(node, inputs)}};
}

/// Fills a tensor with one value.
MaybeValues fill(Translator &t, tfg::Node node, Values inputs) {
  Type element = t.elementType(node->getResult(0));
  Value value = inputs[1].value;
  std::optional<SmallVector<Value>> sizes = t.indices(inputs[0]);
  if (!sizes || sizes->empty() || isTensor(value.getType()) || !isNative(element) ||
      !isValidSize(*sizes))
    return std::nullopt;
  for (Value size : *sizes)
    t.check(compare(t, arith::CmpIPredicate::sge, size, t.index(0)));
  return Values{t.filled(*sizes, value, t.outcome(node, inputs))};
}

/// Reshapes a value, in registers if possible.
TracedValue reshaped(Translator &t, tfg::Node node, const Values &inputs, ArrayRef<Value> sizes) {
  KnownValue known = t.outcome(node, inputs);
  // The number of elements may determine a size; any other size would be an error.
  if (known.shape.hasRank() && known.shape.rank() == static_cast<int64_t>(sizes.size()))
    for (auto [size, dim] : llvm::zip(sizes, known.shape.all()))
      if (dim != Shape::unknown && !getConstantIntValue(size))
        t.check(compare(t, arith::CmpIPredicate::eq, size, t.index(dim)));
  return t.reshape(inputs[0], sizes, std::move(known));
}

MaybeValues reshape(Translator &t, tfg::Node node, Values inputs) {
  std::optional<SmallVector<Value>> own = sizesOf(t, inputs[0].value);
  std::optional<SmallVector<Value>> sizes = t.indices(inputs[1]);
  auto wanted = dyn_cast<RankedTensorType>(inputs[1].value.getType());
  if (!own || !sizes || !wanted || wanted.getRank() != 1)
    return std::nullopt;
  if (sizes->empty()) {
    std::optional<SmallVector<Value>> elements = t.elementsOf(inputs[0]);
    if (!elements || elements->size() != 1)
      return std::nullopt;
    return Values{{elements->front(), t.outcome(node, inputs)}};
  }
  // A size of -1 is inferred; other sizes that aren't constant must not be negative.
  Value rest;
  Value product = t.index(1), total = t.index(1);
  for (Value &size : *sizes) {
    std::optional<int64_t> constant = getConstantIntValue(size);
    if (constant && *constant < 0) {
      if (rest || *constant != -1)
        return std::nullopt;
      rest = size;
      continue;
    }
    if (!constant)
      t.check(compare(t, arith::CmpIPredicate::sge, size, t.index(0)));
    product = multiply(t, product, size);
  }
  for (Value size : *own)
    total = multiply(t, total, size);
  if (rest) {
    std::optional<int64_t> divisor = getConstantIntValue(product);
    if (divisor == 0)
      return std::nullopt;
    if (!divisor)
      t.check(compare(t, arith::CmpIPredicate::ne, product, t.index(0)));
    Value left = t.b.createOrFold<arith::DivSIOp>(t.loc, total, product);
    t.check(compare(t, arith::CmpIPredicate::eq, multiply(t, left, product), total));
    *llvm::find(*sizes, rest) = left;
  } else if (!isTensor(inputs[0].value.getType())) {
    t.check(compare(t, arith::CmpIPredicate::eq, product, total));
  }
  return Values{reshaped(t, node, inputs, *sizes)};
}

MaybeValues expandDims(Translator &t, tfg::Node node, Values inputs) {
  std::optional<SmallVector<Value>> sizes = sizesOf(t, inputs[0].value);
  std::optional<SmallVector<Value>> axes = t.indices(inputs[1]);
  std::optional<int64_t> axis =
      axes && axes->size() == 1 ? getConstantIntValue(axes->front()) : std::nullopt;
  if (!sizes || !axis)
    return std::nullopt;
  auto rank = static_cast<int64_t>(sizes->size());
  int64_t at = *axis < 0 ? *axis + rank + 1 : *axis;
  if (at < 0 || at > rank)
    return std::nullopt;
  sizes->insert(sizes->begin() + at, t.index(1));
  return Values{reshaped(t, node, inputs, *sizes)};
}

MaybeValues squeeze(Translator &t, tfg::Node node, Values inputs) {
  std::optional<SmallVector<Value>> sizes = sizesOf(t, inputs[0].value);
  auto axes = node.attr<ArrayAttr>("squeeze_dims");
  if (!sizes || !axes || axes.empty())
    return std::nullopt;
  auto rank = static_cast<int64_t>(sizes->size());
  SmallVector<bool> isGone(rank);
  for (Attribute attr : axes) {
    int64_t axis = cast<IntegerAttr>(attr).getInt();
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis >= rank)
      return std::nullopt;
    isGone[axis] = true;
  }
  SmallVector<Value> left;
  for (auto [size, gone] : llvm::zip(*sizes, isGone))
    if (!gone)
      left.push_back(size);
    else if (getConstantIntValue(size) != 1)
      t.check(compare(t, arith::CmpIPredicate::eq, size, t.index(1)));
  if (left.empty())
    return std::nullopt; // a scalar
  return Values{reshaped(t, node, inputs, left)};
}

constexpr std::pair<StringRef, Lowering> table[] = {
    {"Shape", shape},
    {"Size", size},
    {"Rank", rank},
    {"Fill", fill},
    {"Reshape", reshape},
    {"Squeeze", squeeze},
    {"ExpandDims", expandDims},
};

} // namespace

LoweringTable shapeLowerings() { return table; }

} // namespace treadle::codegen
