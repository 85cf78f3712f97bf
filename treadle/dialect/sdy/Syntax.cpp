#include "treadle/dialect/sdy/Syntax.h"

using namespace mlir;
using namespace treadle;

using Delimiter = AsmParser::Delimiter;

// --- meshes and shardings -----------------------------------------------------------------------

namespace {

/// Parses attributes; each function emits an error if it fails.
class AttributeParser {
public:
  explicit AttributeParser(AsmParser &parser) : parser(parser), builder(parser.getBuilder()) {}

  /// `<["x"=2, "y"=4], device_ids=[...]>`
  FailureOr<Attribute> mesh();
  /// `<@mesh, [{"x"}, {"y":(1)2, ?}p1], replicated={"z"}>`
  FailureOr<Attribute> sharding();
  /// `[<...>, <...>]`
  FailureOr<Attribute> shardings();
  /// `{"x", "y"}`
  FailureOr<Attribute> axes();

private:
  NamedAttribute field(StringRef name, Attribute value) {
    return builder.getNamedAttr(name, value);
  }
  ParseResult meshAxis(Attribute &axis);
  ParseResult axis(SmallVectorImpl<Attribute> &axes);
  ParseResult dimension(Attribute &axes);
  ParseResult rest(SmallVectorImpl<NamedAttribute> &fields);

  AsmParser &parser;
  Builder &builder;
};

} // namespace

ParseResult AttributeParser::meshAxis(Attribute &axis) {
  std::string name;
  int64_t size;
  if (parser.parseString(&name) || parser.parseEqual() || parser.parseInteger(size))
    return failure();
  axis = builder.getDictionaryAttr(
      {field("name", builder.getStringAttr(name)), field("size", builder.getI64IntegerAttr(size))});
  return success();
}

FailureOr<Attribute> AttributeParser::mesh() {
  SmallVector<Attribute> axes;
  SmallVector<int64_t> devices;
  if (parser.parseLess() || parser.parseCommaSeparatedList(
                                Delimiter::Square, [&] { return meshAxis(axes.emplace_back()); }))
    return failure();
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("device_ids") || parser.parseEqual() ||
       parser.parseCommaSeparatedList(Delimiter::Square,
                                      [&] { return parser.parseInteger(devices.emplace_back()); })))
    return failure();
  if (parser.parseGreater())
    return failure();
  return Attribute(
      builder.getDictionaryAttr({field("axes", builder.getArrayAttr(axes)),
                                 field("device_ids", builder.getDenseI64ArrayAttr(devices))}));
}

/// An axis or sub-axis; `?` lets a partitioner add others.
ParseResult AttributeParser::axis(SmallVectorImpl<Attribute> &axes) {
  if (succeeded(parser.parseOptionalQuestion()))
    return success();
  std::string name;
  if (parser.parseString(&name))
    return failure();
  SmallVector<NamedAttribute> fields = {field("axis", builder.getStringAttr(name))};
  if (succeeded(parser.parseOptionalColon())) {
    int64_t before, size;
    if (parser.parseLParen() || parser.parseInteger(before) || parser.parseRParen() ||
        parser.parseInteger(size))
      return failure();
    fields.push_back(field("pre_size", builder.getI64IntegerAttr(before)));
    fields.push_back(field("size", builder.getI64IntegerAttr(size)));
  }
  axes.push_back(builder.getDictionaryAttr(fields));
  return success();
}

FailureOr<Attribute> AttributeParser::axes() {
  SmallVector<Attribute> axes;
  if (parser.parseCommaSeparatedList(Delimiter::Braces, [&] { return axis(axes); }))
    return failure();
  return Attribute(builder.getArrayAttr(axes));
}

/// The axes of a dimension, and its priority for a partitioner: `p1`.
ParseResult AttributeParser::dimension(Attribute &list) {
  FailureOr<Attribute> found = axes();
  StringRef priority;
  if (failed(found))
    return failure();
  (void)parser.parseOptionalKeyword(&priority);
  list = *found;
  return success();
}

/// `, replicated={"z"}`, which is redundant here, and `, unreduced={"w"}`.
ParseResult AttributeParser::rest(SmallVectorImpl<NamedAttribute> &fields) {
  while (succeeded(parser.parseOptionalComma())) {
    StringRef key;
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return failure();
    FailureOr<Attribute> found = axes();
    if (failed(found))
      return failure();
    if (key != "replicated")
      fields.push_back(field(key, *found));
  }
  return success();
}

FailureOr<Attribute> AttributeParser::sharding() {
  StringAttr symbol;
  Attribute mesh;
  SmallVector<Attribute> dims;
  SmallVector<NamedAttribute> fields;
  if (parser.parseLess())
    return failure();
  if (succeeded(parser.parseOptionalSymbolName(symbol))) {
    mesh = FlatSymbolRefAttr::get(symbol);
  } else {
    FailureOr<Attribute> own =
        parser.parseKeyword("mesh") ? FailureOr<Attribute>(failure()) : this->mesh();
    if (failed(own))
      return failure();
    mesh = *own;
  }
  if (parser.parseComma() ||
      parser.parseCommaSeparatedList(Delimiter::Square,
                                     [&] { return dimension(dims.emplace_back()); }) ||
      rest(fields) || parser.parseGreater())
    return failure();
  fields.push_back(field("dims", builder.getArrayAttr(dims)));
  fields.push_back(field("mesh", mesh));
  return Attribute(builder.getDictionaryAttr(fields));
}

FailureOr<Attribute> AttributeParser::shardings() {
  SmallVector<Attribute> list;
  auto item = [&]() -> ParseResult {
    FailureOr<Attribute> found = sharding();
    if (failed(found))
      return failure();
    list.push_back(*found);
    return success();
  };
  if (parser.parseCommaSeparatedList(Delimiter::Square, item))
    return failure();
  return Attribute(builder.getArrayAttr(list));
}

/// Skips brackets of all kinds up to the matching closing one.
static ParseResult skipPast(AsmParser &parser, llvm::function_ref<ParseResult()> close) {
  while (failed(close())) {
    StringAttr symbol;
    std::string text;
    StringRef word;
    int64_t number;
    if (succeeded(parser.parseOptionalLess())) {
      if (skipPast(parser, [&] { return parser.parseOptionalGreater(); }))
        return failure();
    } else if (succeeded(parser.parseOptionalLSquare())) {
      if (skipPast(parser, [&] { return parser.parseOptionalRSquare(); }))
        return failure();
    } else if (succeeded(parser.parseOptionalLBrace())) {
      if (skipPast(parser, [&] { return parser.parseOptionalRBrace(); }))
        return failure();
    } else if (succeeded(parser.parseOptionalLParen())) {
      if (skipPast(parser, [&] { return parser.parseOptionalRParen(); }))
        return failure();
    } else if (OptionalParseResult found = parser.parseOptionalInteger(number); found.has_value()) {
      if (failed(*found))
        return failure();
    } else if (failed(parser.parseOptionalComma()) && failed(parser.parseOptionalEqual()) &&
               failed(parser.parseOptionalColon()) && failed(parser.parseOptionalQuestion()) &&
               failed(parser.parseOptionalArrow()) && failed(parser.parseOptionalString(&text)) &&
               failed(parser.parseOptionalSymbolName(symbol)) &&
               failed(parser.parseOptionalKeyword(&word))) {
      return parser.emitError(parser.getCurrentLocation(), "the sharding has no closing delimiter");
    }
  }
  return success();
}

Attribute sdy::parseAttribute(DialectAsmParser &parser) {
  StringRef kind;
  if (parser.parseKeyword(&kind))
    return {};
  AttributeParser reader(parser);
  if (kind == "mesh")
    return reader.mesh().value_or(Attribute());
  if (kind == "sharding")
    return reader.sharding().value_or(Attribute());
  if (kind == "manual_axes")
    return reader.axes().value_or(Attribute());
  if (kind == "sharding_per_value") {
    FailureOr<Attribute> list =
        parser.parseLess() ? FailureOr<Attribute>(failure()) : reader.shardings();
    return failed(list) || parser.parseGreater() ? Attribute() : *list;
  }
  // The sharding rule of the op, for partitioners.
  if (succeeded(parser.parseOptionalLess()) &&
      failed(skipPast(parser, [&] { return parser.parseOptionalGreater(); })))
    return {};
  return StringAttr::get(parser.getContext(), kind);
}

// --- operations ---------------------------------------------------------------------------------

static ParseResult add(OperationState &state, StringRef name, FailureOr<Attribute> value) {
  if (failed(value))
    return failure();
  state.addAttribute(name, *value);
  return success();
}

/// `@mesh = <["x"=2]>`
static ParseResult parseMesh(OpAsmParser &parser, OperationState &state) {
  StringAttr symbol;
  return failure(parser.parseSymbolName(symbol, "sym_name", state.attributes) ||
                 parser.parseEqual() || add(state, "mesh", AttributeParser(parser).mesh()) ||
                 parser.parseOptionalAttrDict(state.attributes));
}

/// `%x <@mesh, [...]> : type`
static ParseResult parseAnnotation(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand operand;
  Type type;
  if (parser.parseOperand(operand) || add(state, "sharding", AttributeParser(parser).sharding()) ||
      parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type) ||
      parser.resolveOperand(operand, type, state.operands))
    return failure();
  state.addTypes(type);
  return success();
}

/// `%x, %y : types`
static ParseResult parseReturn(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  return failure(parser.parseOperandList(operands) ||
                 parser.parseOptionalAttrDict(state.attributes) ||
                 parser.parseOptionalColonTypeList(types) ||
                 parser.resolveOperands(operands, types, loc, state.operands));
}

/// `(%x) in_shardings=[...] out_shardings=[...] manual_axes={...} (%y: type) {...} : (type) ->
/// type`; for a named computation `<"name">(%x) ...`, where shardings are optional.
static ParseResult parseComputation(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<OpAsmParser::Argument> arguments;
  SMLoc loc = parser.getCurrentLocation();
  AttributeParser reader(parser);
  std::string name;
  if (succeeded(parser.parseOptionalLess())) {
    if (parser.parseString(&name) || parser.parseGreater())
      return failure();
    state.addAttribute("name", parser.getBuilder().getStringAttr(name));
  }
  if (parser.parseOperandList(operands, Delimiter::Paren))
    return failure();
  StringRef key;
  while (succeeded(
      parser.parseOptionalKeyword(&key, {"in_shardings", "out_shardings", "manual_axes"})))
    if (parser.parseEqual() ||
        add(state, key, key == "manual_axes" ? reader.axes() : reader.shardings()))
      return failure();
  FunctionType type;
  if (parser.parseArgumentList(arguments, Delimiter::OptionalParen, /*allowType=*/true) ||
      parser.parseRegion(*state.addRegion(), arguments) ||
      parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), loc, state.operands))
    return failure();
  state.addTypes(type.getResults());
  return success();
}

ParseResult sdy::parseOp(OpAsmParser &parser, OperationState &state) {
  using Form = ParseResult (*)(OpAsmParser &, OperationState &);
  static constexpr std::pair<StringLiteral, Form> forms[] = {
      {"sdy.manual_computation", parseComputation},
      {"sdy.mesh", parseMesh},
      {"sdy.named_computation", parseComputation},
      {"sdy.reshard", parseAnnotation},
      {"sdy.return", parseReturn},
      {"sdy.sharding_constraint", parseAnnotation},
  };
  for (auto [name, form] : forms)
    if (state.name.getStringRef() == name)
      return form(parser, state);
  return emitError(state.location, "unimplemented: ") << state.name.getStringRef();
}
