// Lowering of While loops to frames that contain the nodes of their functions.
#pragma once

#include "treadle/transforms/deps_to_chains/LoopOrder.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"

namespace treadle::tfg {

/// Lowers chosen loops of a module, including those in the functions of other loops.
class FrameLowering {
public:
  /// The naming of nodes in a frame.
  enum class Names : uint8_t {
    Prefixed, // `while/body/x`
    Own,      // the names in the functions
  };

  explicit FrameLowering(mlir::ModuleOp module);

  /// Returns why the nodes of the loop's functions can't be inlined into a frame; empty if they
  /// can.
  std::string obstacle(const FunctionalNode &loop);
  /// Marks a loop, and copies of it, to be lowered. With `overlaps`, the runtime overlaps its
  /// iterations.
  void choose(Node loop, Names names = Names::Prefixed, bool overlaps = true);
  /// Returns the missing edges of bodies with such a loop, whose nodes will no longer run one by
  /// one.
  std::vector<OrderEdge> missingEdges(const EffectAnalysis &analysis);
  /// Lowers the chosen loops and returns their number.
  unsigned run();

private:
  void eraseMarks();
  bool hasChosen(FuncOp function);
  void findLoopFunctions();
  unsigned lowerIn(mlir::Block &body);

  mlir::ModuleOp module;
  Effects effects;
  mlir::SymbolTable symbols;
  FunctionMap functions;
  llvm::DenseSet<mlir::Operation *> loopFunctions;
};

} // namespace treadle::tfg
