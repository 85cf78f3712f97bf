#include "treadle/import/bytecode/Entries.h"

#include "treadle/import/MlirNesting.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::bytecode;

// Limits the expanded size of an attribute: a small file can describe attributes that would take
// too long to process.
static constexpr uint64_t maxWeight = 16 << 20;
static constexpr unsigned maxDepth = 512;

Entries::Entries(MLIRContext &context, const Layout &layout) : context(context), layout(layout) {
  attributes.resize(layout.attributes.size());
  types.resize(layout.types.size());
}

// --- tables -------------------------------------------------------------------------------------

static Expected<Attribute> parseText(MLIRContext &context, StringRef text, Attribute) {
  size_t length = 0;
  Attribute found = parseAttribute(text, &context, Type(), &length);
  return length == text.size() ? found : Attribute();
}

static Expected<Type> parseText(MLIRContext &context, StringRef text, Type) {
  size_t length = 0;
  Type found = parseType(text, &context, &length);
  return length == text.size() ? found : Type();
}

/// Parses the text of an entry of another dialect.
template <typename T> static Expected<T> readText(EntryReader &from) {
  StringRef text = TREADLE_TRY(from.at.text());
  TREADLE_TRY(checkMlirNesting(text));
  from.weight += text.size();
  if (T found = TREADLE_TRY(parseText(*from.context, text, T())))
    return found;
  return Unexpected(unimplemented("an attribute or type in the bytecode, '",
                                  text.take_front(100).str(), "', can't be read"));
}

static Expected<Attribute> readEncoded(EntryReader &from, StringRef dialect, Attribute) {
  if (dialect == "builtin")
    return readBuiltinAttribute(from);
  if (dialect == "vhlo")
    return readVhloAttribute(from);
  if (dialect == "sdy")
    return readShardyAttribute(from);
  return Unexpected(unimplemented("an attribute of the dialect '", dialect.str(),
                                  "' in bytecode, expected a portable artifact (VHLO)"));
}

static Expected<Type> readEncoded(EntryReader &from, StringRef dialect, Type) {
  if (dialect == "builtin")
    return readBuiltinType(from);
  if (dialect == "vhlo")
    return readVhloType(from);
  return Unexpected(unimplemented("a type of the dialect '", dialect.str(),
                                  "' in bytecode, expected a portable artifact (VHLO)"));
}

template <typename T> Expected<void> Entries::fill(Slot<T> &slot, const EntryBytes &entry) {
  EntryReader reader(*this, entry.bytes);
  if (slot.isOpen)
    return Unexpected(reader.at.damaged("an attribute or type contains itself"));
  if (depth == maxDepth)
    return Unexpected(reader.at.damaged("attributes nest more than ", maxDepth, " deep"));
  slot.isOpen = true;
  ++depth;
  Expected<T> value =
      entry.isEncoded ? readEncoded(reader, entry.dialect, T()) : readText<T>(reader);
  --depth;
  slot.isOpen = false;
  slot.value = TREADLE_TRY(std::move(value));
  if (!reader.at.empty())
    return Unexpected(
        reader.at.damaged("an attribute or type has ", reader.at.rest(), " bytes too many"));
  if (reader.weight > maxWeight)
    return Unexpected(
        reader.at.damaged("an attribute or type consists of more than ", maxWeight, " others"));
  slot.weight = reader.weight;
  return {};
}

Expected<Attribute> Entries::attribute(size_t index) {
  Slot<Attribute> &slot = attributes[index];
  if (!slot.value)
    TREADLE_TRY(fill(slot, layout.attributes[index]));
  return slot.value;
}

Expected<Attribute> Entries::optionalAttributeAt(Cursor &at) {
  std::optional<size_t> index = TREADLE_TRY(at.optionalIndex(attributes.size(), "attribute"));
  return index ? attribute(*index) : Attribute();
}

Expected<Type> Entries::type(size_t index) {
  Slot<Type> &slot = types[index];
  if (!slot.value)
    TREADLE_TRY(fill(slot, layout.types[index]));
  return slot.value;
}

Expected<LocationAttr> Entries::locationAt(Cursor &at) {
  if (auto found = dyn_cast<LocationAttr>(TREADLE_TRY(attributeAt(at))))
    return found;
  return Unexpected(at.damaged("expected a location"));
}

// --- one entry ----------------------------------------------------------------------------------

Expected<Attribute> EntryReader::attributeOfIndex(size_t index) {
  Attribute found = TREADLE_TRY(entries.attribute(index));
  weight += entries.attributes[index].weight;
  return found;
}

Expected<Attribute> EntryReader::attribute() {
  return attributeOfIndex(TREADLE_TRY(at.index(entries.attributes.size(), "attribute")));
}

Expected<Attribute> EntryReader::optionalAttribute() {
  std::optional<size_t> index =
      TREADLE_TRY(at.optionalIndex(entries.attributes.size(), "attribute"));
  return index ? attributeOfIndex(*index) : Attribute();
}

Expected<Type> EntryReader::type() {
  size_t index = TREADLE_TRY(at.index(entries.types.size(), "type"));
  Type found = TREADLE_TRY(entries.type(index));
  weight += entries.types[index].weight;
  return found;
}

Expected<StringRef> EntryReader::string() {
  const auto &strings = entries.layout.strings;
  return strings[TREADLE_TRY(at.index(strings.size(), "string"))];
}

Expected<SmallVector<int64_t>> EntryReader::signedNumbers() {
  SmallVector<int64_t> values(TREADLE_TRY(at.count()));
  for (int64_t &value : values)
    value = TREADLE_TRY(at.signedVarint());
  return values;
}

Expected<SmallVector<Type>> EntryReader::types() {
  SmallVector<Type> values(TREADLE_TRY(at.count()));
  for (Type &value : values)
    value = TREADLE_TRY(type());
  return values;
}

Expected<SmallVector<Attribute>> EntryReader::attributes() {
  SmallVector<Attribute> values(TREADLE_TRY(at.count()));
  for (Attribute &value : values)
    value = TREADLE_TRY(attribute());
  return values;
}

Expected<NamedAttribute> EntryReader::named() {
  auto name = TREADLE_TRY(attributeOf<StringAttr>("name"));
  if (name.empty())
    return Unexpected(at.damaged("an attribute's name is empty"));
  return NamedAttribute(name, TREADLE_TRY(attribute()));
}

Expected<DictionaryAttr> EntryReader::dictionary() {
  size_t count = TREADLE_TRY(at.count());
  SmallVector<NamedAttribute> fields;
  for (size_t i = 0; i < count; ++i)
    fields.push_back(TREADLE_TRY(named()));
  if (auto twice = DictionaryAttr::findDuplicate(fields, /*isSorted=*/false))
    return Unexpected(at.damaged("'", twice->getName().str(), "' has two values"));
  return DictionaryAttr::get(context, fields);
}

Expected<FloatAttr> EntryReader::number(Type type) {
  auto real = dyn_cast<FloatType>(type);
  if (!real || real.getWidth() > 64)
    return Unexpected(at.damaged("the type of a float isn't a float type"));
  APInt bits = TREADLE_TRY(at.integer(real.getWidth()));
  return FloatAttr::get(real, llvm::APFloat(real.getFloatSemantics(), bits));
}

Expected<IntegerAttr> EntryReader::integer(Type type) {
  unsigned width = isa<IndexType>(type)     ? IndexType::kInternalStorageBitWidth
                   : isa<IntegerType>(type) ? cast<IntegerType>(type).getWidth()
                                            : 0;
  if (width == 0 || width > 64)
    return Unexpected(at.damaged("the type of an integer isn't an integer type"));
  return IntegerAttr::get(type, TREADLE_TRY(at.integer(width)));
}

Expected<Type>
EntryReader::checked(llvm::function_ref<Type(llvm::function_ref<InFlightDiagnostic()>)> get) {
  std::string why;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &found) { why = found.str(); });
  Type made = get([&] { return emitError(UnknownLoc::get(context)); });
  if (made)
    return made;
  return Unexpected(at.damaged("there is no such type: ", why));
}

// --- values -------------------------------------------------------------------------------------

Attribute bytecode::integerArrayAttr(MLIRContext *context, ArrayRef<int64_t> values) {
  return DenseI64ArrayAttr::get(context, values);
}

Type bytecode::namedType(MLIRContext *context, StringRef dialect, StringRef text) {
  return OpaqueType::get(StringAttr::get(context, dialect), text);
}

/// Returns the number of elements if it is known.
static std::optional<int64_t> numElements(RankedTensorType type) {
  int64_t product = 1;
  for (int64_t dim : type.getShape())
    if (dim < 0 || llvm::MulOverflow(product, dim, product))
      return std::nullopt;
  return product;
}

/// Bools are stored as bits, in old versions as bytes, and as one byte if all are equal.
static Expected<Attribute> readBools(EntryReader &from, RankedTensorType type, StringRef bytes,
                                     size_t count) {
  size_t packed = llvm::divideCeil(count, 8);
  bool isOne = bytes.size() == 1;
  if (isOne && (count > 8 || bytes[0] == '\xff'))
    return DenseElementsAttr::get(type, bytes[0] != 0);
  bool isPacked = bytes.size() == packed && count != 1;
  if (!isPacked && bytes.size() != count)
    return Unexpected(from.at.damaged(bytes.size(), " bytes for ", count, " bools"));
  SmallVector<bool> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = isPacked ? (bytes[i / 8] >> (i % 8) & 1) : bytes[i] != 0;
  return DenseElementsAttr::get(type, ArrayRef<bool>(values));
}

Expected<Attribute> bytecode::readElements(EntryReader &from, Type type, StringRef bytes) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<int64_t> count = tensor ? numElements(tensor) : std::nullopt;
  if (!count)
    return Unexpected(from.at.damaged("elements of a value that isn't a tensor of known shape"));
  Type element = tensor.getElementType();
  if (element.isInteger(1))
    return readBools(from, tensor, bytes, *count);
  if (auto whole = dyn_cast<ComplexType>(element))
    element = whole.getElementType();
  bool isSplat = false;
  if (!isa<IntegerType, IndexType, FloatType>(element) ||
      !DenseElementsAttr::isValidRawBuffer(tensor, ArrayRef(bytes.data(), bytes.size()), isSplat))
    return Unexpected(
        from.at.damaged(bytes.size(), " bytes don't make a tensor of ", *count, " elements"));
  return DenseElementsAttr::getFromRawBuffer(tensor, ArrayRef(bytes.data(), bytes.size()));
}

// --- types --------------------------------------------------------------------------------------

Expected<Type> bytecode::readComplexType(EntryReader &from) {
  Type element = TREADLE_TRY(from.type());
  return from.checked([&](auto error) { return ComplexType::getChecked(error, element); });
}

Expected<Type> bytecode::readFunctionType(EntryReader &from) {
  SmallVector<Type> inputs = TREADLE_TRY(from.types());
  return FunctionType::get(from.context, inputs, TREADLE_TRY(from.types()));
}

static Expected<Type> tensorType(EntryReader &from, Attribute encoding) {
  SmallVector<int64_t> shape = TREADLE_TRY(from.signedNumbers());
  Type element = TREADLE_TRY(from.type());
  return from.checked(
      [&](auto error) { return RankedTensorType::getChecked(error, shape, element, encoding); });
}

Expected<Type> bytecode::readTensorType(EntryReader &from) { return tensorType(from, {}); }

Expected<Type> bytecode::readEncodedTensorType(EntryReader &from) {
  Attribute encoding = TREADLE_TRY(from.attribute());
  return tensorType(from, encoding);
}

Expected<Type> bytecode::readUnrankedTensorType(EntryReader &from) {
  Type element = TREADLE_TRY(from.type());
  return from.checked([&](auto error) { return UnrankedTensorType::getChecked(error, element); });
}

Expected<Type> bytecode::readTupleType(EntryReader &from) {
  return TupleType::get(from.context, TREADLE_TRY(from.types()));
}
