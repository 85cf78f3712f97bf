// From the IR to what the runtime is given: the needed part of a graph, or a function's body.
#pragma once

#include "treadle/dialect/FunctionNames.h"
#include "treadle/runtime/ValueName.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace treadle {

/// A module's graph and functions by name. The module must not change.
class ModuleIndex {
public:
  explicit ModuleIndex(mlir::ModuleOp module);
  /// An index of functions alone.
  ModuleIndex(mlir::MLIRContext *context, tfg::FunctionMap functions)
      : ownContext(context), functions(std::move(functions)) {}

  /// Null if the module has none.
  tfg::GraphOp graph() const { return graphOp; }
  tfg::Node node(llvm::StringRef name) const { return nodes.lookup(name); }
  tfg::FuncOp function(llvm::StringRef name) const { return functions.lookup(name); }
  const tfg::FunctionMap &allFunctions() const { return functions; }
  /// A function that was made since. Nobody may read the index meanwhile.
  void add(tfg::FuncOp function) { functions[function.getName()] = function; }
  mlir::MLIRContext *context() const { return ownContext; }
  /// The nodes that may have been meant: ` (did you mean 'a' or 'b'?)`, or nothing.
  std::string suggestions(llvm::StringRef name) const;

private:
  mlir::MLIRContext *ownContext;
  tfg::GraphOp graphOp;
  llvm::StringMap<tfg::Node> nodes;
  tfg::FunctionMap functions;
};

/// What a run asks of a graph.
struct Request {
  std::vector<std::string> feeds, fetches, targets;
};

/// Adds what the op's definition gives to attributes that are missing.
void addDefaults(std::string_view op, AttrMap &attrs);

/// That a node of a known op has as many inputs and outputs as its op, of the dtypes that its
/// attributes give them. Kernels rely on it. InvalidArgument otherwise.
Expected<void> checkSignature(const NodeSpec &node);

/// The inputs of an op on references to variables that are references too, where the op wants a
/// value: `Assign` takes one reference. Whoever runs the node reads these first.
std::vector<size_t> referencesForValues(const NodeSpec &node);

} // namespace treadle
