// Reads attributes and types of MLIR's builtin dialect, by the codes of BuiltinDialectBytecode.td:
// those that portable artifacts use for locations, names and attributes of a module.
#include "treadle/import/bytecode/Entries.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::bytecode;

static Expected<Attribute> readArray(EntryReader &from) {
  return ArrayAttr::get(from.context, TREADLE_TRY(from.attributes()));
}

static Expected<Attribute> readDictionary(EntryReader &from) {
  return TREADLE_TRY(from.dictionary());
}

static Expected<Attribute> readString(EntryReader &from) {
  return StringAttr::get(from.context, TREADLE_TRY(from.string()));
}

static Expected<Attribute> readTypedString(EntryReader &from) {
  StringRef text = TREADLE_TRY(from.string());
  return StringAttr::get(text, TREADLE_TRY(from.type()));
}

static Expected<Attribute> readSymbol(EntryReader &from) {
  return FlatSymbolRefAttr::get(TREADLE_TRY(from.attributeOf<StringAttr>("name")));
}

static Expected<Attribute> readType(EntryReader &from) {
  return TypeAttr::get(TREADLE_TRY(from.type()));
}

static Expected<Attribute> readUnit(EntryReader &from) { return UnitAttr::get(from.context); }

static Expected<Attribute> readInteger(EntryReader &from) {
  return TREADLE_TRY(from.integer(TREADLE_TRY(from.type())));
}

static Expected<Attribute> readFloat(EntryReader &from) {
  return TREADLE_TRY(from.number(TREADLE_TRY(from.type())));
}

static Expected<Attribute> readElements(EntryReader &from) {
  Type type = TREADLE_TRY(from.type());
  return bytecode::readElements(from, type, TREADLE_TRY(from.blob()));
}

// --- locations ----------------------------------------------------------------------------------

static Expected<LocationAttr> readPart(EntryReader &from) {
  return from.attributeOf<LocationAttr>("location");
}

static Expected<Attribute> readCallSite(EntryReader &from) {
  LocationAttr callee = TREADLE_TRY(readPart(from));
  return CallSiteLoc::get(callee, TREADLE_TRY(readPart(from)));
}

static unsigned lineOrColumn(uint64_t number) {
  return static_cast<unsigned>(std::min<uint64_t>(number, INT32_MAX));
}

static Expected<Attribute> readLineAndColumn(EntryReader &from) {
  auto file = TREADLE_TRY(from.attributeOf<StringAttr>("file name"));
  unsigned line = lineOrColumn(TREADLE_TRY(from.at.varint()));
  return FileLineColLoc::get(file, line, lineOrColumn(TREADLE_TRY(from.at.varint())));
}

/// Reads up to four numbers: begin and end; the end isn't used here.
static Expected<Attribute> readRange(EntryReader &from) {
  auto file = TREADLE_TRY(from.attributeOf<StringAttr>("file name"));
  size_t count = TREADLE_TRY(from.at.count());
  unsigned begin[2] = {0, 0};
  for (size_t i = 0; i < count; ++i) {
    uint64_t number = TREADLE_TRY(from.at.varint());
    if (i < std::size(begin))
      begin[i] = lineOrColumn(number);
  }
  return FileLineColLoc::get(file, begin[0], begin[1]);
}

static Expected<Location> readFusedParts(EntryReader &from, bool hasMetadata) {
  size_t count = TREADLE_TRY(from.at.count());
  SmallVector<Location> parts;
  for (size_t i = 0; i < count; ++i)
    parts.push_back(TREADLE_TRY(readPart(from)));
  Attribute metadata = hasMetadata ? TREADLE_TRY(from.attribute()) : Attribute();
  return FusedLoc::get(parts, metadata, from.context);
}

static Expected<Attribute> readFused(EntryReader &from) {
  return LocationAttr(TREADLE_TRY(readFusedParts(from, false)));
}

static Expected<Attribute> readFusedWithMetadata(EntryReader &from) {
  return LocationAttr(TREADLE_TRY(readFusedParts(from, true)));
}

static Expected<Attribute> readNamed(EntryReader &from) {
  auto name = TREADLE_TRY(from.attributeOf<StringAttr>("name"));
  return NameLoc::get(name, TREADLE_TRY(readPart(from)));
}

static Expected<Attribute> readUnknown(EntryReader &from) {
  return Attribute(UnknownLoc::get(from.context));
}

// --- types --------------------------------------------------------------------------------------

static Expected<Type> readIntegerType(EntryReader &from) {
  uint64_t packed = TREADLE_TRY(from.at.varint());
  uint64_t width = packed >> 2, sign = packed & 3;
  if (width == 0 || width > 64 || sign > IntegerType::Unsigned)
    return Unexpected(from.at.damaged("an integer type of ", width, " bits"));
  return IntegerType::get(from.context, static_cast<unsigned>(width),
                          static_cast<IntegerType::SignednessSemantics>(sign));
}

static constexpr EntryRow<Attribute> attributeRows[] = {
    {0, readArray},
    {1, readDictionary},
    {2, readString},
    {3, readTypedString},
    {4, readSymbol},
    {6, readType},
    {7, readUnit},
    {8, readInteger},
    {9, readFloat},
    {10, readCallSite},
    {11, readLineAndColumn},
    {12, readFused},
    {13, readFusedWithMetadata},
    {14, readNamed},
    {15, readUnknown},
    {18, ::readElements},
    {22, readRange},
};

static constexpr EntryRow<Type> typeRows[] = {
    {0, readIntegerType},
    {1, readPlainType<IndexType>},
    {2, readFunctionType},
    {3, readPlainType<BFloat16Type>},
    {4, readPlainType<Float16Type>},
    {5, readPlainType<Float32Type>},
    {6, readPlainType<Float64Type>},
    {9, readComplexType},
    {12, readPlainType<NoneType>},
    {13, readTensorType},
    {14, readEncodedTensorType},
    {15, readTupleType},
    {18, readUnrankedTensorType},
};

Expected<Attribute> bytecode::readBuiltinAttribute(EntryReader &from) {
  uint64_t code = TREADLE_TRY(from.at.varint());
  return readByCode<Attribute>(from, code, attributeRows, "a builtin attribute");
}

Expected<Type> bytecode::readBuiltinType(EntryReader &from) {
  uint64_t code = TREADLE_TRY(from.at.varint());
  return readByCode<Type>(from, code, typeRows, "a builtin type");
}
