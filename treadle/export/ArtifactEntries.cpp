#include "treadle/export/ArtifactEntries.h"

#include "treadle/dialect/stablehlo/Attributes.h"
#include "treadle/import/bytecode/Entries.h"
#include "treadle/import/stablehlo/Quantized.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::artifact;
using bytecode::signedVarint;
using bytecode::varint;
using bytecode::varints;

// The codes of entries; their readers are in import/bytecode.
namespace vhlo {
enum Attribute : uint8_t {
  Array = 1,
  Bool = 2,
  ApiVersion = 5,
  Dictionary = 6,
  Float = 8,
  Integer = 9,
  Alias = 10,
  String = 14,
  Tensor = 15,
  Type = 17,
  Bounds = 18,
  Accuracy = 20,
  AccuracyMode = 19
};
enum Type : uint8_t {
  Complex = 1,
  Function = 8,
  RankedTensor = 20,
  EncodedTensor = 21,
  Tuple = 23,
  Quantized = 24,
  UnrankedTensor = 25,
  QuantizedByAxis = 30,
  None = 33,
  Buffer = 41,
};
} // namespace vhlo
namespace builtin {
enum Attribute : uint8_t {
  Array = 0,
  Dictionary = 1,
  String = 2,
  Unit = 7,
  Integer = 8,
  CallSite = 10,
  LineAndColumn = 11,
  Fused = 12,
  Named = 14,
  Unknown = 15
};
constexpr uint64_t integerType = 0;
} // namespace builtin

static std::string printToString(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static std::string printToString(Attribute value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  constexpr size_t most = 60;
  return text.substr(0, most);
}

Expected<void> EntryWriter::checkVersion(StringRef since, StringRef what) const {
  llvm::VersionTuple first;
  (void)first.tryParse(since);
  if (first <= target)
    return {};
  return Unexpected(unimplemented(what.str(), " can't be written for version ",
                                  target.getAsString(), ": ", since.str(),
                                  " is the first that supports it"));
}

// --- types --------------------------------------------------------------------------------------

Expected<uint64_t> EntryWriter::addType(Type type) {
  if (auto known = types.find(type); known != types.end())
    return known->second;
  uint64_t index = file.addType("vhlo", TREADLE_TRY(typeBytes(type)));
  return types[type] = index;
}

Expected<std::string> EntryWriter::typeBytes(Type type) {
  auto list = [&](TypeRange parts) -> Expected<std::string> {
    std::string bytes = varint(parts.size());
    for (Type part : parts)
      bytes += varint(TREADLE_TRY(addType(part)));
    return bytes;
  };
  if (auto plain = bytecode::vhloCodeOf(type)) {
    TREADLE_TRY(checkVersion(plain->since, "type '" + printToString(type) + "'"));
    return varint(plain->code);
  }
  if (auto complex = dyn_cast<ComplexType>(type))
    return varints({vhlo::Complex, TREADLE_TRY(addType(complex.getElementType()))});
  if (auto function = dyn_cast<FunctionType>(type)) {
    std::string inputs = TREADLE_TRY(list(function.getInputs()));
    return varint(vhlo::Function) + inputs + TREADLE_TRY(list(function.getResults()));
  }
  if (auto tuple = dyn_cast<TupleType>(type))
    return varint(vhlo::Tuple) + TREADLE_TRY(list(tuple.getTypes()));
  if (auto unranked = dyn_cast<UnrankedTensorType>(type))
    return varints({vhlo::UnrankedTensor, TREADLE_TRY(addType(unranked.getElementType()))});
  if (auto quantized = dyn_cast<OpaqueType>(type);
      quantized && quantized.getDialectNamespace() == "quant")
    return quantizedBytes(quantized);
  if (auto buffer = dyn_cast<MemRefType>(type);
      buffer && buffer.getLayout().isIdentity() && !buffer.getMemorySpace()) {
    TREADLE_TRY(checkVersion("1.13.0", "type '" + printToString(type) + "'"));
    return varint(vhlo::Buffer) + TREADLE_TRY(shapeBytes(buffer));
  }
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto encoding =
      tensor ? dyn_cast_or_null<DictionaryAttr>(tensor.getEncoding()) : DictionaryAttr();
  Attribute bounds = encoding && encoding.size() == 1 ? encoding.get("bounds") : Attribute();
  if (!tensor || (tensor.getEncoding() && !bounds))
    return Unexpected(unimplemented("type '", printToString(type),
                                    "' can't be written into a portable "
                                    "artifact yet"));
  if (!bounds)
    return varint(vhlo::RankedTensor) + TREADLE_TRY(shapeBytes(tensor));
  uint64_t written =
      file.addAttribute("vhlo", varint(vhlo::Bounds) + listBytes(stablehlo::numbers(bounds)));
  return varints({vhlo::EncodedTensor, written}) + TREADLE_TRY(shapeBytes(tensor));
}

std::string EntryWriter::listBytes(ArrayRef<int64_t> numbers) {
  std::string bytes = varint(numbers.size());
  for (int64_t number : numbers)
    bytes += signedVarint(number);
  return bytes;
}

Expected<std::string> EntryWriter::shapeBytes(ShapedType type) {
  std::string shape = listBytes(type.getShape());
  return shape + varint(TREADLE_TRY(addType(type.getElementType())));
}

static std::string bitsOf(double value) {
  return signedVarint(static_cast<int64_t>(llvm::bit_cast<uint64_t>(value)));
}

Expected<std::string> EntryWriter::quantizedBytes(OpaqueType type) {
  hlo::QuantizationGrid grid;
  if (!hlo::parseQuantizedType(type, grid))
    return Unexpected(unimplemented("type '", printToString(type),
                                    "' can't be written into a portable artifact"));
  if (grid.axis)
    TREADLE_TRY(checkVersion("0.18.0", "type '" + printToString(type) + "'"));
  bool isSigned = !grid.storage.isUnsigned();
  // Signedness is encoded separately: the storage type is signless.
  Type storage = IntegerType::get(type.getContext(), grid.storage.getWidth());
  std::string head = varints({grid.axis ? vhlo::QuantizedByAxis : vhlo::Quantized, isSigned,
                              TREADLE_TRY(addType(storage)), TREADLE_TRY(addType(grid.expressed))});
  std::string range = signedVarint(grid.least) + signedVarint(grid.most);
  if (!grid.axis)
    return head + bitsOf(grid.scales[0]) + signedVarint(grid.zeros[0]) + range;
  std::string scales = varint(grid.scales.size());
  for (double scale : grid.scales)
    scales += bitsOf(scale);
  return head + varint(static_cast<uint64_t>(*grid.axis)) + range + scales + listBytes(grid.zeros);
}

// --- attributes ---------------------------------------------------------------------------------

uint64_t EntryWriter::addText(StringRef text) {
  return file.addAttribute("vhlo", varints({vhlo::String, file.addString(text.str())}));
}

uint64_t EntryWriter::addList(ArrayRef<uint64_t> items) {
  std::string bytes = varints({vhlo::Array, items.size()});
  for (uint64_t item : items)
    bytes += varint(item);
  return file.addAttribute("vhlo", bytes);
}

Expected<uint64_t> EntryWriter::addAttribute(Attribute value) {
  if (auto known = attributes.find(value); known != attributes.end())
    return known->second;
  uint64_t index = file.addAttribute("vhlo", TREADLE_TRY(attributeBytes(value)));
  return attributes[value] = index;
}

/// Encodes an integer of up to 64 bits: as one byte if it fits, else as a signed varint.
static std::string integerBytes(const llvm::APInt &value) {
  if (value.getBitWidth() <= 8)
    return std::string(1, static_cast<char>(value.getZExtValue()));
  return signedVarint(value.getSExtValue());
}

/// Encodes bools as bits; a splat is one byte.
static std::string boolBytes(DenseElementsAttr value) {
  if (value.isSplat())
    return std::string(1, value.getSplatValue<bool>() ? '\xff' : '\0');
  std::string bytes(llvm::divideCeil(value.getNumElements(), 8), '\0');
  for (auto [i, bit] : llvm::enumerate(value.getValues<bool>()))
    if (bit)
      bytes[i / 8] = static_cast<char>(bytes[i / 8] | 1 << i % 8);
  return bytes;
}

Expected<std::string> EntryWriter::elementsBytes(DenseElementsAttr value) {
  if (!value.getElementType().isIntOrIndexOrFloat() && !isa<ComplexType>(value.getElementType()))
    return Unexpected(unimplemented("elements of '", printToString(value.getType()),
                                    "' can't be written into a portable artifact"));
  uint64_t type = TREADLE_TRY(addType(value.getType()));
  ArrayRef<char> raw = value.getRawData();
  std::string content =
      value.getElementType().isInteger(1) ? boolBytes(value) : std::string(raw.begin(), raw.end());
  return varints({vhlo::Tensor, type, content.size()}) + content;
}

Expected<std::string> EntryWriter::dictionaryBytes(DictionaryAttr value) {
  std::string bytes = varints({vhlo::Dictionary, value.size()});
  for (NamedAttribute field : value)
    bytes += varints({addText(field.getName()), TREADLE_TRY(addAttribute(field.getValue()))});
  return bytes;
}

/// The type of a value is a token, an attribute is none.
Expected<std::string> EntryWriter::noneBytes() {
  TREADLE_TRY(checkVersion("1.6.0", "type 'none'"));
  return varints({vhlo::Type, file.addType("vhlo", varint(vhlo::None))});
}

Expected<std::string> EntryWriter::attributeBytes(Attribute value) {
  Builder builder(value.getContext());
  if (auto flag = dyn_cast<BoolAttr>(value))
    return varints({vhlo::Bool, flag.getValue()});
  if (auto number = dyn_cast<IntegerAttr>(value); number && number.getValue().getBitWidth() <= 64)
    return varints({vhlo::Integer, TREADLE_TRY(addType(number.getType()))}) +
           integerBytes(number.getValue());
  if (auto number = dyn_cast<FloatAttr>(value);
      number && cast<FloatType>(number.getType()).getWidth() <= 64)
    return varints({vhlo::Float, TREADLE_TRY(addType(number.getType()))}) +
           integerBytes(number.getValue().bitcastToAPInt());
  if (auto text = dyn_cast<StringAttr>(value))
    return varints({vhlo::String, file.addString(text.str())});
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(value))
    return varints({vhlo::String, file.addString(symbol.getValue().str())});
  if (auto type = dyn_cast<TypeAttr>(value))
    return isa<NoneType>(type.getValue())
               ? noneBytes()
               : Expected<std::string>(
                     varints({vhlo::Type, TREADLE_TRY(addType(type.getValue()))}));
  if (auto fields = dyn_cast<DictionaryAttr>(value))
    return dictionaryBytes(fields);
  if (auto elements = dyn_cast<DenseElementsAttr>(value))
    return elementsBytes(elements);
  if (isa<DenseI64ArrayAttr>(value)) {
    SmallVector<int64_t> numbers = stablehlo::numbers(value);
    return elementsBytes(builder.getI64TensorAttr(numbers));
  }
  auto list = dyn_cast<ArrayAttr>(value);
  if (!list)
    return Unexpected(unimplemented("attribute '", printToString(value),
                                    "' can't be written into a portable artifact"));
  std::string bytes = varints({vhlo::Array, list.size()});
  for (Attribute part : list)
    bytes += varint(TREADLE_TRY(addAttribute(part)));
  return bytes;
}

// --- fields -------------------------------------------------------------------------------------

static Error noSuchField(StringRef expected, Attribute value) {
  return invalidArgument("it is '", printToString(value), "', expected ", expected.str());
}

Expected<uint64_t> EntryWriter::addWord(uint64_t enumeration, Attribute word) {
  auto text = dyn_cast<StringAttr>(word);
  auto number = text ? bytecode::vhloNumberOf(enumeration, text.getValue()) : std::nullopt;
  if (!number)
    return Unexpected(noSuchField("another keyword", word));
  return file.addAttribute("vhlo", varints({enumeration, *number}));
}

Expected<uint64_t> EntryWriter::addWords(const Field &field) {
  auto list = dyn_cast<ArrayAttr>(field.value);
  SmallVector<uint64_t> words;
  for (Attribute word : list ? list.getValue() : ArrayRef<Attribute>())
    words.push_back(TREADLE_TRY(addWord(field.enumeration, word)));
  return addList(words);
}

Expected<uint64_t> EntryWriter::addNumbers(const Field &field) {
  if (!maybeNumbers(field.value))
    return Unexpected(unimplemented("'", printToString(field.value),
                                    "' can't be written into a portable artifact yet; expected "
                                    "numbers"));
  if (auto elements = dyn_cast<DenseElementsAttr>(field.value);
      elements && field.kind == FieldKind::Pairs && elements.getType().getRank() == 2)
    return addAttribute(elements);
  Builder builder(field.value.getContext());
  SmallVector<int64_t> numbers = stablehlo::numbers(field.value);
  auto count = static_cast<int64_t>(numbers.size());
  if (field.kind == FieldKind::Flags) {
    SmallVector<bool> flags(numbers.begin(), numbers.end());
    auto type = RankedTensorType::get({count}, builder.getI1Type());
    return addAttribute(DenseElementsAttr::get(type, ArrayRef<bool>(flags)));
  }
  auto list = dyn_cast<ArrayAttr>(field.value); // rows, as in the text form
  int64_t rows = list && !list.empty() ? static_cast<int64_t>(list.size()) : count / 2;
  SmallVector<int64_t> shape{count};
  if (field.kind == FieldKind::Pairs)
    shape = {rows, rows ? count / rows : 0};
  if (field.kind == FieldKind::Pairs && shape[0] * shape[1] != count)
    return Unexpected(noSuchField("rows of equal length", field.value));
  auto type = RankedTensorType::get(shape, builder.getI64Type());
  return addAttribute(DenseElementsAttr::get(type, ArrayRef<int64_t>(numbers)));
}

Expected<uint64_t> EntryWriter::addAccuracy(DictionaryAttr value) {
  auto real = [&](StringRef key) {
    auto number = value ? value.getAs<FloatAttr>(key) : FloatAttr();
    return bitsOf(number ? number.getValueAsDouble() : 0);
  };
  SmallVector<int64_t> ulps = stablehlo::numbers(value.get("ulps"));
  Attribute mode = value.get("mode");
  uint64_t word = TREADLE_TRY(
      addWord(vhlo::AccuracyMode, mode ? mode : StringAttr::get(value.getContext(), "DEFAULT")));
  return file.addAttribute("vhlo", varint(vhlo::Accuracy) + real("atol") + real("rtol") +
                                       signedVarint(ulps.size() == 1 ? ulps[0] : 0) + varint(word));
}

Expected<uint64_t> EntryWriter::addAliases(ArrayAttr list) {
  SmallVector<uint64_t> items;
  for (Attribute item : list ? list.getValue() : ArrayRef<Attribute>()) {
    auto fields = dyn_cast<DictionaryAttr>(item);
    if (!fields)
      return Unexpected(noSuchField("an alias", item));
    auto numbers = [&](StringRef key) { return listBytes(stablehlo::numbers(fields.get(key))); };
    SmallVector<int64_t> operand = stablehlo::numbers(fields.get("operand_index"));
    items.push_back(
        file.addAttribute("vhlo", varint(vhlo::Alias) + numbers("output_tuple_indices") +
                                      signedVarint(operand.size() == 1 ? operand[0] : 0) +
                                      numbers("operand_tuple_indices")));
  }
  return addList(items);
}

Expected<uint64_t> EntryWriter::addField(const Field &field) {
  Attribute value = field.value;
  auto number = [&]() -> Expected<int64_t> {
    SmallVector<int64_t> numbers = stablehlo::numbers(value);
    return numbers.size() == 1 ? Expected<int64_t>(numbers[0])
                               : Unexpected(noSuchField("one number", value));
  };
  std::optional<Builder> builder;
  if (value)
    builder.emplace(value.getContext());
  switch (field.kind) {
  case FieldKind::Any:
    return addAttribute(value);
  case FieldKind::Numbers:
  case FieldKind::Pairs:
  case FieldKind::Flags:
    return addNumbers(field);
  case FieldKind::Whole64:
    return addAttribute(builder->getI64IntegerAttr(TREADLE_TRY(number())));
  case FieldKind::Whole32:
    return addAttribute(builder->getI32IntegerAttr(static_cast<int32_t>(TREADLE_TRY(number()))));
  case FieldKind::Flag:
    return addAttribute(builder->getBoolAttr(isa<UnitAttr>(value) || TREADLE_TRY(number()) != 0));
  case FieldKind::Real32: {
    auto real = dyn_cast<FloatAttr>(value);
    if (!real)
      return Unexpected(noSuchField("a number", value));
    return addAttribute(builder->getF32FloatAttr(static_cast<float>(real.getValueAsDouble())));
  }
  case FieldKind::Word:
    return addWord(field.enumeration, value);
  case FieldKind::Words:
    return addWords(field);
  case FieldKind::ApiVersion:
    return file.addAttribute(
        "vhlo", varints({vhlo::ApiVersion, static_cast<uint64_t>(TREADLE_TRY(number()))}));
  case FieldKind::Accuracy:
    return addAccuracy(dyn_cast<DictionaryAttr>(value));
  case FieldKind::Aliases:
    return addAliases(dyn_cast<ArrayAttr>(value));
  case FieldKind::NoType:
    return file.addAttribute("vhlo", TREADLE_TRY(noneBytes()));
  }
  return Unexpected(internal("a field of unknown kind"));
}

// --- MLIR's own ---------------------------------------------------------------------------------

uint64_t EntryWriter::addBuiltinText(StringRef text) {
  return file.addAttribute("builtin", varints({builtin::String, file.addString(text.str())}));
}

uint64_t
EntryWriter::addBuiltinFields(const std::vector<std::pair<std::string, uint64_t>> &fields) {
  std::string bytes = varints({builtin::Dictionary, fields.size()});
  for (const auto &[name, index] : fields)
    bytes += varints({addBuiltinText(name), index});
  return file.addAttribute("builtin", bytes);
}

/// Whether MLIR bytecode may store the attribute as text, because it has no encoding for it.
static bool isStoredAsText(Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  bool hasForm = isa<StringAttr, UnitAttr, DictionaryAttr, ArrayAttr>(value) ||
                 (number && number.getType().isInteger());
  return !hasForm && value.getDialect().getNamespace() == "builtin" &&
         !isa<DenseResourceElementsAttr>(value);
}

Expected<uint64_t> EntryWriter::addBuiltin(Attribute value) {
  if (isStoredAsText(value))
    return file.addAttributeText("builtin", printToString(value));
  return file.addAttribute("builtin", TREADLE_TRY(builtinBytes(value)));
}

Expected<std::string> EntryWriter::builtinBytes(Attribute value) {
  if (auto text = dyn_cast<StringAttr>(value))
    return varints({builtin::String, file.addString(text.str())});
  if (isa<UnitAttr>(value))
    return varint(builtin::Unit);
  if (auto fields = dyn_cast<DictionaryAttr>(value)) {
    std::string bytes = varints({builtin::Dictionary, fields.size()});
    for (NamedAttribute field : fields)
      bytes +=
          varints({addBuiltinText(field.getName()), TREADLE_TRY(addBuiltin(field.getValue()))});
    return bytes;
  }
  if (auto list = dyn_cast<ArrayAttr>(value)) {
    std::string bytes = varints({builtin::Array, list.size()});
    for (Attribute part : list)
      bytes += varint(TREADLE_TRY(addBuiltin(part)));
    return bytes;
  }
  auto number = dyn_cast<IntegerAttr>(value);
  auto type = number ? dyn_cast<IntegerType>(number.getType()) : IntegerType();
  if (!type || type.getWidth() > 64)
    return Unexpected(unimplemented("attribute '", printToString(value),
                                    "' of a module can't be written into a portable artifact"));
  uint64_t packed = uint64_t{type.getWidth()} << 2 | type.getSignedness();
  uint64_t index = file.addType("builtin", varints({builtin::integerType, packed}));
  return varints({builtin::Integer, index}) + integerBytes(number.getValue());
}

uint64_t EntryWriter::addLocation(Location location) {
  if (auto known = locations.find(location); known != locations.end())
    return known->second;
  uint64_t index = file.addAttribute("builtin", locationBytes(location));
  return locations[location] = index;
}

std::string EntryWriter::locationBytes(Location location) {
  if (auto named = dyn_cast<NameLoc>(location))
    return varints(
        {builtin::Named, addBuiltinText(named.getName()), addLocation(named.getChildLoc())});
  if (auto line = dyn_cast<FileLineColLoc>(location))
    return varints({builtin::LineAndColumn, addBuiltinText(line.getFilename()), line.getLine(),
                    line.getColumn()});
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return varints(
        {builtin::CallSite, addLocation(call.getCallee()), addLocation(call.getCaller())});
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return varint(builtin::Unknown);
  std::string bytes = varints({builtin::Fused, fused.getLocations().size()});
  for (Location part : fused.getLocations())
    bytes += varint(addLocation(part));
  return bytes;
}
