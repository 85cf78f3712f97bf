#include "treadle/codegen/Rc.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "treadle/codegen/RcDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "treadle/codegen/RcTypes.cpp.inc"

#define GET_OP_CLASSES
#include "treadle/codegen/RcOps.cpp.inc"

using namespace mlir;

namespace treadle::rc {

void RcDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "treadle/codegen/RcTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "treadle/codegen/RcOps.cpp.inc"
      >();
}

int64_t bytesOf(RankedTensorType type) {
  Type element = type.getElementType();
  int64_t parts = 1;
  if (auto complex = dyn_cast<ComplexType>(element)) {
    element = complex.getElementType();
    parts = 2;
  }
  if (!element.isIntOrFloat())
    return -1;
  return type.getNumElements() * parts * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

} // namespace treadle::rc
