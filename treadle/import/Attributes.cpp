// Converts AttrValue to mlir::Attribute, one function per kind.
#include "treadle/import/Attributes.h"
#include "treadle/import/UnknownFields.h"

#include <bit>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;
using tf_type::FullTypeAttr;
using tf_type::FuncAttr;
using tf_type::MessageAttr;
using tf_type::ShapeAttr;

std::string graphdef::serialize(const google::protobuf::Message &message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

std::optional<int64_t> graphdef::countElements(ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(count, dim, &count))
      return std::nullopt;
  return count;
}

AttributeImporter::AttributeImporter(MLIRContext *context, TypeTable &types)
    : context(context), types(types), i64(IntegerType::get(context, 64)),
      f32(Float32Type::get(context)), trueAttr(BoolAttr::get(context, true)),
      falseAttr(BoolAttr::get(context, false)), unit(UnitAttr::get(context)) {}

StringAttr AttributeImporter::string(std::string_view value) {
  return StringAttr::get(context, StringRef(value.data(), value.size()));
}

StringAttr AttributeImporter::key(StringRef name) {
  StringAttr &attr = keys[name];
  if (!attr)
    attr = StringAttr::get(context, name);
  return attr;
}

MessageAttr AttributeImporter::message(StringRef name, const google::protobuf::Message &message) {
  return MessageAttr::get(context, name, serialize(message));
}

// Converts the bits, to preserve the payload of a NaN.
Attribute AttributeImporter::floatAttr(float value) {
  return FloatAttr::get(f32,
                        APFloat(APFloat::IEEEsingle(), APInt(32, std::bit_cast<uint32_t>(value))));
}

ShapeAttr AttributeImporter::convert(const pb::TensorShapeProto &shape) {
  if (hasUnknownFields(shape) || (shape.unknown_rank() && shape.dim_size() != 0))
    return {};
  SmallVector<int64_t> dims;
  for (const pb::TensorShapeProto::Dim &dim : shape.dim()) {
    if (dim.size() < -1 || !dim.name().empty() || hasUnknownFields(dim))
      return {};
    dims.push_back(dim.size() == -1 ? ShapedType::kDynamic : dim.size());
  }
  return ShapeAttr::get(context, dims, shape.unknown_rank());
}

FullTypeAttr AttributeImporter::convert(const pb::FullTypeDef &type) {
  if (hasUnknownFields(type))
    return {};
  SmallVector<FullTypeAttr> args;
  for (const pb::FullTypeDef &arg : type.args()) {
    args.push_back(convert(arg));
    if (!args.back())
      return {};
  }
  Attribute value;
  if (type.attr_case() == pb::FullTypeDef::kS)
    value = string(type.s());
  else if (type.attr_case() == pb::FullTypeDef::kI)
    value = integer(type.i());
  return FullTypeAttr::get(context, type.type_id(), args, value);
}

Attribute AttributeImporter::convertTensor(const pb::TensorProto &tensor) {
  Type elementType = types.element(tensor.dtype());
  const pb::TensorShapeProto &shape = tensor.tensor_shape();
  if (!elementType || shape.unknown_rank())
    return {};
  SmallVector<int64_t> dims;
  for (const pb::TensorShapeProto::Dim &dim : shape.dim()) {
    if (dim.size() < 0)
      return {};
    dims.push_back(dim.size());
  }
  auto type = RankedTensorType::get(dims, elementType);
  if (std::optional<int64_t> count = countElements(dims))
    if (ElementsAttr dense = importDense(tensor, type, *count))
      return dense;
  return tf_type::TensorProtoAttr::get(type, serialize(tensor));
}

Expected<DictionaryAttr>
AttributeImporter::convert(const google::protobuf::Map<std::string, pb::AttrValue> &attrs) {
  SmallVector<NamedAttribute> converted;
  for (const auto &[key, value] : attrs) {
    if (key.empty())
      return Unexpected(invalidArgument("an attribute has an empty name, expected every attribute "
                                        "to have one"));
    Attribute attr = TREADLE_TRY(convert(value));
    converted.emplace_back(this->key(key), attr);
  }
  return DictionaryAttr::get(context, converted);
}

Expected<Attribute> AttributeImporter::convertFunc(const pb::NameAttrList &func) {
  if (hasUnknownFields(func))
    return Attribute();
  Expected<DictionaryAttr> attrs = convert(func.attr());
  if (!attrs)
    return Unexpected(invalidArgument("function '", func.name(), "': ", attrs.error().message));
  return FuncAttr::get(context, FlatSymbolRefAttr::get(string(func.name())), *attrs);
}

/// Counts the kinds of values in a list.
static int countKinds(const pb::AttrValue::ListValue &list) {
  return (list.s_size() > 0) + (list.i_size() > 0) + (list.f_size() > 0) + (list.b_size() > 0) +
         (list.type_size() > 0) + (list.shape_size() > 0) + (list.tensor_size() > 0) +
         (list.func_size() > 0);
}

Expected<Attribute> AttributeImporter::convertList(const pb::AttrValue &value) {
  const pb::AttrValue::ListValue &list = value.list();
  SmallVector<Attribute> attrs;
  for (const std::string &s : list.s())
    attrs.push_back(string(s));
  for (int64_t i : list.i())
    attrs.push_back(integer(i));
  for (float f : list.f())
    attrs.push_back(floatAttr(f));
  for (bool b : list.b())
    attrs.push_back(b ? trueAttr : falseAttr);
  for (int type : list.type())
    attrs.push_back(types.attr(type));
  for (const pb::TensorShapeProto &shape : list.shape())
    attrs.push_back(convert(shape));
  for (const pb::TensorProto &tensor : list.tensor())
    attrs.push_back(convertTensor(tensor));
  for (const pb::NameAttrList &func : list.func()) {
    Attribute attr = TREADLE_TRY(convertFunc(func));
    attrs.push_back(attr);
  }
  if (hasUnknownFields(list) || countKinds(list) > 1 ||
      llvm::any_of(attrs, [](Attribute attr) { return !attr; }))
    return fallback(value);
  return ArrayAttr::get(context, attrs);
}

Expected<Attribute> AttributeImporter::convert(const pb::AttrValue &value) {
  if (hasUnknownFields(value))
    return fallback(value);
  auto orFallback = [&](Attribute attr) { return attr ? attr : fallback(value); };
  switch (value.value_case()) {
  case pb::AttrValue::VALUE_NOT_SET:
    return unit;
  case pb::AttrValue::kS:
    return string(value.s());
  case pb::AttrValue::kI:
    return integer(value.i());
  case pb::AttrValue::kF:
    return floatAttr(value.f());
  case pb::AttrValue::kB:
    return value.b() ? trueAttr : falseAttr;
  case pb::AttrValue::kType:
    return orFallback(types.attr(value.type()));
  case pb::AttrValue::kShape:
    return orFallback(convert(value.shape()));
  case pb::AttrValue::kTensor:
    return orFallback(convertTensor(value.tensor()));
  case pb::AttrValue::kList:
    return convertList(value);
  case pb::AttrValue::kFunc: {
    Expected<Attribute> func = convertFunc(value.func());
    return func ? orFallback(*func) : func;
  }
  case pb::AttrValue::kPlaceholder:
    return tf_type::PlaceholderAttr::get(context, value.placeholder());
  }
  return fallback(value);
}
