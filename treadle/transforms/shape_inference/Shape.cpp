#include "treadle/transforms/shape_inference/Shape.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace treadle::tfg {

Shape Shape::of(Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  return ranked ? Shape(ranked.getShape()) : Shape();
}

std::optional<int64_t> Shape::axis(int64_t index) const {
  if (!known || index < -rank() || index >= rank())
    return std::nullopt;
  return index < 0 ? index + rank() : index;
}

int64_t Shape::dim(int64_t index) const {
  std::optional<int64_t> at = axis(index);
  return at ? dims[*at] : unknown;
}

int64_t Shape::count() const {
  if (!isStatic())
    return unknown;
  int64_t product = 1;
  for (int64_t dim : dims)
    if (llvm::MulOverflow(product, dim, product))
      return unknown;
  return product;
}

TensorType Shape::tensorOf(Type elementType) const {
  if (!known)
    return UnrankedTensorType::get(elementType);
  return RankedTensorType::get(dims, elementType);
}

Shape join(const Shape &a, const Shape &b) {
  if (!a.hasRank() || !b.hasRank() || a.rank() != b.rank())
    return {};
  Shape out = a;
  for (int64_t i = 0; i < a.rank(); ++i)
    if (a.dim(i) != b.dim(i))
      out.setDim(i, Shape::unknown);
  return out;
}

Shape meet(const Shape &a, const Shape &b) {
  if (!a.hasRank())
    return b;
  if (!b.hasRank() || a.rank() != b.rank())
    return a;
  Shape out = a;
  for (int64_t i = 0; i < a.rank(); ++i)
    if (a.dim(i) == Shape::unknown)
      out.setDim(i, b.dim(i));
  return out;
}

static int64_t broadcastDim(int64_t a, int64_t b) {
  if (a == 1)
    return b;
  if (b == 1)
    return a;
  // One that is unknown may be 1, but then the other one counts.
  return a == Shape::unknown ? b : a;
}

Shape broadcast(const Shape &a, const Shape &b) {
  if (!a.hasRank() || !b.hasRank())
    return {};
  const Shape &longer = a.rank() >= b.rank() ? a : b;
  const Shape &shorter = a.rank() >= b.rank() ? b : a;
  Shape out = longer;
  for (int64_t i = 1; i <= shorter.rank(); ++i) {
    int64_t left = longer.dim(-i), right = shorter.dim(-i);
    if (left != right && left > 1 && right > 1)
      return {};
    out.setDim(longer.rank() - i, broadcastDim(left, right));
  }
  return out;
}

KnownValue join(const KnownValue &a, const KnownValue &b) {
  KnownValue out{join(a.shape, b.shape)};
  if (a.element && b.element)
    out.element = join(*a.element, *b.element);
  if (a.integers && b.integers && a.integers->size() == b.integers->size()) {
    out.integers = a.integers;
    for (auto [value, other] : llvm::zip(*out.integers, *b.integers))
      if (value != other)
        value = Shape::unknown;
  }
  return out;
}

} // namespace treadle::tfg
