// Lowering of one functional node to v1 control flow.
#pragma once

#include "treadle/rewriting/Dissolving.h"
#include "treadle/transforms/functional_to_v1/Lowered.h"

#include "mlir/IR/SymbolTable.h"

namespace treadle::tfg {

/// The names of the nodes and frames of a body.
class BodyNames {
public:
  explicit BodyNames(mlir::Block &body);

  std::string node(llvm::StringRef base) { return nodes.unique(base); }
  /// Returns `base` if no frame has that name, otherwise `base` with a number.
  std::string frame(llvm::StringRef base);

private:
  NameScope nodes;
  llvm::StringSet<> frames;
};

/// Returns why a node with such a condition can't be lowered, as the end of a sentence; empty if it
/// can. Frames convert conditions with ToBool, which accepts more dtypes.
std::string conditionObstacle(mlir::Type condition);

/// Lowers one node. New nodes are named after it: `while/Enter_0`, `while/Merge_0`, ...
class Lowering {
public:
  Lowering(Node node, BodyNames &names, Effects &effects, mlir::SymbolTable &functions)
      : node(node), names(names), effects(effects), functions(functions),
        builder(node.getOperation()), name(node.name().str()), dissolves(tfg::dissolves(node)) {}

  void lowerWhile();
  void lowerFor();
  struct FrameOptions {
    bool overlaps = true;  // only for the runtime: iterations overlap
    bool ownNames = false; // nodes keep the names that they have in the functions
  };
  /// Lowers a While and copies the nodes of its functions into the frame, where each runs as soon
  /// as its own inputs are available. Returns these nodes.
  llvm::SmallVector<Node> lowerWhileInFrame(FuncOp condition, FuncOp body, FrameOptions options);
  void lowerIf();
  void lowerCase();

private:
  /// A value that changes from iteration to iteration, or is the same in all of them (constant).
  struct LoopValue {
    mlir::Value initial;
    mlir::Type type;
    bool isConstant = false;
  };
  struct Loop;
  using Values = llvm::ArrayRef<mlir::Value>;

  NodeBuilder make(llvm::StringRef opType, const llvm::Twine &suffix);
  NodeBuilder make(llvm::StringRef opType, const llvm::Twine &suffix, mlir::Value like);
  /// Creates a node with one result of `type`.
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
  bool returnsUnchanged(tf_type::FuncAttr callee, unsigned index);
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
  mlir::Value toBool(mlir::Value condition);
  mlir::Type conditionType(tf_type::FuncAttr callee);
  void emitNotLowered(const std::string &why);
  Node mergeOf(mlir::ValueRange values, const llvm::Twine &suffix);
  mlir::Value identity(mlir::Value value, mlir::Value token, const llvm::Twine &suffix);
  void replace(Values results, mlir::Value token);

  Node node;
  BodyNames &names;
  Effects &effects;
  mlir::SymbolTable &functions;
  mlir::OpBuilder builder;
  std::string name;
  /// Whether side effects of the functions run only if a result that is used depends on them.
  bool dissolves;
  bool overlaps = false; // only for the runtime: iterations overlap
};

} // namespace treadle::tfg
