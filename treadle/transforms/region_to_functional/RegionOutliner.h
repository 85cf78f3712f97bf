// Outlining of control flow regions into functions, and creation of the functional nodes that call
// them.
#pragma once

#include "treadle/rewriting/RegionForms.h"

#include "llvm/ADT/DenseSet.h"

namespace treadle::tfg {

class RegionOutliner {
public:
  /// `isRaised` means that the regions were just raised from v1 control flow. Then a region that
  /// only calls a function becomes that function, and arguments are named after their values.
  explicit RegionOutliner(mlir::ModuleOp module, bool isRaised = false);

  /// Converts all regions of the graph and of functions. Emits an error if one can't be converted.
  mlir::LogicalResult convertAll();

  /// The values that the functions of one op need in addition to the loop variables.
  struct Captures {
    llvm::SmallVector<mlir::Value> arguments;
    llvm::SmallVector<mlir::Value> tokens; // tokens of no argument, for which the op waits
  };
  /// Returns the values in `first`, followed by the others
  /// that the regions use, ordered by first use.
  static Captures capture(Node node, llvm::ArrayRef<mlir::Value> first);

  /// The operands and callees of the functional node for one op. `made` contains only new
  /// functions.
  struct Outlined {
    llvm::SmallVector<mlir::Value> data, control;
    llvm::SmallVector<tf_type::FuncAttr> callees;
    llvm::SmallVector<FuncOp> made;
  };

  /// Moves the contents of the op's regions into functions. Fails if a function that it compares
  /// them with contains regions that can't be converted.
  mlir::FailureOr<Outlined> outline(Node node, const Captures &captures);
  /// Replaces the op with a node that calls the functions.
  Node replace(Node node, llvm::StringRef opType, const Outlined &outlined);

  /// Returns null if there is no function of this name.
  FuncOp function(llvm::StringRef name) const { return functions.lookup(name); }

  unsigned numConverted = 0, numReused = 0;

private:
  mlir::LogicalResult convertBody(mlir::Operation *op);
  mlir::LogicalResult convertNode(mlir::Operation *op);
  mlir::FailureOr<FuncOp> outlineRegion(Node node, RegionForm form, mlir::Region &region,
                                        const Captures &captures);
  tf_type::FuncAttr forwardedCall(mlir::Region &region, const Captures &captures);
  bool isResultOf(Node call, unsigned index, mlir::Value value);
  mlir::FailureOr<FuncOp> reuseOrAdd(FuncOp function, llvm::StringRef base, bool isConditional);

  mlir::ModuleOp module;
  const bool isRaised;
  FunctionMap functions;
  llvm::StringMap<llvm::SmallVector<FuncOp>>
      /// By the name in the region's attributes.
      candidates;
  llvm::StringMap<unsigned> suffixes;
  llvm::DenseSet<mlir::Operation *> entered, done;
};

} // namespace treadle::tfg
