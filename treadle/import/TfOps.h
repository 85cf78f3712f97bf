// Reads operations of the tf and tf_executor dialects as nodes: op, name, device and attributes.
#pragma once

#include "treadle/dialect/TfExecutor.h"
#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace treadle::graphdef {

/// The attributes of tfg.func that represent fields of a FunctionDef; on a func.func they have the
/// prefix `tfg.`.
inline constexpr llvm::StringLiteral funcFields[] = {
    "description", "gradient", "resource_arg_unique_ids_keys", "resource_arg_unique_ids_values",
    "control_output"};
inline constexpr llvm::StringLiteral funcFieldPrefix = "tfg.";
inline constexpr llvm::StringLiteral isStatefulKey = "tf.signature.is_stateful";
/// On func.func: the dictionaries of its control results.
inline constexpr llvm::StringLiteral controlResultsKey = "tfg.control_ret_attrs";
/// On @main, and on a tfg.graph converted from it: {inputs = "x,y", outputs = "z:0",
/// control_outputs}.
inline constexpr llvm::StringLiteral entryFunctionKey = "tf.entry_function";
inline constexpr llvm::StringLiteral versionsKey = "tf.versions";

/// On an operation: the attributes that its types determine but its node omits.
inline constexpr llvm::StringLiteral omittedKey = "_mlir_omitted";
/// On a tf_executor.graph: the original position of each node, if it differs from the current one.
inline constexpr llvm::StringLiteral orderKey = "_mlir_order";

/// A pseudo-op for a call that uses the function's name as its op.
inline constexpr llvm::StringLiteral legacyCallOp = "LegacyCall";

/// Whether the op and another one differ only in `is_stateless`: If and StatelessIf.
bool hasStatelessVariant(llvm::StringRef op);

/// Returns the tf_executor operation for a v1 control flow op that corresponds one-to-one: "Switch"
/// for Switch and RefSwitch. Empty for other ops.
llvm::StringRef executorOp(llvm::StringRef op);

/// Returns the node name in a location; empty if there is none. It is the name of `loc("name")`,
/// the parts of a fused location except those that end in a colon, or the callee of a call site,
/// without "@function".
std::string nameInLocation(mlir::Location location);

/// Names of the nodes of one graph or function.
class LocationNames {
public:
  /// Generated names won't use `name`.
  void reserve(llvm::StringRef name) { reserved.insert(name); }
  /// Returns an explicit name for its first node; later nodes get a number appended.
  std::string stated(llvm::StringRef name);
  /// Returns a name for a nameless node: `base`, with a number appended if needed.
  std::string made(llvm::StringRef base);

private:
  std::string numbered(llvm::StringRef base);

  llvm::StringSet<> taken, reserved;
  llvm::StringMap<unsigned> counts;
};

/// The parts of a node.
struct NodeParts {
  std::string op;
  std::string name; // empty if there is no explicit name
  mlir::NamedAttrList attrs;
};

/// Reads an operation of tf or a node operation of tf_executor. `functions` are the names of the
/// module's functions, which shadow ops. Adds the attributes that the types determine. `inputs` and
/// `outputs` are the types of the data inputs and outputs.
NodeParts nodePartsOf(mlir::Operation *op, mlir::TypeRange inputs, mlir::TypeRange outputs,
                      const llvm::StringSet<> &functions);

} // namespace treadle::graphdef
