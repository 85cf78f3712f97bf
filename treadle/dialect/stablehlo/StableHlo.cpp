#include "treadle/dialect/stablehlo/StableHlo.h"

#include "treadle/dialect/sdy/Sdy.h"
#include "treadle/dialect/stablehlo/Ops.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::stablehlo;

#include "treadle/dialect/CheckOpsDialect.cpp.inc"
#include "treadle/dialect/ChloOpsDialect.cpp.inc"
#include "treadle/dialect/MhloOpsDialect.cpp.inc"
#include "treadle/dialect/StableHloOpsDialect.cpp.inc"

#define GET_OP_CLASSES
#include "treadle/dialect/CheckOps.cpp.inc"
#define GET_OP_CLASSES
#include "treadle/dialect/ChloOps.cpp.inc"
#define GET_OP_CLASSES
#include "treadle/dialect/MhloOps.cpp.inc"
#define GET_OP_CLASSES
#include "treadle/dialect/StableHloOps.cpp.inc"

// Undeclared ops are allowed here, so that the importer can report them by name.

void stablehlo::StableHloDialect::initialize() {
  allowUnknownOperations();
  addOperations<
#define GET_OP_LIST
#include "treadle/dialect/StableHloOps.cpp.inc"
      >();
}

void chlo::ChloDialect::initialize() {
  allowUnknownOperations();
  addOperations<
#define GET_OP_LIST
#include "treadle/dialect/ChloOps.cpp.inc"
      >();
}

void mhlo::MhloDialect::initialize() {
  allowUnknownOperations();
  addOperations<
#define GET_OP_LIST
#include "treadle/dialect/MhloOps.cpp.inc"
      >();
}

void check::CheckDialect::initialize() {
  allowUnknownOperations();
  addOperations<
#define GET_OP_LIST
#include "treadle/dialect/CheckOps.cpp.inc"
      >();
}

/// `#x<kind VALUE>` or `#x.kind<...>`; in both cases the parser is at `kind`.
Attribute stablehlo::parseAttribute(DialectAsmParser &parser) {
  StringRef kind, word;
  if (parser.parseKeyword(&kind))
    return {};
  Builder builder(parser.getContext());
  if (succeeded(parser.parseOptionalKeyword(&word)))
    return builder.getStringAttr(word);
  if (parser.parseLess())
    return {};
  Attribute value;
  if (kind == "bounds") {
    // Bounds of dynamic dimensions aren't used: the runtime allocates buffers as needed.
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

Type stablehlo::parseType(DialectAsmParser &parser, StringRef dialect) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return {};
  if (keyword == "token")
    return NoneType::get(parser.getContext());
  SmallVector<Type> types;
  if (keyword == "future")
    return parser.parseLess() || parser.parseTypeList(types) || parser.parseGreater()
               ? Type()
               : TupleType::get(parser.getContext(), types);
  parser.emitError(loc, "unimplemented: !")
      << dialect << '.' << keyword << ", expected !" << dialect << ".token";
  return {};
}

void stablehlo::loadDialects(MLIRContext &context) {
  context.loadDialect<StableHloDialect, mhlo::MhloDialect, chlo::ChloDialect, check::CheckDialect,
                      sdy::SdyDialect>();
}

void stablehlo::insertDialects(DialectRegistry &registry) {
  registry.insert<StableHloDialect, mhlo::MhloDialect, chlo::ChloDialect, check::CheckDialect,
                  sdy::SdyDialect>();
}

bool stablehlo::isHlo(Operation *op) {
  return isa_and_nonnull<StableHloDialect, mhlo::MhloDialect, chlo::ChloDialect>(op->getDialect());
}

OperationName stablehlo::currentOpName(OperationName name) {
  if (name.getDialectNamespace() != "mhlo" || name.isRegistered())
    return name;
  for (StringRef dialect : {"stablehlo.", "chlo."})
    if (auto found = RegisteredOperationName::lookup((dialect + name.stripDialect()).str(),
                                                     name.getContext()))
      return *found;
  return name;
}

void stablehlo::upgradeMhloOps(ModuleOp module) {
  module.walk([](Operation *op) {
    OperationName modern = currentOpName(op->getName());
    if (op->getName() == modern)
      return;
    OperationState state(op->getLoc(), modern);
    state.addOperands(op->getOperands());
    state.addTypes(op->getResultTypes());
    state.addAttributes(op->getAttrs());
    if (auto properties = dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
      state.addAttributes(properties.getValue());
    for (Region &region : op->getRegions())
      state.addRegion()->takeBody(region);
    Operation *made = OpBuilder(op).create(state);
    op->replaceAllUsesWith(made);
    op->erase();
  });
}
