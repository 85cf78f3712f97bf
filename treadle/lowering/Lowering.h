// Lowers the IR to the runtime's graph representation: a pruned graph, or a function body.
#pragma once

#include "treadle/dialect/FunctionNames.h"
#include "treadle/runtime/ValueName.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace treadle {

/// Indexes a module's graph and functions by name. The module must not change.
class ModuleIndex {
public:
  explicit ModuleIndex(mlir::ModuleOp module);
  /// An index of functions without a graph.
  ModuleIndex(mlir::MLIRContext *context, tfg::FunctionMap functions)
      : ownContext(context), functions(std::move(functions)) {}

  /// Returns null if the module has none.
  tfg::GraphOp graph() const { return graphOp; }
  tfg::Node node(llvm::StringRef name) const { return nodes.lookup(name).node; }
  size_t numNodes() const { return nodes.size(); }
  /// Returns the number of nodes before this one in the graph.
  size_t placeOf(tfg::Node node) const { return nodes.lookup(node.name()).place; }
  tfg::FuncOp function(llvm::StringRef name) const { return functions.lookup(name); }
  const tfg::FunctionMap &allFunctions() const { return functions; }
  /// Adds a function. The index must not be read concurrently.
  void add(tfg::FuncOp function) { functions[function.getName()] = function; }
  mlir::MLIRContext *context() const { return ownContext; }
  /// Suggests similar node names: ` (did you mean 'a' or 'b'?)`, or an empty string.
  std::string suggestions(llvm::StringRef name) const;

private:
  mlir::MLIRContext *ownContext;
  tfg::GraphOp graphOp;
  struct Place {
    tfg::Node node;
    size_t place;
  };
  llvm::StringMap<Place> nodes;
  tfg::FunctionMap functions;
};

/// The fetches, feeds and targets of a run.
struct Request {
  std::vector<std::string> feeds, fetches, targets;
};

/// Adds defaults of the op definition for missing attributes.
void addDefaults(std::string_view op, AttrMap &attrs);

/// Checks that a node of a known op has the inputs and outputs of its op, with the dtypes that its
/// attributes determine. Kernels rely on this. Returns InvalidArgument otherwise.
Expected<void> checkSignature(const NodeSpec &node);

/// Returns the inputs of an op that takes references to variables which are references although the
/// op expects values: `Assign` takes one reference. These must be read before the node runs.
std::vector<size_t> referencesForValues(const NodeSpec &node);

} // namespace treadle
