// What loops of v1 control flow consist of, where they have the form that TensorFlow gives them:
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

/// What those who make structured loops of frames differ in.
struct LoopRules {
  /// Whether a node must stay where it is.
  llvm::function_ref<bool(Node)> isKept;
  /// Whether a node may run oftener than in the frame: in the condition and in the body, or in the
  /// body though no Switch holds it back.
  llvm::function_ref<bool(Node)> mayRepeat;
  /// Whether a node runs that nothing needs which stays; v1 control flow isn't asked for.
  llvm::function_ref<bool(Node)> runsUnneeded;
};

/// A loop taken apart. It only looks.
class LoopParts {
public:
  /// A value of the loop: one that changes from iteration to iteration, or one that a constant
  /// Enter brings in (then `merge` and `next` are null).
  struct Variable {
    Node enter, merge, next;

    mlir::Value initial() const { return enter.data()[0]; }
    mlir::Type type() const { return merge ? merge.results()[0].getType() : initial().getType(); }
  };

  LoopParts(Loop &loop, const LoopRules &rules, Deadness &deadness)
      : loop(loop), rules(rules), deadness(deadness) {}

  /// False, with the reason in the loop, where it has another form; then ask for nothing else.
  bool find();

  llvm::ArrayRef<Variable> values() const { return variables; }
  Node condition() const { return loopCond; }
  /// What the condition and the body consist of, in the order of the loop's nodes. Nodes may be in
  /// both, and some in neither.
  llvm::ArrayRef<mlir::Operation *> conditionNodes() const { return inCondition; }
  llvm::ArrayRef<mlir::Operation *> bodyNodes() const { return inBody; }
  /// What the inputs of a structured loop wait for.
  llvm::SmallVector<mlir::Value> tokens() const;

  /// Which of the loop's values this is: what a Merge or a constant Enter of the loop gives, or a
  /// Switch that lets it through.
  std::optional<unsigned> indexOf(mlir::Value value) const;
  /// Whether it is a Switch that decides whether the loop goes on.
  bool isLoopSwitch(mlir::Operation *op) const;

  /// Puts the results of a node with the loop's values in the place of the Exits, and takes away
  /// what still stands in the frame. `staysByName`: whether an Identity takes the place of an Exit.
  void replaceExits(Node structured, llvm::function_ref<bool(Node exit)> staysByName);
  /// Tells the loop around, and who asks where nodes run, of the node that the loop became.
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
  /// Nodes that vanish: their values are those that come from outside or from another iteration.
  bool isFrameNode(mlir::Operation *op) const {
    return indices.contains(op) || op == loopCond.getOperation() || isLoopSwitch(op);
  }

  void findMembers();
  bool checkMembers();
  bool findVariables();
  bool addVariable(Node merge);
  bool addInvariants();
  void orderAsBefore();
  bool checkNextIterations();
  bool checkSwitches();
  bool checkExits();
  bool checkDeadness();
  bool checkEffects();
  /// Where the loop runs at all, and where another iteration follows.
  Deadness::Set whereItRuns() { return deadness.of(loopCond.getOperation()); }
  Deadness::Set whereItGoesOn();
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
  llvm::DenseSet<mlir::Operation *> members; // Exit nodes of the loop left out
  llvm::DenseSet<mlir::Operation *> own;     // nodes of the frame itself
  llvm::SmallVector<Variable> variables;
  llvm::DenseMap<mlir::Operation *, unsigned> indices;
  Node loopCond;
  llvm::DenseSet<mlir::Operation *> bodySide, bodySet, conditionSet;
  llvm::SmallVector<mlir::Operation *> inBody, inCondition;
  Deadness::Set runs = 0; // where the loop does, once it is gone
};

} // namespace treadle::tfg
