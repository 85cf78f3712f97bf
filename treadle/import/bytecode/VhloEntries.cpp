// Reads attributes and types of VHLO by their codes in StableHLO's portable artifacts. Codes are
// stable: new versions of VHLO only add codes.
#include "treadle/import/bytecode/Entries.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::bytecode;

// --- enumerations -------------------------------------------------------------------------------

namespace {
struct EnumRow {
  uint64_t code, first;
  std::initializer_list<StringRef> words;
};
} // namespace

static const EnumRow *findEnum(uint64_t code) {
  static const EnumRow rows[] = {
      {3, 0, {"EQ", "NE", "GE", "GT", "LE", "LT"}},                    // comparison direction
      {4, 0, {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}}, // comparison type
      {7, 0, {"FFT", "IFFT", "RFFT", "IRFFT"}},
      {11, 0, {"DEFAULT", "HIGH", "HIGHEST"}},     // precision
      {12, 0, {"DEFAULT", "THREE_FRY", "PHILOX"}}, // bit generator algorithm
      {13, 1, {"UNIFORM", "NORMAL"}},              // random distribution
      {16, 0, {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
      {19, 0, {"DEFAULT", "HIGHEST", "TOLERANCE"}}, // result accuracy
  };
  const EnumRow *found = llvm::find_if(rows, [&](const EnumRow &row) { return row.code == code; });
  return found == std::end(rows) ? nullptr : found;
}

/// Words become strings, as in the text form.
static Expected<Attribute> readWord(EntryReader &from, const EnumRow &row) {
  uint64_t value = TREADLE_TRY(from.at.varint());
  if (value < row.first || value - row.first >= row.words.size())
    return Unexpected(from.at.damaged("value ", value, " of an enumeration whose last is ",
                                      row.first + row.words.size() - 1));
  return StringAttr::get(from.context, row.words.begin()[value - row.first]);
}

// --- attributes ---------------------------------------------------------------------------------

static Expected<Attribute> readArray(EntryReader &from) {
  return ArrayAttr::get(from.context, TREADLE_TRY(from.attributes()));
}

static Expected<Attribute> readBool(EntryReader &from) {
  uint64_t value = TREADLE_TRY(from.at.varint());
  if (value > 1)
    return Unexpected(from.at.damaged("a bool is ", value));
  return BoolAttr::get(from.context, value != 0);
}

/// The one enumeration that the text form writes as a number.
static Expected<Attribute> readApiVersion(EntryReader &from) {
  constexpr uint64_t last = 4;
  uint64_t value = TREADLE_TRY(from.at.varint());
  if (value > last)
    return Unexpected(from.at.damaged("version ", value, " of custom calls, expected 0 to ", last));
  return Builder(from.context).getI32IntegerAttr(static_cast<int32_t>(value));
}

static Expected<Attribute> readDictionary(EntryReader &from) {
  return TREADLE_TRY(from.dictionary());
}

static Expected<Attribute> readFloat(EntryReader &from) {
  return TREADLE_TRY(from.number(TREADLE_TRY(from.type())));
}

static Expected<Attribute> readInteger(EntryReader &from) {
  return TREADLE_TRY(from.integer(TREADLE_TRY(from.type())));
}

static Expected<Attribute> readString(EntryReader &from) {
  return StringAttr::get(from.context, TREADLE_TRY(from.string()));
}

static Expected<Attribute> readTensor(EntryReader &from) {
  Type type = TREADLE_TRY(from.type());
  return readElements(from, type, TREADLE_TRY(from.blob()));
}

static Expected<Attribute> readType(EntryReader &from) {
  return TypeAttr::get(TREADLE_TRY(from.type()));
}

/// Reads the bounds of dynamic dimensions.
static Expected<Attribute> readBounds(EntryReader &from) {
  Builder builder(from.context);
  auto bounds = integerArrayAttr(from.context, TREADLE_TRY(from.signedNumbers()));
  return builder.getDictionaryAttr(builder.getNamedAttr("bounds", bounds));
}

static Expected<Attribute> readAlias(EntryReader &from) {
  Builder builder(from.context);
  SmallVector<int64_t> output = TREADLE_TRY(from.signedNumbers());
  int64_t operand = TREADLE_TRY(from.at.signedVarint());
  SmallVector<int64_t> place = TREADLE_TRY(from.signedNumbers());
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("output_tuple_indices", integerArrayAttr(from.context, output)),
       builder.getNamedAttr("operand_index", builder.getI64IntegerAttr(operand)),
       builder.getNamedAttr("operand_tuple_indices", integerArrayAttr(from.context, place))});
}

static Expected<Attribute> readAccuracy(EntryReader &from) {
  Builder builder(from.context);
  FloatAttr absolute = TREADLE_TRY(from.number(builder.getF64Type()));
  FloatAttr relative = TREADLE_TRY(from.number(builder.getF64Type()));
  int64_t ulps = TREADLE_TRY(from.at.signedVarint());
  auto mode = TREADLE_TRY(from.attributeOf<StringAttr>("mode of accuracy"));
  return builder.getDictionaryAttr({builder.getNamedAttr("atol", absolute),
                                    builder.getNamedAttr("rtol", relative),
                                    builder.getNamedAttr("ulps", builder.getI64IntegerAttr(ulps)),
                                    builder.getNamedAttr("mode", mode)});
}

// --- meshes of devices --------------------------------------------------------------------------

Expected<Attribute> bytecode::readSubAxis(EntryReader &from) {
  Builder builder(from.context);
  int64_t before = TREADLE_TRY(from.at.signedVarint());
  int64_t size = TREADLE_TRY(from.at.signedVarint());
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("pre_size", builder.getI64IntegerAttr(before)),
       builder.getNamedAttr("size", builder.getI64IntegerAttr(size))});
}

static Expected<Attribute> readAxis(EntryReader &from) {
  NamedAttrList fields;
  fields.append("name", TREADLE_TRY(from.attribute()));
  if (TREADLE_TRY(from.at.varint()) != 0)
    fields.append("sub_axis_info", TREADLE_TRY(from.attribute()));
  return fields.getDictionary(from.context);
}

static Expected<Attribute> readMeshAxes(EntryReader &from) {
  NamedAttrList fields;
  fields.append("mesh", TREADLE_TRY(from.attribute()));
  fields.append("axes", TREADLE_TRY(from.attribute()));
  return fields.getDictionary(from.context);
}

static Expected<Attribute> readMeshAxis(EntryReader &from) {
  NamedAttrList fields;
  fields.append("name", TREADLE_TRY(from.attribute()));
  fields.append("size",
                Builder(from.context).getI64IntegerAttr(TREADLE_TRY(from.at.signedVarint())));
  return fields.getDictionary(from.context);
}

static Expected<Attribute> readMesh(EntryReader &from) {
  NamedAttrList fields;
  fields.append("axes", TREADLE_TRY(from.attribute()));
  if (Attribute devices = TREADLE_TRY(from.optionalAttribute()))
    fields.append("device_ids", devices);
  return fields.getDictionary(from.context);
}

static constexpr EntryRow<Attribute> attributeRows[] = {
    {1, readArray},    {2, readBool},    {5, readApiVersion}, {6, readDictionary},
    {8, readFloat},    {9, readInteger}, {10, readAlias},     {14, readString},
    {15, readTensor},  {17, readType},   {18, readBounds},    {20, readAccuracy},
    {21, readSubAxis}, {22, readAxis},   {23, readMeshAxes},  {24, readMeshAxis},
    {25, readMesh},
};

Expected<Attribute> bytecode::readVhloAttribute(EntryReader &from) {
  uint64_t code = TREADLE_TRY(from.at.varint());
  if (const EnumRow *row = findEnum(code))
    return readWord(from, *row);
  return readByCode<Attribute>(from, code, attributeRows, "an attribute of VHLO");
}

// --- types --------------------------------------------------------------------------------------

template <unsigned width, IntegerType::SignednessSemantics sign = IntegerType::Signless>
static Expected<Type> readIntegerType(EntryReader &from) {
  return IntegerType::get(from.context, width, sign);
}

static constexpr IntegerType::SignednessSemantics isUnsigned = IntegerType::Unsigned;

static Expected<Type> readBuffer(EntryReader &from) {
  SmallVector<int64_t> shape = TREADLE_TRY(from.signedNumbers());
  Type element = TREADLE_TRY(from.type());
  return from.checked([&](auto error) {
    return MemRefType::getChecked(error, shape, element, MemRefLayoutAttrInterface(), Attribute());
  });
}

// --- types without values here: they are kept by name, for an error at what uses them -----------

static std::string printType(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static Expected<Type> readWitness(EntryReader &from) {
  return namedType(from.context, "shape", "witness");
}

static Expected<std::string> readScale(EntryReader &from) {
  FloatAttr scale = TREADLE_TRY(from.number(Float64Type::get(from.context)));
  llvm::SmallString<32> text;
  scale.getValue().toString(text);
  bool isWhole = llvm::all_of(text, llvm::isDigit);
  return text.str().str() + (isWhole ? ".0" : "");
}

namespace {
/// The common prefix of both kinds: signedness of the storage type, storage type, and expressed
/// type.
struct QuantizedHead {
  std::string storage, expressed;
};
} // namespace

static Expected<QuantizedHead> readQuantizedHead(EntryReader &from) {
  bool isSigned = TREADLE_TRY(from.at.varint()) & 1;
  std::string storage = printType(TREADLE_TRY(from.type()));
  if (!isSigned && llvm::StringRef(storage).starts_with("i"))
    storage.front() = 'u';
  return QuantizedHead{storage, printType(TREADLE_TRY(from.type()))};
}

/// Reads the range of stored numbers; returns the beginning of the type's text.
static Expected<std::string> readRange(EntryReader &from, const QuantizedHead &head) {
  int64_t least = TREADLE_TRY(from.at.signedVarint()), most = TREADLE_TRY(from.at.signedVarint());
  return str("uniform<", head.storage, "<", least, ":", most, ">:", head.expressed);
}

static Expected<Type> readQuantized(EntryReader &from) {
  QuantizedHead head = TREADLE_TRY(readQuantizedHead(from));
  std::string scale = TREADLE_TRY(readScale(from));
  int64_t zero = TREADLE_TRY(from.at.signedVarint());
  std::string text = TREADLE_TRY(readRange(from, head));
  return namedType(from.context, "quant", str(text, ", ", scale, ":", zero, ">"));
}

static Expected<Type> readQuantizedByAxis(EntryReader &from) {
  QuantizedHead head = TREADLE_TRY(readQuantizedHead(from));
  auto axis = TREADLE_TRY(from.at.varint());
  std::string text = str(TREADLE_TRY(readRange(from, head)), ":", axis, ", {");
  SmallVector<std::string> parts(TREADLE_TRY(from.at.count()));
  for (std::string &part : parts)
    part = TREADLE_TRY(readScale(from));
  SmallVector<int64_t> zeros = TREADLE_TRY(from.signedNumbers());
  if (zeros.size() != parts.size())
    return Unexpected(from.at.damaged(zeros.size(), " zeros for ", parts.size(), " scales"));
  for (auto [part, zero] : llvm::zip(parts, zeros))
    part += ":" + std::to_string(zero);
  return namedType(from.context, "quant", text + llvm::join(parts, ", ") + "}>");
}

static constexpr EntryRow<Type> typeRows[] = {
    {0, readIntegerType<1>},
    {1, readComplexType},
    {2, readPlainType<BFloat16Type>},
    {3, readPlainType<Float16Type>},
    {4, readPlainType<Float32Type>},
    {5, readPlainType<Float64Type>},
    {6, readPlainType<Float8E4M3FNType>},
    {7, readPlainType<Float8E5M2Type>},
    {8, readFunctionType},
    {9, readPlainType<IndexType>},
    {10, readIntegerType<4>},
    {11, readIntegerType<8>},
    {12, readIntegerType<16>},
    {13, readIntegerType<32>},
    {14, readIntegerType<64>},
    {15, readIntegerType<4, isUnsigned>},
    {16, readIntegerType<8, isUnsigned>},
    {17, readIntegerType<16, isUnsigned>},
    {18, readIntegerType<32, isUnsigned>},
    {19, readIntegerType<64, isUnsigned>},
    {20, readTensorType},
    {21, readEncodedTensorType},
    {22, readPlainType<NoneType>}, // a token, as in the text form
    {23, readTupleType},
    {24, readQuantized},
    {25, readUnrankedTensorType},
    {26, readWitness},
    {27, readPlainType<Float8E4M3FNUZType>, "0.10.0"},
    {28, readPlainType<Float8E5M2FNUZType>, "0.10.0"},
    {29, readPlainType<Float8E4M3B11FNUZType>, "0.11.0"},
    {30, readQuantizedByAxis, "0.18.0"},
    {31, readIntegerType<2>, "1.2.0"},
    {32, readIntegerType<2, isUnsigned>, "1.2.0"},
    {33, readPlainType<NoneType>, "1.6.0"},
    {34, readPlainType<FloatTF32Type>, "1.6.0"},
    {35, readPlainType<Float8E4M3Type>, "1.7.0"},
    {36, readPlainType<Float8E3M4Type>, "1.7.0"},
    {37, readPlainType<Float4E2M1FNType>, "1.8.0"},
    {38, readPlainType<Float6E2M3FNType>, "1.8.0"},
    {39, readPlainType<Float6E3M2FNType>, "1.8.0"},
    {40, readPlainType<Float8E8M0FNUType>, "1.8.0"},
    {41, readBuffer, "1.13.0"},
    {42, readTupleType, "1.15.0"},
};

Expected<Type> bytecode::readVhloType(EntryReader &from) {
  uint64_t code = TREADLE_TRY(from.at.varint());
  return readByCode<Type>(from, code, typeRows, "a type of VHLO");
}

// --- from types to codes ------------------------------------------------------------------------

/// A type without parameters is one that its reader creates from no bytes.
std::optional<PlainTypeCode> bytecode::vhloCodeOf(Type type) {
  Layout nothing;
  Entries entries(*type.getContext(), nothing);
  for (const EntryRow<Type> &row : typeRows) {
    EntryReader from(entries, Cursor());
    if (Expected<Type> plain = row.read(from); plain && *plain == type)
      return PlainTypeCode{row.code, row.since};
  }
  return std::nullopt;
}

std::optional<uint64_t> bytecode::vhloNumberOf(uint64_t enumCode, StringRef word) {
  const EnumRow *row = findEnum(enumCode);
  const StringRef *found = row ? llvm::find(row->words, word) : nullptr;
  return row && found != row->words.end()
             ? std::optional(row->first + static_cast<uint64_t>(found - row->words.begin()))
             : std::nullopt;
}
