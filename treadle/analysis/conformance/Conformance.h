// Checks of nodes against the op table.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/ops/OpTable.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace treadle::tfg {

/// A property of a node that violates its op definition.
struct Finding {
  Node node;
  std::string message; // without the node's name: `attribute 'T' is f16, expected one of f32, i32`
  /// Whether the finding isn't an error: the op is unknown.
  bool isNote = false;
};

/// Returns the types that attributes determine for the values of one input or output of an op.
/// Undetermined types have an Invalid dtype. `attr` returns null for attributes that a node lacks.
std::vector<ValueType> argumentTypes(const OpDef &def, const ArgDef &arg,
                                     llvm::function_ref<mlir::Attribute(llvm::StringRef)> attr);

/// Checks each node of the graph and of functions: missing or unknown attributes, attributes of the
/// wrong kind or with values that the op doesn't allow, inputs and outputs of the wrong number or
/// dtype, and ops that were removed before the graph's version. Returns at most `limit` findings.
/// In generic functions it checks attributes only.
std::vector<Finding> checkConformance(mlir::ModuleOp module, size_t limit = 1000);

} // namespace treadle::tfg
