#include "treadle/transforms/shape_inference/ShapeFunctions.h"

using namespace mlir;

namespace treadle::tfg {

std::optional<int64_t> ShapeQuery::integer(unsigned input) const {
  std::optional<Shape::Dims> values = integers(input);
  if (!values || values->size() != 1 || values->front() == Shape::unknown)
    return std::nullopt;
  return values->front();
}

Shape ShapeQuery::shapeFrom(unsigned input) const {
  std::optional<Shape::Dims> values = integers(input);
  if (!values) {
    // The number of elements is the rank.
    const Shape &vector = shape(input);
    bool isKnown = vector.hasRank() && vector.rank() == 1 && vector.dim(0) != Shape::unknown;
    return isKnown && vector.dim(0) < 256 ? Shape::ofRank(vector.dim(0)) : Shape();
  }
  if (shape(input).hasRank() && shape(input).rank() != 1)
    return {};
  for (int64_t &value : *values)
    if (value < 0)
      value = Shape::unknown;
  return Shape(*values);
}

int64_t ShapeQuery::intAttr(StringRef key, int64_t otherwise) const {
  auto attr = node.attr<IntegerAttr>(key);
  return attr ? attr.getValue().getSExtValue() : otherwise;
}

bool ShapeQuery::boolAttr(StringRef key) const {
  auto attr = node.attr<BoolAttr>(key);
  return attr && attr.getValue();
}

StringRef ShapeQuery::textAttr(StringRef key, StringRef otherwise) const {
  auto attr = node.attr<StringAttr>(key);
  return attr ? attr.getValue() : otherwise;
}

SmallVector<int64_t> ShapeQuery::intsAttr(StringRef key) const {
  SmallVector<int64_t> out;
  if (auto attr = node.attr<ArrayAttr>(key))
    for (Attribute element : attr)
      if (auto value = dyn_cast<IntegerAttr>(element))
        out.push_back(value.getValue().getSExtValue());
  return out;
}

Shape ShapeQuery::shapeAttr(StringRef key) const {
  auto attr = node.attr<tf_type::ShapeAttr>(key);
  return attr && attr.hasRank() ? Shape(attr.getDims()) : Shape();
}

ShapeFunction shapeFunctionOf(StringRef op) {
  static const llvm::StringMap<ShapeFunction> functions = [] {
    llvm::StringMap<ShapeFunction> out;
    for (ArrayRef<ShapeEntry> table :
         {elementwiseShapes(), arrayShapes(), sliceShapes(), neuralShapes(), stateShapes()})
      for (const ShapeEntry &entry : table)
        out[StringRef(entry.op)] = entry.function;
    return out;
  }();
  return functions.lookup(op);
}

} // namespace treadle::tfg
