// Shape functions of all ops: result shapes, and errors for invalid input shapes. Depends neither
// on MLIR nor on the runtime's plans: passes, tools and sessions implement NodeView.
#pragma once

#include "treadle/shapes/Shape.h"

#include <span>
#include <string_view>

namespace treadle {

/// A read-only view of a node, independent of its representation.
class NodeView {
public:
  virtual ~NodeView() = default;
  virtual std::string_view op() const = 0;
  virtual size_t numResults() const = 0;
  /// Returns Invalid if there is no such result.
  virtual DType resultType(size_t index) const = 0;
  /// Returns nullopt if the node doesn't have the attribute.
  virtual std::optional<AttrValue> attr(std::string_view key) const = 0;
  /// Returns the known facts about a tensor attribute, without a copy of a large one.
  virtual KnownValue constant(std::string_view key) const = 0;
  /// The version of the graph's producer.
  virtual int64_t producer() const = 0;
};

/// Static knowledge of a node's results, one entry for each; missing entries are unknown.
struct ShapeResults {
  std::vector<KnownValue> values;
  /// Why every run of the node would fail; empty if a run may succeed.
  std::string conflict;

  ShapeResults() = default;
  ShapeResults(std::initializer_list<KnownValue> values) : values(values) {}
  static ShapeResults all(size_t count, const KnownValue &value);
};

/// Returns an error for invalid input shapes: `input 1 has shape [2], ...`.
ShapeResults shapeError(std::string message);

/// Returns the error `axis 3 is out of range for shape [2,4]; expected -2 to 1`.
ShapeResults noSuchAxis(const Shape &shape, int64_t axis);

/// Appends the range of a quantized result: the scalars of its minimum and maximum.
ShapeResults withRange(ShapeResults results);

/// A query for a node's result shapes, with the known facts about its inputs. Never fails on a
/// malformed node: missing inputs and attributes are unknown, or have the default that the caller
/// gives.
class ShapeQuery {
public:
  ShapeQuery(const NodeView &node, std::span<const KnownValue *const> inputs)
      : node(node), inputs(inputs) {}

  std::string_view op() const { return node.op(); }
  size_t numInputs() const { return inputs.size(); }
  size_t numResults() const { return node.numResults(); }
  DType resultType(size_t index) const { return node.resultType(index); }
  int64_t producer() const { return node.producer(); }

  const KnownValue &input(size_t index) const;
  const Shape &shape(size_t index) const { return input(index).shape; }
  /// Returns the shape of a component that a handle's resource holds.
  Shape held(size_t index, size_t component = 0) const;
  /// Returns the elements of an integer input; nullopt if not even their number is known.
  const std::optional<Shape::Dims> &integers(size_t index) const { return input(index).integers; }
  /// Returns the element of an integer input with one element.
  std::optional<int64_t> integer(size_t index) const;
  /// Returns an element of an integer input as a dimension: unknown if it is unknown or negative.
  int64_t dimFrom(size_t index, size_t element = 0) const;
  /// Returns an input's value as a shape; -1 is an unknown dimension.
  Shape shapeFrom(size_t index) const;

  std::optional<AttrValue> attr(std::string_view key) const { return node.attr(key); }
  KnownValue constant(std::string_view key) const { return node.constant(key); }
  int64_t intAttr(std::string_view key, int64_t otherwise = 0) const;
  bool boolAttr(std::string_view key, bool otherwise = false) const;
  std::string textAttr(std::string_view key, std::string_view otherwise = "") const;
  DType typeAttr(std::string_view key) const;
  std::vector<int64_t> intsAttr(std::string_view key) const;
  Shape shapeAttr(std::string_view key) const;
  std::vector<Shape> shapesAttr(std::string_view key) const;
  /// Returns the number of elements of a list attribute.
  size_t listSize(std::string_view key) const;

private:
  const NodeView &node;
  std::span<const KnownValue *const> inputs;
};

using ShapeFunction = ShapeResults (*)(const ShapeQuery &);

/// An op with a shape function in C++.
struct ShapeEntry {
  std::string_view op;
  ShapeFunction function;
};

/// Ops with a shape signature: see Signature.h.
struct SignatureEntry {
  std::string_view signature;
  std::vector<std::string_view> ops;
};

/// The tables of one family of ops.
struct ShapeFamily {
  std::span<const SignatureEntry> signatures;
  std::span<const ShapeEntry> functions;
};

ShapeFamily elementwiseShapes();
ShapeFamily arrayShapes();
ShapeFamily concatShapes();
ShapeFamily sliceShapes();
ShapeFamily matrixShapes();
ShapeFamily windowShapes();
ShapeFamily imageShapes();
ShapeFamily segmentShapes();
ShapeFamily sparseShapes();
ShapeFamily stringShapes();
ShapeFamily parsingShapes();
ShapeFamily randomShapes();
ShapeFamily variableShapes();
ShapeFamily controlShapes();
ShapeFamily queueShapes();
ShapeFamily tensorListShapes();
ShapeFamily tensorArrayShapes();
ShapeFamily raggedShapes();
ShapeFamily spaceShapes();
ShapeFamily fourierShapes();
ShapeFamily mediaShapes();
ShapeFamily datasetShapes();
ShapeFamily stagingShapes();
ShapeFamily quantizedShapes();
ShapeFamily compressedShapes();
std::span<const ShapeFamily> shapeFamilies();

/// Whether the op has a shape function, including one whose results have unknown shapes.
bool hasShapeFunction(std::string_view op);

/// Infers the results of a node; empty for unknown ops.
ShapeResults inferShapes(const ShapeQuery &query);

/// Returns the elements of a node's first result, an integer vector or scalar that computes a
/// shape.
std::optional<Shape::Dims> integersOf(const ShapeQuery &query);

/// Returns the known facts about a tensor: its shape, and its value if it is small.
KnownValue knownOf(const Tensor &tensor);

/// The largest number of elements of a value that computes a shape or paddings.
inline constexpr size_t maxShapeElements = 1024;

/// The largest number of elements of a constant that is tracked.
inline constexpr int64_t maxConstantElements = 1024;

} // namespace treadle
