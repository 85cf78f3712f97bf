#include "treadle/lowering/Constants.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/import/Types.h"
#include "treadle/kernels/Families.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/lowering/Lowering.h"

using namespace mlir;

namespace treadle::tfg {

Type elementTypeOf(DType dtype, MLIRContext *context) {
  return graphdef::TypeTable(context).element(static_cast<int>(dtype));
}

RankedTensorType typeOf(const Tensor &tensor, MLIRContext *context) {
  return RankedTensorType::get(ArrayRef<int64_t>(tensor.dims().data(), tensor.rank()),
                               elementTypeOf(tensor.dtype(), context));
}

/// Whether dense attributes of this type have the same memory layout as tensors.
static bool hasDenseForm(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    type = complex.getElementType();
  return type.isIntOrFloat() && type.getIntOrFloatBitWidth() % 8 == 0 &&
         (isa<IntegerType>(type) || type.getIntOrFloatBitWidth() > 8);
}

static bool areAllEqual(const Tensor &tensor) {
  const char *bytes = tensor.data<char>();
  size_t size = dtypeSize(tensor.dtype());
  return std::memcmp(bytes, bytes + size, tensor.bytes() - size) == 0;
}

/// Encodes a tensor that has no dense form, or whose dense form wouldn't be exported unchanged.
static Attribute encodedAttribute(const Tensor &tensor, RankedTensorType type) {
  pb::TensorProto proto;
  proto.set_dtype(static_cast<pb::DataType>(tensor.dtype()));
  proto.mutable_tensor_shape();
  for (int64_t dim : tensor.dims())
    proto.mutable_tensor_shape()->add_dim()->set_size(dim);
  if (tensor.dtype() == DType::String) {
    for (const std::string &value : tensor.values<std::string>())
      proto.add_string_val(value);
  } else {
    proto.set_tensor_content(tensor.raw(), tensor.bytes());
  }
  return tf_type::TensorProtoAttr::get(type, proto.SerializeAsString());
}

Attribute attributeOf(const Tensor &tensor, MLIRContext *context) {
  if (!tensor || tensor.isRef() || tensor.dtype() == DType::Resource ||
      tensor.dtype() == DType::Variant)
    return {};
  RankedTensorType type = typeOf(tensor, context);
  if (tensor.count() > 0 && tensor.dtype() == DType::Bool)
    return DenseElementsAttr::get(
        type, ArrayRef<bool>(tensor.data<bool>(), static_cast<size_t>(tensor.count())));
  if (tensor.count() == 0 || !hasDenseForm(type.getElementType()))
    return encodedAttribute(tensor, type);
  size_t bytes = areAllEqual(tensor) ? dtypeSize(tensor.dtype()) : tensor.bytes();
  return DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(tensor.data<char>(), bytes));
}

Expected<AttrMap> kernelAttributes(Node node) {
  AttrMap attrs;
  for (NamedAttribute named : node.attrs()) {
    StringRef key = named.getName().getValue();
    if (isAboutNode(key))
      continue;
    AttrValue value = TREADLE_TRY(convertAttribute(named.getValue()));
    attrs.set(key, std::move(value));
  }
  addDefaults(node.opType(), attrs);
  return attrs;
}

Tensor Constants::valueOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !Node::isNode(op) || Node(op).opType() != "Const" || isFed(value))
    return {};
  auto [entry, isNew] = known.try_emplace(op);
  if (isNew)
    if (Attribute attr = Node(op).attr("value"))
      if (Expected<AttrValue> converted = convertAttribute(attr))
        if (Tensor *tensor = std::get_if<Tensor>(&*converted);
            tensor && tensor->dtype() == valueTypeOf(value.getType()).dtype)
          entry->second = std::move(*tensor);
  return entry->second;
}

std::optional<SmallVector<int64_t>> Constants::integersOf(Value value) {
  Tensor tensor = valueOf(value);
  if (!tensor)
    return std::nullopt;
  if (tensor.dtype() == DType::Int32)
    return llvm::to_vector(llvm::map_range(tensor.values<int32_t>(),
                                           [](int32_t v) { return static_cast<int64_t>(v); }));
  if (tensor.dtype() == DType::Int64)
    return SmallVector<int64_t>(tensor.values<int64_t>().begin(), tensor.values<int64_t>().end());
  return std::nullopt;
}

LogicalResult markFed(ModuleOp module, ArrayRef<std::string> feeds, Constants &constants) {
  if (feeds.empty())
    return success();
  ModuleIndex index(module);
  for (const std::string &feed : feeds) {
    Expected<ValueName> name = parseValueName(feed);
    if (!name)
      return emitError(UnknownLoc::get(module.getContext())) << name.error().message;
    Node node = index.node(name->node);
    if (node && static_cast<unsigned>(name->output) < node.numResults())
      constants.setFed(node->getResult(name->output));
  }
  return success();
}

Expected<void> checkSignature(Node node, const AttrMap &attrs) {
  NodeSpec spec;
  spec.name = node.name().str();
  spec.op = node.opType().str();
  spec.attrs = attrs;
  for (Value input : node.data())
    spec.inputTypes.push_back(valueTypeOf(input.getType()));
  for (Value result : node.results())
    spec.outputTypes.push_back(valueTypeOf(result.getType()));
  return treadle::checkSignature(spec);
}

Node buildConst(OpBuilder &builder, StringRef name, const Tensor &value, Node placedAs,
                ValueRange control) {
  Attribute attr = attributeOf(value, builder.getContext());
  if (!attr)
    return {};
  RankedTensorType type = typeOf(value, builder.getContext());
  return NodeBuilder(builder, "Const")
      .name(name)
      .placedAs(placedAs)
      .attr("dtype", mlir::TypeAttr::get(type.getElementType()))
      .attr("value", attr)
      .control(control)
      .results(type)
      .build();
}

/// A node may state a dtype that differs from that of its value.
static Expected<void> checkDTypes(Node node, ValueRange values, const std::vector<Tensor> &given) {
  for (auto [value, tensor] : llvm::zip(values, given))
    if (DType stated = valueTypeOf(value.getType()).dtype; tensor && tensor.dtype() != stated)
      return Unexpected(invalidArgument("node '", std::string_view(node.name()),
                                        "' has a value of ", dtypeName(tensor.dtype()),
                                        ", expected ", dtypeName(stated)));
  return {};
}

Expected<std::vector<Tensor>> evaluate(Node node, std::vector<Tensor> inputs) {
  AttrMap attrs = TREADLE_TRY(kernelAttributes(node));
  for (const auto &[name, value] : attrs)
    if (std::holds_alternative<FunctionRef>(value) ||
        std::holds_alternative<std::vector<FunctionRef>>(value))
      return Unexpected(unimplemented("node '", std::string_view(node.name()),
                                      "' calls functions, which requires a session"));
  TREADLE_TRY(checkSignature(node, attrs));
  TREADLE_TRY(checkDTypes(node, node.data(), inputs));
  std::vector<DType> types;
  for (Value result : node.results())
    types.push_back(valueTypeOf(result.getType()).dtype);
  auto results = TREADLE_TRY(
      runOp(builtinKernels(), node.opType(), attrs, std::move(inputs), std::move(types)));
  TREADLE_TRY(checkDTypes(node, node.results(), results));
  return results;
}

} // namespace treadle::tfg
