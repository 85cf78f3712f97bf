// Operations of the tf and tf_executor dialects as nodes: op, name, device and attributes.
#pragma once

#include "treadle/dialect/TfExecutor.h"
#include "treadle/dialect/Tfg.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace treadle::graphdef {

/// The attributes of tfg.func that stand for fields of a FunctionDef; on a func.func they have
/// `tfg.` in front.
inline constexpr llvm::StringLiteral funcFields[] = {
    "description", "gradient", "resource_arg_unique_ids_keys", "resource_arg_unique_ids_values",
    "control_output"};
inline constexpr llvm::StringLiteral funcFieldPrefix = "tfg.";
inline constexpr llvm::StringLiteral isStatefulKey = "tf.signature.is_stateful";
/// On func.func: the dictionaries of its control results.
inline constexpr llvm::StringLiteral controlResultsKey = "tfg.control_ret_attrs";
/// On @main, and on a tfg.graph that was one: {inputs = "x,y", outputs = "z:0", control_outputs}.
inline constexpr llvm::StringLiteral entryFunctionKey = "tf.entry_function";
inline constexpr llvm::StringLiteral versionsKey = "tf.versions";

/// On an operation: the attributes that follow from its types, but which its node leaves out.
inline constexpr llvm::StringLiteral omittedKey = "_mlir_omitted";
/// On a tf_executor.graph: for each node the place among the nodes that it is to have, where that
/// isn't its own.
inline constexpr llvm::StringLiteral orderKey = "_mlir_order";

/// The op that stands for a call by the function's name; TensorFlow has no such op.
inline constexpr llvm::StringLiteral legacyCallOp = "LegacyCall";

/// Ops that differ only in what `is_stateless` says: If and StatelessIf.
bool hasStatelessTwin(llvm::StringRef op);

/// The operation of tf_executor for an op of v1 control flow, as far as one op of a GraphDef is one
/// operation: "Switch" for Switch and RefSwitch. Empty for other ops.
llvm::StringRef executorOp(llvm::StringRef op);

/// The name that a location states for a node, empty if none: `loc("name")`, the parts of a fused
/// location but for those that end in a colon, the callee of a call site; without "@function".
std::string nameInLocation(mlir::Location location);

/// Names of the nodes of one graph or function.
class LocationNames {
public:
  /// Nameless nodes don't get `name`.
  void reserve(llvm::StringRef name) { reserved.insert(name); }
  /// A name that a node states, for the first to ask; others get a number behind it.
  std::string stated(llvm::StringRef name);
  /// A name for a nameless node: `base`, or that with a number behind it.
  std::string made(llvm::StringRef base);

private:
  std::string numbered(llvm::StringRef base);

  llvm::StringSet<> taken, reserved;
  llvm::StringMap<unsigned> counts;
};

/// What a node is made of.
struct NodeParts {
  std::string op;
  std::string name; // empty if nothing states one
  mlir::NamedAttrList attrs;
};

/// Takes an operation of tf, or one of tf_executor's nodes, apart. `functions` are the names of the
/// module's functions, which hide ops. Attributes that follow from the types are filled in. The
/// types are those of the data inputs and outputs.
NodeParts takeApart(mlir::Operation *op, mlir::TypeRange inputs, mlir::TypeRange outputs,
                    const llvm::StringSet<> &functions);

} // namespace treadle::graphdef
