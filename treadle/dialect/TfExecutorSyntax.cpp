// The syntax of tf_executor, equal to TensorFlow's.
#include "treadle/dialect/TfExecutor.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace treadle::tf_executor;

using Operands = SmallVector<OpAsmParser::UnresolvedOperand>;

#define GET_OP_CLASSES
#include "treadle/dialect/TfExecutorOps.cpp.inc"

// --- names of results ---------------------------------------------------------------------------

/// Names the first data result and the token, and the second data result if `op` has a name for it.
static void nameResults(Operation *op, OpAsmSetValueNameFn setName, StringRef first,
                        StringRef second = {}) {
  if (op->getNumResults() > 1)
    setName(op->getResult(0), first);
  if (!second.empty())
    setName(op->getResult(1), second);
  setName(op->getResults().back(), "control");
}

void IslandOp::getAsmResultNames(OpAsmSetValueNameFn set) { nameResults(*this, set, "outputs"); }
void SwitchOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  nameResults(*this, set, "falseOutput", "trueOutput");
}
void SwitchNOp::getAsmResultNames(OpAsmSetValueNameFn set) { nameResults(*this, set, "outputs"); }
void MergeOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  nameResults(*this, set, "output", "value_index");
}
void EnterOp::getAsmResultNames(OpAsmSetValueNameFn set) { nameResults(*this, set, "output"); }
void NextIterationSourceOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  nameResults(*this, set, "output", "token");
}
void ExitOp::getAsmResultNames(OpAsmSetValueNameFn set) { nameResults(*this, set, "output"); }
void ControlTriggerOp::getAsmResultNames(OpAsmSetValueNameFn set) { nameResults(*this, set, {}); }
void LoopCondOp::getAsmResultNames(OpAsmSetValueNameFn set) { nameResults(*this, set, "output"); }

// --- shared by several ops ----------------------------------------------------------------------

static Type controlType(AsmParser &parser) {
  return parser.getChecked<ControlType>(parser.getContext());
}

/// Parses the types after the colon: `(operands) -> (results)`, or one type that `shorten` expands
/// to the types of data operands and data results. Control tokens are added to both.
using ExpandType = llvm::function_ref<void(Type, SmallVectorImpl<Type> &, SmallVectorImpl<Type> &)>;

static ParseResult parseTypes(OpAsmParser &parser, OperationState &result, const Operands &operands,
                              SMLoc operandsLoc, ExpandType expand) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseColonType(type))
    return failure();
  SmallVector<Type> operandTypes, resultTypes;
  if (auto function = dyn_cast<FunctionType>(type)) {
    llvm::append_range(operandTypes, function.getInputs());
    llvm::append_range(resultTypes, function.getResults());
  } else {
    expand(type, operandTypes, resultTypes);
    if (operands.size() < operandTypes.size())
      return parser.emitError(operandsLoc, "found ")
             << operands.size() << " operands, expected at least " << operandTypes.size();
    operandTypes.append(operands.size() - operandTypes.size(), controlType(parser));
    if (parser.getNumResults() != 0 || !resultTypes.empty())
      resultTypes.push_back(controlType(parser));
  }
  if (operandTypes.size() != operands.size())
    return parser.emitError(loc, "found ")
           << operandTypes.size() << " operand types for " << operands.size() << " operands";
  result.addTypes(resultTypes);
  return failure(parser.resolveOperands(operands, operandTypes, loc, result.operands) ||
                 parser.parseOptionalAttrDict(result.attributes));
}

/// operands : type {attributes}
static ParseResult parseOperandsAndTypes(OpAsmParser &parser, OperationState &result,
                                         ExpandType expand) {
  SMLoc loc = parser.getCurrentLocation();
  Operands operands;
  return failure(parser.parseOperandList(operands) ||
                 parseTypes(parser, result, operands, loc, expand));
}

static void printTypes(OpAsmPrinter &printer, Operation *op, bool isShort, Type type) {
  printer << " : ";
  if (isShort)
    printer << type;
  else
    printer.printFunctionalType(op);
}

static void printAttrs(OpAsmPrinter &printer, Operation *op, ArrayRef<StringRef> elided = {}) {
  printer.printOptionalAttrDict(op->getAttrs(), elided);
}

/// One data operand, and one data result of the same type.
static void expandForwarded(Type type, SmallVectorImpl<Type> &operands,
                            SmallVectorImpl<Type> &results) {
  operands.push_back(type);
  results.push_back(type);
}

/// Whether one type determines all operands and results.
static bool isUnary(Operation *op) {
  return op->getOperand(0).getType() == op->getResult(0).getType();
}

// --- graph, fetch, island, yield ----------------------------------------------------------------

ParseResult GraphOp::parse(OpAsmParser &parser, OperationState &result) {
  SMLoc loc = parser.getCurrentLocation();
  Region &body = *result.addRegion();
  if (parser.parseRegion(body))
    return failure();
  GraphOp::ensureTerminator(body, parser.getBuilder(), result.location);
  auto fetch = dyn_cast<FetchOp>(body.back().back());
  if (!fetch || !body.hasOneBlock())
    return parser.emitError(loc, "expected one block that ends in tf_executor.fetch");
  for (Value value : fetch.getFetches())
    if (!isControl(value))
      result.addTypes(value.getType());
  return parser.parseOptionalAttrDict(result.attributes);
}

void GraphOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printRegion(getBody());
  printAttrs(printer, *this);
}

/// fetch and yield: no operands, or values and their types.
static ParseResult parseTerminator(OpAsmParser &parser, OperationState &result) {
  SMLoc loc = parser.getCurrentLocation();
  Operands operands;
  SmallVector<Type> types;
  return failure(parser.parseOperandList(operands) ||
                 (!operands.empty() && parser.parseColonTypeList(types)) ||
                 parser.resolveOperands(operands, types, loc, result.operands) ||
                 parser.parseOptionalAttrDict(result.attributes));
}

static void printTerminator(OpAsmPrinter &printer, Operation *op) {
  if (op->getNumOperands() != 0)
    printer << ' ' << op->getOperands() << " : " << op->getOperandTypes();
  printAttrs(printer, op);
}

ParseResult FetchOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseTerminator(parser, result);
}
void FetchOp::print(OpAsmPrinter &printer) { printTerminator(printer, *this); }

ParseResult YieldOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseTerminator(parser, result);
}
void YieldOp::print(OpAsmPrinter &printer) { printTerminator(printer, *this); }

/// `wraps "op"...`: yields the op's results and shares its location with the island.
static ParseResult parseWrapped(OpAsmParser &parser, OperationState &result, Region &body) {
  Block &block = body.emplaceBlock();
  Operation *wrapped = parser.parseGenericOperation(&block, block.begin());
  if (!wrapped)
    return failure();
  // The region has no parent yet, so the context comes from the parser.
  OpBuilder builder(parser.getContext());
  builder.setInsertionPointToEnd(&block);
  YieldOp::create(builder, wrapped->getLoc(), wrapped->getResults());
  result.location = wrapped->getLoc();
  return success();
}

ParseResult IslandOp::parse(OpAsmParser &parser, OperationState &result) {
  SMLoc loc = parser.getCurrentLocation();
  Operands controlInputs;
  if (parser.parseOperandList(controlInputs, OpAsmParser::Delimiter::OptionalParen) ||
      parser.resolveOperands(controlInputs, controlType(parser), result.operands))
    return failure();
  Region &body = *result.addRegion();
  bool wraps = succeeded(parser.parseOptionalKeyword("wraps"));
  if (wraps ? parseWrapped(parser, result, body) : parser.parseRegion(body))
    return failure();
  IslandOp::ensureTerminator(body, parser.getBuilder(), result.location);
  auto yield = dyn_cast<YieldOp>(body.back().back());
  if (!yield || !body.hasOneBlock())
    return parser.emitError(loc, "expected one block that ends in tf_executor.yield");
  result.addTypes(yield.getFetches().getTypes());
  result.addTypes(controlType(parser));
  return parser.parseOptionalAttrDict(result.attributes);
}

void IslandOp::print(OpAsmPrinter &printer) {
  if (!getControlInputs().empty())
    printer << '(' << getControlInputs() << ')';
  // The short form prints one location for the three ops.
  Operation *wrapped = wrapsSingleOp() ? &getEntry().front() : nullptr;
  if (wrapped && (*this)->getAttrs().empty() && wrapped->getLoc() == getLoc() &&
      getYield().getLoc() == getLoc() && getYield()->getAttrs().empty()) {
    printer << " wraps ";
    printer.printGenericOp(wrapped);
    return;
  }
  printer << ' ';
  printer.printRegion(getBody());
  printAttrs(printer, *this);
}

// --- v1 control flow ----------------------------------------------------------------------------

static Type scalarOf(Type element) { return RankedTensorType::get({}, element); }

ParseResult SwitchOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  return parseOperandsAndTypes(parser, result, [&](Type type, auto &operands, auto &results) {
    operands.append({type, scalarOf(builder.getI1Type())});
    results.append(2, type);
  });
}

void SwitchOp::print(OpAsmPrinter &printer) {
  Type type = getData().getType();
  bool isShort = getFalseOutput().getType() == type && getTrueOutput().getType() == type &&
                 getPredicate().getType() == scalarOf(IntegerType::get(getContext(), 1));
  printer << ' ' << getOperands();
  printTypes(printer, *this, isShort, type);
  printAttrs(printer, *this);
}

// %data, %index of 3 (%control) : type {attributes}
ParseResult SwitchNOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  SMLoc loc = parser.getCurrentLocation();
  Operands operands;
  int64_t numOuts = 0;
  if (parser.parseOperandList(operands, 2) || parser.parseKeyword("of") ||
      parser.parseInteger(numOuts))
    return failure();
  if (numOuts <= 0)
    return parser.emitError(loc, "found ") << numOuts << " outputs, expected at least one";
  result.addAttribute("num_outs", builder.getI64IntegerAttr(numOuts));
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::OptionalParen))
    return failure();
  return parseTypes(parser, result, operands, loc, [&](Type type, auto &inputs, auto &results) {
    inputs.append({type, scalarOf(builder.getI32Type())});
    results.append(numOuts, type);
  });
}

void SwitchNOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getData() << ", " << getIndex() << " of " << getNumOuts();
  if (!getControlInputs().empty())
    printer << " (" << getControlInputs() << ')';
  Type type = getData().getType();
  bool isShort = getIndex().getType() == scalarOf(IntegerType::get(getContext(), 32)) &&
                 llvm::all_of(getOutputs().getTypes(), [&](Type t) { return t == type; });
  printTypes(printer, *this, isShort, type);
  printAttrs(printer, *this, {"num_outs"});
}

ParseResult MergeOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  return parseOperandsAndTypes(parser, result, [&](Type type, auto &operands, auto &results) {
    operands.append(2, type);
    results.append({type, scalarOf(builder.getI32Type())});
  });
}

void MergeOp::print(OpAsmPrinter &printer) {
  Type type = getOutput().getType();
  OperandRange data = getDataInputs();
  bool isShort = data.size() == 2 &&
                 llvm::all_of(data.getTypes(), [&](Type t) { return t == type; }) &&
                 getValueIndex().getType() == scalarOf(IntegerType::get(getContext(), 32));
  printer << ' ' << getOperands();
  printTypes(printer, *this, isShort, type);
  printAttrs(printer, *this);
}

// %data, %control frame "name" parallel_iterations 5 constant : type {attributes}
ParseResult EnterOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  SMLoc loc = parser.getCurrentLocation();
  Operands operands;
  std::string frame;
  int64_t parallelIterations = defaultParallelIterations;
  if (parser.parseOperandList(operands) || parser.parseKeyword("frame") ||
      parser.parseString(&frame))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("parallel_iterations")) &&
      parser.parseInteger(parallelIterations))
    return failure();
  bool isConstant = succeeded(parser.parseOptionalKeyword("constant"));
  result.addAttribute("frame_name", builder.getStringAttr(frame));
  result.addAttribute("parallel_iterations", builder.getI64IntegerAttr(parallelIterations));
  result.addAttribute("is_constant", builder.getBoolAttr(isConstant));
  return parseTypes(parser, result, operands, loc, expandForwarded);
}

void EnterOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getOperands() << " frame ";
  printer.printString(getFrameName());
  if (getParallelIterations() != defaultParallelIterations)
    printer << " parallel_iterations " << getParallelIterations();
  if (getIsConstant())
    printer << " constant";
  printTypes(printer, *this, isUnary(*this), getData().getType());
  printAttrs(printer, *this, {"frame_name", "parallel_iterations", "is_constant"});
}

ParseResult NextIterationSourceOp::parse(OpAsmParser &parser, OperationState &result) {
  Type type;
  if (parser.parseColonType(type))
    return failure();
  result.addTypes({type, TokenType::get(parser.getContext()), controlType(parser)});
  return parser.parseOptionalAttrDict(result.attributes);
}

void NextIterationSourceOp::print(OpAsmPrinter &printer) {
  printer << " : " << getOutput().getType();
  printAttrs(printer, *this);
}

// [%token] %input, %control : type {attributes}
ParseResult NextIterationSinkOp::parse(OpAsmParser &parser, OperationState &result) {
  SMLoc loc = parser.getCurrentLocation();
  Operands operands;
  if (parser.parseOperandList(operands, 1, OpAsmParser::Delimiter::Square) ||
      parser.parseOperandList(operands))
    return failure();
  return parseTypes(parser, result, operands, loc, [&](Type type, auto &inputs, auto &) {
    inputs.append({TokenType::get(parser.getContext()), type});
  });
}

void NextIterationSinkOp::print(OpAsmPrinter &printer) {
  printer << " [" << getToken() << "] " << (*this)->getOperands().drop_front();
  printer << " : " << getInput().getType();
  printAttrs(printer, *this);
}

ParseResult ExitOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseOperandsAndTypes(parser, result, expandForwarded);
}

void ExitOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getOperands();
  printTypes(printer, *this, isUnary(*this), getData().getType());
  printAttrs(printer, *this);
}

ParseResult ControlTriggerOp::parse(OpAsmParser &parser, OperationState &result) {
  Operands operands;
  if (parser.parseOperandList(operands) ||
      parser.resolveOperands(operands, controlType(parser), result.operands))
    return failure();
  result.addTypes(controlType(parser));
  return parser.parseOptionalAttrDict(result.attributes);
}

// Without operands and attributes, the parser would take the next op's result for an operand.
void ControlTriggerOp::print(OpAsmPrinter &printer) {
  if (getNumOperands() != 0)
    printer << ' ' << getOperands();
  printAttrs(printer, *this);
  if (getNumOperands() == 0 && (*this)->getAttrs().empty())
    printer << " {}";
}

ParseResult LoopCondOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseOperandsAndTypes(parser, result, expandForwarded);
}

void LoopCondOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getOperands();
  printTypes(printer, *this, isUnary(*this), getInput().getType());
  printAttrs(printer, *this);
}
