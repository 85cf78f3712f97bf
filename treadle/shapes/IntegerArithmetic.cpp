// Constant evaluation of integer tensors that compute shapes: arithmetic.
#include "treadle/shapes/IntegerValues.h"

#include <algorithm>
#include <cmath>

namespace treadle {
namespace {

/// Returns the value, or unknown if it overflows an int32.
int64_t checkedInt32(const ShapeQuery &query, int64_t value) {
  bool isSmall = query.resultType(0) == DType::Int32;
  return isSmall && (value < INT32_MIN || value > INT32_MAX) ? Shape::unknown : value;
}

/// For operands of equal lengths, or scalars.
template <auto apply> Integers binary(const ShapeQuery &query) {
  const Integers &left = query.integers(0), &right = query.integers(1);
  const Shape &a = query.shape(0), &b = query.shape(1);
  if (!left || !right || !a.hasRank() || !b.hasRank() || a.rank() > 1 || b.rank() > 1 ||
      (left->size() != right->size() && left->size() != 1 && right->size() != 1))
    return std::nullopt;
  Shape::Dims out(left->size() == 1 ? right->size() : left->size(), Shape::unknown);
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t x = (*left)[left->size() == 1 ? 0 : i], y = (*right)[right->size() == 1 ? 0 : i];
    int64_t value = Shape::unknown;
    if (dims::isKnown(x) && dims::isKnown(y) && apply(x, y, value))
      out[i] = checkedInt32(query, value);
  }
  return out;
}

template <auto apply> Integers unary(const ShapeQuery &query) {
  Integers values = query.integers(0);
  if (values)
    for (int64_t &value : *values)
      value = dims::isKnown(value) ? checkedInt32(query, apply(value)) : value;
  return values;
}

bool add(int64_t a, int64_t b, int64_t &c) { return !__builtin_add_overflow(a, b, &c); }
bool subtract(int64_t a, int64_t b, int64_t &c) { return !__builtin_sub_overflow(a, b, &c); }
bool multiply(int64_t a, int64_t b, int64_t &c) { return !__builtin_mul_overflow(a, b, &c); }

bool divideDown(int64_t a, int64_t b, int64_t &c) {
  if (b == 0)
    return false;
  c = a / b - (a % b != 0 && (a < 0) != (b < 0));
  return true;
}

bool divideToZero(int64_t a, int64_t b, int64_t &c) {
  if (b == 0)
    return false;
  c = a / b;
  return true;
}

bool moduloDown(int64_t a, int64_t b, int64_t &c) {
  if (b == 0)
    return false;
  c = a % b;
  c += c != 0 && (c < 0) != (b < 0) ? b : 0;
  return true;
}

bool larger(int64_t a, int64_t b, int64_t &c) {
  c = std::max(a, b);
  return true;
}

bool smaller(int64_t a, int64_t b, int64_t &c) {
  c = std::min(a, b);
  return true;
}

int64_t negated(int64_t a) { return -a; }
int64_t magnitude(int64_t a) { return std::abs(a); }
int64_t zero(int64_t) { return 0; }
int64_t one(int64_t) { return 1; }

// A value of any integer type; unknown if it doesn't fit.
Integers cast(const ShapeQuery &query) {
  return unary<[](int64_t a) { return a; }>(query);
}

/// Reduces all elements of a vector.
template <auto apply, int64_t start> Integers reduced(const ShapeQuery &query) {
  const Integers &values = query.integers(0);
  if (!values || query.shape(0).rank() > 1 || query.shape(1).count() != 1)
    return std::nullopt;
  int64_t out = start == Shape::unknown && !values->empty() ? values->front() : start;
  for (int64_t value : *values)
    if (!dims::isKnown(value) || !dims::isKnown(out) || !apply(out, value, out))
      return Shape::Dims{Shape::unknown};
  return Shape::Dims{dims::isKnown(out) ? checkedInt32(query, out) : out};
}

Integers rank(const ShapeQuery &query) {
  if (!query.shape(0).hasRank())
    return std::nullopt;
  return Shape::Dims{query.shape(0).rank()};
}

Integers size(const ShapeQuery &query) {
  return Shape::Dims{checkedInt32(query, query.shape(0).count())};
}

Integers shapeOfVariable(const ShapeQuery &query) {
  Shape held = query.held(0);
  if (!held.hasRank())
    return std::nullopt;
  return Shape::Dims(held.all().begin(), held.all().end());
}

// An unknown rank is a scalar -1; unknown dimensions are -1.
Integers shapeOfListElement(const ShapeQuery &query) {
  Shape held = query.held(0);
  return held.isStatic() ? shapeOfVariable(query) : std::nullopt;
}

Integers range(const ShapeQuery &query) {
  std::optional<int64_t> start = query.integer(0), limit = query.integer(1),
                         step = query.integer(2);
  if (!start || !limit || !step || *step == 0)
    return std::nullopt;
  Shape::Dims out;
  int64_t value = *start;
  while ((*step > 0 ? value < *limit : value > *limit) && out.size() <= maxShapeElements) {
    out.push_back(value);
    if (__builtin_add_overflow(value, *step, &value))
      return std::nullopt;
  }
  return out;
}

Integers broadcastShapes(const ShapeQuery &query) {
  const Integers &left = query.integers(0), &right = query.integers(1);
  if (!left || !right)
    return std::nullopt;
  std::optional<Shape> both = broadcast(Shape(*left), Shape(*right));
  if (!both)
    return std::nullopt;
  return Shape::Dims(both->all().begin(), both->all().end());
}

constexpr IntegerEntry table[] = {
    {"Add", binary<add>},
    {"AddV2", binary<add>},
    {"Sub", binary<subtract>},
    {"Mul", binary<multiply>},
    {"FloorDiv", binary<divideDown>},
    {"Div", binary<divideToZero>},
    {"TruncateDiv", binary<divideToZero>},
    {"FloorMod", binary<moduloDown>},
    {"Maximum", binary<larger>},
    {"Minimum", binary<smaller>},
    {"Neg", unary<negated>},
    {"Abs", unary<magnitude>},
    {"ZerosLike", unary<zero>},
    {"OnesLike", unary<one>},
    {"Cast", cast},
    {"Prod", reduced<multiply, 1>},
    {"Sum", reduced<add, 0>},
    {"Max", reduced<larger, Shape::unknown>},
    {"Min", reduced<smaller, Shape::unknown>},
    {"Rank", rank},
    {"Size", size},
    {"VariableShape", shapeOfVariable},
    {"TensorListElementShape", shapeOfListElement},
    {"Range", range},
    {"BroadcastArgs", broadcastShapes},
};

} // namespace

std::span<const IntegerEntry> integerArithmetic() { return table; }

} // namespace treadle
