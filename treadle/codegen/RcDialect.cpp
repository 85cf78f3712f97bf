#include "treadle/codegen/Rc.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "treadle/codegen/RcDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "treadle/codegen/RcTypes.cpp.inc"

#define GET_OP_CLASSES
#include "treadle/codegen/RcOps.cpp.inc"

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

} // namespace treadle::rc
