// What the rules of constant folding work with: one node at a time is looked at, and replaced by
// one that does less under the same name.
#pragma once

#include "treadle/lowering/Constants.h"

#include <map>
#include <string_view>

namespace treadle::tfg {

class Simplifier {
public:
  Simplifier(mlir::Block &body, Constants &constants, Effects &effects, int64_t maxBytes)
      : constants(constants), effects(effects), maxBytes(maxBytes), body(body) {}

  /// The node that gives a value, null where it comes from outside (an argument, a feed).
  Node producer(mlir::Value value) const {
    return constants.isFed(value) ? Node() : definingNode(value);
  }
  /// Whether it gives one result, of its inputs alone, that nobody feeds.
  bool isFree(Node node);

  /// Each of these puts another node in the place of `node`, with its name, and gives it back; null
  /// where that can't be done, and then nothing has changed. What `node` no longer takes as data it
  /// waits for.
  Node makeIdentity(Node node, mlir::Value input);
  Node makeConst(Node node, const Tensor &value);
  Node makeSplat(Node node, uint64_t bits);
  Node makeOp(Node node, llvm::StringRef opType, mlir::ValueRange inputs,
              llvm::ArrayRef<mlir::NamedAttribute> attrs);

  /// The tokens on which waiting for `value` comes down to: none for what is fed, and for a
  /// constant that waits for nothing.
  void appendTokens(mlir::Value value, llvm::SmallVectorImpl<mlir::Value> &tokens) const;

  /// A Const beside `node`, named after it.
  mlir::Value constantBeside(Node node, const Tensor &value);

  /// Whether a result may be stored: within the limit, or no larger than what it came from.
  bool mayStore(int64_t bytes, int64_t inputBytes) const {
    return bytes <= std::max(maxBytes, inputBytes);
  }

  Constants &constants;
  Effects &effects;
  const int64_t maxBytes;

private:
  Node replace(Node node, Node replacement);
  /// What a node that takes `inputs` in place of `node` has to wait for.
  std::optional<llvm::SmallVector<mlir::Value>> tokensWithout(Node node, mlir::ValueRange inputs);

  mlir::Block &body;
  std::optional<NameScope> names;
};

/// Whether the value comes from a conditional. Its branch may run no more than what the results
/// that are used need, so a use of one can't become an edge from the conditional.
bool isConditionalResult(mlir::Value value);

/// Gives the node that stands in for `node`, or null where it doesn't apply.
using Rule = Node (*)(Simplifier &, Node);

/// A row of a table of rules: for an op, for all ops of an elementwise form (`add`; see
/// OpDef::elementwise), or for all reductions.
struct RuleEntry {
  static constexpr std::string_view reductions = "reductions";
  std::string_view opOrForm;
  Rule rule;
};

llvm::ArrayRef<RuleEntry> arithmeticRules();
llvm::ArrayRef<RuleEntry> shapeRules();

/// Evaluates a node of constant inputs with the runtime's kernel.
Node foldConstantInputs(Simplifier &simplifier, Node node);

/// The results of an identity go to its users, control edges that say nothing go. These keep the
/// node, and give whether something changed.
bool bypassIdentity(Simplifier &simplifier, Node node);
bool bypassNoOp(Node node);
bool dropRedundantControl(Simplifier &simplifier, Node node);

} // namespace treadle::tfg
