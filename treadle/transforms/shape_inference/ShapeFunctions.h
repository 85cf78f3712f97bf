// What the shapes of an op's results are: a table, one function for all ops of a family.
#pragma once

#include "treadle/runtime/Attr.h"
#include "treadle/transforms/rewriting/Rewriting.h"
#include "treadle/transforms/shape_inference/Shape.h"

#include <string_view>

namespace treadle::tfg {

/// A node whose results are asked for, and what is known of its inputs.
struct ShapeQuery {
  Node node;
  llvm::ArrayRef<const KnownValue *> inputs;

  unsigned numInputs() const { return inputs.size(); }
  const Shape &shape(unsigned input) const {
    static const Shape none;
    return input < inputs.size() ? inputs[input]->shape : none;
  }
  /// The elements of an integer input; nothing where not even their number is known.
  std::optional<Shape::Dims> integers(unsigned input) const {
    return input < inputs.size() ? inputs[input]->integers : std::nullopt;
  }
  /// The one element of an integer input.
  std::optional<int64_t> integer(unsigned input) const;
  /// An input that holds a shape; -1 in it is an unknown dimension.
  Shape shapeFrom(unsigned input) const;

  int64_t intAttr(llvm::StringRef key, int64_t otherwise = 0) const;
  bool boolAttr(llvm::StringRef key) const;
  llvm::StringRef textAttr(llvm::StringRef key, llvm::StringRef otherwise = "") const;
  llvm::SmallVector<int64_t> intsAttr(llvm::StringRef key) const;
  Shape shapeAttr(llvm::StringRef key) const;
};

/// One entry for each result; what is missing is unknown.
using Results = llvm::SmallVector<KnownValue, 2>;
using ShapeFunction = Results (*)(const ShapeQuery &);

struct ShapeEntry {
  std::string_view op;
  ShapeFunction function;
};

/// Null for ops that nothing is known of.
ShapeFunction shapeFunctionOf(llvm::StringRef op);

/// The tables, a file each.
llvm::ArrayRef<ShapeEntry> elementwiseShapes();
llvm::ArrayRef<ShapeEntry> arrayShapes();
llvm::ArrayRef<ShapeEntry> sliceShapes();
llvm::ArrayRef<ShapeEntry> neuralShapes();
llvm::ArrayRef<ShapeEntry> stateShapes();

/// The elements of the integer vectors and scalars that shapes are made of.
std::optional<Shape::Dims> integersOf(const ShapeQuery &query);

/// A result that only has a shape.
inline Results only(Shape shape) { return {KnownValue{std::move(shape)}}; }

} // namespace treadle::tfg
