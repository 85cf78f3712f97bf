// Handles and what they stand for: variables, tensor lists; control flow of version 1; iterators.
#include "treadle/transforms/shape_inference/ShapeFunctions.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

Results scalar(const ShapeQuery &) { return only(Shape::scalar()); }

Results variableHandle(const ShapeQuery &query) {
  return {KnownValue{Shape::scalar(), query.shapeAttr("shape")}};
}

Results variableRead(const ShapeQuery &query) {
  return only(query.inputs[0]->element.value_or(Shape()));
}

Results variablesRead(const ShapeQuery &query) {
  Results out;
  for (const KnownValue *input : query.inputs)
    out.push_back({input->element.value_or(Shape())});
  return out;
}

Results variable(const ShapeQuery &query) { return only(query.shapeAttr("shape")); }

Results gatheredFromVariable(const ShapeQuery &query) {
  Shape element = query.inputs[0]->element.value_or(Shape());
  if (!element.hasRank() || element.rank() == 0 || !query.shape(1).hasRank() ||
      query.intAttr("batch_dims") != 0)
    return {};
  Shape::Dims dims(query.shape(1).all());
  llvm::append_range(dims, element.all().drop_front());
  return only(Shape(dims));
}

Results merge(const ShapeQuery &query) {
  KnownValue out;
  for (auto [i, input] : llvm::enumerate(query.inputs))
    out = i == 0 ? *input : join(out, *input);
  return {out, {Shape::scalar()}};
}

Results branches(const ShapeQuery &query) {
  return Results(query.node.numResults(), *query.inputs[0]);
}

Results listOf(const ShapeQuery &query) {
  return {KnownValue{Shape::scalar(), query.shapeFrom(0)}};
}

Results listFromTensor(const ShapeQuery &query) {
  const Shape &tensor = query.shape(0);
  Shape element = query.shapeFrom(1);
  if (tensor.hasRank() && tensor.rank() > 0)
    element = meet(element, Shape(tensor.all().drop_front()));
  return {KnownValue{Shape::scalar(), element}};
}

Results sameList(const ShapeQuery &query) {
  return {KnownValue{Shape::scalar(), query.inputs[0]->element}};
}

Shape elementOf(const ShapeQuery &query, unsigned shapeInput) {
  return meet(query.shapeFrom(shapeInput), query.inputs[0]->element.value_or(Shape()));
}

Results listItem(const ShapeQuery &query) { return only(elementOf(query, 2)); }

Results listPop(const ShapeQuery &query) {
  return {KnownValue{Shape::scalar(), query.inputs[0]->element}, {elementOf(query, 1)}};
}

Results listStack(const ShapeQuery &query) {
  Shape element = elementOf(query, 1);
  if (!element.hasRank())
    return {};
  int64_t length = query.intAttr("num_elements", -1);
  Shape::Dims dims{length < 0 ? Shape::unknown : length};
  llvm::append_range(dims, element.all());
  return only(Shape(dims));
}

Results statedShapes(const ShapeQuery &query) {
  Results out;
  if (auto shapes = query.node.attr<ArrayAttr>("output_shapes"))
    for (Attribute attr : shapes) {
      auto shape = dyn_cast<tf_type::ShapeAttr>(attr);
      out.push_back({shape && shape.hasRank() ? Shape(shape.getDims()) : Shape()});
    }
  return out;
}

Results tensorArray(const ShapeQuery &) { return {{Shape()}, {Shape::scalar()}}; }

constexpr ShapeEntry table[] = {
    {"VarHandleOp", variableHandle},
    {"ReadVariableOp", variableRead},
    {"_ReadVariablesOp", variablesRead},
    {"ResourceGather", gatheredFromVariable},
    {"VarIsInitializedOp", scalar},
    {"IsVariableInitialized", scalar},
    {"Variable", variable},
    {"VariableV2", variable},
    {"TemporaryVariable", variable},
    {"Merge", merge},
    {"RefMerge", merge},
    {"Switch", branches},
    {"RefSwitch", branches},
    {"_SwitchN", branches},
    {"EmptyTensorList", listOf},
    {"TensorListReserve", listOf},
    {"TensorListFromTensor", listFromTensor},
    {"TensorListPushBack", sameList},
    {"TensorListSetItem", sameList},
    {"TensorListResize", sameList},
    {"TensorListGetItem", listItem},
    {"TensorListPopBack", listPop},
    {"TensorListStack", listStack},
    {"TensorListLength", scalar},
    {"TensorArrayV3", tensorArray},
    {"TensorArrayWriteV3", scalar},
    {"TensorArraySizeV3", scalar},
    {"IteratorGetNext", statedShapes},
    {"IteratorGetNextSync", statedShapes},
};

} // namespace

ArrayRef<ShapeEntry> stateShapes() { return table; }

} // namespace treadle::tfg
