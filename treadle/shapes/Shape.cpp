#include "treadle/shapes/Shape.h"

#include <algorithm>

namespace treadle {

// A graph may contain any rank; kernels support fewer dimensions.
constexpr int64_t maxDims = 1 << 16;

Shape::Shape(std::span<const int64_t> given) : known(true), dims(given.begin(), given.end()) {
  for (int64_t &dim : dims)
    if (dim < 0)
      dim = unknown;
}

Shape Shape::ofRank(int64_t rank) {
  return rank < 0 || rank > maxDims ? Shape() : Shape(Dims(rank, unknown));
}

Shape Shape::of(const PartialShape &shape) { return shape.hasRank ? Shape(shape.dims) : Shape(); }

bool Shape::isStatic() const { return known && std::ranges::find(dims, unknown) == dims.end(); }

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
  if (!known)
    return unknown;
  int64_t product = 1;
  for (int64_t dim : dims)
    product = dims::times(product, dim);
  return product;
}

std::string Shape::text() const {
  PartialShape out{known, dims};
  for (int64_t &dim : out.dims)
    dim = std::max<int64_t>(dim, -1);
  return out.text();
}

Shape Shape::with(int64_t index, int64_t dim) const {
  std::optional<int64_t> at = axis(index);
  if (!at)
    return {};
  Shape out = *this;
  out.setDim(*at, dim);
  return out;
}

Shape Shape::without(int64_t index) const {
  std::optional<int64_t> at = axis(index);
  return at ? take(*at) + drop(*at + 1) : Shape();
}

Shape Shape::inserted(int64_t index, int64_t dim) const {
  int64_t at = index < 0 ? index + rank() + 1 : index;
  return at < 0 || at > rank() ? Shape() : take(at) + Shape{dim} + drop(at);
}

Shape Shape::take(int64_t count) const {
  int64_t length = count < 0 ? rank() + count : count;
  if (!known || length < 0 || length > rank())
    return {};
  return Shape(all().first(length));
}

Shape Shape::drop(int64_t count) const {
  int64_t from = count < 0 ? rank() + count : count;
  if (!known || from < 0 || from > rank())
    return {};
  return Shape(all().subspan(from));
}

Shape operator+(const Shape &a, const Shape &b) {
  if (!a.hasRank() || !b.hasRank())
    return {};
  Shape::Dims dims(a.all().begin(), a.all().end());
  dims.insert(dims.end(), b.all().begin(), b.all().end());
  return Shape(dims);
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

std::optional<Shape> merge(const Shape &a, const Shape &b) {
  if (!a.hasRank() || !b.hasRank())
    return a.hasRank() ? a : b;
  if (a.rank() != b.rank())
    return std::nullopt;
  Shape out = a;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (a.dim(i) != b.dim(i) && dims::isKnown(a.dim(i)) && dims::isKnown(b.dim(i)))
      return std::nullopt;
    out.setDim(i, dims::meet(a.dim(i), b.dim(i)));
  }
  return out;
}

Shape meet(const Shape &a, const Shape &b) { return merge(a, b).value_or(a); }

std::optional<Shape> broadcast(const Shape &a, const Shape &b) {
  if (!a.hasRank() || !b.hasRank())
    return Shape();
  const Shape &longer = a.rank() >= b.rank() ? a : b;
  const Shape &shorter = a.rank() >= b.rank() ? b : a;
  Shape out = longer;
  for (int64_t i = 1; i <= shorter.rank(); ++i) {
    int64_t left = longer.dim(-i), right = shorter.dim(-i);
    bool fit = left == right || left == 1 || right == 1 || left < 0 || right < 0;
    if (!fit)
      return std::nullopt;
    // A known dimension other than 1 is the result; an unknown dimension stays unknown beside a 1.
    int64_t both = left == 1 ? right : right == 1 ? left : dims::meet(left, right);
    out.setDim(longer.rank() - i, both);
  }
  return out;
}

namespace dims {

static int64_t checked(bool overflows, int64_t value) {
  return overflows || value < 0 ? Shape::unknown : value;
}

int64_t plus(int64_t a, int64_t b) {
  int64_t out = 0;
  return isKnown(a) && isKnown(b) ? checked(__builtin_add_overflow(a, b, &out), out)
                                  : Shape::unknown;
}

int64_t minus(int64_t a, int64_t b) {
  int64_t out = 0;
  return isKnown(a) && isKnown(b) ? checked(__builtin_sub_overflow(a, b, &out), out)
                                  : Shape::unknown;
}

int64_t times(int64_t a, int64_t b) {
  int64_t out = 0;
  return isKnown(a) && isKnown(b) ? checked(__builtin_mul_overflow(a, b, &out), out)
                                  : Shape::unknown;
}

int64_t exactly(int64_t a, int64_t b) {
  return isKnown(a) && isKnown(b) && b > 0 && a % b == 0 ? checked(false, a / b) : Shape::unknown;
}

} // namespace dims

/// Compares bits of plain elements only.
static bool areSame(const Tensor &a, const Tensor &b) {
  if (!a || !b)
    return !a && !b;
  return a.get() == b.get() ||
         (a.dtype() == b.dtype() && std::ranges::equal(a.dims(), b.dims()) && isPlain(a.dtype()) &&
          std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

bool KnownValue::operator==(const KnownValue &other) const {
  return shape == other.shape && held == other.held && integers == other.integers &&
         areSame(constant, other.constant);
}

KnownValue join(const KnownValue &a, const KnownValue &b) {
  KnownValue out(join(a.shape, b.shape));
  if (a.held.size() == b.held.size())
    for (size_t i = 0; i < a.held.size(); ++i)
      out.held.push_back(join(a.held[i], b.held[i]));
  if (a.integers && b.integers && a.integers->size() == b.integers->size()) {
    out.integers = a.integers;
    for (size_t i = 0; i < b.integers->size(); ++i)
      if ((*out.integers)[i] != (*b.integers)[i])
        (*out.integers)[i] = Shape::unknown;
  }
  if (areSame(a.constant, b.constant))
    out.constant = a.constant;
  return out;
}

} // namespace treadle
