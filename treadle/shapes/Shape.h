// Shapes as far as they are known, and what is known of a value beside its shape.
#pragma once

#include "treadle/tensor/Attr.h"

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace treadle {

/// A shape of known or unknown rank; a dimension may be unknown. What is made from shapes is of
/// unknown rank wherever that can't be told, or is asked for a dimension that isn't there: nothing
/// here fails.
class Shape {
public:
  using Dims = std::vector<int64_t>;
  /// No dimension, and no element of an integer tensor that a shape could be made of.
  static constexpr int64_t unknown = std::numeric_limits<int64_t>::min();

  Shape() = default; // of unknown rank
  /// A negative dimension is an unknown one.
  explicit Shape(std::span<const int64_t> dims);
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  static Shape scalar() { return Shape(std::span<const int64_t>()); }
  static Shape ofRank(int64_t rank);
  static Shape of(const PartialShape &shape);

  bool hasRank() const { return known; }
  bool isRank(int64_t rank) const { return known && this->rank() == rank; }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  bool isStatic() const;
  std::span<const int64_t> all() const { return dims; }
  /// Counts from the end where negative; unknown where there is no rank or no such dimension.
  int64_t dim(int64_t index) const;
  /// An axis counted from the front; nothing where it is out of range or the rank is unknown.
  std::optional<int64_t> axis(int64_t index) const;
  /// The product of the dimensions, unknown where one is, or where it overflows.
  int64_t count() const;
  /// `[2,?]`, or `<unknown rank>`.
  std::string text() const;

  void setDim(int64_t index, int64_t value) { dims[index] = value < 0 ? unknown : value; }
  /// One dimension replaced, taken out or put in; axes count from the end where negative.
  Shape with(int64_t axis, int64_t dim) const;
  Shape without(int64_t axis) const;
  Shape inserted(int64_t axis, int64_t dim) const;
  /// The first `count` dimensions, or all but the last `-count`.
  Shape take(int64_t count) const;
  /// All but the first `count` dimensions, or the last `-count`.
  Shape drop(int64_t count) const;

  bool operator==(const Shape &other) const = default;

private:
  bool known = false;
  Dims dims;
};

/// The dimensions of both, one after the other.
Shape operator+(const Shape &a, const Shape &b);

/// What both shapes say: the value has one of them.
Shape join(const Shape &a, const Shape &b);
/// What either of them says: the value has both. The first one where they contradict.
Shape meet(const Shape &a, const Shape &b);
/// The same; nothing where they contradict.
std::optional<Shape> merge(const Shape &a, const Shape &b);
/// Of an elementwise op of both; nothing where they don't fit.
std::optional<Shape> broadcast(const Shape &a, const Shape &b);

/// Arithmetic of dimensions: unknown where an operand is, where the result is negative or
/// overflows, and for a division by zero or with a remainder.
namespace dims {
int64_t plus(int64_t a, int64_t b);
int64_t minus(int64_t a, int64_t b);
int64_t times(int64_t a, int64_t b);
int64_t exactly(int64_t a, int64_t b);
inline bool isKnown(int64_t a) { return a != Shape::unknown; }
inline int64_t meet(int64_t a, int64_t b) { return isKnown(a) ? a : b; }
} // namespace dims

/// What is known of a value.
struct KnownValue {
  Shape shape = {};
  /// For handles: the shapes of what they hold, one for each component (a variable or list has
  /// one). Empty where nothing is known.
  std::vector<Shape> held = {};
  /// The elements of a scalar or vector of integers, or a small matrix of them; some may be
  /// unknown.
  std::optional<Shape::Dims> integers = {};
  /// The value itself, where it is small and the same in all runs; else none.
  Tensor constant = {};

  KnownValue() = default;
  KnownValue(Shape shape, std::vector<Shape> held = {})
      : shape(std::move(shape)), held(std::move(held)) {}

  bool operator==(const KnownValue &other) const;
};

KnownValue join(const KnownValue &a, const KnownValue &b);

} // namespace treadle
