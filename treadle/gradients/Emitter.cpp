#include "treadle/gradients/Emitter.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace treadle::tfg {

Type elementOf(Value value) {
  return tf_type::dereference(cast<TensorType>(value.getType()).getElementType());
}

std::optional<ArrayRef<int64_t>> staticShape(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  return type.getShape();
}

static OpBuilder builderAtEnd(Block &body) {
  return isa<FuncOp>(body.getParentOp()) ? OpBuilder(body.getTerminator())
                                         : OpBuilder::atBlockEnd(&body);
}

Emitter::Emitter(Block &body) : builder(builderAtEnd(body)), names(body) {}

Node Emitter::emitForward(StringRef op, ValueRange inputs, TypeRange elements, Attrs attrs) {
  SmallVector<Type> types;
  for (Type element : elements)
    types.push_back(UnrankedTensorType::get(element));
  return NodeBuilder(builder, op)
      .name(names.unique(origin + "_grad/" + op.str()))
      .attrs(attrs)
      .inputs(inputs)
      .results(types)
      .build();
}

Node Emitter::emit(StringRef op, ValueRange inputs, TypeRange elements, Attrs attrs) {
  Node node = emitForward(op, inputs, elements, attrs);
  emitted.push_back(node.getOperation());
  return node;
}

Value Emitter::to(Type element, StringRef op, ValueRange inputs, Attrs attrs) {
  SmallVector<NamedAttribute> all(attrs);
  all.push_back(attr("T", dtypeAttr(inputs[0].getType())));
  return emit(op, inputs, element, all)->getResult(0);
}

Value Emitter::same(StringRef op, ValueRange inputs, Attrs attrs) {
  return to(elementOf(inputs[0]), op, inputs, attrs);
}

static Value constant(Emitter &e, DenseElementsAttr value) {
  Node node = e.emit("Const", {}, value.getElementType(),
                     {e.attr("dtype", value.getElementType()), e.attr("value", value)});
  node->getResult(0).setType(value.getType());
  return node->getResult(0);
}

Value Emitter::integer(int32_t value) { return number(value, builder.getI32Type()); }

Value Emitter::integers(ArrayRef<int32_t> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getI32Type());
  return constant(*this, DenseIntElementsAttr::get(type, values));
}

Value Emitter::number(double value, Type element) {
  auto scalar = RankedTensorType::get({}, element);
  if (isa<FloatType>(element))
    return constant(*this, DenseElementsAttr::get(scalar, builder.getFloatAttr(element, value)));
  if (auto integer = dyn_cast<IntegerType>(element)) {
    APInt bits(integer.getWidth(), static_cast<int64_t>(value), /*isSigned=*/true);
    return constant(*this, DenseElementsAttr::get(scalar, bits));
  }
  return cast(number(value, builder.getF32Type()), element);
}

Value Emitter::cast(Value x, Type element) {
  if (elementOf(x) == element)
    return x;
  return emit("Cast", x, element, {attr("SrcT", elementOf(x)), attr("DstT", element)})
      ->getResult(0);
}

Value Emitter::shapeOf(Value x) {
  Value &shape = shapes[x];
  if (shape)
    return shape;
  if (auto known = staticShape(x))
    shape = integers(SmallVector<int32_t>(known->begin(), known->end()));
  else
    shape = to(builder.getI32Type(), "Shape", x, attr("out_type", builder.getI32Type()));
  return shape;
}

void Emitter::moveShape(Value from, Value to) {
  if (Value shape = shapes.lookup(from))
    shapes[to] = shape;
  shapes.erase(from);
}

Value Emitter::fill(Value shape, Value number) {
  Type element = elementOf(number);
  return emit("Fill", {shape, number}, element,
              {attr("T", element), attr("index_type", elementOf(shape))})
      ->getResult(0);
}

Value Emitter::zerosLike(Value x) {
  if (!isa<tf_type::ResourceType>(elementOf(x)))
    return same("ZerosLike", x);
  Type i32 = builder.getI32Type();
  Value shape = emit("VariableShape", x, i32, attr("out_type", i32))->getResult(0);
  return fill(shape, number(0, gradientElement(x)));
}

/// Returns the variable's dtype, which a node that produces or uses its handle specifies.
static Type statedVariable(Node node) {
  bool isOfVariables = llvm::StringSwitch<bool>(node.opType())
                           .Cases({"VarHandleOp", "ReadVariableOp", "ResourceGather"}, true)
                           .Cases({"AssignVariableOp", "AssignAddVariableOp"}, true)
                           .Cases({"AssignSubVariableOp", "ResourceGatherNd"}, true)
                           .Default(false);
  auto stated = isOfVariables ? node.attr<TypeAttr>("dtype") : TypeAttr();
  return stated ? stated.getValue() : Type();
}

Type Emitter::gradientElement(Value value) {
  auto handle = dyn_cast<tf_type::ResourceType>(elementOf(value));
  if (!handle)
    return elementOf(value);
  if (!handle.getSubtypes().empty())
    return handle.getSubtypes().front().getElementType();
  if (Type known = variableElements.lookup(value))
    return known;
  Node node = definingNode(value);
  if (node && node.opType() == "Identity")
    return gradientElement(node->getOperand(0));
  if (Type stated = node ? statedVariable(node) : Type())
    return stated;
  for (Operation *user : value.getUsers())
    if (Type stated = Node::isNode(user) ? statedVariable(Node(user)) : Type())
      return stated;
  return builder.getF32Type();
}

Value Emitter::reshape(Value x, Value shape) {
  return same("Reshape", {x, shape}, attr("Tshape", elementOf(shape)));
}

Value Emitter::broadcastTo(Value x, Value shape) {
  return same("BroadcastTo", {x, shape}, attr("Tidx", elementOf(shape)));
}

Value Emitter::sum(Value x, Value axes, bool keepDims) {
  return same("Sum", {x, axes}, {attr("Tidx", elementOf(axes)), attr("keep_dims", keepDims)});
}

Value Emitter::slice(Value x, Value begin, Value size) {
  return same("Slice", {x, begin, size}, attr("Index", elementOf(begin)));
}

Value Emitter::concat(ValueRange parts, Value axis) {
  SmallVector<Value> inputs(parts);
  inputs.push_back(axis);
  return same("ConcatV2", inputs, {integerAttr("N", parts.size()), attr("Tidx", elementOf(axis))});
}

Value Emitter::add(ValueRange terms) {
  return terms.size() == 1 ? terms[0] : same("AddN", terms, integerAttr("N", terms.size()));
}

Value Emitter::range(Value limit) {
  Type element = elementOf(limit);
  return emit("Range", {number(0, element), limit, number(1, element)}, element,
              attr("Tidx", element))
      ->getResult(0);
}

std::pair<Value, Value> Emitter::broadcastAxes(Value shapeX, Value shapeY) {
  Type element = elementOf(shapeX);
  Node node =
      emit("BroadcastGradientArgs", {shapeX, shapeY}, {element, element}, attr("T", element));
  return {node->getResult(0), node->getResult(1)};
}

NamedAttribute Emitter::attr(StringRef name, Attribute value) {
  return builder.getNamedAttr(name, value);
}

NamedAttribute Emitter::attr(StringRef name, bool value) {
  return attr(name, Attribute(builder.getBoolAttr(value)));
}

NamedAttribute Emitter::attr(StringRef name, Type element) {
  return attr(name, Attribute(TypeAttr::get(element)));
}

NamedAttribute Emitter::integerAttr(StringRef name, int64_t value) {
  return attr(name, Attribute(builder.getI64IntegerAttr(value)));
}

SmallVector<NamedAttribute> Emitter::attrsOf(Node node, ArrayRef<StringRef> names) {
  SmallVector<NamedAttribute> found;
  for (StringRef name : names)
    if (Attribute value = node.attr(name))
      found.push_back(attr(name, value));
  return found;
}

void Emitter::fail(Error error) {
  if (!failure)
    failure = std::move(error);
}

void Emitter::eraseUnused(ValueRange kept) {
  llvm::DenseSet<Operation *> giving, gone;
  for (Value value : kept)
    if (value)
      giving.insert(value.getDefiningOp());
  for (Operation *op : llvm::reverse(emitted))
    if (op->use_empty() && !giving.contains(op)) {
      gone.insert(op);
      op->erase();
    }
  llvm::erase_if(emitted, [&](Operation *op) { return gone.contains(op); });
}

} // namespace treadle::tfg
