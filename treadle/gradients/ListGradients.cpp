// Gradients of ops on lists and optionals: the gradient of a list is a list. An element that was
// reserved and never set counts as zeros.
#include "treadle/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// Helpers for list ops.
struct Lists {
  Emitter &e;
  const DifferentiatedNode &f;

  Type elementType() const { return f.node.attr<TypeAttr>("element_dtype").getValue(); }
  Type variant() const { return tf_type::VariantType::get(e.builder.getContext()); }
  Type i32() const { return e.builder.getI32Type(); }

  Value of(Type result, StringRef op, ValueRange inputs, Attrs more = {}) const {
    SmallVector<NamedAttribute> attrs(more);
    attrs.push_back(e.attr("element_dtype", elementType()));
    return e.emit(op, inputs, result, attrs)->getResult(0);
  }
  Value list(StringRef op, ValueRange inputs, Attrs more = {}) const {
    return of(variant(), op, inputs, more);
  }
  Value tensor(StringRef op, ValueRange inputs, Attrs more = {}) const {
    return of(elementType(), op, inputs, more);
  }
  Value length(Value list) const {
    return e.emit("TensorListLength", list, i32(), {})->getResult(0);
  }
  Value elementShape(Value list) const {
    return e.emit("TensorListElementShape", list, i32(), e.attr("shape_type", i32()))->getResult(0);
  }
  /// Returns a list of the input's length with no elements set.
  Value reservedLike(Value other) const {
    return list("TensorListReserve", {elementShape(other), length(other)},
                e.attr("shape_type", i32()));
  }
  /// Returns the tensor's shape without the first dimension.
  Value rowShape(Value tensor) const {
    return e.same("StridedSlice", {e.shapeOf(tensor), e.integers(1), e.integers(0), e.integers(1)},
                  {e.attr("Index", i32()), e.integerAttr("end_mask", 1)});
  }
  Value fromTensor(Value tensor) const {
    return list("TensorListFromTensor", {tensor, rowShape(tensor)}, e.attr("shape_type", i32()));
  }
};

Values pushGradient(const Lists &l) {
  Value x = l.f.x(1);
  // The elements of a list of lists are scalars, whatever they contain.
  Value shape = isa<tf_type::VariantType>(elementOf(x)) ? l.e.integers({}) : l.e.shapeOf(x);
  Node pop = l.e.emit("TensorListPopBack", {l.f.dy(), shape}, {l.variant(), l.elementType()},
                      l.e.attr("element_dtype", l.elementType()));
  return {pop->getResult(0), pop->getResult(1)};
}

Values popGradient(const Lists &l) {
  return {l.list("TensorListPushBack", {l.f.dy(0), l.f.dy(1)})};
}

Values stackGradient(const Lists &l) { return {l.fromTensor(l.f.dy())}; }

Values fromTensorGradient(const Lists &l) {
  return {l.tensor("TensorListStack", {l.f.dy(), l.rowShape(l.f.x(0))},
                   l.e.integerAttr("num_elements", -1))};
}

Values getItemGradient(const Lists &l) {
  Value list = l.reservedLike(l.f.x(0));
  return {l.list("TensorListSetItem", {list, l.f.x(1), l.f.dy()})};
}

Values setItemGradient(const Lists &l) {
  Value zeros = l.e.zerosLike(l.f.x(2)), shape = l.e.shapeOf(l.f.x(2));
  return {l.list("TensorListSetItem", {l.f.dy(), l.f.x(1), zeros}), nullptr,
          l.tensor("TensorListGetItem", {l.f.dy(), l.f.x(1), shape})};
}

Values gatherGradient(const Lists &l) {
  Value list = l.reservedLike(l.f.x(0));
  return {l.list("TensorListScatterIntoExistingList", {list, l.f.dy(), l.f.x(1)})};
}

Values scatterGradient(const Lists &l) {
  return {l.tensor("TensorListGather", {l.f.dy(), l.f.x(1), l.rowShape(l.f.x(0))})};
}

Values scatterIntoGradient(const Lists &l) {
  Value zeros = l.e.zerosLike(l.f.x(1));
  return {l.list("TensorListScatterIntoExistingList", {l.f.dy(), zeros, l.f.x(2)}),
          l.tensor("TensorListGather", {l.f.dy(), l.f.x(2), l.rowShape(l.f.x(1))})};
}

Values concatGradient(const Lists &l) {
  Value lengths = l.f.y(1);
  Value anyRows = l.e.concat({l.e.integers(-1), l.rowShape(l.f.y(0))}, l.e.integer(0));
  return {l.list("TensorListSplit", {l.f.dy(), anyRows, lengths}, l.e.attr("shape_type", l.i32()))};
}

Values splitGradient(const Lists &l) {
  Value anyRows = l.e.concat({l.e.integers(-1), l.rowShape(l.f.x(0))}, l.e.integer(0));
  Node whole =
      l.e.emit("TensorListConcatV2", {l.f.dy(), anyRows, l.f.x(2)},
               {l.elementType(), l.e.builder.getI64Type()},
               {l.e.attr("element_dtype", l.elementType()), l.e.attr("shape_type", l.i32())});
  return {whole->getResult(0)};
}

Values resizeGradient(Emitter &e, const DifferentiatedNode &f) {
  Value length = e.emit("TensorListLength", f.x(0), e.builder.getI32Type(), {})->getResult(0);
  return {e.emit("TensorListResize", {f.dy(), length}, elementOf(f.dy()), {})->getResult(0)};
}

// --- optionals: the gradient of one is one of the gradients of its components -------------------

SmallVector<Type> elementsOf(ValueRange values) {
  SmallVector<Type> elements;
  for (Value value : values)
    elements.push_back(elementOf(value));
  return elements;
}

Attribute dtypesOf(Emitter &e, ArrayRef<Type> elements) {
  SmallVector<Attribute> list;
  for (Type element : elements)
    list.push_back(TypeAttr::get(element));
  return e.builder.getArrayAttr(list);
}

Values optionalFromValueGradient(Emitter &e, const DifferentiatedNode &f) {
  SmallVector<Type> elements = elementsOf(SmallVector<Value>(f.node.data()));
  SmallVector<Attribute> shapes;
  for (Type element : elements)
    shapes.push_back(tf_type::ShapeAttr::get(UnrankedTensorType::get(element)));
  return Values(e.emit("OptionalGetValue", f.dy(), elements,
                       {e.attr("output_types", dtypesOf(e, elements)),
                        e.attr("output_shapes", Attribute(e.builder.getArrayAttr(shapes)))})
                    .results());
}

Values optionalGetValueGradient(Emitter &e, const DifferentiatedNode &f) {
  Type variant = elementOf(f.x(0));
  NamedAttribute dtypes = e.attr("Toutput_types", dtypesOf(e, elementsOf(f.gradients)));
  return {e.emit("OptionalFromValue", f.gradients, variant, dtypes)->getResult(0)};
}

using Formula = Values (*)(const Lists &);

const std::pair<const char *, Formula> formulas[] = {
    {"TensorListPushBack", pushGradient},
    {"TensorListPopBack", popGradient},
    {"TensorListStack", stackGradient},
    {"TensorListFromTensor", fromTensorGradient},
    {"TensorListGetItem", getItemGradient},
    {"TensorListSetItem", setItemGradient},
    {"TensorListGather", gatherGradient},
    {"TensorListScatter", scatterGradient},
    {"TensorListScatterV2", scatterGradient},
    {"TensorListScatterIntoExistingList", scatterIntoGradient},
    {"TensorListConcat", concatGradient},
    {"TensorListConcatV2", concatGradient},
    {"TensorListSplit", splitGradient},
};

} // namespace

void addListGradients(GradientTable &table) {
  for (auto [op, formula] : formulas)
    table[op] = [formula](Emitter &e, const DifferentiatedNode &f) -> Values {
      if (f.node.attr<TypeAttr>("element_dtype"))
        return formula({e, f});
      e.fail(invalidArgument("it has no attribute 'element_dtype'"));
      return {};
    };
  table["TensorListResize"] = resizeGradient;
  table["OptionalFromValue"] = optionalFromValueGradient;
  table["OptionalGetValue"] = optionalGetValueGradient;
}

} // namespace treadle::tfg
