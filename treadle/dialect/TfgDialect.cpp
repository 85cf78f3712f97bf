// The tfg dialect: registration, interfaces of unregistered operations, and their syntax.
#include "treadle/dialect/NodeSyntax.h"
#include "treadle/dialect/Regions.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::tfg;
using tf_type::ControlType;
using tf_type::OpaqueTensorType;

namespace {

/// Names results in printed IR: the first after the op, the token "ctl".
struct ResultNames : OpAsmOpInterface::FallbackModel<ResultNames> {
  void getAsmResultNames(Operation *op, OpAsmSetValueNameFn setName) const {
    if (op->getNumResults() == 0 || !isControl(op->getResults().back()))
      return;
    if (!isControl(op->getResult(0)))
      setName(op->getResult(0), op->getName().stripDialect());
    setName(op->getResults().back(), "ctl");
  }
  void getAsmBlockArgumentNames(Operation *, Region &, OpAsmSetValueNameFn) const {}
  void getAsmBlockNames(Operation *, OpAsmSetBlockNameFn) const {}
  static StringRef getDefaultDialect() { return {}; }
};

/// Any node may read and write anything: passes that don't know the op must neither remove nor
/// deduplicate the node.
struct UnknownEffects : MemoryEffectOpInterface::FallbackModel<UnknownEffects> {
  void getEffects(Operation *, SmallVectorImpl<MemoryEffects::EffectInstance> &effects) const {
    effects.emplace_back(MemoryEffects::Read::get());
    effects.emplace_back(MemoryEffects::Write::get());
  }
};

} // namespace

struct TfgDialect::Fallbacks {
  ResultNames resultNames;
  UnknownEffects worldEffects;
};

#include "treadle/dialect/TfgDialect.cpp.inc"

// Parses whether `#tfg.problem` describes valid but unsupported input.
static ParseResult parseUnimplemented(AsmParser &parser, bool &isUnimplemented) {
  isUnimplemented = succeeded(parser.parseOptionalKeyword("unimplemented"));
  return success();
}
static void printUnimplemented(AsmPrinter &printer, bool isUnimplemented) {
  if (isUnimplemented)
    printer << "unimplemented ";
}

#define GET_ATTRDEF_CLASSES
#include "treadle/dialect/TfgAttributes.cpp.inc"

TfgDialect::~TfgDialect() = default;

void TfgDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "treadle/dialect/TfgOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "treadle/dialect/RegionOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "treadle/dialect/TfgAttributes.cpp.inc"
      >();
  allowUnknownOperations();
  fallbacks = std::make_unique<Fallbacks>();

  MLIRContext *context = getContext();
  nameKey = StringAttr::get(context, nameKeyword);
  deviceKey = StringAttr::get(context, deviceKeyword);
  assignedDeviceKey = StringAttr::get(context, assignedDeviceKeyword);
  fullTypeKey = StringAttr::get(context, fullTypeKeyword);
  argNameKey = StringAttr::get(context, argNameKeyword);
  controlType = ControlType::get(context);
  opaqueTensorType = OpaqueTensorType::get(context);
}

void *TfgDialect::getRegisteredInterfaceForOp(TypeID interface, OperationName opName) {
  if (interface == OpAsmOpInterface::getInterfaceID())
    return static_cast<OpAsmOpInterface::Concept *>(&fallbacks->resultNames);
  if (interface == MemoryEffectOpInterface::getInterfaceID() && !opName.isRegistered())
    return static_cast<MemoryEffectOpInterface::Concept *>(&fallbacks->worldEffects);
  return nullptr;
}

// --- aliases for types and attributes of tf_type ------------------------------------------------

Type TfgDialect::parseType(DialectAsmParser &parser) const {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return {};
  if (keyword == ControlType::getMnemonic())
    return controlType;
  if (keyword == OpaqueTensorType::getMnemonic())
    return opaqueTensorType;
  parser.emitError(loc) << "found !tfg." << keyword
                        << ", expected !tfg.control or !tfg.tensor; other types are !tf_type."
                        << keyword;
  return {};
}

Attribute TfgDialect::parseAttribute(DialectAsmParser &parser, Type type) const {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  Attribute attr;
  if (auto result = generatedAttributeParser(parser, &keyword, type, attr); result.has_value())
    return attr;
  if (keyword == tf_type::VersionAttr::getMnemonic())
    return tf_type::VersionAttr::parse(parser, type);
  parser.emitError(loc)
      << "found #tfg." << keyword
      << ", expected #tfg.version or #tfg.region_attrs; other attributes are #tf_type." << keyword;
  return {};
}

void TfgDialect::printAttribute(Attribute attr, DialectAsmPrinter &printer) const {
  (void)generatedAttributePrinter(attr, printer);
}

// --- text form of nodes -------------------------------------------------------------------------

bool tfg::isBareOpName(StringRef opType) {
  if (opType.empty() || !(llvm::isAlpha(opType.front()) || opType.front() == '_'))
    return false;
  return llvm::all_of(opType,
                      [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.'; });
}

static StringRef keywordOf(StringRef key) {
  key.consume_front("_mlir_");
  return key;
}

ParseResult tfg::parseKeywords(OpAsmParser &parser, NamedAttrList &attrs) {
  const auto *dialect = parser.getContext()->getLoadedDialect<TfgDialect>();
  const StringAttr keys[] = {dialect->deviceKey, dialect->assignedDeviceKey, dialect->nameKey};
  auto parseOne = [&](StringAttr key) -> OptionalParseResult {
    SMLoc loc = parser.getCurrentLocation();
    if (failed(parser.parseOptionalKeyword(keywordOf(key))))
      return std::nullopt;
    std::string value;
    if (parser.parseLParen() || parser.parseString(&value) || parser.parseRParen())
      return failure();
    if (attrs.get(key))
      return parser.emitError(loc) << "'" << keywordOf(key) << "' is given twice";
    attrs.append(key, StringAttr::get(parser.getContext(), value));
    return success();
  };
  // Keywords may be in any order; the printer uses one.
  for (bool found = true; found;) {
    found = false;
    for (StringAttr key : keys) {
      OptionalParseResult result = parseOne(key);
      if (result.has_value() && failed(*result))
        return failure();
      found |= result.has_value();
    }
  }
  return parser.parseOptionalAttrDict(attrs);
}

void tfg::printKeywords(OpAsmPrinter &printer, Operation *op, ArrayRef<NamedAttribute> attrs,
                        ArrayRef<StringRef> hidden) {
  const auto *dialect = static_cast<TfgDialect *>(op->getDialect());
  SmallVector<StringRef> elided(hidden);
  for (StringAttr key : {dialect->deviceKey, dialect->assignedDeviceKey, dialect->nameKey}) {
    auto value = dyn_cast_or_null<StringAttr>(op->getDiscardableAttr(key));
    if (!value)
      continue;
    printer << ' ' << keywordOf(key) << '(';
    printer.printString(value);
    printer << ')';
    elided.push_back(key);
  }
  printer.printOptionalAttrDict(attrs, elided);
}

/// Parses the types after the colon and adds control tokens. A node of a generic function may omit
/// them: then all are !tf_type.tensor.
static ParseResult parseSignature(OpAsmParser &parser, size_t numData, size_t numControl,
                                  SmallVectorImpl<Type> &operandTypes,
                                  SmallVectorImpl<Type> &resultTypes) {
  const auto *dialect = parser.getContext()->getLoadedDialect<TfgDialect>();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalColonTypeList(operandTypes))
    return failure();
  if (operandTypes.size() == 1 && isa<FunctionType>(operandTypes.front())) {
    auto type = cast<FunctionType>(operandTypes.front());
    operandTypes.assign(type.getInputs().begin(), type.getInputs().end());
    resultTypes.assign(type.getResults().begin(), type.getResults().end());
  } else if (operandTypes.empty()) {
    operandTypes.assign(numData, dialect->opaqueTensorType);
    if (size_t expected = parser.getNumResults(); expected > 1)
      resultTypes.assign(expected - 1, dialect->opaqueTensorType);
  }
  if (operandTypes.size() != numData)
    return parser.emitError(loc) << "found " << operandTypes.size() << " input types for "
                                 << numData << " data operands";
  operandTypes.append(numControl, dialect->controlType);
  resultTypes.push_back(dialect->controlType);
  return success();
}

// op (%data, ...) [%control, ...] device("d") assigned_device("d") name("n") {attributes}
//     : (types) -> (types)
static ParseResult parseNode(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  if (parser.parseOperandList(operands, AsmParser::Delimiter::OptionalParen))
    return failure();
  size_t numData = operands.size();
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> operandTypes;
  if (parser.parseOperandList(operands, AsmParser::Delimiter::OptionalSquare) ||
      parseKeywords(parser, state.attributes) ||
      parseSignature(parser, numData, operands.size() - numData, operandTypes, state.types))
    return failure();
  return parser.resolveOperands(operands, operandTypes, loc, state.operands);
}

std::optional<Dialect::ParseOpHook> TfgDialect::getParseOperationHook(StringRef) const {
  return ParseOpHook(parseNode);
}

/// Whether the custom form is lossless: it parses back to the same operation.
static bool hasCustomForm(Operation *op) {
  if (op->getNumRegions() != 0 || op->getNumSuccessors() != 0 || op->getNumResults() == 0)
    return false;
  auto isControlType = [](Type type) { return isa<ControlType>(type); };
  Node node(op);
  if (llvm::any_of(node.data().getTypes(), isControlType) ||
      llvm::any_of(node.results().getTypes(), isControlType) ||
      op->getNumResults() != node.numResults() + 1)
    return false;
  return isBareOpName(node.opType());
}

static void printNode(Operation *op, OpAsmPrinter &printer) {
  Node node(op);
  OperandRange data = node.data(), control = node.control();
  ResultRange results = node.results();
  if (!data.empty())
    printer << '(' << data << ')';
  if (!control.empty())
    printer << " [" << control << ']';
  printKeywords(printer, op, node.attrs());
  if (!results.empty())
    printer << " : (" << data.getTypes() << ") -> (" << results.getTypes() << ')';
  else if (!data.empty())
    printer << " : " << data.getTypes();
}

llvm::unique_function<void(Operation *, OpAsmPrinter &)>
TfgDialect::getOperationPrinter(Operation *op) const {
  if (!hasCustomForm(op))
    return {};
  return printNode;
}
