// Functions made of the regions of control flow, and functional nodes that call them.
#pragma once

#include "treadle/rewriting/RegionForms.h"

#include "llvm/ADT/DenseSet.h"

namespace treadle::tfg {

class RegionOutliner {
public:
  /// `isRaised`: regions were made a moment ago. One that does nothing but call a function becomes
  /// that function, and arguments have the names of the values that they get.
  explicit RegionOutliner(mlir::ModuleOp module, bool isRaised = false);

  /// Of all regions of the graph and of the functions. Where one can't, it says why.
  mlir::LogicalResult convertAll();

  /// What the functions of one op get beside the values that a loop carries anyway.
  struct Captures {
    llvm::SmallVector<mlir::Value> arguments;
    llvm::SmallVector<mlir::Value> tokens; // that no argument brings along: the op waits for them
  };
  /// The values `first`, then what else the regions use, in the order of first uses.
  static Captures capture(Node node, llvm::ArrayRef<mlir::Value> first);

  /// What the functional node of one op takes. Functions that were there already aren't in `made`.
  struct Outlined {
    llvm::SmallVector<mlir::Value> data, control;
    llvm::SmallVector<tf_type::FuncAttr> callees;
    llvm::SmallVector<FuncOp> made;
  };

  /// Moves what stands in the regions of an op into functions; fails where one of the functions
  /// that it compares them with has regions that can't.
  mlir::FailureOr<Outlined> outline(Node node, const Captures &captures);
  /// Puts a node that calls the functions in the place of the op.
  Node replace(Node node, llvm::StringRef opType, const Outlined &outlined);

  /// Null where there is none of this name.
  FuncOp function(llvm::StringRef name) const { return functions.lookup(name); }

  unsigned numConverted = 0, numReused = 0;

private:
  mlir::LogicalResult convertBody(mlir::Operation *op);
  mlir::LogicalResult convertNode(mlir::Operation *op);
  mlir::FailureOr<FuncOp> outlineRegion(Node node, RegionForm form, mlir::Region &region,
                                        const Captures &captures);
  tf_type::FuncAttr forwardedCall(mlir::Region &region, const Captures &captures);
  bool isResultOf(Node call, unsigned index, mlir::Value value);
  mlir::FailureOr<FuncOp> settle(FuncOp function, llvm::StringRef base, bool isConditional);

  mlir::ModuleOp module;
  const bool isRaised;
  FunctionMap functions;
  llvm::StringMap<llvm::SmallVector<FuncOp>>
      candidates; // by the name that a region's attributes say
  llvm::StringMap<unsigned> suffixes;
  llvm::DenseSet<mlir::Operation *> entered, done;
};

} // namespace treadle::tfg
