// Converts mlir::Attribute to AttrValue.
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

static Unexpected unrepresentable(Attribute attr) {
  return Unexpected(
      unimplemented("attribute ", text(attr),
                    " can't be stored in a GraphDef, expected a string, i64, f32, bool, type, "
                    "shape, tensor, function, placeholder, or a list of one of them"));
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
    return Unexpected(
        invalidArgument("the bytes of ", text(attr), " don't parse as a ", name.str()));
  message.MergeFrom(*parsed);
  return {};
}

Expected<pb::DataType> graphdef::exportType(Type elementType) {
  if (std::optional<int> dtype = dtypeOf(elementType))
    return static_cast<pb::DataType>(*dtype);
  std::string name;
  llvm::raw_string_ostream(name) << elementType;
  return Unexpected(unimplemented("type ", name, " isn't a TensorFlow dtype"));
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

/// Converts the bits, to preserve the payload of a NaN.
static float toFloat(FloatAttr attr) {
  return std::bit_cast<float>(
      static_cast<uint32_t>(attr.getValue().bitcastToAPInt().getZExtValue()));
}

static Expected<void> exportFunc(SymbolRefAttr name, DictionaryAttr attrs, pb::NameAttrList &func) {
  func.set_name(name.getRootReference().str());
  return attrs ? exportAttrs(attrs, *func.mutable_attr()) : Expected<void>();
}

/// The fields for one value: of an attribute, or of a new element of a list.
struct InValue {
  pb::AttrValue &of;
  void s(StringRef value) const { of.set_s(value.data(), value.size()); }
  void i(int64_t value) const { of.set_i(value); }
  void f(float value) const { of.set_f(value); }
  void b(bool value) const { of.set_b(value); }
  void type(pb::DataType value) const { of.set_type(value); }
  pb::TensorShapeProto &shape() const { return *of.mutable_shape(); }
  pb::TensorProto &tensor() const { return *of.mutable_tensor(); }
  pb::NameAttrList &func() const { return *of.mutable_func(); }
};
struct InList {
  pb::AttrValue::ListValue &of;
  void s(StringRef value) const { of.add_s(value.data(), value.size()); }
  void i(int64_t value) const { of.add_i(value); }
  void f(float value) const { of.add_f(value); }
  void b(bool value) const { of.add_b(value); }
  void type(pb::DataType value) const { of.add_type(value); }
  pb::TensorShapeProto &shape() const { return *of.add_shape(); }
  pb::TensorProto &tensor() const { return *of.add_tensor(); }
  pb::NameAttrList &func() const { return *of.add_func(); }
};

template <typename Place> static Expected<void> exportOne(Attribute attr, Place place) {
  using Result = Expected<void>;
  return llvm::TypeSwitch<Attribute, Result>(attr)
      .Case([&](StringAttr s) -> Result { return place.s(s), Result(); })
      .Case([&](IntegerAttr i) -> Result {
        if (i.getType().isInteger(1))
          return place.b(i.getValue().getBoolValue()), Result();
        if (i.getType().isIndex() || i.getType().getIntOrFloatBitWidth() > 64)
          return unrepresentable(attr);
        return place.i(i.getValue().getSExtValue()), Result();
      })
      .Case([&](FloatAttr f) -> Result {
        if (!f.getType().isF32())
          return unrepresentable(attr);
        return place.f(toFloat(f)), Result();
      })
      .Case([&](mlir::TypeAttr type) -> Result {
        pb::DataType dtype = TREADLE_TRY(exportType(type.getValue()));
        return place.type(dtype), Result();
      })
      .Case([&](ShapeAttr shape) -> Result { return exportShape(shape, place.shape()), Result(); })
      .Case(
          [&](FuncAttr func) { return exportFunc(func.getName(), func.getAttrs(), place.func()); })
      .Case([&](FlatSymbolRefAttr name) { return exportFunc(name, {}, place.func()); })
      .template Case<TensorProtoAttr, ElementsAttr>(
          [&](auto tensor) { return exportTensor(tensor, place.tensor()); })
      .Default([](Attribute attr) -> Result { return unrepresentable(attr); });
}

static int countKinds(const pb::AttrValue::ListValue &list) {
  return (list.s_size() > 0) + (list.i_size() > 0) + (list.f_size() > 0) + (list.b_size() > 0) +
         (list.type_size() > 0) + (list.shape_size() > 0) + (list.tensor_size() > 0) +
         (list.func_size() > 0);
}

static Expected<void> exportList(ArrayAttr attrs, pb::AttrValue::ListValue &list) {
  for (Attribute attr : attrs)
    TREADLE_TRY(exportOne(attr, InList{list}));
  // Elements of several kinds would lose their order.
  return countKinds(list) > 1 ? Expected<void>(unrepresentable(attrs)) : Expected<void>();
}

Expected<void> graphdef::exportAttr(Attribute attr, pb::AttrValue &value) {
  if (isa<UnitAttr>(attr))
    return {};
  if (auto name = dyn_cast<PlaceholderAttr>(attr))
    return value.set_placeholder(name.getValue().str()), Expected<void>();
  if (auto list = dyn_cast<ArrayAttr>(attr))
    return exportList(list, *value.mutable_list());
  if (auto message = dyn_cast<MessageAttr>(attr))
    return mergeMessage(message, "AttrValue", value);
  return exportOne(attr, InValue{value});
}
