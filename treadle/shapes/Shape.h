// Partially known shapes, and further static knowledge of a value.
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

/// A shape of known or unknown rank with known or unknown dimensions. Operations never fail: a
/// result that can't be determined, or an operation on a missing dimension, has unknown rank.
class Shape {
public:
  using Dims = std::vector<int64_t>;
  /// An unknown dimension, or an unknown element of an integer tensor that computes a shape.
  static constexpr int64_t unknown = std::numeric_limits<int64_t>::min();

  Shape() = default; // unknown rank
  /// Negative dimensions are unknown.
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
  /// Returns a dimension; a negative index counts from the end. Unknown if the rank is unknown or
  /// the index out of range.
  int64_t dim(int64_t index) const;
  /// Returns the axis counted from the front; nullopt if it is out of range or the rank is unknown.
  std::optional<int64_t> axis(int64_t index) const;
  /// Returns the product of the dimensions; unknown if one is unknown or it overflows.
  int64_t count() const;
  /// Formats the shape: `[2,?]`, or `<unknown rank>`.
  std::string text() const;

  void setDim(int64_t index, int64_t value) { dims[index] = value < 0 ? unknown : value; }
  /// Replace, remove or insert one dimension; a negative axis counts from the end.
  Shape with(int64_t axis, int64_t dim) const;
  Shape without(int64_t axis) const;
  Shape inserted(int64_t axis, int64_t dim) const;
  /// Returns the first `count` dimensions, or all but the last `-count`.
  Shape take(int64_t count) const;
  /// Returns all but the first `count` dimensions, or the last `-count`.
  Shape drop(int64_t count) const;

  bool operator==(const Shape &other) const = default;

private:
  bool known = false;
  Dims dims;
};

/// Concatenates the dimensions.
Shape operator+(const Shape &a, const Shape &b);

/// Returns the most specific shape that covers both: the value has one of them.
Shape join(const Shape &a, const Shape &b);
/// Returns the most specific shape that both describe, for a value that has both shapes. Returns
/// `a` if they are incompatible.
Shape meet(const Shape &a, const Shape &b);
/// Like `meet`, but returns nullopt if the shapes are incompatible.
std::optional<Shape> merge(const Shape &a, const Shape &b);
/// Returns the broadcast shape, or nullopt if the shapes aren't broadcastable.
std::optional<Shape> broadcast(const Shape &a, const Shape &b);

/// Arithmetic of dimensions. Unknown if an operand is unknown, if the result is negative or
/// overflows, and for a division by zero or with a remainder.
namespace dims {
int64_t plus(int64_t a, int64_t b);
int64_t minus(int64_t a, int64_t b);
int64_t times(int64_t a, int64_t b);
int64_t exactly(int64_t a, int64_t b);
inline bool isKnown(int64_t a) { return a != Shape::unknown; }
inline int64_t meet(int64_t a, int64_t b) { return isKnown(a) ? a : b; }
} // namespace dims

/// Static knowledge of a value.
struct KnownValue {
  Shape shape = {};
  /// For handles: the shapes of the tensors in the resource, one for each component (a variable or
  /// list has one). Empty if unknown.
  std::vector<Shape> held = {};
  /// The elements of an integer scalar, vector or small matrix; single elements may be unknown.
  std::optional<Shape::Dims> integers = {};
  /// The value itself if it is small and constant; otherwise empty.
  Tensor constant = {};

  KnownValue() = default;
  KnownValue(Shape shape, std::vector<Shape> held = {})
      : shape(std::move(shape)), held(std::move(held)) {}

  bool operator==(const KnownValue &other) const;
};

KnownValue join(const KnownValue &a, const KnownValue &b);

} // namespace treadle
