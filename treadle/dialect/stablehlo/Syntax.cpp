// The pretty forms. Nearly all ops share one form: operands, keywords and `key = value` separated
// by commas, an attribute dictionary, a colon and types; tables map the keys to attributes. The ops
// with regions have parsers of their own.
#include "treadle/dialect/stablehlo/Syntax.h"

#include "treadle/dialect/stablehlo/Attributes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace treadle;

// --- values -------------------------------------------------------------------------------------

static Attribute keywordValue(StringRef word, Builder &builder) {
  if (word == "true" || word == "false")
    return builder.getBoolAttr(word == "true");
  return builder.getStringAttr(word);
}

/// Parses the rest of a list after `[`.
static ParseResult parseListTail(AsmParser &parser, Attribute &list) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> items;
  if (succeeded(parser.parseOptionalRSquare())) {
    list = builder.getArrayAttr(items);
    return success();
  }
  auto parseItem = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalQuestion())) {
      items.push_back(builder.getI64IntegerAttr(ShapedType::kDynamic));
      return success();
    }
    int64_t number;
    OptionalParseResult found = parser.parseOptionalInteger(number);
    if (found.has_value()) {
      items.push_back(builder.getI64IntegerAttr(number));
      return *found;
    }
    FailureOr<Attribute> value = stablehlo::parseValue(parser);
    if (failed(value))
      return failure();
    items.push_back(*value);
    return success();
  };
  if (parser.parseCommaSeparatedList(parseItem) || parser.parseRSquare())
    return failure();
  list = builder.getArrayAttr(items);
  return success();
}

/// `[0, 1]`, and lists joined to it by `x` and `->`.
static FailureOr<Attribute> parseLists(AsmParser &parser) {
  SmallVector<Attribute> lists(1);
  if (parseListTail(parser, lists[0]))
    return failure();
  while (succeeded(parser.parseOptionalKeyword("x")) || succeeded(parser.parseOptionalArrow())) {
    if (parser.parseLSquare() || parseListTail(parser, lists.emplace_back()))
      return failure();
  }
  if (lists.size() == 1)
    return lists[0];
  return Attribute(parser.getBuilder().getArrayAttr(lists));
}

FailureOr<DictionaryAttr> stablehlo::parseFields(AsmParser &parser) {
  NamedAttrList fields;
  StringRef key;
  while (succeeded(parser.parseOptionalKeyword(&key))) {
    if (parser.parseEqual())
      return failure();
    FailureOr<Attribute> value = parseValue(parser);
    if (failed(value))
      return failure();
    fields.set(key, *value);
    if (failed(parser.parseOptionalComma()))
      break;
  }
  return fields.getDictionary(parser.getContext());
}

FailureOr<Attribute> stablehlo::parseValue(AsmParser &parser) {
  if (succeeded(parser.parseOptionalLSquare()))
    return parseLists(parser);
  bool isBraced = succeeded(parser.parseOptionalLBrace());
  if (isBraced || succeeded(parser.parseOptionalLess())) {
    FailureOr<DictionaryAttr> fields = parseFields(parser);
    if (failed(fields) || (isBraced ? parser.parseRBrace() : parser.parseGreater()))
      return failure();
    return Attribute(*fields);
  }
  StringRef word; // before integers, which would match too
  if (succeeded(parser.parseOptionalKeyword(&word, {"true", "false"})))
    return keywordValue(word, parser.getBuilder());
  int64_t number; // before attributes, which would consume all of `0 : type`
  if (OptionalParseResult found = parser.parseOptionalInteger(number); found.has_value())
    return failed(*found) ? FailureOr<Attribute>(failure())
                          : Attribute(parser.getBuilder().getI64IntegerAttr(number));
  std::string text; // an attribute would consume the op's types after it
  if (succeeded(parser.parseOptionalString(&text)))
    return Attribute(parser.getBuilder().getStringAttr(text));
  Attribute value;
  OptionalParseResult found = parser.parseOptionalAttribute(value);
  if (found.has_value())
    return failed(*found) ? FailureOr<Attribute>(failure()) : value;
  if (parser.parseKeyword(&word))
    return failure();
  return keywordValue(word, parser.getBuilder());
}

// --- keys ---------------------------------------------------------------------------------------

namespace {

/// The name in the generic form of a key in the pretty form. Keys that aren't listed keep their
/// names.
struct KeyName {
  StringRef op, key, attr; // an empty op matches any op
};

constexpr KeyName keys[] = {
    {"broadcast", "sizes", "broadcast_sizes"},
    {"broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"dynamic_broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"transpose", "dims", "permutation"},
    {"reverse", "dims", "dimensions"},
    {"iota", "dim", "iota_dimension"},
    {"dynamic_iota", "dim", "iota_dimension"},
    {"einsum", "config", "einsum_config"},
    {"unary_einsum", "config", "einsum_config"},
    {"fft", "type", "fft_type"},
    {"fft", "length", "fft_length"},
    {"rng", "distribution", "rng_distribution"},
    {"rng_bit_generator", "algorithm", "rng_algorithm"},
    {"", "dim", "dimension"},
    {"", "sizes", "slice_sizes"},
    {"", "low", "edge_padding_low"},
    {"", "high", "edge_padding_high"},
    {"", "interior", "interior_padding"},
    {"", "precision", "precision_config"},
    {"", "dim_numbers", "dimension_numbers"},
    {"", "stride", "window_strides"},
    {"", "pad", "padding"},
    {"", "lhs_dilate", "lhs_dilation"},
    {"", "rhs_dilate", "rhs_dilation"},
    {"", "reverse", "window_reversal"},
};

/// Parses one op in the form that most ops share.
class OpParser {
public:
  OpParser(OpAsmParser &parser, OperationState &state)
      : parser(parser), state(state), builder(parser.getBuilder()),
        op(state.name.getStringRef().split('.').second) {}

  ParseResult parse() {
    return failure(parseItems() || parser.parseOptionalAttrDict(state.attributes) || parseTypes());
  }

private:
  ParseResult parseItems();
  ParseResult parseItem(bool &found);
  ParseResult parseRanges();
  void addKeyword(StringRef word);
  ParseResult addKey(StringRef key, Attribute value);
  void addContraction(StringRef side, Attribute value);
  ParseResult parseTypes();
  ParseResult assignTypes(ArrayRef<Type> types);
  ParseResult resolve(TypeRange operandTypes, TypeRange resultTypes);

  OpAsmParser &parser;
  OperationState &state;
  Builder &builder;
  StringRef op;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  NamedAttrList contraction;
};

} // namespace

ParseResult OpParser::parseItems() {
  for (bool found = true; found;) {
    if (parseItem(found))
      return failure();
    // Two commas in a row if an op's variadic operands are empty: `dynamic_slice %x, , sizes = []`.
    while (succeeded(parser.parseOptionalComma())) {
    }
  }
  if (!contraction.empty())
    state.addAttribute("dot_dimension_numbers", contraction.getDictionary(parser.getContext()));
  return success();
}

ParseResult OpParser::parseItem(bool &found) {
  found = true;
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult hasOperand = parser.parseOptionalOperand(operand);
  if (hasOperand.has_value()) {
    if (succeeded(*hasOperand))
      operands.push_back(operand);
    return *hasOperand;
  }
  if (succeeded(parser.parseOptionalLParen()) || succeeded(parser.parseOptionalRParen()))
    return success();
  if (succeeded(parser.parseOptionalLSquare()))
    return parseRanges();
  StringAttr symbol;
  if (succeeded(parser.parseOptionalSymbolName(symbol))) {
    state.addAttribute("call_target_name", symbol);
    return success();
  }
  std::string text;
  if (succeeded(parser.parseOptionalString(&text))) {
    state.addAttribute(op == "einsum" ? "einsum_config" : "name", builder.getStringAttr(text));
    return success();
  }
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word))) {
    found = false;
    return success();
  }
  if (failed(parser.parseOptionalEqual())) {
    addKeyword(word);
    return success();
  }
  FailureOr<Attribute> value = stablehlo::parseValue(parser);
  return failed(value) ? failure() : addKey(word, *value);
}

/// `[0:2, 1:7:3]` of a slice, `[1]` of get_tuple_element.
ParseResult OpParser::parseRanges() {
  SmallVector<int64_t> starts, limits, strides;
  auto parseRange = [&]() -> ParseResult {
    int64_t start, limit = 0, stride = 1;
    if (parser.parseInteger(start))
      return failure();
    if (succeeded(parser.parseOptionalColon()) &&
        (parser.parseInteger(limit) ||
         (succeeded(parser.parseOptionalColon()) && parser.parseInteger(stride))))
      return failure();
    starts.push_back(start);
    limits.push_back(limit);
    strides.push_back(stride);
    return success();
  };
  if (succeeded(parser.parseOptionalRSquare())) {
  } else if (parser.parseCommaSeparatedList(parseRange) || parser.parseRSquare()) {
    return failure();
  }
  if (op == "get_tuple_element") {
    state.addAttribute("index", builder.getI32IntegerAttr(starts.empty() ? 0 : starts[0]));
    return success();
  }
  state.addAttribute("start_indices", builder.getDenseI64ArrayAttr(starts));
  state.addAttribute("limit_indices", builder.getDenseI64ArrayAttr(limits));
  state.addAttribute("strides", builder.getDenseI64ArrayAttr(strides));
  return success();
}

void OpParser::addKeyword(StringRef word) {
  bool isDirection = !state.attributes.get("comparison_direction");
  state.addAttribute(isDirection ? "comparison_direction" : "compare_type",
                     builder.getStringAttr(word));
}

void OpParser::addContraction(StringRef side, Attribute value) {
  auto lists = dyn_cast<ArrayAttr>(value);
  if (!lists || lists.size() != 2)
    return;
  contraction.set(("lhs_" + side).str(), lists[0]);
  contraction.set(("rhs_" + side).str(), lists[1]);
}

ParseResult OpParser::addKey(StringRef key, Attribute value) {
  if (key == "contracting_dims" || key == "batching_dims") {
    addContraction(key == "batching_dims" ? "batching_dimensions" : "contracting_dimensions",
                   value);
    return success();
  }
  if (key == "window") {
    auto fields = dyn_cast<DictionaryAttr>(value);
    if (!fields)
      return parser.emitError(parser.getCurrentLocation())
             << "found window = " << value << ", expected {stride = [...], pad = [...], ...}";
    for (NamedAttribute field : fields)
      if (addKey(field.getName(), field.getValue()))
        return failure();
    return success();
  }
  if (key == "format") { // 5 exponent bits and 10 mantissa bits
    StringRef text = stablehlo::word(value);
    int exponent = 0, mantissa = 0;
    auto [left, right] = text.substr(1).split('m');
    if (left.getAsInteger(10, exponent) || right.getAsInteger(10, mantissa))
      return parser.emitError(parser.getCurrentLocation())
             << "found format '" << text << "', expected one like e5m10";
    state.addAttribute("exponent_bits", builder.getI32IntegerAttr(exponent));
    state.addAttribute("mantissa_bits", builder.getI32IntegerAttr(mantissa));
    return success();
  }
  for (const KeyName &row : keys)
    if (row.key == key && (row.op.empty() || row.op == op)) {
      key = row.attr;
      break;
    }
  state.addAttribute(key, value);
  return success();
}

// --- types --------------------------------------------------------------------------------------

ParseResult OpParser::resolve(TypeRange operandTypes, TypeRange resultTypes) {
  state.addTypes(resultTypes);
  return parser.resolveOperands(operands, operandTypes, parser.getNameLoc(), state.operands);
}

ParseResult OpParser::parseTypes() {
  SmallVector<Type> types, results;
  if (failed(parser.parseOptionalColon()))
    return resolve({}, {});
  if (parser.parseTypeList(types))
    return failure();
  if (types.size() == 1)
    if (auto function = dyn_cast<FunctionType>(types[0]))
      return resolve(function.getInputs(), function.getResults());
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalArrow())) {
    if (succeeded(parser.parseOptionalLParen())) {
      if (parser.parseTypeList(results) || parser.parseRParen())
        return failure();
    } else if (parser.parseTypeList(results)) {
      return failure();
    }
    return parser.resolveOperands(operands, types, loc, state.operands)
               ? failure()
               : (state.addTypes(results), success());
  }
  return assignTypes(types);
}

/// Assigns types to operands and results, including those that share a type.
ParseResult OpParser::assignTypes(ArrayRef<Type> types) {
  size_t numResults = parser.getNumResults();
  if (op == "select" && types.size() == 2 && operands.size() == 3)
    return resolve({types[0], types[1], types[1]}, types[1]);
  if (op == "complex" && types.size() == 1) {
    auto element = dyn_cast<ComplexType>(getElementTypeOrSelf(types[0]));
    auto whole = dyn_cast<ShapedType>(types[0]);
    Type part = element && whole ? Type(whole.clone(element.getElementType())) : types[0];
    return resolve({part, part}, types[0]);
  }
  if (auto tuple = types.size() == 1 ? dyn_cast<TupleType>(types[0]) : TupleType();
      tuple && op == "tuple")
    return resolve(tuple.getTypes(), types[0]);
  if (types.size() == operands.size() && types.size() != 1)
    return resolve(types, numResults ? types : ArrayRef<Type>());
  if (types.size() == 1)
    return resolve(SmallVector<Type>(operands.size(), types[0]),
                   SmallVector<Type>(numResults, types[0]));
  if (operands.empty())
    return resolve({}, types);
  return parser.emitError(parser.getNameLoc())
         << "'" << state.name.getStringRef() << "' has " << operands.size() << " operands and "
         << types.size() << " types, expected a function type";
}

// --- ops of other forms -------------------------------------------------------------------------

static ParseResult parseConstant(OpAsmParser &parser, OperationState &state) {
  Attribute value;
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseAttribute(value))
    return failure();
  auto typed = dyn_cast<TypedAttr>(value);
  if (!typed)
    return parser.emitError(parser.getNameLoc()) << "expected a constant with a type";
  Type type = typed.getType();
  // Present if the type differs from the value's.
  if (succeeded(parser.parseOptionalArrow()) && parser.parseType(type))
    return failure();
  state.addAttribute("value", value);
  state.addTypes(type);
  return success();
}

/// (%x = %a, %y = %b) : types attributes {...} cond {...} do {...}
static ParseResult parseWhile(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> variables;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  auto parsePair = [&]() -> ParseResult {
    return failure(parser.parseArgument(variables.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> types;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parsePair) ||
      (!operands.empty() && parser.parseColonTypeList(types)) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.resolveOperands(operands, types, loc, state.operands))
    return failure();
  state.addTypes(types);
  for (auto [variable, type] : llvm::zip(variables, types))
    variable.type = type;
  for (StringRef keyword : {"cond", "do"})
    if (parser.parseKeyword(keyword) || parser.parseRegion(*state.addRegion(), variables))
      return failure();
  return success();
}

/// Builds the region of `applies stablehlo.add`: the op applied to two scalars.
static void addAppliedOp(Region &region, StringRef opName, Type type, Location loc,
                         StringRef dialect) {
  Block &block = region.emplaceBlock();
  Type scalar = RankedTensorType::get({}, getElementTypeOrSelf(type));
  block.addArguments({scalar, scalar}, {loc, loc});
  OpBuilder builder(loc.getContext()); // the region has no operation yet
  builder.setInsertionPointToEnd(&block);
  OperationState applied(loc, opName);
  applied.addOperands(block.getArguments());
  applied.addTypes(scalar);
  Operation *op = builder.create(applied);
  OperationState end(loc, (dialect + ".return").str());
  end.addOperands(op->getResults());
  builder.create(end);
}

/// reducer(%a: t, %b: t) (%c: t, %d: t) {...}: one pair for each input.
static ParseResult parseReducer(OpAsmParser &parser, OperationState &state, size_t numInputs) {
  SmallVector<OpAsmParser::Argument> left, right;
  for (size_t i = 0; i < numInputs; ++i)
    if (parser.parseLParen() ||
        parser.parseArgument(left.emplace_back(), /*allowType=*/true, /*allowAttrs=*/true) ||
        parser.parseComma() ||
        parser.parseArgument(right.emplace_back(), /*allowType=*/true, /*allowAttrs=*/true) ||
        parser.parseRParen())
      return failure();
  llvm::append_range(left, right);
  return parser.parseRegion(*state.addRegion(), left);
}

/// (%x init: %i), ... applies OP across dimensions = [0] {...} : type
/// (%x init: %i), ... across dimensions = [0] {...} : type reducer(...) {...}
static ParseResult parseReduce(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands, inits;
  SMLoc loc = parser.getCurrentLocation();
  do {
    if (parser.parseLParen() || parser.parseOperand(operands.emplace_back()) ||
        parser.parseKeyword("init") || parser.parseColon() ||
        parser.parseOperand(inits.emplace_back()) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  size_t numInputs = operands.size();
  llvm::append_range(operands, inits);
  StringRef applied;
  if (succeeded(parser.parseOptionalKeyword("applies")) && parser.parseKeyword(&applied))
    return failure();
  std::string opName = applied.str();
  FunctionType type;
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") || parser.parseEqual())
    return failure();
  FailureOr<Attribute> dimensions = stablehlo::parseValue(parser);
  if (failed(dimensions) || parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), loc, state.operands))
    return failure();
  state.addAttribute("dimensions", *dimensions);
  state.addTypes(type.getResults());
  if (opName.empty())
    return failure(parser.parseKeyword("reducer") || parseReducer(parser, state, numInputs));
  if (!isa<TensorType>(type.getInput(0)))
    return parser.emitError(loc) << "found an operand of type " << type.getInput(0)
                                 << ", expected a tensor";
  addAppliedOp(*state.addRegion(), opName, type.getInput(0), state.location,
               state.name.getDialectNamespace());
  return success();
}

/// %x, %y, tolerance = 0.1 : types, or %x, dense<...> : type
static ParseResult parseCheck(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  Builder &builder = parser.getBuilder();
  do {
    StringRef key;
    Attribute stated;
    OptionalParseResult found = parser.parseOptionalOperand(operands.emplace_back());
    if (found.has_value()) {
      if (failed(*found))
        return failure();
      continue;
    }
    operands.pop_back();
    if (failed(parser.parseOptionalKeyword(
            &key, {"tolerance", "max_ulp_difference", "min_ulp_difference"}))) {
      if (parser.parseAttribute(stated, "value", state.attributes))
        return failure();
      if (auto typed = dyn_cast<TypedAttr>(stated))
        types.push_back(typed.getType());
      continue;
    }
    APInt number; // a count, which may use all 64 bits
    double real;
    if (parser.parseEqual())
      return failure();
    if (OptionalParseResult whole = parser.parseOptionalInteger(number); whole.has_value()) {
      if (failed(*whole))
        return failure();
      if (number.getActiveBits() > 64)
        return parser.emitError(loc, "an integer of a check has more than 64 bits");
      number = number.sextOrTrunc(64);
      state.addAttribute(key, key == "tolerance"
                                  ? Attribute(builder.getF64FloatAttr(number.signedRoundToDouble()))
                                  : Attribute(builder.getI64IntegerAttr(number.getSExtValue())));
    } else if (parser.parseFloat(real)) {
      return failure();
    } else {
      state.addAttribute(key, builder.getF64FloatAttr(real));
    }
  } while (succeeded(parser.parseOptionalComma()));
  if (parser.parseOptionalAttrDict(state.attributes))
    return failure();
  if (succeeded(parser.parseOptionalColon())) {
    types.clear();
    if (parser.parseTypeList(types))
      return failure();
  }
  if (types.size() == 1)
    types.resize(operands.size(), types.front());
  return parser.resolveOperands(operands, types, loc, state.operands);
}

/// (%x, %y) inits(%i) dimension=0 attributes {...} {...} : type
static ParseResult parseScan(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, AsmParser::Delimiter::Paren))
    return failure();
  auto numInputs = static_cast<int32_t>(operands.size());
  int64_t dimension;
  FunctionType type;
  if (parser.parseKeyword("inits") ||
      parser.parseOperandList(operands, AsmParser::Delimiter::Paren) ||
      parser.parseKeyword("dimension") || parser.parseEqual() || parser.parseInteger(dimension) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.parseRegion(*state.addRegion()) || parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), loc, state.operands))
    return failure();
  Builder &builder = parser.getBuilder();
  auto numCarries = static_cast<int32_t>(operands.size()) - numInputs;
  state.addAttribute("dimension", builder.getI64IntegerAttr(dimension));
  auto numOutputs = static_cast<int32_t>(type.getNumResults()) - numCarries;
  state.addAttribute("operandSegmentSizes", builder.getDenseI32ArrayAttr({numInputs, numCarries}));
  state.addAttribute("resultSegmentSizes", builder.getDenseI32ArrayAttr({numOutputs, numCarries}));
  state.addTypes(type.getResults());
  return success();
}

ParseResult stablehlo::parseOp(OpAsmParser &parser, OperationState &state) {
  using Form = ParseResult (*)(OpAsmParser &, OperationState &);
  if (state.name.getStringRef().starts_with("check."))
    return parseCheck(parser, state);
  Form form = llvm::StringSwitch<Form>(state.name.getStringRef().split('.').second)
                  .Case("constant", parseConstant)
                  .Case("while", parseWhile)
                  .Case("reduce", parseReduce)
                  .Case("scan", parseScan)
                  .Default(nullptr);
  return form ? form(parser, state) : OpParser(parser, state).parse();
}
