// Whether nodes are what the op table says that their ops are.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/ops/OpTable.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace treadle::tfg {

/// Something about a node that its op's definition doesn't allow.
struct Finding {
  Node node;
  std::string message; // without the node's name: `attribute 'T' is f16, expected one of f32, i32`
  /// Nothing is wrong: the op is one that nobody here knows.
  bool isNote = false;
};

/// The types that attributes give the values of one input or output of an op; those that they leave
/// open have an Invalid dtype. `attr` gives null for attributes that a node doesn't have.
std::vector<ValueType> argumentTypes(const OpDef &def, const ArgDef &arg,
                                     llvm::function_ref<mlir::Attribute(llvm::StringRef)> attr);

/// Looks at each node of the graph and of the functions: attributes that are missing, unknown, of
/// another kind, or outside of the values that the op allows; inputs and outputs of another number
/// or dtype; ops that were removed before the graph's version. At most `limit`. In generic
/// functions it looks at attributes only.
std::vector<Finding> checkConformance(mlir::ModuleOp module, size_t limit = 1000);

} // namespace treadle::tfg
