#include "treadle/dialect/stablehlo/StableHlo.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::stablehlo;

namespace {

/// What the three have in common.
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

} // namespace

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
    auto skip = [&]() -> ParseResult {
      int64_t bound;
      if (succeeded(parser.parseOptionalQuestion()))
        return success();
      return parser.parseInteger(bound);
    };
    if (parser.parseCommaSeparatedList(skip))
      return {};
    value = builder.getDictionaryAttr({});
  } else if (succeeded(parser.parseOptionalKeyword("raw"))) {
    FailureOr<DictionaryAttr> fields = parseFields(parser);
    if (failed(fields))
      return {};
    value = *fields;
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
  context.loadDialect<StableHloDialect, MhloDialect, ChloDialect>();
}

void stablehlo::insertDialects(DialectRegistry &registry) {
  registry.insert<StableHloDialect, MhloDialect, ChloDialect>();
}

bool stablehlo::isHlo(Operation *op) {
  StringRef name = op->getName().getDialectNamespace();
  return name == "stablehlo" || name == "mhlo" || name == "chlo";
}
