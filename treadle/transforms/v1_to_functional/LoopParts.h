// The parts of a loop of v1 control flow that has the form that TensorFlow generates:
//
//   Enter -> Merge -> Switch -> (1) body -> NextIteration -> back to Merge
//              |        |-----> (0) Exit
//              '-> condition -> LoopCond -> to every Switch
#pragma once

#include "treadle/rewriting/Rewriting.h"
#include "treadle/transforms/v1_to_functional/Deadness.h"
#include "treadle/transforms/v1_to_functional/Loops.h"

#include "llvm/ADT/DenseSet.h"

namespace treadle::tfg {

/// The properties in which the passes that create structured loops differ.
struct LoopRules {
  /// Returns whether a node must stay.
  llvm::function_ref<bool(Node)> isKept;
  /// Returns whether a node may run more often than in the frame: in both condition and body, or in
  /// the body although no Switch guards it.
  llvm::function_ref<bool(Node)> mayRepeat;
  /// Returns whether a node runs although no remaining node needs it. It isn't called for v1
  /// control flow nodes.
  llvm::function_ref<bool(Node)> alwaysRuns;
};

/// The decomposition of a loop. Analysis doesn't change the loop.
class LoopParts {
public:
  /// A loop variable, or a value that a constant Enter passes in (then `merge` and `next` are
  /// null).
  struct Variable {
    Node enter, merge, next;

    mlir::Value initial() const { return enter.data()[0]; }
    mlir::Type type() const { return merge ? merge.results()[0].getType() : initial().getType(); }
  };

  LoopParts(Loop &loop, const LoopRules &rules, Deadness &deadness)
      : loop(loop), rules(rules), deadness(deadness) {}

  /// Returns false, with the reason in the loop, if the loop has another form. Then only the reason
  /// is valid.
  bool find();

  llvm::ArrayRef<Variable> values() const { return variables; }
  Node condition() const { return loopCond; }
  /// Return the nodes of the condition and of the body, in the order of the loop's nodes. A node
  /// may be in both or in neither.
  llvm::ArrayRef<mlir::Operation *> conditionNodes() const { return inCondition; }
  llvm::ArrayRef<mlir::Operation *> bodyNodes() const { return inBody; }
  /// Returns the control tokens that the inputs of a structured loop wait for.
  llvm::SmallVector<mlir::Value> tokens() const;

  /// Returns the index of the loop variable of a value: the result of a Merge or a constant Enter
  /// of the loop, or of a Switch that forwards it.
  std::optional<unsigned> indexOf(mlir::Value value) const;
  /// Returns whether the node is a Switch that decides whether the loop continues.
  bool isLoopSwitch(mlir::Operation *op) const;

  /// Replaces the Exits with the results of a node, and erases the nodes that remain in the frame.
  /// `staysByName` returns whether an Identity must replace an Exit to keep its name.
  void replaceExits(Node structured, llvm::function_ref<bool(Node exit)> staysByName);
  /// Registers the new node with the enclosing loop and the deadness analysis.
  void setInPlace(Node structured);

private:
  bool refuse(mlir::Operation *op, std::string why) {
    loop.refuse(op, std::move(why));
    return false;
  }
  bool refuse(Node node, const char *before, const char *after) {
    return refuse(node.getOperation(), (llvm::Twine(before) + node.name() + after).str());
  }

  bool isMember(mlir::Operation *op) const { return op && members.contains(op); }
  /// Returns whether the node is erased because its value comes from outside or from another
  /// iteration.
  bool isFrameNode(mlir::Operation *op) const {
    return indices.contains(op) || op == loopCond.getOperation() || isLoopSwitch(op);
  }

  void findMembers();
  bool checkMembers();
  bool findVariables();
  bool addVariable(Node merge);
  bool addInvariants();
  void restoreOperandOrder();
  bool checkNextIterations();
  bool checkSwitches();
  bool checkExits();
  bool checkDeadness();
  bool checkEffects();
  /// Return the conditions under which the loop runs, and under which another iteration follows.
  Deadness::Set runCondition() { return deadness.of(loopCond.getOperation()); }
  Deadness::Set continueCondition();
  void markBody();
  bool collect();
  bool collectBody(llvm::SmallVector<mlir::Operation *> pending,
                   llvm::SmallVector<mlir::Operation *> &condition);
  void collectWaits(Node node, llvm::SmallVector<mlir::Operation *> &body,
                    llvm::SmallVector<mlir::Operation *> &condition,
                    llvm::DenseSet<mlir::Operation *> &passed);
  bool collectCondition(llvm::SmallVector<mlir::Operation *> pending);

  Loop &loop;
  const LoopRules &rules;
  Deadness &deadness;
  llvm::DenseSet<mlir::Operation *> members; // including removed Exit nodes of the loop
  llvm::DenseSet<mlir::Operation *> own;     // nodes that make up the frame
  llvm::SmallVector<Variable> variables;
  llvm::DenseMap<mlir::Operation *, unsigned> indices;
  Node loopCond;
  llvm::DenseSet<mlir::Operation *> bodySide, bodySet, conditionSet;
  llvm::SmallVector<mlir::Operation *> inBody, inCondition;
  Deadness::Set runs = 0; // the position of the loop's replacement
};

} // namespace treadle::tfg
