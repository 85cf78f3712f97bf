#include "treadle/lowering/Attributes.h"

#include "treadle/lowering/Lowering.h"

#include "treadle/import/Types.h"
#include "treadle/proto/attr_value.pb.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace treadle {
namespace {

using mlir::dyn_cast;
using mlir::isa;

Expected<Tensor> convertDense(mlir::DenseIntOrFPElementsAttr dense) {
  mlir::ShapedType type = dense.getType();
  DType dtype = valueTypeOf(type).dtype;
  Expected<Tensor> tensor = Tensor::make(dtype, Dims(type.getShape().data(), type.getRank()));
  if (!tensor || tensor->count() == 0)
    return tensor;
  if (dtype == DType::Bool) {
    bool *out = tensor->data<bool>();
    for (bool value : dense.getValues<bool>())
      *out++ = value;
    return tensor;
  }
  llvm::ArrayRef<char> raw = dense.getRawData();
  auto *out = static_cast<char *>(tensor->raw());
  size_t size = dtypeSize(dtype);
  if (!dense.isSplat()) {
    std::memcpy(out, raw.data(), tensor->bytes());
    return tensor;
  }
  for (int64_t i = 0; i < tensor->count(); ++i)
    std::memcpy(out + i * size, raw.data(), size);
  return tensor;
}

Expected<Tensor> convertStrings(mlir::DenseStringElementsAttr dense) {
  mlir::ShapedType type = dense.getType();
  Tensor tensor =
      TREADLE_TRY(Tensor::make(DType::String, Dims(type.getShape().data(), type.getRank())));
  llvm::ArrayRef<llvm::StringRef> values = dense.getRawStringData();
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.data<std::string>()[i] = values[dense.isSplat() ? 0 : i].str();
  return tensor;
}

PartialShape convertShape(tf_type::ShapeAttr shape) {
  PartialShape out;
  out.hasRank = shape.hasRank();
  for (int64_t d : shape.getDims())
    out.dims.push_back(mlir::ShapedType::isDynamic(d) ? -1 : d);
  return out;
}

Expected<FunctionRef> convertFunction(tf_type::FuncAttr func) {
  FunctionRef out{func.getName().getRootReference().str(), nullptr};
  if (func.getAttrs() && !func.getAttrs().empty()) {
    AttrMap attrs = TREADLE_TRY(convertAttributes(func.getAttrs()));
    out.attrs = std::make_shared<const AttrMap>(std::move(attrs));
  }
  return out;
}

template <typename T>
Expected<AttrValue> convertList(mlir::ArrayAttr array, std::vector<T> list = {}) {
  for (mlir::Attribute element : array) {
    AttrValue value = TREADLE_TRY(convertAttribute(element));
    T *typed = std::get_if<T>(&value);
    if (!typed)
      return Unexpected(invalidArgument("a list has values of several kinds"));
    list.push_back(std::move(*typed));
  }
  return AttrValue(std::move(list));
}

Expected<AttrValue> convertArray(mlir::ArrayAttr array) {
  if (array.empty())
    return AttrValue(std::vector<int64_t>()); // serves as a list of any type
  AttrValue first = TREADLE_TRY(convertAttribute(array[0]));
  return std::visit(
      [&](const auto &value) -> Expected<AttrValue> {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate> || detail::IsVector<T>::value)
          return Unexpected(invalidArgument("a list has values of an unknown kind"));
        else
          return convertList<T>(array);
      },
      first);
}

Expected<AttrValue> asValue(Expected<Tensor> tensor) {
  return std::move(tensor).map([](Tensor t) { return AttrValue(std::move(t)); });
}

Expected<AttrValue> convertMessage(tf_type::MessageAttr message) {
  pb::AttrValue value;
  if (message.getMessage() != "AttrValue" || !value.ParseFromString(message.getValue().str()))
    return AttrValue();
  switch (value.value_case()) {
  case pb::AttrValue::kTensor:
    return asValue(tensorFromProto(value.tensor()));
  case pb::AttrValue::kS:
    return AttrValue(value.s());
  case pb::AttrValue::kI:
    return AttrValue(int64_t{value.i()});
  case pb::AttrValue::kF:
    return AttrValue(value.f());
  case pb::AttrValue::kB:
    return AttrValue(value.b());
  case pb::AttrValue::kType: {
    int dtype = value.type();
    bool isRef = dtype > refOffset;
    return AttrValue(TypeAttr{static_cast<DType>(isRef ? dtype - refOffset : dtype), isRef});
  }
  case pb::AttrValue::kShape: {
    PartialShape shape{!value.shape().unknown_rank(), {}};
    for (const auto &dim : value.shape().dim())
      shape.dims.push_back(dim.size());
    return AttrValue(std::move(shape));
  }
  default:
    return AttrValue();
  }
}

} // namespace

ValueType valueTypeOf(mlir::Type type) {
  if (auto shaped = dyn_cast<mlir::ShapedType>(type))
    type = shaped.getElementType();
  std::optional<int> dtype = graphdef::dtypeOf(type);
  if (!dtype)
    return {};
  bool isRef = *dtype > refOffset;
  int base = isRef ? *dtype - refOffset : *dtype;
  return {base < numDTypes ? static_cast<DType>(base) : DType::Invalid, isRef};
}

Expected<AttrValue> convertAttribute(mlir::Attribute attr) {
  if (auto a = dyn_cast<mlir::StringAttr>(attr))
    return AttrValue(a.getValue().str());
  if (auto a = dyn_cast<mlir::BoolAttr>(attr))
    return AttrValue(a.getValue());
  if (auto a = dyn_cast<mlir::IntegerAttr>(attr))
    return AttrValue(static_cast<int64_t>(a.getValue().getSExtValue()));
  if (auto a = dyn_cast<mlir::FloatAttr>(attr))
    return AttrValue(static_cast<float>(a.getValueAsDouble()));
  if (auto a = dyn_cast<mlir::TypeAttr>(attr)) {
    ValueType type = valueTypeOf(a.getValue());
    return AttrValue(TypeAttr{type.dtype, type.isRef});
  }
  if (auto a = dyn_cast<mlir::DenseIntOrFPElementsAttr>(attr))
    return asValue(convertDense(a));
  if (auto a = dyn_cast<mlir::DenseStringElementsAttr>(attr))
    return asValue(convertStrings(a));
  if (auto a = dyn_cast<tf_type::TensorProtoAttr>(attr)) {
    pb::TensorProto proto;
    if (!proto.ParseFromString(a.getValue().str()))
      return Unexpected(invalidArgument("a tensor_proto attribute doesn't parse as a TensorProto"));
    return asValue(tensorFromProto(proto));
  }
  if (auto a = dyn_cast<tf_type::ShapeAttr>(attr))
    return AttrValue(convertShape(a));
  if (auto a = dyn_cast<tf_type::FuncAttr>(attr))
    return convertFunction(a).map([](FunctionRef f) { return AttrValue(std::move(f)); });
  if (auto a = dyn_cast<mlir::ArrayAttr>(attr))
    return convertArray(a);
  if (auto a = dyn_cast<tf_type::MessageAttr>(attr))
    return convertMessage(a);
  return AttrValue(); // a unit or placeholder, which kernels don't use
}

Expected<AttrMap> convertAttributes(mlir::DictionaryAttr attrs) {
  AttrMap out;
  for (mlir::NamedAttribute named : attrs) {
    AttrValue value = TREADLE_TRY(convertAttribute(named.getValue()));
    out.set(named.getName().getValue(), std::move(value));
  }
  return out;
}

} // namespace treadle
