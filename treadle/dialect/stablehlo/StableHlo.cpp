#include "treadle/dialect/stablehlo/StableHlo.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::stablehlo;

namespace {

/// What all but annotations have in common.
class TextDialect : public Dialect {
public:
  std::optional<ParseOpHook> getParseOperationHook(StringRef) const override {
    return ParseOpHook(parseOp);
  }

  Type parseType(DialectAsmParser &parser) const override {
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return {};
    if (keyword == "token")
      return NoneType::get(getContext());
    parser.emitError(loc) << "found !" << getNamespace() << '.' << keyword << ", expected !"
                          << getNamespace() << ".token";
    return {};
  }

  Attribute parseAttribute(DialectAsmParser &parser, Type) const override;

  void printType(Type, DialectAsmPrinter &) const override {}
  void printAttribute(Attribute, DialectAsmPrinter &) const override {}

protected:
  TextDialect(StringRef name, MLIRContext *context, TypeID id) : Dialect(name, context, id) {
    allowUnknownOperations();
  }
};

struct StableHloDialect : TextDialect {
  static constexpr StringLiteral getDialectNamespace() { return "stablehlo"; }
  explicit StableHloDialect(MLIRContext *context)
      : TextDialect(getDialectNamespace(), context, TypeID::get<StableHloDialect>()) {}
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StableHloDialect)
};

struct MhloDialect : TextDialect {
  static constexpr StringLiteral getDialectNamespace() { return "mhlo"; }
  explicit MhloDialect(MLIRContext *context)
      : TextDialect(getDialectNamespace(), context, TypeID::get<MhloDialect>()) {}
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MhloDialect)
};

struct ChloDialect : TextDialect {
  static constexpr StringLiteral getDialectNamespace() { return "chlo"; }
  explicit ChloDialect(MLIRContext *context)
      : TextDialect(getDialectNamespace(), context, TypeID::get<ChloDialect>()) {}
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChloDialect)
};

/// What a program's results should be, as StableHLO's own test programs say it.
struct CheckDialect : TextDialect {
  static constexpr StringLiteral getDialectNamespace() { return "check"; }
  explicit CheckDialect(MLIRContext *context)
      : TextDialect(getDialectNamespace(), context, TypeID::get<CheckDialect>()) {}
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckDialect)
};

/// Annotations of how values are spread over devices. What a program computes doesn't depend on
/// them, so meshes and constraints are read over; attributes are kept as text.
class ShardingDialect : public Dialect {
public:
  static constexpr StringLiteral getDialectNamespace() { return "sdy"; }
  explicit ShardingDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<ShardingDialect>()) {
    allowUnknownOperations();
  }

  std::optional<ParseOpHook> getParseOperationHook(StringRef) const override {
    return ParseOpHook(parseAnnotation);
  }
  Attribute parseAttribute(DialectAsmParser &parser, Type) const override {
    StringRef kind;
    if (parser.parseKeyword(&kind) ||
        (succeeded(parser.parseOptionalLess()) &&
         failed(skipPast(parser, [&] { return parser.parseOptionalGreater(); }))))
      return {};
    return StringAttr::get(getContext(), kind);
  }
  void printAttribute(Attribute, DialectAsmPrinter &) const override {}

  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ShardingDialect)

private:
  static ParseResult parseAnnotation(OpAsmParser &parser, OperationState &state);
  static ParseResult parseComputation(OpAsmParser &parser, OperationState &state);
  static ParseResult parseReturn(OpAsmParser &parser, OperationState &state);
  /// Reads what shardings are written with, up to the end of the brackets around them.
  static ParseResult skipPast(AsmParser &parser, llvm::function_ref<ParseResult()> close);
};

} // namespace

ParseResult ShardingDialect::skipPast(AsmParser &parser, llvm::function_ref<ParseResult()> close) {
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
      return parser.emitError(parser.getCurrentLocation(), "found no end of a sharding");
    }
  }
  return success();
}

/// `sdy.manual_computation(%x) in_shardings=[...] out_shardings=[...] manual_axes={...} (%y: type)
/// {...} : (type) -> type`, and `sdy.named_computation<"name">(%x) (%y: type) {...}`.
ParseResult ShardingDialect::parseComputation(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<OpAsmParser::Argument> arguments;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalLess()) &&
      failed(skipPast(parser, [&] { return parser.parseOptionalGreater(); })))
    return failure();
  if (parser.parseOperandList(operands, AsmParser::Delimiter::Paren))
    return failure();
  StringRef key;
  while (succeeded(
      parser.parseOptionalKeyword(&key, {"in_shardings", "out_shardings", "manual_axes"}))) {
    if (parser.parseEqual())
      return failure();
    bool isList = succeeded(parser.parseOptionalLSquare());
    if ((!isList && parser.parseLBrace()) || skipPast(parser, [&] {
          return isList ? parser.parseOptionalRSquare() : parser.parseOptionalRBrace();
        }))
      return failure();
  }
  FunctionType type;
  if (parser.parseArgumentList(arguments, AsmParser::Delimiter::OptionalParen,
                               /*allowType=*/true) ||
      parser.parseRegion(*state.addRegion(), arguments) ||
      parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), loc, state.operands))
    return failure();
  state.addTypes(type.getResults());
  return success();
}

/// `sdy.return %x, %y : types`
ParseResult ShardingDialect::parseReturn(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  return failure(parser.parseOperandList(operands) ||
                 parser.parseOptionalAttrDict(state.attributes) ||
                 parser.parseOptionalColonTypeList(types) ||
                 parser.resolveOperands(operands, types, loc, state.operands));
}

/// `sdy.mesh @name = <[...]>`, and `sdy.sharding_constraint %x <...> : type`.
ParseResult ShardingDialect::parseAnnotation(OpAsmParser &parser, OperationState &state) {
  StringRef name = state.name.stripDialect();
  auto skipSharding = [&]() -> ParseResult {
    return failure(parser.parseLess() ||
                   skipPast(parser, [&] { return parser.parseOptionalGreater(); }));
  };
  if (name == "mesh") {
    StringAttr symbol;
    return failure(parser.parseSymbolName(symbol) || parser.parseEqual() || skipSharding() ||
                   parser.parseOptionalAttrDict(state.attributes));
  }
  if (name == "return")
    return parseReturn(parser, state);
  if (name == "manual_computation" || name == "named_computation")
    return parseComputation(parser, state);
  if (name != "sharding_constraint" && name != "reshard")
    return emitError(state.location, "unimplemented: ") << state.name.getStringRef();
  OpAsmParser::UnresolvedOperand operand;
  Type type;
  if (parser.parseOperand(operand) || skipSharding() ||
      parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type) ||
      parser.resolveOperand(operand, type, state.operands))
    return failure();
  state.addTypes(type);
  return success();
}

/// `#x<kind VALUE>` or `#x.kind<...>`; inside either, the parser stands before `kind`.
Attribute TextDialect::parseAttribute(DialectAsmParser &parser, Type) const {
  StringRef kind, word;
  if (parser.parseKeyword(&kind))
    return {};
  Builder builder(getContext());
  if (succeeded(parser.parseOptionalKeyword(&word)))
    return builder.getStringAttr(word);
  if (parser.parseLess())
    return {};
  Attribute value;
  if (kind == "bounds") {
    // How large dynamic dimensions may get: of no use to a runtime that allocates as it goes.
    SmallVector<int64_t> bounds;
    auto read = [&]() -> ParseResult {
      if (succeeded(parser.parseOptionalQuestion())) {
        bounds.push_back(ShapedType::kDynamic);
        return success();
      }
      return parser.parseInteger(bounds.emplace_back());
    };
    if (parser.parseCommaSeparatedList(read))
      return {};
    value = builder.getDictionaryAttr(
        builder.getNamedAttr("bounds", builder.getDenseI64ArrayAttr(bounds)));
  } else if (succeeded(parser.parseOptionalKeyword("raw"))) {
    FailureOr<DictionaryAttr> fields = parseFields(parser);
    if (failed(fields))
      return {};
    value = *fields;
  } else if (kind.ends_with("_mode")) {
    if (parser.parseKeyword(&word))
      return {};
    value = builder.getStringAttr(word);
  } else if (kind == "conv") {
    FailureOr<Attribute> layout = parseValue(parser);
    if (failed(layout))
      return {};
    value = *layout;
  } else {
    FailureOr<DictionaryAttr> fields = parseFields(parser);
    if (failed(fields))
      return {};
    value = *fields;
  }
  if (parser.parseGreater())
    return {};
  return value;
}

void stablehlo::loadDialects(MLIRContext &context) {
  context.loadDialect<StableHloDialect, MhloDialect, ChloDialect, CheckDialect, ShardingDialect>();
}

void stablehlo::insertDialects(DialectRegistry &registry) {
  registry.insert<StableHloDialect, MhloDialect, ChloDialect, CheckDialect, ShardingDialect>();
}

bool stablehlo::isHlo(Operation *op) {
  StringRef name = op->getName().getDialectNamespace();
  return name == "stablehlo" || name == "mhlo" || name == "chlo";
}
