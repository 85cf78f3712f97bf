// Lowers While to a frame that contains the nodes of its functions.
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/functional_to_v1/Lowering.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// Copies the nodes of a function into another body.
class Expansion {
public:
  /// Names the copies `PREFIX/x`; with an empty prefix, keeps the names.
  Expansion(OpBuilder &builder, Node caller, BodyNames &names, std::string prefix)
      : builder(builder), caller(caller), names(names), prefix(std::move(prefix)) {}

  void map(BlockArgument argument, Value value, Value token) {
    mapping.map(Value(argument), value);
    mapping.map(Value(FuncOp::getControlTokenOf(argument)), token);
  }

  /// Nodes without inputs from the function wait for `entry`.
  void run(FuncOp function, Value entry) {
    for (Operation &op : function.getEntry())
      if (Node::isNode(&op))
        copies.emplace_back(builder.clone(op, mapping));
    // Nodes may precede the nodes that they use: map operands that weren't copied yet.
    for (Node copy : copies)
      copy->walk([&](Operation *op) {
        for (OpOperand &operand : op->getOpOperands())
          operand.set(mapping.lookupOrDefault(operand.get()));
      });
    for (Node copy : copies)
      adapt(copy, entry);
    for (Node copy : copies)
      renameSoftInputs(copy, newNames);
  }

  Value operator()(Value value) const { return mapping.lookup(value); }

  SmallVector<Node> copies;

private:
  void adapt(Node copy, Value entry) {
    std::string old = copy.name().str();
    if (prefix.empty()) {
      copy.setName(names.node(copy.name()));
    } else {
      copy.setName(names.node(prefix + "/" + copy.name().str()));
      if (copy.device().empty())
        copy.setDevice(caller.device());
      copy->setLoc(CallSiteLoc::get(copy->getLoc(), caller->getLoc()));
      copy->removeDiscardableAttr(classKey); // names of the function's nodes
    }
    newNames[old] = copy.name().str();
    llvm::SmallSetVector<Value, 8> tokens(copy.control().begin(), copy.control().end());
    if (tokens.size() != copy.numControl())
      setControl(copy, tokens.getArrayRef());
    if (copy->getNumOperands() == 0)
      addControl(copy, entry);
  }

  OpBuilder &builder;
  Node caller;
  BodyNames &names;
  std::string prefix;
  llvm::StringMap<std::string> newNames;
  IRMapping mapping;
};

} // namespace

/// The loop starts when all of its inputs and control inputs are available, like a call. The token
/// of a Switch doesn't tell which of its outputs is dead, so the token of a node behind it is used.
Value Lowering::startToken() {
  SmallVector<Value> before(node.control());
  for (Value value : node.data()) {
    Node from = definingNode(value);
    bool isSplit = from && (from.opType() == "Switch" || from.opType() == "_SwitchN");
    before.push_back(controlTokenOf(isSplit ? identity(value, {}, "input") : value));
  }
  llvm::SmallSetVector<Value, 8> tokens(before.begin(), before.end());
  return make("NoOp", "start").control(tokens.getArrayRef()).build().controlResult();
}

/// Creates a loop variable that only determines the iteration in which nodes run.
Lowering::LoopValue Lowering::pivot(Value start) {
  auto type = RankedTensorType::get({}, builder.getF32Type());
  Value zero = make("Const", "pivot_init")
                   .attr("dtype", TypeAttr::get(type.getElementType()))
                   .attr("value", DenseElementsAttr::get(type, 0.0f))
                   .control(start)
                   .results(type)
                   .build()
                   .results()[0];
  return {zero, type, false};
}

SmallVector<Node> Lowering::lowerWhileInFrame(FuncOp condition, FuncOp body, FrameOptions options) {
  overlaps = options.overlaps;
  dissolves = false; // tokens carry the effects
  Value start = startToken();
  SmallVector<LoopValue> values = loopValues(node.attr<tf_type::FuncAttr>("body"));
  values.push_back(pivot(start));
  SmallVector<Node> copies;
  // The tokens of the nodes that must run before a function completes.
  auto tokensOf = [](FuncOp function, const Expansion &expansion) {
    SmallVector<Value> tokens;
    for (Value token : function.getReturn().getControl())
      tokens.push_back(expansion(token));
    return tokens;
  };
  auto held = [&](Value value, const Twine &suffix, ArrayRef<Value> tokens) {
    if (tokens.empty())
      return value;
    Value result = identity(value, {}, suffix);
    setControl(definingNode(result), tokens);
    return result;
  };
  auto expandCondition = [&](Values current) -> Value {
    Expansion expansion(builder, node, names, options.ownNames ? "" : name + "/cond");
    for (auto [index, value] : llvm::enumerate(current.drop_back()))
      expansion.map(condition.getDataArgument(index), value, controlTokenOf(value));
    expansion.run(condition, controlTokenOf(current.back()));
    llvm::append_range(copies, expansion.copies);
    return toBool(held(expansion(condition.getReturn().getData()[0]), "predicate",
                       tokensOf(condition, expansion)));
  };
  auto expandBody = [&](Values current) {
    Expansion expansion(builder, node, names, options.ownNames ? "" : name + "/body");
    Value alive = identity(current.back(), {}, "pivot");
    Value entry = controlTokenOf(alive);
    for (auto [index, value] : llvm::enumerate(current.drop_back())) {
      Value argument =
          identity(value, values[index].isConstant ? entry : Value(), "arg_" + Twine(index));
      expansion.map(body.getDataArgument(index), argument, controlTokenOf(argument));
    }
    expansion.run(body, entry);
    llvm::append_range(copies, expansion.copies);
    SmallVector<Value> next, tokens = tokensOf(body, expansion);
    if (tokens.size() > 1)
      tokens = {make("NoOp", "done").control(tokens).build().controlResult()};
    for (auto [index, value] : llvm::enumerate(body.getReturn().getData()))
      next.push_back(held(expansion(value), "next_" + Twine(index), tokens));
    next.push_back(alive);
    return next;
  };
  SmallVector<Value> results = lowerLoop(values, start, expandCondition, expandBody);
  results.pop_back();
  replace(results, {});
  return copies;
}

} // namespace treadle::tfg
