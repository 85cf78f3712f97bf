// Builds signatures from the op table and from function libraries, and applies them to attributes.
#include "treadle/import/OpSignatures.h"

#include "treadle/import/Keywords.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

namespace {

/// Limits list lengths far above those of real nodes, so that a corrupted graph doesn't allocate
/// memory.
constexpr int64_t maxListLength = 1 << 16;

std::string text(StringAttr name) { return name.str(); }

/// Returns the kind of a value that isn't a list; nullopt if it is ambiguous.
std::optional<AttrKind> kindOf(Attribute attr) {
  if (isa<StringAttr>(attr))
    return AttrKind::String;
  if (auto integer = dyn_cast<IntegerAttr>(attr))
    return integer.getType().isInteger(1) ? AttrKind::Bool : AttrKind::Int;
  if (isa<FloatAttr>(attr))
    return AttrKind::Float;
  if (isa<mlir::TypeAttr>(attr))
    return AttrKind::Type;
  if (isa<tf_type::ShapeAttr>(attr))
    return AttrKind::Shape;
  if (isa<tf_type::FuncAttr>(attr))
    return AttrKind::Func;
  if (isa<tf_type::TensorProtoAttr, ElementsAttr>(attr))
    return AttrKind::Tensor;
  return std::nullopt;
}

bool fits(Attribute attr, const AttrDef &def) {
  if (isa<tf_type::MessageAttr>(attr))
    return true;
  if (!def.isList())
    return kindOf(attr) == def.kind();
  auto list = dyn_cast<ArrayAttr>(attr);
  return list && (list.empty() || kindOf(list[0]) == def.kind());
}

std::string_view kindText(std::optional<AttrKind> kind) {
  constexpr std::string_view names[] = {"string", "int",   "float",  "bool",
                                        "type",   "shape", "tensor", "func"};
  return kind ? names[static_cast<int>(*kind)] : "unknown";
}

/// Describes an attribute in an error.
std::string found(Attribute attr) {
  if (isa<UnitAttr>(attr))
    return "has no value";
  if (isa<tf_type::PlaceholderAttr>(attr))
    return "is a placeholder outside a generic function";
  auto list = dyn_cast<ArrayAttr>(attr);
  if (list && list.empty())
    return "is an empty list";
  if (list)
    return str("has kind list(", kindText(kindOf(list[0])), ")");
  return str("has kind ", kindText(kindOf(attr)));
}

/// Whether an element of the attribute is among the allowed values; true for kinds without such a
/// set.
bool isAllowed(Attribute attr, const AttrDef &def) {
  auto holds = [&](AttrConstant allowed) {
    if (auto text = dyn_cast<StringAttr>(attr))
      return StringRef(allowed.asString()) == text.getValue();
    if (auto type = dyn_cast<mlir::TypeAttr>(attr)) {
      std::optional<int> dtype = dtypeOf(tf_type::dereference(type.getValue()));
      return dtype && *dtype == static_cast<int>(allowed.asType());
    }
    return true;
  };
  return def.allowedValues().empty() || llvm::any_of(def.allowedValues(), holds);
}

std::string allowedText(const AttrDef &def) {
  std::string result;
  for (AttrConstant allowed : def.allowedValues())
    result += str(result.empty() ? "" : ", ",
                  def.kind() == AttrKind::Type ? dtypeName(allowed.asType()) : allowed.asString());
  return result;
}

std::string valueText(Attribute attr) {
  if (auto type = dyn_cast<mlir::TypeAttr>(attr))
    if (std::optional<int> dtype = dtypeOf(tf_type::dereference(type.getValue()));
        dtype && *dtype < numDTypes)
      return std::string(dtypeName(static_cast<DType>(*dtype)));
  std::string result;
  llvm::raw_string_ostream(result) << attr;
  return result;
}

/// Whether a number, or the length of a list, is at least the minimum.
bool isLargeEnough(Attribute attr, const AttrDef &def) {
  if (!def.minimum())
    return true;
  if (auto list = dyn_cast<ArrayAttr>(attr))
    return static_cast<int64_t>(list.size()) >= *def.minimum();
  auto integer = dyn_cast<IntegerAttr>(attr);
  return !integer || integer.getValue().getSExtValue() >= *def.minimum();
}

Expected<void> checkAttr(Attribute attr, const AttrDef &def) {
  auto wrong = [&](const std::string &what) {
    return Unexpected(invalidArgument("attribute '", def.name(), "' ", what));
  };
  if (!fits(attr, def))
    return wrong(str(found(attr), ", expected ", def.kindName()));
  if (!isLargeEnough(attr, def)) {
    auto list = dyn_cast<ArrayAttr>(attr);
    return wrong(list ? str("has ", list.size(), " elements, expected at least ", *def.minimum())
                      : str("is ", cast<IntegerAttr>(attr).getValue().getSExtValue(),
                            ", expected at least ", *def.minimum()));
  }
  auto list = dyn_cast<ArrayAttr>(attr);
  for (Attribute element : list ? list.getValue() : ArrayRef(attr))
    if (!isAllowed(element, def))
      return wrong(str("is ", valueText(element), ", expected one of ", allowedText(def)));
  return {};
}

int indexOfAttr(const OpSignature &signature, StringRef name) {
  if (name.empty())
    return -1;
  for (auto [index, spec] : llvm::enumerate(signature.attrs))
    if (spec.name == name)
      return index;
  return -1;
}

int attrIndex(MLIRContext *context, OpSignature &signature, StringRef name) {
  if (int index = indexOfAttr(signature, name); index >= 0 || name.empty())
    return index;
  AttrSpec spec;
  spec.name = StringAttr::get(context, name);
  signature.attrs.push_back(std::move(spec));
  return signature.attrs.size() - 1;
}

} // namespace

Attribute graphdef::findAttr(Attrs attrs, StringAttr key) {
  for (NamedAttribute attr : attrs)
    if (attr.getName() == key)
      return attr.getValue();
  return {};
}

// --- functions ----------------------------------------------------------------------------------

static ArgSpec makeArg(MLIRContext *context, TypeTable &types, OpSignature &signature,
                       const pb::OpDef::ArgDef &arg) {
  ArgSpec spec;
  spec.name = StringAttr::get(context, arg.name());
  if (arg.type() != pb::DT_INVALID)
    spec.type = types.element(arg.type());
  spec.typeAttr = attrIndex(context, signature, arg.type_attr());
  spec.numberAttr = attrIndex(context, signature, arg.number_attr());
  spec.typeListAttr = attrIndex(context, signature, arg.type_list_attr());
  spec.isRef = arg.is_ref();
  if (!spec.type && spec.typeAttr < 0 && spec.typeListAttr < 0)
    spec.type = types.element(pb::DT_INVALID);
  return spec;
}

static void takeDefault(TypeTable &types, const pb::AttrValue &value, AttrSpec &spec) {
  spec.hasDefault = true;
  if (value.value_case() == pb::AttrValue::kI)
    spec.defaultInt = value.i();
  if (value.value_case() == pb::AttrValue::kType)
    spec.defaultTypes.push_back(types.element(value.type()));
  for (int type : value.list().type())
    spec.defaultTypes.push_back(types.element(type));
  if (llvm::is_contained(spec.defaultTypes, Type()))
    spec.defaultTypes.clear();
}

void OpSignatures::addFunction(const pb::OpDef &def) { add(def, OpSignature::Origin::Library); }

void OpSignatures::addOp(const pb::OpDef &op) { add(op, OpSignature::Origin::Model); }

void OpSignatures::add(const pb::OpDef &def, OpSignature::Origin origin) {
  auto signature =
      std::make_unique<OpSignature>(OperationName("tfg." + def.name(), context), origin);
  for (const pb::OpDef::AttrDef &attr : def.attr()) {
    AttrSpec spec;
    spec.name = StringAttr::get(context, attr.name());
    if (attr.has_default_value())
      takeDefault(types, attr.default_value(), spec);
    signature->attrs.push_back(std::move(spec));
  }
  for (const pb::OpDef::ArgDef &arg : def.input_arg())
    signature->inputs.push_back(makeArg(context, types, *signature, arg));
  for (const pb::OpDef::ArgDef &arg : def.output_arg())
    signature->outputs.push_back(makeArg(context, types, *signature, arg));
  signatures[def.name()] = std::move(signature);
}

static ArgSpec makeArg(MLIRContext *context, OpSignature &signature, Type type,
                       DictionaryAttr attrs) {
  auto stringOf = [&](StringRef key) {
    auto attr = attrs ? attrs.getAs<StringAttr>(key) : StringAttr();
    return attr ? attr.getValue() : StringRef();
  };
  ArgSpec spec;
  spec.name = StringAttr::get(context, stringOf("tfg.name"));
  spec.typeAttr = attrIndex(context, signature, stringOf(argTypeAttrKey));
  spec.numberAttr = attrIndex(context, signature, stringOf(argNumberAttrKey));
  spec.typeListAttr = attrIndex(context, signature, stringOf(argTypeListAttrKey));
  if (auto tensor = dyn_cast<TensorType>(type))
    spec.type = tensor.getElementType();
  else if (auto stated = attrs ? attrs.getAs<mlir::TypeAttr>(argTypeKey) : mlir::TypeAttr())
    spec.type = stated.getValue();
  return spec;
}

void OpSignatures::addFunction(tfg::FuncOp func) {
  StringRef name = func.getSymName();
  auto signature = std::make_unique<OpSignature>(OperationName(("tfg." + name).str(), context),
                                                 OpSignature::Origin::Library);
  auto dictionary = [](ArrayAttr attrs, unsigned index) {
    return attrs && index < attrs.size() ? dyn_cast<DictionaryAttr>(attrs[index])
                                         : DictionaryAttr();
  };
  for (unsigned i = 0, e = func.getArgumentTypes().size(); i < e; i += 2)
    signature->inputs.push_back(makeArg(context, *signature, func.getArgumentTypes()[i],
                                        dictionary(func.getArgAttrsAttr(), i)));
  for (auto [index, type] : llvm::enumerate(func.getResultTypes()))
    signature->outputs.push_back(
        makeArg(context, *signature, type, dictionary(func.getResAttrsAttr(), index)));
  signatures[name] = std::move(signature);
}

// --- ops ----------------------------------------------------------------------------------------

std::unique_ptr<OpSignature> OpSignatures::make(StringRef op) {
  auto signature = std::make_unique<OpSignature>(OperationName(("tfg." + op).str(), context),
                                                 OpSignature::Origin::Unknown);
  if (fillFromTable(op, *signature)) {
    signature->origin = OpSignature::Origin::Table;
    signature->isMerge = op == "Merge" || op == "RefMerge";
    signature->isNextIteration = op == "NextIteration" || op == "RefNextIteration";
  }
  return signature;
}

const OpSignature &OpSignatures::lookup(StringRef op) {
  std::unique_ptr<OpSignature> &signature = signatures[op];
  if (!signature)
    signature = make(op);
  return *signature;
}

// --- inputs and outputs -------------------------------------------------------------------------

Expected<Type> OpSignatures::elementType(const OpSignature &signature, const ArgSpec &arg,
                                         Attrs attrs) {
  if (arg.typeAttr < 0)
    return arg.type;
  const AttrSpec &spec = signature.attrs[arg.typeAttr];
  Attribute attr = findAttr(attrs, spec.name);
  if (auto type = dyn_cast_or_null<mlir::TypeAttr>(attr))
    return type.getValue();
  if (!attr && spec.defaultTypes.size() == 1)
    return spec.defaultTypes.front();
  if (attr)
    return Unexpected(
        invalidArgument("attribute '", text(spec.name), "' ", found(attr), ", expected a type"));
  return Unexpected(invalidArgument("attribute '", text(spec.name),
                                    "' is missing, expected a type, such as DT_FLOAT"));
}

Expected<int64_t> OpSignatures::count(const OpSignature &signature, const ArgSpec &arg,
                                      Attrs attrs) {
  if (arg.numberAttr < 0)
    return 1;
  const AttrSpec &spec = signature.attrs[arg.numberAttr];
  Attribute attr = findAttr(attrs, spec.name);
  if (!attr && spec.hasDefault)
    return spec.defaultInt;
  if (!attr)
    return Unexpected(
        invalidArgument("attribute '", text(spec.name), "' is missing, expected a number"));
  if (kindOf(attr) != AttrKind::Int)
    return Unexpected(
        invalidArgument("attribute '", text(spec.name), "' ", found(attr), ", expected a number"));
  int64_t value = cast<IntegerAttr>(attr).getValue().getSExtValue();
  if (value < 0 || value > maxListLength)
    return Unexpected(invalidArgument("attribute '", text(spec.name), "' is ", value,
                                      ", expected a number of values from 0 to ", maxListLength));
  return value;
}

Expected<void> OpSignatures::expandList(const OpSignature &signature, const ArgSpec &arg,
                                        Attrs attrs, SmallVectorImpl<Type> &result) {
  const AttrSpec &spec = signature.attrs[arg.typeListAttr];
  Attribute attr = findAttr(attrs, spec.name);
  auto add = [&](Type type) {
    result.push_back(arg.isRef ? types.referenceTensor(type) : types.tensor(type));
  };
  if (!attr && spec.hasDefault) {
    llvm::for_each(spec.defaultTypes, add);
    return {};
  }
  if (!attr)
    return Unexpected(
        invalidArgument("attribute '", text(spec.name), "' is missing, expected a list of types"));
  auto list = dyn_cast<ArrayAttr>(attr);
  if (!list || !llvm::all_of(list, llvm::IsaPred<mlir::TypeAttr>))
    return Unexpected(invalidArgument("attribute '", text(spec.name), "' ", found(attr),
                                      ", expected a list of types"));
  for (Attribute type : list)
    add(cast<mlir::TypeAttr>(type).getValue());
  return {};
}

Expected<void> OpSignatures::expand(const OpSignature &signature, ArrayRef<ArgSpec> args,
                                    Attrs attrs, SmallVectorImpl<Type> &result) {
  for (const ArgSpec &arg : args) {
    if (arg.typeListAttr >= 0) {
      TREADLE_TRY(expandList(signature, arg, attrs, result));
      continue;
    }
    Type type = TREADLE_TRY(elementType(signature, arg, attrs));
    int64_t number = TREADLE_TRY(count(signature, arg, attrs));
    result.append(number, arg.isRef ? types.referenceTensor(type) : types.tensor(type));
  }
  return {};
}

Expected<void> OpSignatures::inputTypes(const OpSignature &signature, Attrs attrs,
                                        SmallVectorImpl<Type> &result) {
  return expand(signature, signature.inputs, attrs, result);
}

Expected<void> OpSignatures::outputTypes(const OpSignature &signature, Attrs attrs,
                                         SmallVectorImpl<Type> &result) {
  return expand(signature, signature.outputs, attrs, result);
}

std::optional<unsigned> OpSignatures::outputSize(const OpSignature &signature, const ArgSpec &arg,
                                                 Attrs attrs) {
  if (arg.typeListAttr >= 0) {
    const AttrSpec &spec = signature.attrs[arg.typeListAttr];
    if (auto list = dyn_cast_or_null<ArrayAttr>(findAttr(attrs, spec.name)))
      return list.size();
    return spec.hasDefault ? std::optional<unsigned>(spec.defaultTypes.size()) : std::nullopt;
  }
  Expected<int64_t> number = count(signature, arg, attrs);
  return number ? std::optional<unsigned>(*number) : std::nullopt;
}

std::optional<OpSignatures::OutputRange> OpSignatures::outputRange(const OpSignature &signature,
                                                                   Attrs attrs, StringRef name) {
  unsigned begin = 0;
  for (const ArgSpec &arg : signature.outputs) {
    std::optional<unsigned> size = outputSize(signature, arg, attrs);
    if (!size)
      return std::nullopt;
    if (arg.name == name)
      return OutputRange{begin, *size};
    begin += *size;
  }
  return std::nullopt;
}

std::optional<OpSignatures::OutputPosition> OpSignatures::outputAt(const OpSignature &signature,
                                                                   Attrs attrs, unsigned index) {
  for (const ArgSpec &arg : signature.outputs) {
    std::optional<unsigned> size = outputSize(signature, arg, attrs);
    if (!size)
      return std::nullopt;
    if (index < *size)
      return OutputPosition{arg.name, index};
    index -= *size;
  }
  return std::nullopt;
}

Expected<void> OpSignatures::checkAttrs(const OpSignature &signature, Attrs attrs) {
  for (const AttrSpec &spec : signature.attrs) {
    if (!spec.def)
      continue;
    Attribute attr = findAttr(attrs, spec.name);
    if (!attr && !spec.hasDefault)
      return Unexpected(invalidArgument("attribute '", text(spec.name), "' is missing, expected ",
                                        spec.def->kindName()));
    if (!attr)
      continue;
    TREADLE_TRY(checkAttr(attr, *spec.def));
  }
  return {};
}
