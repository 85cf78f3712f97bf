// Lowers If and Case to Switch and Merge nodes.
#include "treadle/transforms/functional_to_v1/Lowering.h"

#include "treadle/ops/OpTable.h"

using namespace mlir;

namespace treadle::tfg {

Node Lowering::switchFor(Value value, Value selector, unsigned count, const Twine &suffix,
                         std::optional<unsigned> input) {
  bool isIf = hasBoolSelector(opKind(node.opType()));
  NodeBuilder built = make(isIf ? "Switch" : "_SwitchN", suffix, value);
  if (!isIf)
    built.attr("num_outs", builder.getI64IntegerAttr(count));
  if (input)
    built.attr(loweredInputKey, builder.getI64IntegerAttr(*input));
  return built.inputs({value, selector})
      .control(node.control())
      .results(SmallVector<Type>(count, value.getType()))
      .build();
}

void Lowering::lowerBranches(Value selector, ArrayRef<tf_type::FuncAttr> callees) {
  unsigned count = callees.size();
  Node pivot = switchFor(selector, selector, count, "pivot", std::nullopt);
  SmallVector<Node> inputs;
  for (auto [index, value] : llvm::enumerate(node.data().drop_front()))
    inputs.push_back(switchFor(value, selector, count, "Switch_" + Twine(index), index));
  SmallVector<Node> calls;
  SmallVector<Value> ends, results;
  for (auto [side, callee] : llvm::enumerate(callees)) {
    SmallVector<Value> values;
    for (Node input : inputs)
      values.push_back(input.results()[side]);
    Value start = identity(pivot.results()[side], {}, "pivot_" + Twine(side));
    calls.push_back(call("branch_" + Twine(side), callee, values, controlTokenOf(start),
                         node.results().getTypes()));
    if (node.numResults() == 0 || dissolves)
      ends.push_back(identity(start, calls.back().controlResult(), "end_" + Twine(side)));
  }
  for (unsigned i = 0, e = node.numResults(); i < e; ++i) {
    SmallVector<Value> values;
    for (Node from : calls)
      values.push_back(from.results()[i]);
    results.push_back(mergeOf(values, "Merge_" + Twine(i)).results()[0]);
  }
  replace(results, ends.empty() ? Value() : mergeOf(ends, "end").controlResult());
}

void Lowering::lowerIf() {
  Value selector = node.data()[0];
  if (std::string why = conditionObstacle(selector.getType()); !why.empty())
    return emitNotLowered(why);
  lowerBranches(toBool(selector), {node.attr<tf_type::FuncAttr>("else_branch"),
                                   node.attr<tf_type::FuncAttr>("then_branch")});
}

void Lowering::lowerCase() {
  SmallVector<tf_type::FuncAttr> callees;
  for (Attribute callee : node.attr<ArrayAttr>("branches"))
    callees.push_back(cast<tf_type::FuncAttr>(callee));
  lowerBranches(node.data()[0], callees);
}

} // namespace treadle::tfg
