// What the parts of the conversion of v1 control flow share: the module as it changes.
#pragma once

#include "treadle/rewriting/Outline.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/region_to_functional/RegionOutliner.h"

namespace treadle::tfg {

/// How much was found, and how much of it became structured.
struct ConversionCounts {
  unsigned loops = 0, convertedLoops = 0;
  unsigned conditionals = 0, convertedConditionals = 0;
};

class Conversion {
public:
  Conversion(mlir::ModuleOp module, const llvm::StringSet<> &kept)
      : kept(kept), functions(module), effects(module), outliner(module, /*isRaised=*/true) {}

  /// Whether the node must stay where it is: it is one of the graph, and called so.
  bool isKept(Node node) const {
    return kept.contains(node.name()) && mlir::isa<GraphOp>(node->getParentOp());
  }
  /// Null where there is none of this name.
  FuncOp function(llvm::StringRef name) const { return outliner.function(name); }

  /// Makes a functional node, and functions, of a node with regions. These take `first`, then what
  /// else they use. Those that are nothing but a call keep their nodes: `beforeItGoes` may take
  /// them back.
  Node outline(Node node, llvm::ArrayRef<mlir::Value> first = {},
               llvm::function_ref<void()> beforeItGoes = nullptr);
  /// To be called at the end.
  void restoreFunctions();

  const llvm::StringSet<> &kept;
  FunctionNames functions;
  Effects effects;
  ConversionCounts counts;

private:
  RegionOutliner outliner;
  llvm::SmallVector<FuncOp> made;
};

/// Whether nodes run because they are there (in a function), or because something that is fetched
/// needs them (in the graph).
inline bool runsUnneeded(mlir::Block &body) { return mlir::isa<FuncOp>(body.getParentOp()); }

/// The nodes of a block that aren't pure, and whose results no other one uses: what a function that
/// is made of them must return tokens of.
llvm::SmallVector<mlir::Value> effectTokens(Effects &effects, mlir::Block &block);

/// Whether a value is a reference to a variable's tensor, which no function can take.
bool isReference(mlir::Value value);

/// Whether a value is a bool scalar as far as its type tells. Switch takes no other predicate, but
/// If and While take any value for true or false.
bool mayBePredicate(mlir::Value value);

/// Makes While nodes of the loops of a body, and functions of their conditions and bodies.
void convertLoops(Conversion &conversion, mlir::Block &body);

/// Makes If and Case nodes of the Switch and Merge nodes of a body, and functions of their
/// branches.
void convertConditionals(Conversion &conversion, mlir::Block &body);

} // namespace treadle::tfg
