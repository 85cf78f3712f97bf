// The state that the parts of the conversion of v1 control flow share.
#pragma once

#include "treadle/rewriting/Outline.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/region_to_functional/RegionOutliner.h"

namespace treadle::tfg {

/// The number of loops and conditionals found, and of those converted.
struct ConversionCounts {
  unsigned loops = 0, convertedLoops = 0;
  unsigned conditionals = 0, convertedConditionals = 0;
};

class Conversion {
public:
  Conversion(mlir::ModuleOp module, const llvm::StringSet<> &kept)
      : kept(kept), functions(module), effects(module), outliner(module, /*isRaised=*/true) {}

  /// Returns whether the node must stay, because it is a kept node of the graph.
  bool isKept(Node node) const {
    return kept.contains(node.name()) && mlir::isa<GraphOp>(node->getParentOp());
  }
  /// Returns null if there is no function of this name.
  FuncOp function(llvm::StringRef name) const { return outliner.function(name); }

  /// Converts a node with regions to a functional node with functions. Their arguments are `first`,
  /// then the other values that the regions use. Nodes of regions that only call a function stay in
  /// them: `beforeItGoes` may move them back.
  Node outline(Node node, llvm::ArrayRef<mlir::Value> first = {},
               llvm::function_ref<void()> beforeItGoes = nullptr);
  /// Restores functions at the end of the conversion.
  void restoreFunctions();

  const llvm::StringSet<> &kept;
  FunctionNames functions;
  Effects effects;
  ConversionCounts counts;

private:
  RegionOutliner outliner;
  llvm::SmallVector<FuncOp> made;
};

/// Returns whether unneeded nodes run too, as in a function, or only nodes that a fetched node
/// needs, as in the graph.
inline bool runsAllNodes(mlir::Block &body) { return mlir::isa<FuncOp>(body.getParentOp()); }

/// Returns the control tokens of impure nodes of a block whose results have no uses: a function
/// created from the block must return them.
llvm::SmallVector<mlir::Value> effectTokens(Effects &effects, mlir::Block &block);

/// Returns whether a value is a reference to a variable's tensor, which a function can't take.
bool isReference(mlir::Value value);

/// Returns whether a value may be a boolean scalar according to its type. Switch requires one; If
/// and While accept any value.
bool mayBePredicate(mlir::Value value);

/// Converts the loops of a body to While nodes with functions for condition and body.
void convertLoops(Conversion &conversion, mlir::Block &body);

/// Converts the Switch and Merge nodes of a body to If and Case nodes with functions for their
/// branches.
void convertConditionals(Conversion &conversion, mlir::Block &body);

} // namespace treadle::tfg
