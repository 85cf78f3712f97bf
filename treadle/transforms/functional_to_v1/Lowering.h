// A functional node while it is made v1 control flow.
#pragma once

#include "treadle/rewriting/Dissolving.h"
#include "treadle/transforms/functional_to_v1/Lowered.h"

#include "mlir/IR/SymbolTable.h"

namespace treadle::tfg {

/// The names of the nodes and of the frames of a body.
class BodyNames {
public:
  explicit BodyNames(mlir::Block &body);

  std::string node(llvm::StringRef base) { return nodes.unique(base); }
  /// `base` where no frame is called so, else that with a number.
  std::string frame(llvm::StringRef base);

private:
  NameScope nodes;
  llvm::StringSet<> frames;
};

/// Why a node with such a condition stays functional, as the end of a sentence; empty where it
/// needn't. Frames ask a ToBool, which has a truth for more dtypes.
std::string conditionObstacle(mlir::Type condition);

/// Lowers one node. What it makes is named for it: `while/Enter_0`, `while/Merge_0`, ...
class Lowering {
public:
  Lowering(Node node, BodyNames &names, Effects &effects, mlir::SymbolTable &functions)
      : node(node), names(names), effects(effects), functions(functions),
        builder(node.getOperation()), name(node.name().str()), dissolves(tfg::dissolves(node)) {}

  void lowerWhile();
  void lowerFor();
  struct FrameOptions {
    bool overlaps = true;  // for the runtime: iterations overlap
    bool ownNames = false; // nodes are called as in the functions
  };
  /// A While, with the nodes of its functions in the frame itself, where each runs as soon as its
  /// own inputs are there. Gives these nodes.
  llvm::SmallVector<Node> lowerWhileInFrame(FuncOp condition, FuncOp body, FrameOptions options);
  void lowerIf();
  void lowerCase();

private:
  /// What changes from iteration to iteration, or (constant) is the same in all of them.
  struct LoopValue {
    mlir::Value initial;
    mlir::Type type;
    bool isConstant = false;
  };
  struct Loop;
  using Values = llvm::ArrayRef<mlir::Value>;

  NodeBuilder make(llvm::StringRef opType, const llvm::Twine &suffix);
  NodeBuilder make(llvm::StringRef opType, const llvm::Twine &suffix, mlir::Value like);
  /// A node whose one result is of `type`.
  mlir::Value compute(llvm::StringRef opType, const llvm::Twine &suffix, mlir::ValueRange inputs,
                      mlir::Type type);
  mlir::TypeAttr dtypeOf(mlir::Value value) {
    return mlir::TypeAttr::get(mlir::getElementTypeOrSelf(value.getType()));
  }
  mlir::ArrayAttr dtypesOf(mlir::TypeRange types);
  mlir::Type scalar(mlir::Type element) { return mlir::RankedTensorType::get({}, element); }
  Node call(const llvm::Twine &suffix, tf_type::FuncAttr callee, mlir::ValueRange inputs,
            mlir::Value token, mlir::TypeRange results);

  mlir::Value enter(const LoopValue &value, unsigned index, mlir::StringAttr frame,
                    mlir::ValueRange tokens);
  bool passesOn(tf_type::FuncAttr callee, unsigned index);
  llvm::SmallVector<LoopValue> loopValues(tf_type::FuncAttr body);
  mlir::Value startToken();
  LoopValue pivot(mlir::Value start);
  mlir::Value bodyToken(mlir::Value variable);
  llvm::SmallVector<mlir::Value>
  lowerLoop(llvm::ArrayRef<LoopValue> values, mlir::ValueRange tokens,
            llvm::function_ref<mlir::Value(Values)> condition,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(Values)> body);
  void lowerBranches(mlir::Value selector, llvm::ArrayRef<tf_type::FuncAttr> callees);
  Node switchFor(mlir::Value value, mlir::Value selector, unsigned count, const llvm::Twine &suffix,
                 std::optional<unsigned> input);
  mlir::Value truthOf(mlir::Value condition);
  mlir::Type conditionType(tf_type::FuncAttr callee);
  void stays(const std::string &why);
  Node mergeOf(mlir::ValueRange values, const llvm::Twine &suffix);
  mlir::Value identity(mlir::Value value, mlir::Value token, const llvm::Twine &suffix);
  void replace(Values results, mlir::Value token);

  Node node;
  BodyNames &names;
  Effects &effects;
  mlir::SymbolTable &functions;
  mlir::OpBuilder builder;
  std::string name;
  /// Of what the functions do, only that runs which a result that is used needs.
  bool dissolves;
  bool overlaps = false; // for the runtime: iterations overlap
};

} // namespace treadle::tfg
