#include "treadle/dialect/sdy/Sdy.h"

#include "treadle/dialect/sdy/Syntax.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::sdy;

#include "treadle/dialect/SdyOpsDialect.cpp.inc"

#define GET_OP_CLASSES
#include "treadle/dialect/SdyOps.cpp.inc"

// Undeclared ops are allowed here, so that the importer can report them by name.
void SdyDialect::initialize() {
  allowUnknownOperations();
  addOperations<
#define GET_OP_LIST
#include "treadle/dialect/SdyOps.cpp.inc"
      >();
}

std::optional<Dialect::ParseOpHook> SdyDialect::getParseOperationHook(StringRef) const {
  return ParseOpHook(parseOp);
}

Attribute SdyDialect::parseAttribute(DialectAsmParser &parser, Type) const {
  return sdy::parseAttribute(parser);
}

/// Checks that the body has as many arguments as there are operands, and as many results as the op.
static LogicalResult verifyComputation(Operation *op) {
  Block &block = op->getRegion(0).front();
  if (block.getNumArguments() == op->getNumOperands() &&
      block.back().getNumOperands() == op->getNumResults())
    return success();
  return op->emitOpError("has ") << op->getNumOperands() << " operands and " << op->getNumResults()
                                 << " results, but its body takes " << block.getNumArguments()
                                 << " and yields " << block.back().getNumOperands();
}

LogicalResult ManualComputationOp::verifyRegions() { return verifyComputation(*this); }

LogicalResult NamedComputationOp::verifyRegions() { return verifyComputation(*this); }
