// Shape functions of tensor lists: a handle, and the shape of all elements.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

KnownValue listOf(const Shape &element) { return {Shape::scalar(), {element}}; }

ShapeResults fromTensor(const ShapeQuery &query) {
  const Shape &tensor = query.shape(0);
  if (tensor.isRank(0))
    return shapeError("a list can't be made from a scalar, which has no rows");
  return {listOf(meet(query.shapeFrom(1), tensor.drop(1)))};
}

ShapeResults scattered(const ShapeQuery &query) {
  return {listOf(meet(query.shapeFrom(2), query.shape(0).drop(1)))};
}

// Elements have different lengths in the first dimension, and equal other dimensions.
ShapeResults split(const ShapeQuery &query) {
  Shape rows = query.shape(0).hasRank() ? query.shape(0).with(0, Shape::unknown) : Shape();
  return {listOf(meet(query.shapeFrom(1), rows))};
}

// A list whose element shape is unknown may hold different shapes: an element that is put in tells
// nothing about the others.
ShapeResults put(const ShapeQuery &query, const Shape &element) {
  if (!merge(query.held(0), element))
    return shapeError(str("an element of shape ", element.text(), " is stored in a list of ",
                          query.held(0).text()));
  return {KnownValue(Shape::scalar(), query.input(0).held)};
}

ShapeResults pushed(const ShapeQuery &query) { return put(query, query.shape(1)); }
ShapeResults set(const ShapeQuery &query) { return put(query, query.shape(2)); }
ShapeResults scatteredInto(const ShapeQuery &query) { return put(query, query.shape(1).drop(1)); }

Shape elementOf(const ShapeQuery &query, size_t shapeInput) {
  return meet(query.shapeFrom(shapeInput), query.held(0));
}

ShapeResults item(const ShapeQuery &query) { return {elementOf(query, 2)}; }

ShapeResults popped(const ShapeQuery &query) {
  return {KnownValue(Shape::scalar(), query.input(0).held), elementOf(query, 1)};
}

ShapeResults stacked(const ShapeQuery &query) {
  int64_t length = query.intAttr("num_elements", -1);
  return {Shape{length} + elementOf(query, 1)};
}

ShapeResults gathered(const ShapeQuery &query) { return {query.shape(1) + elementOf(query, 2)}; }

/// The concatenation of the elements along the first dimension.
ShapeResults concatenated(const Shape &element) {
  bool isKnown = element.hasRank() && element.rank() > 0;
  return {isKnown ? element.with(0, Shape::unknown) : Shape(), Shape{Shape::unknown}};
}

ShapeResults concatByInput(const ShapeQuery &query) { return concatenated(elementOf(query, 1)); }

ShapeResults concatByAttr(const ShapeQuery &query) {
  return concatenated(meet(query.shapeAttr("element_shape"), query.held(0)));
}

// One element for each dimension of the shape; an unknown rank is a scalar.
ShapeResults shapeOfElement(const ShapeQuery &query) {
  Shape element = query.held(0);
  return {element.hasRank() ? Shape{element.rank()} : Shape()};
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"*, [] -> []:=0", {"EmptyTensorList", "TensorListReserve"}},
      {"[]:X, [] -> []:X", {"TensorListResize"}},
      {"B, * -> B", {"TensorListPushBackBatch"}},
      {"B, B -> B", {"TensorListConcatLists"}},
      {"* -> []", {"TensorListLength"}},
  };
  return table;
}

constexpr ShapeEntry functions[] = {
    {"TensorListFromTensor", fromTensor},
    {"TensorListScatter", scattered},
    {"TensorListScatterV2", scattered},
    {"TensorListPushBack", pushed},
    {"TensorListSetItem", set},
    {"TensorListScatterIntoExistingList", scatteredInto},
    {"TensorListSplit", split},
    {"TensorListGetItem", item},
    {"TensorListPopBack", popped},
    {"TensorListStack", stacked},
    {"TensorListGather", gathered},
    {"TensorListConcat", concatByAttr},
    {"TensorListConcatV2", concatByInput},
    {"TensorListElementShape", shapeOfElement},
};

} // namespace

ShapeFamily tensorListShapes() { return {signatures(), functions}; }

} // namespace treadle
