// Shapes as far as they are known, and what is known of a value beside its shape.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace treadle::tfg {

/// A shape of known or unknown rank; a dimension may be unknown.
class Shape {
public:
  using Dims = llvm::SmallVector<int64_t, 4>;
  static constexpr int64_t unknown = mlir::ShapedType::kDynamic;

  Shape() = default; // of unknown rank
  Shape(llvm::ArrayRef<int64_t> dims) : known(true), dims(dims) {}
  Shape(std::initializer_list<int64_t> dims) : known(true), dims(dims) {}
  static Shape scalar() { return Shape(llvm::ArrayRef<int64_t>()); }
  static Shape ofRank(int64_t rank) { return Shape(Dims(rank, unknown)); }
  static Shape of(mlir::Type type);

  bool hasRank() const { return known; }
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  bool isStatic() const { return known && !llvm::is_contained(dims, unknown); }
  llvm::ArrayRef<int64_t> all() const { return dims; }
  /// Counts from the end where negative; unknown where there is no rank or no such dimension.
  int64_t dim(int64_t index) const;
  void setDim(int64_t index, int64_t value) { dims[index] = value; }
  /// An axis counted from the front; nothing where it is out of range or the rank is unknown.
  std::optional<int64_t> axis(int64_t index) const;
  /// The product of the dimensions, unknown where one is (and none is 0).
  int64_t count() const;

  /// The tensor type of this shape.
  mlir::TensorType tensorOf(mlir::Type elementType) const;

  bool operator==(const Shape &other) const = default;

private:
  bool known = false;
  Dims dims;
};

/// What both shapes say: the value has one of them.
Shape join(const Shape &a, const Shape &b);
/// What either of them says: the value has both. The first one where they contradict.
Shape meet(const Shape &a, const Shape &b);
/// Of an elementwise op of both; unknown where they don't fit.
Shape broadcast(const Shape &a, const Shape &b);

/// What is known of a value.
struct KnownValue {
  Shape shape;
  /// For handles of variables and for lists: the shape of what they hold.
  std::optional<Shape> element = {};
  /// The elements of a scalar or vector of integers, some of them unknown.
  std::optional<Shape::Dims> integers = {};

  bool operator==(const KnownValue &other) const = default;
};

KnownValue join(const KnownValue &a, const KnownValue &b);

} // namespace treadle::tfg
