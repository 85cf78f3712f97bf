// The attributes of nodes as TensorFlow's dialects spell them.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/StringSet.h"

namespace treadle {

/// The operation of tf_executor that can hold the node, without its dialect; empty if it is to be
/// an island. A NextIteration is "NextIteration" although it becomes two operations.
llvm::StringRef executorFormOf(tfg::Node node);

/// The op and the attributes of the operation in an island; those that follow from the types are
/// left out.
struct TfForm {
  std::string op;
  mlir::NamedAttrList attrs;
};
TfForm tfFormOf(tfg::Node node, const llvm::StringSet<> &functions);

/// The attributes of an operation of tf_executor.
mlir::NamedAttrList executorAttrsOf(tfg::Node node);

} // namespace treadle
