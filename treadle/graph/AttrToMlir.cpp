// Converts runtime attributes to IR attributes: the inverse of lowering/Attributes.h.
#include "treadle/graph/EditIndex.h"

#include "treadle/lowering/Constants.h"

using namespace mlir;

namespace treadle {
namespace {

class Converter {
public:
  Converter(MLIRContext *context, const graphdef::TypeTable &types)
      : context(context), types(types) {}

  Attribute operator()(std::monostate) const { return UnitAttr::get(context); }
  Attribute operator()(const std::string &value) const { return StringAttr::get(context, value); }
  Attribute operator()(int64_t value) const {
    return IntegerAttr::get(IntegerType::get(context, 64), value);
  }
  Attribute operator()(float value) const {
    return FloatAttr::get(Float32Type::get(context), value);
  }
  Attribute operator()(bool value) const { return BoolAttr::get(context, value); }
  Attribute operator()(TypeAttr value) const {
    constexpr int refOffset = 100;
    return types.attr(static_cast<int>(value.dtype) + (value.isRef ? refOffset : 0));
  }
  Attribute operator()(const PartialShape &value) const {
    SmallVector<int64_t> dims;
    for (int64_t dim : value.dims)
      dims.push_back(dim < 0 ? ShapedType::kDynamic : dim);
    return tf_type::ShapeAttr::get(context, dims, /*unknownRank=*/!value.hasRank);
  }
  Attribute operator()(const Tensor &value) const { return tfg::attributeOf(value, context); }
  Attribute operator()(const FunctionRef &value) const {
    SmallVector<NamedAttribute> attrs;
    if (value.attrs)
      for (const auto &[name, attr] : *value.attrs)
        attrs.emplace_back(StringAttr::get(context, name), std::visit(*this, attr));
    return tf_type::FuncAttr::get(context, value.name, DictionaryAttr::get(context, attrs));
  }
  template <typename T> Attribute operator()(const std::vector<T> &values) const {
    SmallVector<Attribute> elements;
    for (size_t i = 0; i < values.size(); ++i)
      elements.push_back((*this)(static_cast<T>(values[i])));
    if (llvm::is_contained(elements, Attribute()))
      return {};
    return ArrayAttr::get(context, elements);
  }

private:
  MLIRContext *context;
  const graphdef::TypeTable &types;
};

} // namespace

Attribute EditIndex::attribute(const AttrValue &value) const {
  return std::visit(Converter(context, types), value);
}

} // namespace treadle
