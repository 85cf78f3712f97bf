// mlir::Attribute to AttrValue.
#include "treadle/export/Attributes.h"

#include "treadle/import/Types.h"

#include "llvm/ADT/TypeSwitch.h"

#include <bit>

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;
using tf_type::FullTypeAttr;
using tf_type::FuncAttr;
using tf_type::MessageAttr;
using tf_type::PlaceholderAttr;
using tf_type::ShapeAttr;
using tf_type::TensorProtoAttr;

static std::string text(Attribute attr) {
  std::string result;
  llvm::raw_string_ostream(result) << attr;
  constexpr size_t maxShown = 80;
  if (result.size() > maxShown)
    result.replace(maxShown, std::string::npos, "...");
  return result;
}

static Unexpected noPlace(Attribute attr) {
  return Unexpected(unimplemented("attribute ", text(attr),
                                  " has no place in a GraphDef, expected "
                                  "a string, i64, f32, bool, type, shape, tensor, function, "
                                  "placeholder, or a list of one of them"));
}

Expected<void> graphdef::mergeMessage(Attribute attr, StringRef name,
                                      google::protobuf::Message &message) {
  auto kept = dyn_cast<MessageAttr>(attr);
  if (!kept || kept.getMessage() != name)
    return Unexpected(
        invalidArgument("found ", text(attr), ", expected a #tf_type.message of a ", name.str()));
  auto parsed = std::unique_ptr<google::protobuf::Message>(message.New());
  if (!parsed->ParsePartialFromArray(kept.getValue().data(),
                                     static_cast<int>(kept.getValue().size())))
    return Unexpected(invalidArgument("the bytes of ", text(attr), " are no ", name.str()));
  message.MergeFrom(*parsed);
  return {};
}

Expected<pb::DataType> graphdef::exportType(Type elementType) {
  if (std::optional<int> dtype = dtypeOf(elementType))
    return static_cast<pb::DataType>(*dtype);
  std::string name;
  llvm::raw_string_ostream(name) << elementType;
  return Unexpected(unimplemented("type ", name, " is no dtype of TensorFlow"));
}

void graphdef::exportShape(ShapeAttr shape, pb::TensorShapeProto &proto) {
  proto.set_unknown_rank(!shape.hasRank());
  for (int64_t dim : shape.getDims())
    proto.add_dim()->set_size(ShapedType::isDynamic(dim) ? -1 : dim);
}

void graphdef::exportFullType(FullTypeAttr type, pb::FullTypeDef &proto) {
  proto.set_type_id(static_cast<pb::FullTypeId>(type.getTypeId()));
  for (FullTypeAttr arg : type.getArgs())
    exportFullType(arg, *proto.add_args());
  if (auto string = dyn_cast_or_null<StringAttr>(type.getAttr()))
    proto.set_s(string.str());
  else if (auto integer = dyn_cast_or_null<IntegerAttr>(type.getAttr()))
    proto.set_i(integer.getInt());
}

Expected<void> graphdef::exportAttrs(DictionaryAttr attrs,
                                     google::protobuf::Map<std::string, pb::AttrValue> &map) {
  for (NamedAttribute attr : attrs)
    TREADLE_TRY(exportAttr(attr.getValue(), map[attr.getName().str()]));
  return {};
}

/// By bits: the payload of a NaN has to stay.
static float toFloat(FloatAttr attr) {
  return std::bit_cast<float>(
      static_cast<uint32_t>(attr.getValue().bitcastToAPInt().getZExtValue()));
}

static Expected<void> exportFunc(SymbolRefAttr name, DictionaryAttr attrs, pb::NameAttrList &func) {
  func.set_name(name.getRootReference().str());
  return attrs ? exportAttrs(attrs, *func.mutable_attr()) : Expected<void>();
}

static Expected<void> exportElement(Attribute attr, pb::AttrValue::ListValue &list) {
  using Result = Expected<void>;
  return llvm::TypeSwitch<Attribute, Result>(attr)
      .Case([&](StringAttr s) -> Result { return list.add_s(s.str()), Result(); })
      .Case([&](IntegerAttr i) -> Result {
        if (i.getType().isInteger(1))
          return list.add_b(i.getValue().getBoolValue()), Result();
        if (i.getType().isIndex() || i.getType().getIntOrFloatBitWidth() > 64)
          return noPlace(attr);
        return list.add_i(i.getValue().getSExtValue()), Result();
      })
      .Case([&](FloatAttr f) -> Result {
        if (!f.getType().isF32())
          return noPlace(attr);
        return list.add_f(toFloat(f)), Result();
      })
      .Case([&](mlir::TypeAttr type) -> Result {
        pb::DataType dtype = TREADLE_TRY(exportType(type.getValue()));
        return list.add_type(dtype), Result();
      })
      .Case([&](ShapeAttr shape) -> Result {
        return exportShape(shape, *list.add_shape()), Result();
      })
      .Case([&](FuncAttr func) {
        return exportFunc(func.getName(), func.getAttrs(), *list.add_func());
      })
      .Case([&](FlatSymbolRefAttr name) { return exportFunc(name, {}, *list.add_func()); })
      .Case<TensorProtoAttr, ElementsAttr>(
          [&](auto tensor) { return exportTensor(tensor, *list.add_tensor()); })
      .Default([](Attribute attr) -> Result { return noPlace(attr); });
}

static int countKinds(const pb::AttrValue::ListValue &list) {
  return (list.s_size() > 0) + (list.i_size() > 0) + (list.f_size() > 0) + (list.b_size() > 0) +
         (list.type_size() > 0) + (list.shape_size() > 0) + (list.tensor_size() > 0) +
         (list.func_size() > 0);
}

static Expected<void> exportList(ArrayAttr attrs, pb::AttrValue::ListValue &list) {
  for (Attribute attr : attrs)
    TREADLE_TRY(exportElement(attr, list));
  // Elements of several kinds would lose their order.
  return countKinds(list) > 1 ? Expected<void>(noPlace(attrs)) : Expected<void>();
}

Expected<void> graphdef::exportAttr(Attribute attr, pb::AttrValue &value) {
  using Result = Expected<void>;
  return llvm::TypeSwitch<Attribute, Result>(attr)
      .Case([](UnitAttr) { return Result(); })
      .Case([&](StringAttr s) -> Result {
        return value.set_s(s.getValue().data(), s.size()), Result();
      })
      .Case([&](IntegerAttr i) -> Result {
        if (i.getType().isInteger(1))
          return value.set_b(i.getValue().getBoolValue()), Result();
        if (i.getType().isIndex() || i.getType().getIntOrFloatBitWidth() > 64)
          return noPlace(attr);
        return value.set_i(i.getValue().getSExtValue()), Result();
      })
      .Case([&](FloatAttr f) -> Result {
        if (!f.getType().isF32())
          return noPlace(attr);
        return value.set_f(toFloat(f)), Result();
      })
      .Case([&](mlir::TypeAttr type) -> Result {
        pb::DataType dtype = TREADLE_TRY(exportType(type.getValue()));
        return value.set_type(dtype), Result();
      })
      .Case([&](ShapeAttr shape) -> Result {
        return exportShape(shape, *value.mutable_shape()), Result();
      })
      .Case([&](FuncAttr func) {
        return exportFunc(func.getName(), func.getAttrs(), *value.mutable_func());
      })
      .Case([&](FlatSymbolRefAttr name) { return exportFunc(name, {}, *value.mutable_func()); })
      .Case([&](PlaceholderAttr name) -> Result {
        return value.set_placeholder(name.getValue().str()), Result();
      })
      .Case([&](ArrayAttr list) { return exportList(list, *value.mutable_list()); })
      .Case([&](MessageAttr message) { return mergeMessage(message, "AttrValue", value); })
      .Case<TensorProtoAttr, ElementsAttr>(
          [&](auto tensor) { return exportTensor(tensor, *value.mutable_tensor()); })
      .Default([](Attribute attr) -> Result { return noPlace(attr); });
}
