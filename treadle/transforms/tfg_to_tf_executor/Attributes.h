// The attributes of nodes in the form of TensorFlow's dialects.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/StringSet.h"

namespace treadle {

/// Returns the tf_executor operation that represents the node, without the dialect prefix; empty if
/// it must be an island. A NextIteration is "NextIteration" although it becomes two operations.
llvm::StringRef executorFormOf(tfg::Node node);

/// The op and attributes of the operation in an island, without attributes that types imply.
struct TfForm {
  std::string op;
  mlir::NamedAttrList attrs;
};
TfForm tfFormOf(tfg::Node node, const llvm::StringSet<> &functions);

/// Returns the attributes of a tf_executor operation.
mlir::NamedAttrList executorAttrsOf(tfg::Node node);

} // namespace treadle
