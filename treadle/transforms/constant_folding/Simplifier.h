// The framework for the rules of constant folding. A rule looks at one node and may replace it with
// a cheaper one of the same name.
#pragma once

#include "treadle/lowering/Constants.h"

#include <map>
#include <string_view>

namespace treadle::tfg {

class Simplifier {
public:
  Simplifier(mlir::Block &body, Constants &constants, Effects &effects, int64_t maxBytes)
      : constants(constants), effects(effects), maxBytes(maxBytes), body(body) {}

  /// Returns the node that defines a value; null for arguments and feeds.
  Node producer(mlir::Value value) const {
    return constants.isFed(value) ? Node() : definingNode(value);
  }
  /// Returns whether the node is pure and has one result, which isn't fed.
  bool isFree(Node node);

  /// Each of these replaces `node` with a new node of the same name and returns it. Returns null,
  /// without changes, if that is impossible. Data inputs that the new node lacks become control
  /// inputs.
  Node makeIdentity(Node node, mlir::Value input);
  Node makeConst(Node node, const Tensor &value);
  Node makeSplat(Node node, uint64_t bits);
  Node makeOp(Node node, llvm::StringRef opType, mlir::ValueRange inputs,
              llvm::ArrayRef<mlir::NamedAttribute> attrs);

  /// Appends the control tokens that waiting for `value` requires: none for fed values and for
  /// constants without control inputs.
  void appendTokens(mlir::Value value, llvm::SmallVectorImpl<mlir::Value> &tokens) const;

  /// Creates a Const next to `node`, named after it.
  mlir::Value constantBeside(Node node, const Tensor &value);

  /// Returns whether a folded result may be stored: it is within the limit, or not larger than its
  /// inputs.
  bool mayStore(int64_t bytes, int64_t inputBytes) const {
    return bytes <= std::max(maxBytes, inputBytes);
  }

  Constants &constants;
  Effects &effects;
  const int64_t maxBytes;

private:
  Node replace(Node node, Node replacement);
  /// Returns the control inputs of a node that replaces `node` and has the data inputs `inputs`;
  /// nullopt if it can't have them.
  std::optional<llvm::SmallVector<mlir::Value>> tokensWithout(Node node, mlir::ValueRange inputs);

  mlir::Block &body;
  std::optional<NameScope> names;
};

/// Returns whether the value is a result of a conditional. A use of one result can't become a
/// control edge from the conditional, since it would run side effects that this result doesn't
/// need.
bool isConditionalResult(mlir::Value value);

/// Returns the node that replaces the argument, or null if the rule doesn't apply.
using Rule = Node (*)(Simplifier &, Node);

/// An entry of a table of rules: for an op, for all ops of an elementwise form (`add`; see
/// OpDef::elementwise), or for all reductions.
struct RuleEntry {
  static constexpr std::string_view reductions = "reductions";
  std::string_view opOrForm;
  Rule rule;
};

llvm::ArrayRef<RuleEntry> arithmeticRules();
llvm::ArrayRef<RuleEntry> shapeRules();

/// Evaluates a node with constant inputs with the runtime's kernel.
Node foldConstantInputs(Simplifier &simplifier, Node node);

/// Returns the number of bytes of the results for these inputs, as far as shapes tell.
int64_t expectedBytes(Node node, llvm::ArrayRef<Tensor> inputs);

/// Moves users of an Identity or NoOp to its inputs, or removes redundant control edges. These keep
/// the node, and return whether anything changed.
bool bypassIdentity(Simplifier &simplifier, Node node);
bool bypassNoOp(Node node);
bool dropRedundantControl(Simplifier &simplifier, Node node);

} // namespace treadle::tfg
