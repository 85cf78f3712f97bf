// Operations of the tfg dialect: builders, syntax, verifiers.
#include "treadle/dialect/NodeSyntax.h"
#include "treadle/dialect/RegionSyntax.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <deque>
#include <string>

using namespace mlir;
using namespace treadle;
using namespace treadle::tfg;
using tf_type::ControlType;
using tf_type::OpaqueTensorType;

#define GET_OP_CLASSES
#include "treadle/dialect/TfgOps.cpp.inc"

// --- node ---------------------------------------------------------------------------------------

bool Node::isNode(Operation *op) {
  // Most nodes have ops that the dialect doesn't register.
  return isa_and_nonnull<TfgDialect>(op->getDialect()) &&
         (!op->isRegistered() ||
          !isa<GraphOp, FuncOp, ReturnOp, GetResultOp, YieldOp, ConditionOp>(op));
}

void Node::set(StringAttr key, StringRef value) {
  if (value.empty())
    op->removeDiscardableAttr(key);
  else
    op->setDiscardableAttr(key, StringAttr::get(op->getContext(), value));
}

Node tfg::definingNode(Value value) {
  if (auto getResult = value.getDefiningOp<GetResultOp>())
    value = getResult.getValue();
  return Node(value.getDefiningOp());
}

Value tfg::controlTokenOf(Value value) {
  if (auto getResult = value.getDefiningOp<GetResultOp>())
    value = getResult.getValue();
  if (isControl(value))
    return value;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    // A function's arguments are pairs of value and token; a region's are values, then tokens.
    if (isa<FuncOp>(argument.getOwner()->getParentOp()))
      return FuncOp::getControlTokenOf(argument);
    return tokenOf(*argument.getOwner()->getParent(), argument.getArgNumber());
  }
  return Node(value.getDefiningOp()).controlResult();
}

// --- verification of nodes ----------------------------------------------------------------------

InFlightDiagnostic tfg::emitNodeError(Node node) {
  StringRef name = node.name();
  if (name.empty())
    return node->emitError() << "node without a name (" << node.opType() << "): ";
  return node->emitError() << "node '" << name << "' (" << node.opType() << "): ";
}

namespace {

/// Verifies the nodes of one graph, function or region in one pass.
class NodeVerifier {
public:
  explicit NodeVerifier(bool generic) : generic(generic) {}

  LogicalResult verify(Operation &op) {
    if (auto getResult = dyn_cast<GetResultOp>(op); getResult && !generic)
      return getResult.emitOpError("is outside a generic function, expected uses of the node's own "
                                   "results");
    if (!Node::isNode(&op))
      return success();
    Node node(&op);
    return success(succeeded(verifyTokens(node)) && succeeded(verifyKeywords(node)) &&
                   succeeded(verifyNotes(node)) && succeeded(verifyName(node)) &&
                   succeeded(verifyTypes(node)));
  }

private:
  LogicalResult verifyTokens(Node node) {
    for (auto [index, operand] : llvm::enumerate(node.data()))
      if (isControl(operand))
        return emitNodeError(node) << "operand " << index
                                   << " is a control token, but a data operand follows it; control "
                                      "operands come last";
    if (!node.controlResult())
      return emitNodeError(node) << "found no control token among " << node->getNumResults()
                                 << " results, expected one as the last";
    if (node.numResults() + 1 != node->getNumResults())
      return emitNodeError(node) << "found " << node->getNumResults() - node.numResults()
                                 << " control tokens as results, expected one";
    for (auto [index, result] : llvm::enumerate(node.results()))
      if (isControl(result))
        return emitNodeError(node)
               << "result " << index
               << " is a control token, but a data result follows it; the control "
                  "token comes last";
    return success();
  }

  LogicalResult verifyKeywords(Node node) {
    const TfgDialect &dialect = node.dialect();
    for (StringAttr key : {dialect.nameKey, dialect.deviceKey, dialect.assignedDeviceKey}) {
      Attribute attr = node.attr(key);
      if (!attr)
        continue;
      auto text = dyn_cast<StringAttr>(attr);
      if (!text)
        return emitNodeError(node)
               << "attribute '" << key.getValue() << "' is " << attr << ", expected a string";
      if (text.empty())
        return emitNodeError(node)
               << "attribute '" << key.getValue() << "' is empty; leave it out instead";
    }
    Attribute fullType = node.attr(dialect.fullTypeKey);
    if (fullType && !isa<tf_type::FullTypeAttr, tf_type::MessageAttr>(fullType))
      return emitNodeError(node) << "attribute '" << dialect.fullTypeKey.getValue() << "' is "
                                 << fullType << ", expected a #tf_type.full_type";
    return success();
  }

  LogicalResult verifyName(Node node) {
    StringAttr name = node.nameAttr();
    if (!name)
      return success();
    auto [it, inserted] = nodes.try_emplace(name, node.getOperation());
    if (inserted)
      return success();
    InFlightDiagnostic diag = emitNodeError(node) << "its name is used by another node";
    diag.attachNote(it->second->getLoc()) << "the other node (" << Node(it->second).opType() << ")";
    return diag;
  }

  LogicalResult verifyTypes(Node node) {
    if (!generic)
      return verifyTensors(
          node, node->getOperandTypes(), "operand",
          [](Type type) { return isa<TensorType, OpaqueTensorType>(type); }, "a tensor");
    if (node.numResults() > 1)
      return emitNodeError(node) << "found " << node.numResults()
                                 << " data results in a generic function, expected one; "
                                    "tfg.get_result selects one of its outputs";
    auto isOpaque = [](Type type) { return isa<OpaqueTensorType>(type); };
    return success(succeeded(verifyTensors(node, node.data().getTypes(), "operand", isOpaque,
                                           "!tf_type.tensor in a generic function")) &&
                   succeeded(verifyTensors(node, node.results().getTypes(), "result", isOpaque,
                                           "!tf_type.tensor in a generic function")));
  }

  template <typename Types, typename Predicate>
  LogicalResult verifyTensors(Node node, Types types, StringRef kind, Predicate fits,
                              StringRef expected) {
    for (auto [index, type] : llvm::enumerate(types))
      if (!fits(type) && !isa<ControlType>(type))
        return emitNodeError(node)
               << kind << ' ' << index << " has type " << type << ", expected " << expected;
    return success();
  }

  bool generic;
  llvm::DenseMap<StringAttr, Operation *> nodes;
};

} // namespace

LogicalResult tfg::verifyNodes(Block &block, bool generic) {
  NodeVerifier verifier(generic);
  for (Operation &op : block)
    if (failed(verifier.verify(op)))
      return failure();
  return success();
}

// --- GraphOp ------------------------------------------------------------------------------------

void GraphOp::build(OpBuilder &, OperationState &state, tf_type::VersionAttr version) {
  state.addAttribute(getVersionAttrName(state.name), version);
  state.addRegion()->emplaceBlock();
}

StringRef GraphOp::getDefaultDialect() { return TfgDialect::getDialectNamespace(); }

LogicalResult GraphOp::verifyRegions() { return verifyNodes(*getBody(), /*generic=*/false); }

// --- FuncOp -------------------------------------------------------------------------------------

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type,
                   bool generic) {
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  if (generic)
    state.addAttribute(getGenericAttrName(state.name), builder.getUnitAttr());
  Block &entry = state.addRegion()->emplaceBlock();
  for (Type input : type.getInputs())
    entry.addArgument(input, state.location);
}

StringRef FuncOp::getDefaultDialect() { return TfgDialect::getDialectNamespace(); }

ReturnOp FuncOp::getReturn() { return cast<ReturnOp>(getEntry().back()); }

StringRef FuncOp::getDataArgumentName(unsigned index) {
  auto key = static_cast<TfgDialect *>((*this)->getDialect())->argNameKey;
  auto name = getArgAttrOfType<StringAttr>(2 * index, key);
  return name ? name.getValue() : StringRef();
}

/// Sanitizes a name as the printer would, so that the token's name can be derived from it.
static std::string bareName(StringRef name) {
  std::string result;
  if (!name.empty() && llvm::isDigit(name.front()))
    result = "_";
  for (char c : name) {
    if (llvm::isAlnum(c) || StringRef("_$.-").contains(c))
      result += c;
    else if (c == ' ')
      result += '_';
    else
      result += llvm::utohexstr(static_cast<unsigned char>(c));
  }
  return result;
}

// A function's text declares only %x, and its token is named %x.ctl: names must be made unique here
// in pairs, before the printer makes each unique by itself.
void FuncOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  // Malformed functions must print too, for debugging passes.
  if (region.empty() || region.front().getNumArguments() % 2 != 0)
    return;
  Block &entry = region.front();
  llvm::StringSet<> used;
  unsigned numUnnamed = 0;
  for (unsigned i = 0, e = entry.getNumArguments(); i < e; i += 2) {
    std::string base = bareName(getDataArgumentName(i / 2));
    if (base.empty()) {
      base = "arg" + llvm::utostr(numUnnamed);
      numUnnamed += 2;
    }
    std::string name = base;
    for (unsigned suffix = 0; used.contains(name) || used.contains(name + ".ctl"); ++suffix)
      name = base + "_" + llvm::utostr(suffix);
    used.insert(name);
    used.insert(name + ".ctl");
    setName(entry.getArgument(i), name);
    setName(entry.getArgument(i + 1), name + ".ctl");
  }
}

namespace {

/// The parsed parts of a function's signature.
struct Signature {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Attribute> argAttrs, resultAttrs;
  SmallVector<Type> resultTypes;
  /// Names of tokens, which the arguments point to: a deque keeps them in place.
  std::deque<std::string> tokenNames;
};

} // namespace

static ParseResult parseArgument(OpAsmParser &parser, Signature &signature) {
  MLIRContext *context = parser.getContext();
  OpAsmParser::Argument data;
  NamedAttrList attrs;
  if (parser.parseArgument(data, /*allowType=*/true) || parser.parseOptionalAttrDict(attrs))
    return failure();
  signature.arguments.push_back(data);
  signature.argAttrs.push_back(attrs.getDictionary(context));

  OpAsmParser::Argument token = data;
  token.ssaName.name = signature.tokenNames.emplace_back((data.ssaName.name + ".ctl").str());
  token.type = ControlType::get(context);
  signature.arguments.push_back(token);
  signature.argAttrs.push_back(DictionaryAttr::get(context));
  return success();
}

static ParseResult parseResult(OpAsmParser &parser, Signature &signature) {
  NamedAttrList attrs;
  if (parser.parseType(signature.resultTypes.emplace_back()) || parser.parseOptionalAttrDict(attrs))
    return failure();
  signature.resultAttrs.push_back(attrs.getDictionary(parser.getContext()));
  return success();
}

static ParseResult parseSignature(OpAsmParser &parser, Signature &signature) {
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                     [&] { return parseArgument(parser, signature); }))
    return failure();
  if (failed(parser.parseOptionalArrow()))
    return success();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                        [&] { return parseResult(parser, signature); });
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  StringRef visibility;
  if (succeeded(parser.parseOptionalKeyword(&visibility, {"public", "private", "nested"})))
    state.addAttribute(getSymVisibilityAttrName(state.name), builder.getStringAttr(visibility));
  if (succeeded(parser.parseOptionalKeyword("generic")))
    state.addAttribute(getGenericAttrName(state.name), builder.getUnitAttr());

  StringAttr name;
  Signature signature;
  if (parser.parseSymbolName(name, getSymNameAttrName(state.name), state.attributes) ||
      parseSignature(parser, signature) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();

  SmallVector<Type> argTypes = llvm::to_vector(
      llvm::map_range(signature.arguments, [](auto &argument) { return argument.type; }));
  state.addAttribute(getFunctionTypeAttrName(state.name),
                     TypeAttr::get(builder.getFunctionType(argTypes, signature.resultTypes)));
  state.addAttribute(getArgAttrsAttrName(state.name), builder.getArrayAttr(signature.argAttrs));
  state.addAttribute(getResAttrsAttrName(state.name), builder.getArrayAttr(signature.resultAttrs));

  SMLoc loc = parser.getCurrentLocation();
  Region *body = state.addRegion();
  // Functions can't be nested.
  SmallVector<Type> &resultTypes =
      parser.getContext()->getLoadedDialect<TfgDialect>()->resultTypesOfFunction;
  resultTypes.assign(signature.resultTypes.begin(), signature.resultTypes.end());
  if (parser.parseRegion(*body, signature.arguments, /*enableNameShadowing=*/false))
    return failure();
  if (body->empty())
    return parser.emitError(loc) << "function '" << name.getValue()
                                 << "' has an empty body, expected at least a tfg.return";
  return success();
}

/// Prints the type and attributes; each entry except the first starts a line.
static void printEntry(OpAsmPrinter &printer, Type type, ArrayAttr attrs, unsigned index) {
  printer.printType(type);
  if (attrs && index < attrs.size())
    printer.printOptionalAttrDict(cast<DictionaryAttr>(attrs[index]).getValue());
}

static void printBreak(OpAsmPrinter &printer, size_t indent) {
  printer << ", ";
  printer.printNewline();
  printer.getStream().indent(indent);
}

void FuncOp::print(OpAsmPrinter &printer) {
  size_t indent = (*this)->getName().getStringRef().size() + 3 + getSymName().size();
  printer << ' ';
  if (std::optional<StringRef> visibility = getSymVisibility()) {
    printer << *visibility << ' ';
    indent += visibility->size() + 1;
  }
  if (getGeneric())
    printer << "generic ";
  printer.printSymbolName(getSymName());

  printer << '(';
  for (unsigned i = 0, e = getNumArguments(); i < e; i += 2) {
    if (i != 0)
      printBreak(printer, indent);
    if (!isExternal())
      printer << getArgument(i) << ": ";
    printEntry(printer, getArgumentTypes()[i], getArgAttrsAttr(), i);
  }
  printer << ')';
  if (getNumResults() != 0) {
    printer.printNewline();
    printer << "     -> (";
    for (unsigned i = 0, e = getNumResults(); i < e; ++i) {
      if (i != 0)
        printBreak(printer, 9);
      printEntry(printer, getResultTypes()[i], getResAttrsAttr(), i);
    }
    printer << ')';
  }
  printer.printNewline();
  function_interface_impl::printFunctionAttributes(
      printer, *this,
      {getGenericAttrName(), getSymVisibilityAttrName(), getFunctionTypeAttrName(),
       getArgAttrsAttrName(), getResAttrsAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

static LogicalResult verifyArguments(FuncOp func) {
  ArrayRef<Type> types = func.getArgumentTypes();
  if (types.size() % 2 != 0)
    return func.emitOpError() << "function '" << func.getSymName() << "' has " << types.size()
                              << " arguments in memory, expected pairs of a value and a control "
                                 "token";
  for (unsigned i = 0; i < types.size(); i += 2) {
    if (!isa<TensorType, OpaqueTensorType>(types[i]))
      return func.emitOpError() << "argument " << i / 2 << " has type " << types[i]
                                << ", expected a tensor";
    if (!isa<ControlType>(types[i + 1]))
      return func.emitOpError() << "argument " << i / 2 << " is followed by a value of type "
                                << types[i + 1] << ", expected its control token";
    if (func.getGeneric() && !isa<OpaqueTensorType>(types[i]))
      return func.emitOpError() << "argument " << i / 2 << " of a generic function has type "
                                << types[i] << ", expected !tf_type.tensor";
  }
  return success();
}

LogicalResult FuncOp::verifyType() {
  if (failed(verifyArguments(*this)))
    return failure();
  for (auto [index, type] : llvm::enumerate(getResultTypes()))
    if (!isa<TensorType, OpaqueTensorType>(type))
      return emitOpError() << "result " << index << " has type " << type << ", expected a tensor";
  return success();
}

static LogicalResult verifyReturnedValues(FuncOp func, ReturnOp returnOp) {
  ArrayRef<Type> expected = func.getResultTypes();
  OperandRange data = returnOp.getData();
  if (data.size() != expected.size())
    return returnOp.emitOpError() << "returns " << data.size() << " values, but function '"
                                  << func.getSymName() << "' has " << expected.size() << " results";
  for (auto [index, type, value] : llvm::enumerate(expected, data))
    if (!tf_type::areCompatible(type, value.getType()))
      return returnOp.emitOpError()
             << "value " << index << " has type " << value.getType() << ", but result " << index
             << " of function '" << func.getSymName() << "' has type " << type;
  return success();
}

LogicalResult FuncOp::verifyBody() {
  if (getBody().empty() || getEntry().empty())
    return emitOpError() << "has an empty body, expected at least a tfg.return";
  if (getEntry().getArgumentTypes() != TypeRange(getArgumentTypes()))
    return emitOpError() << "the types of its block arguments differ from its signature "
                         << getFunctionType();
  return success();
}

// The operations of the body are verified by now, each by itself.
LogicalResult FuncOp::verifyRegions() {
  auto returnOp = dyn_cast<ReturnOp>(getEntry().back());
  if (!returnOp)
    return emitOpError() << "its body ends in " << getEntry().back().getName()
                         << ", expected tfg.return";
  if (failed(verifyNodes(getEntry(), getGeneric())))
    return failure();
  return verifyReturnedValues(*this, returnOp);
}

// --- ReturnOp -----------------------------------------------------------------------------------

void ReturnOp::build(OpBuilder &builder, OperationState &state, ValueRange data,
                     ValueRange control) {
  SmallVector<Attribute> attrs(control.size(), builder.getDictionaryAttr({}));
  build(builder, state, data, control, builder.getArrayAttr(attrs));
}

void ReturnOp::build(OpBuilder &, OperationState &state, ValueRange data, ValueRange control,
                     ArrayAttr controlAttrs) {
  state.addOperands(data);
  state.addOperands(control);
  state.addAttribute(getControlRetAttrsAttrName(state.name), controlAttrs);
}

OperandRange ReturnOp::getData() { return Node(*this).data(); }
OperandRange ReturnOp::getControl() { return Node(*this).control(); }

// The syntax of a node, except for attributes after control operands: [%ctl {tfg.name = "done"}]
ParseResult ReturnOp::parse(OpAsmParser &parser, OperationState &state) {
  MLIRContext *context = parser.getContext();
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  if (parser.parseOperandList(operands, AsmParser::Delimiter::OptionalParen))
    return failure();
  size_t numData = operands.size();
  SmallVector<Attribute> controlAttrs;
  auto parseToken = [&]() -> ParseResult {
    NamedAttrList attrs;
    if (parser.parseOperand(operands.emplace_back()) || parser.parseOptionalAttrDict(attrs))
      return failure();
    controlAttrs.push_back(attrs.getDictionary(context));
    return success();
  };
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> types;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalSquare, parseToken) ||
      parseKeywords(parser, state.attributes) || parser.parseOptionalColonTypeList(types))
    return failure();
  // Some printers write `: () -> ()` for a return without values.
  if (types.size() == 1 && isa<FunctionType>(types.front())) {
    auto type = cast<FunctionType>(types.front());
    types.assign(type.getInputs().begin(), type.getInputs().end());
  }
  if (types.empty() && numData != 0)
    types = context->getLoadedDialect<TfgDialect>()->resultTypesOfFunction;
  if (types.size() != numData)
    return parser.emitError(loc) << "found " << types.size() << " types for " << numData
                                 << " values";
  types.append(controlAttrs.size(), ControlType::get(context));
  state.addAttribute(getControlRetAttrsAttrName(state.name), ArrayAttr::get(context, controlAttrs));
  return parser.resolveOperands(operands, types, loc, state.operands);
}

void ReturnOp::print(OpAsmPrinter &printer) {
  OperandRange data = getData(), control = getControl();
  if (!data.empty())
    printer << '(' << data << ')';
  if (!control.empty()) {
    printer << " [";
    auto printToken = [&](auto pair) {
      printer << std::get<0>(pair);
      auto attrs = cast<DictionaryAttr>(std::get<1>(pair));
      if (!attrs.empty())
        printer << ' ' << attrs;
    };
    llvm::interleaveComma(llvm::zip(control, getControlRetAttrs()), printer, printToken);
    printer << ']';
  }
  printKeywords(printer, *this, (*this)->getAttrs(), {getControlRetAttrsAttrName()});
  if (!data.empty())
    printer << " : " << data.getTypes();
}

LogicalResult ReturnOp::verify() {
  for (auto [index, value] : llvm::enumerate(getData()))
    if (isControl(value))
      return emitOpError() << "operand " << index
                           << " is a control token, but a value follows it; control operands come "
                              "last";
  if (getControlRetAttrs().size() != getControl().size())
    return emitOpError() << "has attributes for " << getControlRetAttrs().size()
                         << " control results, but " << getControl().size() << " control operands";
  return success();
}

// --- GetResultOp --------------------------------------------------------------------------------

// get_result(%node) "output" : 0, parentheses optional
ParseResult GetResultOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand value;
  std::string name;
  int32_t number;
  bool parenthesized = succeeded(parser.parseOptionalLParen());
  if (parser.parseOperand(value) || (parenthesized && parser.parseRParen()) ||
      parser.parseString(&name) || parser.parseColon() || parser.parseInteger(number) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  auto type = OpaqueTensorType::get(parser.getContext());
  state.addAttribute(getNameAttrName(state.name), parser.getBuilder().getStringAttr(name));
  state.addAttribute(getNumberAttrName(state.name), parser.getBuilder().getI32IntegerAttr(number));
  state.addTypes(type);
  return parser.resolveOperand(value, type, state.operands);
}

void GetResultOp::print(OpAsmPrinter &printer) {
  printer << '(' << getValue() << ") ";
  printer.printString(getName());
  printer << " : " << getNumber();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getNameAttrName(), getNumberAttrName()});
}

LogicalResult GetResultOp::verify() {
  if (static_cast<int32_t>(getNumber()) < 0)
    return emitOpError() << "selects output " << static_cast<int32_t>(getNumber()) << " of \""
                         << getName() << "\", expected at least 0";
  if (!getValue().getDefiningOp())
    return emitOpError() << "selects an output of a function argument, expected the result of a "
                            "node";
  return success();
}
