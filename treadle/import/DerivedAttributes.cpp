#include "treadle/import/DerivedAttributes.h"

#include "treadle/dialect/TfType.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

namespace {

/// Returns the attribute that specifies the length of a list; empty for an argument that is one
/// value.
StringRef lengthKey(const ArgDef &arg) {
  return arg.typeListAttr().empty() ? StringRef(arg.numberAttr()) : StringRef(arg.typeListAttr());
}

std::optional<unsigned> lengthOf(Attribute attr) {
  if (auto list = dyn_cast_or_null<ArrayAttr>(attr))
    return list.size();
  auto number = dyn_cast_or_null<IntegerAttr>(attr);
  if (number && number.getType().isSignlessInteger(64) && number.getInt() >= 0)
    return number.getInt();
  return std::nullopt;
}

/// Returns the dtype of a value as attributes state it: without references and subtypes of handles.
/// Null if the type doesn't determine it.
Type statedType(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor)
    return {};
  Type element = tf_type::dereference(tensor.getElementType());
  if (isa<tf_type::UnknownType>(element))
    return {};
  if (isa<tf_type::ResourceType>(element))
    return tf_type::ResourceType::get(type.getContext());
  if (isa<tf_type::VariantType>(element))
    return tf_type::VariantType::get(type.getContext());
  return element;
}

/// The attribute with the element dtype of a list.
constexpr StringLiteral elementDtypeKey = "element_dtype";

/// Returns the element type in the type of a list: `!tf_type.variant<tensor<2xf32>>`.
Type elementTypeOf(Type type) {
  auto variant = dyn_cast<tf_type::VariantType>(getElementTypeOrSelf(type));
  if (!variant || variant.getSubtypes().size() != 1)
    return {};
  return statedType(variant.getSubtypes().front());
}

class AttributeDerivation {
public:
  AttributeDerivation(const NamedAttrList &stated, MLIRContext *context)
      : stated(stated), builder(context) {}

  /// Adds what the inputs or the outputs determine. Returns false if the types can't be assigned to
  /// arguments yet.
  bool add(std::span<const ArgDef> args, TypeRange types, StringRef segmentsKey) {
    std::optional<SmallVector<unsigned>> lengths = split(args, types.size(), segmentsKey);
    if (!lengths)
      return false;
    for (auto [arg, length] : llvm::zip(args, *lengths)) {
      addArg(arg, types.take_front(length));
      types = types.drop_front(length);
    }
    return true;
  }

  /// For an op that creates an empty list, only the list's type contains the element dtype.
  void addElementType(const OpDef &op, TypeRange outputs) {
    if (!op.findAttr(elementDtypeKey))
      return;
    for (Type output : outputs)
      if (Type dtype = elementTypeOf(output))
        return set(elementDtypeKey, TypeAttr::get(dtype));
  }

  NamedAttrList derived;

private:
  Attribute known(StringRef key) const {
    Attribute attr = stated.get(key);
    return attr ? attr : derived.get(key);
  }

  /// Returns the number of types that belong to each argument.
  std::optional<SmallVector<unsigned>> split(std::span<const ArgDef> args, size_t total,
                                             StringRef segmentsKey) const {
    SmallVector<unsigned> lengths;
    if (auto segments = dyn_cast_or_null<DenseI32ArrayAttr>(stated.get(segmentsKey))) {
      llvm::append_range(lengths, segments.asArrayRef());
    } else {
      // One length may be unknown: it follows from the total, shared by all lists that use it.
      StringRef open;
      size_t numOpen = 0, sum = 0;
      for (const ArgDef &arg : args) {
        StringRef key = lengthKey(arg);
        std::optional<unsigned> length = key.empty() ? 1 : lengthOf(known(key));
        lengths.push_back(length.value_or(0));
        sum += lengths.back();
        if (length)
          continue;
        if (numOpen++ && key != open)
          return std::nullopt;
        open = key;
      }
      if (numOpen && (sum > total || (total - sum) % numOpen != 0))
        return std::nullopt;
      for (auto [arg, length] : llvm::zip(args, lengths))
        if (numOpen && lengthKey(arg) == open)
          length = (total - sum) / numOpen;
    }
    if (lengths.size() != args.size() || llvm::sum_of(lengths, size_t(0)) != total)
      return std::nullopt;
    return lengths;
  }

  void addArg(const ArgDef &arg, TypeRange types) {
    if (!arg.typeListAttr().empty())
      addTypeList(arg.typeListAttr(), types);
    if (!arg.numberAttr().empty())
      set(arg.numberAttr(), builder.getI64IntegerAttr(types.size()));
    if (arg.typeAttr().empty())
      return;
    for (Type type : types)
      if (Type dtype = statedType(type))
        return set(arg.typeAttr(), TypeAttr::get(dtype));
  }

  void addTypeList(std::string_view key, TypeRange types) {
    SmallVector<Type> dtypes;
    for (Type type : types)
      dtypes.push_back(statedType(type));
    if (llvm::all_of(dtypes, [](Type type) { return bool(type); }))
      set(key, builder.getTypeArrayAttr(dtypes));
  }

  void set(std::string_view key, Attribute value) {
    if (!derived.get(StringRef(key)))
      derived.append(StringRef(key), value);
  }

  const NamedAttrList &stated;
  Builder builder;
};

} // namespace

NamedAttrList graphdef::deriveAttributes(const OpDef &op, TypeRange inputs, TypeRange outputs,
                                         const NamedAttrList &stated, MLIRContext *context) {
  AttributeDerivation derivation(stated, context);
  bool areInputsKnown = derivation.add(op.inputs(), inputs, operandSegmentsKey);
  derivation.add(op.outputs(), outputs, resultSegmentsKey);
  // An output may determine the length of a list of inputs.
  if (!areInputsKnown)
    derivation.add(op.inputs(), inputs, operandSegmentsKey);
  derivation.addElementType(op, outputs);
  return std::move(derivation.derived);
}

DenseI32ArrayAttr graphdef::segmentSizes(std::span<const ArgDef> args, const NamedAttrList &stated,
                                         MLIRContext *context) {
  llvm::SmallDenseSet<StringRef> keys;
  SmallVector<int32_t> sizes;
  for (const ArgDef &arg : args) {
    StringRef key = lengthKey(arg);
    if (!key.empty())
      keys.insert(key);
    std::optional<unsigned> length = key.empty() ? 1 : lengthOf(stated.get(key));
    if (!length)
      return {};
    sizes.push_back(static_cast<int32_t>(*length));
  }
  return keys.size() > 1 ? DenseI32ArrayAttr::get(context, sizes) : DenseI32ArrayAttr();
}
