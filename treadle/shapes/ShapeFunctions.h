// What the shapes of an op's results are, and which shapes of its inputs can't be: a table of all
// ops. Knows neither MLIR nor the runtime's plans: passes, tools and sessions ask through NodeView.
#pragma once

#include "treadle/shapes/Shape.h"

#include <span>
#include <string_view>

namespace treadle {

/// A node, however it is held.
class NodeView {
public:
  virtual ~NodeView() = default;
  virtual std::string_view op() const = 0;
  virtual size_t numResults() const = 0;
  /// Invalid where there is no such result.
  virtual DType resultType(size_t index) const = 0;
  /// Nothing where the node doesn't have it.
  virtual std::optional<AttrValue> attr(std::string_view key) const = 0;
  /// What is known of a tensor attribute, without copying a large one.
  virtual KnownValue constant(std::string_view key) const = 0;
  /// The version of the graph's producer.
  virtual int64_t producer() const = 0;
};

/// What is known of a node's results, one entry for each; what is missing is unknown.
struct ShapeResults {
  std::vector<KnownValue> values;
  /// Why no run of the node can succeed; empty where one may.
  std::string conflict;

  ShapeResults() = default;
  ShapeResults(std::initializer_list<KnownValue> values) : values(values) {}
  static ShapeResults all(size_t count, const KnownValue &value);
};

/// `input 1 is of shape [2], ...`: results that can't be.
ShapeResults conflicting(std::string message);

/// `axis 3 isn't one of shape [2,4]; expected -2 to 1`.
ShapeResults noSuchAxis(const Shape &shape, int64_t axis);

/// Of a quantized op: its result, and the least and the largest value that this stands for.
ShapeResults withRange(ShapeResults results);

/// A node whose results are asked for, and what is known of its inputs. Nothing here fails on a
/// malformed node: what isn't there is unknown, or what is given for that case.
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
  /// What a handle holds, a component of it.
  Shape held(size_t index, size_t component = 0) const;
  /// The elements of an integer input; nothing where not even their number is known.
  const std::optional<Shape::Dims> &integers(size_t index) const { return input(index).integers; }
  /// The one element of an integer input.
  std::optional<int64_t> integer(size_t index) const;
  /// An integer input as a dimension: unknown where it isn't known or is negative.
  int64_t dimFrom(size_t index, size_t element = 0) const;
  /// An input that holds a shape; -1 in it is an unknown dimension.
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
  /// How many elements a list attribute has.
  size_t listSize(std::string_view key) const;

private:
  const NodeView &node;
  std::span<const KnownValue *const> inputs;
};

using ShapeFunction = ShapeResults (*)(const ShapeQuery &);

/// An op whose results take code to tell.
struct ShapeEntry {
  std::string_view op;
  ShapeFunction function;
};

/// Ops whose results a signature tells: see Signature.h.
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

/// Whether anything is known of an op, be it that its results may be of any shape.
bool hasShapeFunction(std::string_view op);

/// What follows for the results of a node; nothing for unknown ops.
ShapeResults inferShapes(const ShapeQuery &query);

/// The elements of the integer vectors and scalars that shapes are made of, as the first result of
/// a node has them.
std::optional<Shape::Dims> integersOf(const ShapeQuery &query);

/// What is known of a tensor: its shape, and itself where it is small.
KnownValue knownOf(const Tensor &tensor);

/// The largest number of elements of a value that says a shape, paddings included.
inline constexpr size_t mostIntegers = 1024;

/// And of a value that is known as a whole.
inline constexpr int64_t mostConstants = 1024;

} // namespace treadle
