// Default attributes from op definitions.
#include "treadle/lowering/Lowering.h"
#include "treadle/ops/OpTable.h"

#include <algorithm>

namespace treadle {
namespace {

template <typename T, typename Convert> AttrValue oneOrMany(const AttrDef &attr, Convert convert) {
  if (!attr.isList())
    return AttrValue(T(convert(attr.defaultValues()[0])));
  std::vector<T> list;
  for (const AttrConstant &value : attr.defaultValues())
    list.push_back(convert(value));
  return AttrValue(std::move(list));
}

PartialShape shapeOf(const AttrConstant &value) {
  ShapeConstant shape = value.asShape();
  return {shape.hasRank, std::vector<int64_t>(shape.dims.begin(), shape.dims.end())};
}

AttrValue defaultOf(const AttrDef &attr) {
  switch (attr.kind()) {
  case AttrKind::String:
    return oneOrMany<std::string>(attr, [](auto v) { return std::string(v.asString()); });
  case AttrKind::Int:
    return oneOrMany<int64_t>(attr, [](auto v) { return v.asInt(); });
  case AttrKind::Float:
    return oneOrMany<float>(attr, [](auto v) { return v.asFloat(); });
  case AttrKind::Bool:
    return oneOrMany<bool>(attr, [](auto v) { return v.asBool(); });
  case AttrKind::Type:
    return oneOrMany<TypeAttr>(attr, [](auto v) { return TypeAttr{v.asType(), false}; });
  case AttrKind::Shape:
    return oneOrMany<PartialShape>(attr, shapeOf);
  case AttrKind::Func:
    return oneOrMany<FunctionRef>(
        attr, [](auto v) { return FunctionRef{std::string(v.asFunc()), nullptr}; });
  case AttrKind::Tensor:
    break; // no supported op has such a default
  }
  return {};
}

} // namespace

void addDefaults(std::string_view op, AttrMap &attrs) {
  const OpDef *def = lookupOp(op);
  if (!def)
    return;
  for (const AttrDef &attr : def->attrs())
    if (attr.hasDefault() && !attrs.has(attr.name()))
      attrs.set(attr.name(), defaultOf(attr));
}

} // namespace treadle
