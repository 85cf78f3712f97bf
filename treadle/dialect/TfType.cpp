// The tf_type dialect: registration, syntax, and relations between element types.
#include "treadle/dialect/TfType.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace treadle::tf_type;

#include "treadle/dialect/TfTypeDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "treadle/dialect/TfTypeTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "treadle/dialect/TfTypeAttributes.cpp.inc"

void TfTypeDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "treadle/dialect/TfTypeTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "treadle/dialect/TfTypeAttributes.cpp.inc"
      >();
}

// --- element types ------------------------------------------------------------------------------

namespace {

/// One entry: a reference type and its referenced type.
struct Reference {
  TypeID reference;
  TypeID target;
  Type (*getReference)(MLIRContext *);
  Type (*getTarget)(MLIRContext *);
  bool (*isTarget)(Type);
};

template <typename Ref, typename Target> Reference row() {
  return {TypeID::get<Ref>(), TypeID::get<Target>(),
          [](MLIRContext *context) -> Type { return Ref::get(context); },
          [](MLIRContext *context) -> Type { return Target::get(context); },
          [](Type) { return true; }};
}

template <typename Ref, unsigned width, IntegerType::SignednessSemantics signedness>
Reference integerRow() {
  return {TypeID::get<Ref>(), TypeID::get<IntegerType>(),
          [](MLIRContext *context) -> Type { return Ref::get(context); },
          [](MLIRContext *context) -> Type { return IntegerType::get(context, width, signedness); },
          [](Type type) {
            auto integer = cast<IntegerType>(type);
            return integer.getWidth() == width && integer.getSignedness() == signedness;
          }};
}

template <typename Ref, typename Part> Reference complexRow() {
  return {TypeID::get<Ref>(), TypeID::get<ComplexType>(),
          [](MLIRContext *context) -> Type { return Ref::get(context); },
          [](MLIRContext *context) -> Type { return ComplexType::get(Part::get(context)); },
          [](Type type) { return isa<Part>(cast<ComplexType>(type).getElementType()); }};
}

ArrayRef<Reference> references() {
  constexpr auto Signless = IntegerType::Signless;
  constexpr auto Unsigned = IntegerType::Unsigned;
  static const Reference table[] = {
      row<FloatRefType, Float32Type>(),
      row<DoubleRefType, Float64Type>(),
      row<HalfRefType, Float16Type>(),
      row<BFloat16RefType, BFloat16Type>(),
      row<Float8E5M2RefType, Float8E5M2Type>(),
      row<Float8E4M3FNRefType, Float8E4M3FNType>(),
      row<Float8E4M3FNUZRefType, Float8E4M3FNUZType>(),
      row<Float8E4M3B11FNUZRefType, Float8E4M3B11FNUZType>(),
      row<Float8E5M2FNUZRefType, Float8E5M2FNUZType>(),
      row<Float4E2M1FNRefType, Float4E2M1FNType>(),
      integerRow<BoolRefType, 1, Signless>(),
      integerRow<Int2RefType, 2, Signless>(),
      integerRow<Int4RefType, 4, Signless>(),
      integerRow<Int8RefType, 8, Signless>(),
      integerRow<Int16RefType, 16, Signless>(),
      integerRow<Int32RefType, 32, Signless>(),
      integerRow<Int64RefType, 64, Signless>(),
      integerRow<UInt2RefType, 2, Unsigned>(),
      integerRow<UInt4RefType, 4, Unsigned>(),
      integerRow<UInt8RefType, 8, Unsigned>(),
      integerRow<UInt16RefType, 16, Unsigned>(),
      integerRow<UInt32RefType, 32, Unsigned>(),
      integerRow<UInt64RefType, 64, Unsigned>(),
      complexRow<Complex64RefType, Float32Type>(),
      complexRow<Complex128RefType, Float64Type>(),
      row<StringRefType, StringType>(),
      row<ResourceRefType, ResourceType>(),
      row<VariantRefType, VariantType>(),
      row<QInt8RefType, QInt8Type>(),
      row<QInt16RefType, QInt16Type>(),
      row<QInt32RefType, QInt32Type>(),
      row<QUInt8RefType, QUInt8Type>(),
      row<QUInt16RefType, QUInt16Type>(),
  };
  return table;
}

/// Returns the element type that decides compatibility: without reference and subtypes.
Type underlyingElementType(Type type) {
  type = dereference(type);
  if (isa<ResourceType>(type))
    return ResourceType::get(type.getContext());
  if (isa<VariantType>(type))
    return VariantType::get(type.getContext());
  return type;
}

} // namespace

bool treadle::tf_type::isReference(Type type) { return type.hasTrait<IsReference>(); }

Type treadle::tf_type::referenceTo(Type elementType) {
  for (const Reference &row : references())
    if (row.target == elementType.getTypeID() && row.isTarget(elementType))
      return row.getReference(elementType.getContext());
  return {};
}

Type treadle::tf_type::dereference(Type type) {
  if (!isReference(type))
    return type;
  for (const Reference &row : references())
    if (row.reference == type.getTypeID())
      return row.getTarget(type.getContext());
  return type;
}

bool treadle::tf_type::isElementType(Type type) {
  if (isa<IntegerType, FloatType>(type))
    return true;
  if (auto complex = dyn_cast<ComplexType>(type))
    return isa<Float32Type, Float64Type>(complex.getElementType());
  return isa<TfTypeDialect>(type.getDialect()) && !isa<ControlType, OpaqueTensorType>(type);
}

bool treadle::tf_type::areCompatible(Type a, Type b) {
  if (a == b)
    return true;
  if (isa<ControlType>(a) || isa<ControlType>(b))
    return false;
  if (isa<OpaqueTensorType>(a) || isa<OpaqueTensorType>(b))
    return true;
  auto tensorA = dyn_cast<TensorType>(a), tensorB = dyn_cast<TensorType>(b);
  if (!tensorA || !tensorB || failed(verifyCompatibleShape(tensorA, tensorB)))
    return false;
  Type elementA = tensorA.getElementType(), elementB = tensorB.getElementType();
  return isa<UnknownType>(elementA) || isa<UnknownType>(elementB) ||
         underlyingElementType(elementA) == underlyingElementType(elementB);
}

// --- handles ------------------------------------------------------------------------------------

// Brackets are omitted without subtypes; empty brackets are an error.
template <typename Handle> static Type parseHandle(AsmParser &parser) {
  if (failed(parser.parseOptionalLess()))
    return Handle::get(parser.getContext());
  SmallVector<TensorType> subtypes;
  auto parseSubtype = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    TensorType subtype;
    if (parser.parseType(subtype))
      return failure();
    if (!isElementType(subtype.getElementType()))
      return parser.emitError(loc) << "subtype " << subtype << " is not a TensorFlow dtype";
    subtypes.push_back(subtype);
    return success();
  };
  if (parser.parseCommaSeparatedList(parseSubtype) || parser.parseGreater())
    return {};
  return Handle::get(parser.getContext(), subtypes);
}

static void printHandle(AsmPrinter &printer, ArrayRef<TensorType> subtypes) {
  if (subtypes.empty())
    return;
  printer << '<';
  llvm::interleaveComma(subtypes, printer);
  printer << '>';
}

Type ResourceType::parse(AsmParser &parser) { return parseHandle<ResourceType>(parser); }
void ResourceType::print(AsmPrinter &printer) const { printHandle(printer, getSubtypes()); }
Type VariantType::parse(AsmParser &parser) { return parseHandle<VariantType>(parser); }
void VariantType::print(AsmPrinter &printer) const { printHandle(printer, getSubtypes()); }

// --- VersionAttr --------------------------------------------------------------------------------

Attribute VersionAttr::parse(AsmParser &parser, Type) {
  int32_t producer, minConsumer;
  SmallVector<int32_t> badConsumers;
  if (parser.parseLess() || parser.parseKeyword("producer", " in tf_type version") ||
      parser.parseEqual() || parser.parseInteger(producer) || parser.parseComma() ||
      parser.parseKeyword("min_consumer", " in tf_type version") || parser.parseEqual() ||
      parser.parseInteger(minConsumer))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    auto parseConsumer = [&] { return parser.parseInteger(badConsumers.emplace_back()); };
    if (parser.parseKeyword("bad_consumers", " in tf_type version") || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseConsumer))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), producer, minConsumer, badConsumers);
}

void VersionAttr::print(AsmPrinter &printer) const {
  printer << "<producer = " << getProducer() << ", min_consumer = " << getMinConsumer();
  if (!getBadConsumers().empty()) {
    printer << ", bad_consumers = [";
    llvm::interleaveComma(getBadConsumers(), printer);
    printer << ']';
  }
  printer << '>';
}

// --- ShapeAttr ----------------------------------------------------------------------------------

LogicalResult ShapeAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<int64_t> dims, bool unranked) {
  if (unranked && !dims.empty())
    return emitError() << "a shape of unknown rank has " << dims.size() << " dimensions";
  for (auto [index, dim] : llvm::enumerate(dims))
    if (dim < 0 && !ShapedType::isDynamic(dim))
      return emitError() << "dimension " << index << " of a shape is " << dim
                         << ", expected at least 0, or ? if it is unknown";
  return success();
}

bool ShapeAttr::isStatic() const {
  return hasRank() && llvm::none_of(getDims(), ShapedType::isDynamic);
}

TensorType ShapeAttr::tensorOf(Type elementType) const {
  if (hasRank())
    return RankedTensorType::get(getDims(), elementType);
  return UnrankedTensorType::get(elementType);
}

Attribute ShapeAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  SmallVector<int64_t> dims;
  bool unranked = succeeded(parser.parseOptionalStar());
  if (!unranked && failed(parser.parseOptionalGreater())) {
    if (parser.parseDimensionList(dims, /*allowDynamic=*/true, /*withTrailingX=*/false) ||
        parser.parseGreater())
      return {};
  } else if (unranked && parser.parseGreater()) {
    return {};
  }
  return getChecked([&] { return parser.emitError(parser.getNameLoc()); }, parser.getContext(),
                    dims, unranked);
}

void ShapeAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (!hasRank())
    printer << '*';
  else
    printer.printDimensionList(getDims());
  printer << '>';
}

// --- FuncAttr, PlaceholderAttr ------------------------------------------------------------------

// The syntax of symbol references doesn't allow an empty name.
static ParseResult parseFunctionName(AsmParser &parser, SymbolRefAttr &name) {
  SMLoc loc = parser.getCurrentLocation();
  std::string text;
  if (failed(parser.parseOptionalString(&text)))
    return parser.parseAttribute(name);
  if (!text.empty())
    return parser.emitError(loc) << "found \"" << text << "\", expected a symbol (@" << text
                                 << ") or \"\"";
  name = SymbolRefAttr::get(parser.getContext(), "");
  return success();
}

Attribute FuncAttr::parse(AsmParser &parser, Type) {
  SymbolRefAttr name;
  DictionaryAttr attrs;
  if (parser.parseLess() || parseFunctionName(parser, name) || parser.parseComma() ||
      parser.parseAttribute(attrs) || parser.parseGreater())
    return {};
  return get(parser.getContext(), name, attrs);
}

void FuncAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (getName().getRootReference().empty())
    printer << "\"\"";
  else
    printer << getName();
  printer << ", " << getAttrs() << '>';
}

Attribute PlaceholderAttr::parse(AsmParser &parser, Type) {
  std::string value;
  if (parser.parseLess() || parser.parseString(&value) || parser.parseGreater())
    return {};
  return get(parser.getContext(), value);
}

void PlaceholderAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printString(getValue());
  printer << '>';
}

// --- FullTypeAttr -------------------------------------------------------------------------------

namespace {
struct FullTypeName {
  int32_t id;
  llvm::StringLiteral name;
};
// FullTypeId of TensorFlow 2.21.
constexpr FullTypeName fullTypeNames[] = {
    {0, "unset"},
    {1, "var"},
    {2, "any"},
    {3, "product"},
    {4, "named"},
    {20, "for_each"},
    {100, "callable"},
    {200, "bool"},
    {201, "uint8"},
    {202, "uint16"},
    {203, "uint32"},
    {204, "uint64"},
    {205, "int8"},
    {206, "int16"},
    {207, "int32"},
    {208, "int64"},
    {209, "half"},
    {210, "float"},
    {211, "double"},
    {212, "complex64"},
    {213, "complex128"},
    {214, "string"},
    {215, "bfloat16"},
    {1000, "tensor"},
    {1001, "array"},
    {1002, "optional"},
    {1003, "literal"},
    {1004, "encoded"},
    {1005, "shape_tensor"},
    {10102, "dataset"},
    {10103, "ragged"},
    {10104, "iterator"},
    {10202, "mutex_lock"},
    {10203, "legacy_variant"},
};
} // namespace

StringRef treadle::tf_type::fullTypeName(int32_t id) {
  auto *row = llvm::find_if(fullTypeNames, [&](const FullTypeName &row) { return row.id == id; });
  return row == std::end(fullTypeNames) ? StringRef() : StringRef(row->name);
}

static ParseResult parseFullTypeId(AsmParser &parser, int32_t &id) {
  OptionalParseResult number = parser.parseOptionalInteger(id);
  if (number.has_value())
    return *number;
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  for (const FullTypeName &row : fullTypeNames) {
    if (row.name == keyword) {
      id = row.id;
      return success();
    }
  }
  return parser.emitError(loc) << "'" << keyword
                               << "' is not a full type id, expected a name such as 'tensor' or "
                                  "'product', or a number";
}

static FullTypeAttr parseFullType(AsmParser &parser) {
  int32_t id;
  SmallVector<FullTypeAttr> args;
  auto parseArg = [&] { return success(bool(args.emplace_back(parseFullType(parser)))); };
  if (parseFullTypeId(parser, id) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalLessGreater, parseArg))
    return {};
  Attribute attr;
  OptionalParseResult parsedAttr = parser.parseOptionalAttribute(attr);
  if (parsedAttr.has_value() && failed(*parsedAttr))
    return {};
  return FullTypeAttr::getChecked([&] { return parser.emitError(parser.getNameLoc()); },
                                  parser.getContext(), id, args, attr);
}

static void printFullType(AsmPrinter &printer, FullTypeAttr type) {
  StringRef name = fullTypeName(type.getTypeId());
  if (name.empty())
    printer << type.getTypeId();
  else
    printer << name;
  if (!type.getArgs().empty()) {
    printer << '<';
    llvm::interleaveComma(type.getArgs(), printer,
                          [&](FullTypeAttr arg) { printFullType(printer, arg); });
    printer << '>';
  }
  if (type.getAttr())
    printer << ' ' << type.getAttr();
}

LogicalResult FullTypeAttr::verify(function_ref<InFlightDiagnostic()> emitError, int32_t,
                                   ArrayRef<FullTypeAttr>, Attribute attr) {
  if (!attr || isa<StringAttr>(attr))
    return success();
  if (auto integer = dyn_cast<IntegerAttr>(attr); integer && integer.getType().isInteger(64))
    return success();
  return emitError() << "the value of a full type is " << attr
                     << ", expected a string or a 64-bit integer";
}

Attribute FullTypeAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FullTypeAttr type = parseFullType(parser);
  if (!type || parser.parseGreater())
    return {};
  return type;
}

void FullTypeAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printFullType(printer, *this);
  printer << '>';
}

// --- encoded messages ---------------------------------------------------------------------------

static ParseResult parseBytes(AsmParser &parser, std::string &bytes) {
  SMLoc loc = parser.getCurrentLocation();
  std::string text;
  if (parser.parseString(&text))
    return failure();
  StringRef hex(text);
  if (!hex.consume_front("0x"))
    return parser.emitError(loc) << "found \"" << text << "\", expected \"0x\" and hex digits";
  // tryGetFromHex would accept an odd number of digits as if a zero preceded them.
  if (hex.size() % 2 != 0 || !llvm::tryGetFromHex(hex, bytes))
    return parser.emitError(loc) << "found \"" << text
                                 << "\", expected two hex digits for every byte";
  return success();
}

static void printBytes(AsmPrinter &printer, StringRef bytes) {
  printer << "\"0x" << llvm::toHex(bytes) << '"';
}

Attribute TensorProtoAttr::parse(AsmParser &parser, Type type) {
  SMLoc loc = parser.getCurrentLocation();
  std::string bytes;
  if (parser.parseColon() || parseBytes(parser, bytes))
    return {};
  auto shapedType = dyn_cast_or_null<ShapedType>(type);
  if (!shapedType) {
    parser.emitError(loc) << "a tensor_proto has no tensor type, expected one after it: "
                             "#tf_type<tensor_proto : \"0x...\"> : tensor<2xf32>";
    return {};
  }
  return get(parser.getContext(), shapedType, bytes);
}

void TensorProtoAttr::print(AsmPrinter &printer) const {
  printer << " : ";
  printBytes(printer, getValue());
}

Attribute MessageAttr::parse(AsmParser &parser, Type) {
  std::string message, bytes;
  if (parser.parseLess() || parser.parseString(&message) || parser.parseEqual() ||
      parseBytes(parser, bytes) || parser.parseGreater())
    return {};
  return get(parser.getContext(), message, bytes);
}

void MessageAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printString(getMessage());
  printer << " = ";
  printBytes(printer, getValue());
  printer << '>';
}
