// While loops made frames that their functions' nodes stand in.
#pragma once

#include "treadle/transforms/deps_to_chains/LoopOrder.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"

namespace treadle::tfg {

/// Lowers chosen loops of a module, those included that stand in the functions of others.
class FrameLowering {
public:
  /// What the nodes of a frame are called.
  enum class Names : uint8_t {
    Prefixed, // `while/body/x`
    Own,      // as in the functions
  };

  explicit FrameLowering(mlir::ModuleOp module);

  /// Why the nodes of the loop's functions can't stand in a frame; empty if they can.
  std::string obstacle(const FunctionalNode &loop);
  /// Marks a loop to be lowered; copies of it are marked as well.
  /// `overlaps`: the runtime is told to let iterations overlap.
  void choose(Node loop, Names names = Names::Prefixed, bool overlaps = true);
  /// The edges that bodies with such a loop lack, whose nodes will no longer run one by one.
  std::vector<OrderEdge> missingEdges(const EffectAnalysis &analysis);
  /// Gives how many there were.
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
