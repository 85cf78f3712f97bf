#include "treadle/gradients/NodeReplacement.h"

#include "treadle/dialect/NodeAttributes.h"

using namespace mlir;

namespace treadle::tfg {

Attribute functionName(FuncOp function) {
  return tf_type::FuncAttr::get(function.getContext(), function.getName(),
                                DictionaryAttr::get(function.getContext()));
}

Attribute dtypeArrayAttr(Emitter &e, TypeRange elements) {
  SmallVector<Attribute> list;
  for (Type element : elements)
    list.push_back(dtypeAttr(UnrankedTensorType::get(element)));
  return e.builder.getArrayAttr(list);
}

Attribute dtypeArrayAttr(Emitter &e, ArrayRef<Value> values) {
  SmallVector<Type> elements;
  for (Value value : values)
    elements.push_back(elementOf(value));
  return dtypeArrayAttr(e, elements);
}

/// Returns the node's attributes with its lists of result dtypes and shapes extended.
static NamedAttrList extendedAttrs(Node node, TypeRange more) {
  NamedAttrList attrs;
  for (NamedAttribute attr : node.attrs()) {
    StringRef key = attr.getName();
    if (key == outputShapesKey || attr.getName() == node.dialect().fullTypeKey)
      continue;
    auto list = dyn_cast<ArrayAttr>(attr.getValue());
    bool isPerResult = list && list.size() == node.numResults();
    if (!isPerResult || (key != "Tout" && key != "output_shapes")) {
      attrs.push_back(attr);
      continue;
    }
    SmallVector<Attribute> all(list.begin(), list.end());
    for (Type type : more)
      all.push_back(key == "Tout" ? Attribute(dtypeAttr(type))
                                  : tf_type::ShapeAttr::get(cast<ShapedType>(type)));
    attrs.append(attr.getName(), ArrayAttr::get(node->getContext(), all));
  }
  return attrs;
}

/// A node that calls a function by its op name has no type attributes.
static void stateTypes(NamedAttrList &attrs, Node node, TypeRange results) {
  auto list = [&](auto types) {
    SmallVector<Attribute> dtypes;
    for (Type type : types)
      dtypes.push_back(dtypeAttr(type));
    return ArrayAttr::get(node->getContext(), dtypes);
  };
  attrs.set("Tin", list(node.data().getTypes()));
  attrs.set("Tout", list(results));
}

Node withResults(Node node, StringRef op, TypeRange moreElements,
                 ArrayRef<NamedAttribute> changed) {
  OpBuilder builder(node.getOperation());
  SmallVector<Type> more, types(node.results().getTypes());
  for (Type element : moreElements)
    more.push_back(UnrankedTensorType::get(element));
  llvm::append_range(types, more);
  NamedAttrList attrs = extendedAttrs(node, more);
  if (op != node.opType())
    stateTypes(attrs, node, types);
  for (NamedAttribute attr : changed)
    attrs.set(attr.getName(), attr.getValue());
  Node fresh = NodeBuilder(builder, op)
                   .placedAs(node)
                   .attrs(attrs)
                   .inputs(node.data())
                   .control(node.control())
                   .results(types)
                   .build();
  for (auto [from, to] : llvm::zip(node.results(), fresh.results()))
    from.replaceAllUsesWith(to);
  node.controlResult().replaceAllUsesWith(fresh.controlResult());
  node->erase();
  return fresh;
}

Value placeholderValue(Emitter &e, Type element) {
  if (isa<tf_type::ResourceType>(element))
    return {};
  if (isa<tf_type::StringType>(element))
    return e.to(element, "AsString", e.integer(0));
  if (!isa<tf_type::VariantType>(element))
    return e.number(0, element);
  Type i32 = e.builder.getI32Type();
  return e
      .emit("EmptyTensorList", {e.integer(-1), e.integer(0)}, element,
            {e.attr("element_dtype", i32), e.attr("shape_type", i32)})
      ->getResult(0);
}

Unexpected withFunctionContext(FuncOp function, Error error) {
  return Unexpected(
      Error{error.code, str("in the gradient of function '", std::string_view(function.getName()),
                            "': ", error.message)});
}

} // namespace treadle::tfg
