// The syntax of region control flow, equal to that of TensorFlow's tfg: operands, tokens in
// brackets, the regions, one dictionary for all attributes, and a type.
#include "treadle/dialect/RegionSyntax.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::tfg;

namespace {

using Operands = SmallVector<OpAsmParser::UnresolvedOperand>;

/// The parts that are parsed before the types are known.
struct ParsedParts {
  Operands data, control;
  SmallVector<Type> dataTypes;
};

ParseResult parseControl(OpAsmParser &parser, ParsedParts &parts) {
  return parser.parseOperandList(parts.control, AsmParser::Delimiter::OptionalSquare);
}

ParseResult parseBody(OpAsmParser &parser, OperationState &state) {
  return parser.parseRegion(*state.addRegion());
}

/// Resolves operands and adds the token to the results.
ParseResult finish(OpAsmParser &parser, OperationState &state, SMLoc loc, const ParsedParts &parts,
                   ArrayRef<Type> results) {
  if (parts.data.size() != parts.dataTypes.size())
    return parser.emitError(loc) << "found " << parts.dataTypes.size() << " input types for "
                                 << parts.data.size() << " data operands";
  auto control = tf_type::ControlType::get(parser.getContext());
  SmallVector<Type> controlTypes(parts.control.size(), control);
  state.addTypes(results);
  state.addTypes(control);
  return failure(parser.resolveOperands(parts.data, parts.dataTypes, loc, state.operands) ||
                 parser.resolveOperands(parts.control, controlTypes, loc, state.operands));
}

void printControl(OpAsmPrinter &printer, OperandRange control) {
  if (!control.empty())
    printer << " [" << control << ']';
}

void printBody(OpAsmPrinter &printer, Region &region) {
  printer << ' ';
  printer.printRegion(region);
}

} // namespace

// --- conditionals -------------------------------------------------------------------------------

// Parses the end that IfRegion and CaseRegion share: {attributes} : (type) -> (results)
static ParseResult parseChoiceEnd(OpAsmParser &parser, OperationState &state, ParsedParts &parts) {
  SMLoc loc;
  FunctionType type;
  if (parser.parseOptionalAttrDict(state.attributes) || parser.getCurrentLocation(&loc) ||
      parser.parseColonType(type))
    return failure();
  parts.dataTypes.assign(type.getInputs().begin(), type.getInputs().end());
  return finish(parser, state, loc, parts, type.getResults());
}

static void printChoiceEnd(OpAsmPrinter &printer, Operation *op) {
  Node node(op);
  printer.printOptionalAttrDict(op->getAttrs());
  printer << " : ";
  printer.printFunctionalType(node.data().getTypes(), node.results().getTypes());
}

ParseResult regions::parseIf(OpAsmParser &parser, OperationState &state) {
  ParsedParts parts;
  if (parser.parseOperand(parts.data.emplace_back()) || parseControl(parser, parts) ||
      parser.parseKeyword("then") || parseBody(parser, state) || parser.parseKeyword("else") ||
      parseBody(parser, state))
    return failure();
  return parseChoiceEnd(parser, state, parts);
}

void regions::printIf(Operation *op, OpAsmPrinter &printer) {
  printer << ' ' << Node(op).data();
  printControl(printer, Node(op).control());
  printer << " then";
  printBody(printer, op->getRegion(0));
  printer << " else";
  printBody(printer, op->getRegion(1));
  printChoiceEnd(printer, op);
}

ParseResult regions::parseCase(OpAsmParser &parser, OperationState &state) {
  ParsedParts parts;
  auto parseBranch = [&] { return parseBody(parser, state); };
  if (parser.parseOperand(parts.data.emplace_back()) || parseControl(parser, parts) ||
      parser.parseCommaSeparatedList(parseBranch))
    return failure();
  return parseChoiceEnd(parser, state, parts);
}

void regions::printCase(Operation *op, OpAsmPrinter &printer) {
  printer << ' ' << Node(op).data();
  printControl(printer, Node(op).control());
  llvm::interleave(
      op->getRegions(), [&](Region &branch) { printBody(printer, branch); },
      [&] { printer << ','; });
  printChoiceEnd(printer, op);
}

// --- loops --------------------------------------------------------------------------------------

ParseResult regions::parseWhile(OpAsmParser &parser, OperationState &state) {
  ParsedParts parts;
  SMLoc loc;
  SmallVector<Type> types;
  if (parser.parseOperandList(parts.data, AsmParser::Delimiter::OptionalParen) ||
      parseControl(parser, parts) || parseBody(parser, state) || parser.parseKeyword("do") ||
      parseBody(parser, state) || parser.parseOptionalAttrDict(state.attributes) ||
      parser.getCurrentLocation(&loc) || parser.parseOptionalColonTypeList(types))
    return failure();
  // Without an arrow, the operand types are the result types too.
  SmallVector<Type> results = types;
  parts.dataTypes = types;
  if (types.size() == 1 && isa<FunctionType>(types.front())) {
    auto type = cast<FunctionType>(types.front());
    parts.dataTypes.assign(type.getInputs().begin(), type.getInputs().end());
    results.assign(type.getResults().begin(), type.getResults().end());
  }
  return finish(parser, state, loc, parts, results);
}

void regions::printWhile(Operation *op, OpAsmPrinter &printer) {
  Node node(op);
  if (node.numData() != 0)
    printer << '(' << node.data() << ')';
  printControl(printer, node.control());
  printBody(printer, op->getRegion(0));
  printer << " do";
  printBody(printer, op->getRegion(1));
  printer.printOptionalAttrDict(op->getAttrs());
  if (node.numData() == 0 && node.numResults() == 0)
    return;
  printer << " : ";
  printer.printFunctionalType(node.data().getTypes(), node.results().getTypes());
}

/// (i32, i32, i32, types) -> (types), or only the types of the loop-carried values.
static ParseResult parseForTypes(OpAsmParser &parser, ParsedParts &parts,
                                 SmallVector<Type> &results) {
  auto parseInto = [&](SmallVectorImpl<Type> &types) {
    return parser.parseCommaSeparatedList([&] { return parser.parseType(types.emplace_back()); });
  };
  if (failed(parser.parseOptionalColon())) {
    parts.dataTypes.assign(3, RankedTensorType::get({}, parser.getBuilder().getI32Type()));
    return success();
  }
  if (failed(parser.parseOptionalLParen())) {
    if (failed(parseInto(results)))
      return failure();
    parts.dataTypes.assign(3, RankedTensorType::get({}, parser.getBuilder().getI32Type()));
    llvm::append_range(parts.dataTypes, results);
    return success();
  }
  if (parseInto(parts.dataTypes) || parser.parseRParen())
    return failure();
  return parser.parseOptionalArrowTypeList(results);
}

ParseResult regions::parseFor(OpAsmParser &parser, OperationState &state) {
  ParsedParts parts;
  Operands init;
  SmallVector<Type> results;
  parts.data.resize(3);
  SMLoc loc;
  if (parser.parseOperandList(init, AsmParser::Delimiter::OptionalParen) ||
      parseControl(parser, parts) || parser.parseKeyword("from") ||
      parser.parseOperand(parts.data[0]) || parser.parseKeyword("to") ||
      parser.parseOperand(parts.data[1]) || parser.parseKeyword("by") ||
      parser.parseOperand(parts.data[2]) || parseBody(parser, state) ||
      parser.parseOptionalAttrDict(state.attributes) || parser.getCurrentLocation(&loc) ||
      parseForTypes(parser, parts, results))
    return failure();
  llvm::append_range(parts.data, init);
  return finish(parser, state, loc, parts, results);
}

void regions::printFor(Operation *op, OpAsmPrinter &printer) {
  Node node(op);
  OperandRange bounds = node.data().take_front(3), init = node.data().drop_front(3);
  if (!init.empty())
    printer << '(' << init << ')';
  printControl(printer, node.control());
  printer << " from " << bounds[0] << " to " << bounds[1] << " by " << bounds[2];
  printBody(printer, op->getRegion(0));
  printer.printOptionalAttrDict(op->getAttrs());
  printer << " : (" << node.data().getTypes() << ')';
  if (node.numResults() != 0)
    printer << " -> (" << node.results().getTypes() << ')';
}

// --- terminators --------------------------------------------------------------------------------

/// (values) [tokens] {attributes} : types
static ParseResult parseForwarded(OpAsmParser &parser, OperationState &state) {
  ParsedParts parts;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(parts.data, AsmParser::Delimiter::OptionalParen) ||
      parseControl(parser, parts) || parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseOptionalColonTypeList(parts.dataTypes))
    return failure();
  if (parts.data.size() != parts.dataTypes.size())
    return parser.emitError(loc) << "found " << parts.dataTypes.size() << " types for "
                                 << parts.data.size() << " values";
  SmallVector<Type> controlTypes(parts.control.size(),
                                 tf_type::ControlType::get(parser.getContext()));
  return failure(parser.resolveOperands(parts.data, parts.dataTypes, loc, state.operands) ||
                 parser.resolveOperands(parts.control, controlTypes, loc, state.operands));
}

static void printForwarded(OpAsmPrinter &printer, OperandRange data, OperandRange control,
                           Operation *op) {
  if (!data.empty())
    printer << '(' << data << ')';
  printControl(printer, control);
  printer.printOptionalAttrDict(op->getAttrs());
  if (!data.empty())
    printer << " : " << data.getTypes();
}

ParseResult YieldOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseForwarded(parser, state);
}

void YieldOp::print(OpAsmPrinter &printer) {
  printForwarded(printer, getForwarded(), getControl(), *this);
}

ParseResult ConditionOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand predicate;
  Type type;
  return failure(parser.parseOperand(predicate) || parser.parseColonType(type) ||
                 parser.resolveOperand(predicate, type, state.operands) ||
                 parseForwarded(parser, state));
}

void ConditionOp::print(OpAsmPrinter &printer) {
  // Malformed ops must print too, for debugging passes.
  if (getNumOperands() == 0)
    return;
  printer << ' ' << getPredicate() << " : " << getPredicate().getType();
  if (!getForwarded().empty())
    printer << ' ';
  printForwarded(printer, getForwarded(), getControl(), *this);
}
