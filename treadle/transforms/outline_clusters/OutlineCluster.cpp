#include "treadle/transforms/outline_clusters/ClusterFinder.h"

#include "treadle/rewriting/SoftEdges.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::tfg {

bool isConstant(Node node) { return node.opType() == "Const" || node.opType() == "HostConst"; }

SmallVector<Value> resultsOf(ArrayRef<Node> nodes, const llvm::StringSet<> &fetched) {
  llvm::DenseSet<Operation *> inside;
  for (Node node : nodes)
    inside.insert(node.getOperation());
  SmallVector<Value> results;
  for (Node node : nodes)
    for (Value result : node.results())
      if (fetched.contains(node.name()) ||
          llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); }))
        results.push_back(result);
  return results;
}

namespace {

/// Outlines nodes into a function and replaces them with a call.
class Outliner {
public:
  Outliner(const Cluster &cluster, const RequestedNames &asked, ModuleOp module, StringRef name)
      : nodes(cluster.nodes), isStateful(cluster.isStateful), asked(asked),
        body(module, name, nodes[0]->getLoc()) {
    for (Node node : nodes)
      inside.insert(node.getOperation());
  }

  Node run(StringRef callName) {
    SmallVector<Value> inputs = takeInputs();
    llvm::SetVector<Value> tokens;
    auto addTokens = [&](Node node) {
      for (Value token : node.control())
        if (!isInside(token))
          tokens.insert(token);
    };
    llvm::for_each(nodes, addTokens);
    llvm::for_each(constants, addTokens);
    SmallVector<Value> outputs = resultsOf(nodes, asked.fetched);
    SmallVector<std::string> names;
    for (Value output : outputs)
      names.push_back(nameOf(output).str());
    Node call = callOf(body.name(), callName, inputs, outputs, tokens.getArrayRef());
    replaceBy(call, outputs);
    for (Node node : nodes)
      body.take(node);
    body.finish(outputs, names, {});
    return call;
  }

private:
  Node callOf(StringRef function, StringRef name, ValueRange inputs, ValueRange outputs,
              ValueRange tokens) {
    OpBuilder b(nodes[0].getOperation());
    auto types = [&](ValueRange values) {
      SmallVector<Attribute> attrs;
      for (Value value : values)
        attrs.push_back(dtypeAttr(value.getType()));
      return b.getArrayAttr(attrs);
    };
    return NodeBuilder(b, isStateful ? "StatefulPartitionedCall" : "PartitionedCall")
        .name(name)
        .placedAs(nodes[0])
        .attr("Tin", types(inputs))
        .attr("Tout", types(outputs))
        .attr("f", tf_type::FuncAttr::get(b.getContext(), function, b.getDictionaryAttr({})))
        .inputs(inputs)
        .control(tokens)
        .results(outputs.getTypes())
        .build();
  }

  void replaceBy(Node call, MutableArrayRef<Value> outputs) {
    auto isOutside = [&](Operation *user) { return !inside.contains(user); };
    for (auto [output, result] : llvm::zip(outputs, call.results()))
      output.replaceUsesWithIf(result, [&](OpOperand &use) { return isOutside(use.getOwner()); });
    // Soft edges between the nodes of the cluster stay in the function; those from outside move to
    // the call.
    for (Node node : nodes)
      SoftEdges::merge(node, call);
    for (Node node : nodes)
      if (asked.fetched.contains(node.name()))
        forwardFetched(node, call, outputs);
    SmallVector<Value> tokens;
    for (Node node : nodes)
      if (Value token = node.controlResult(); !token.use_empty())
        tokens.push_back(token);
    replaceControl(tokens, call.controlResult(), isOutside);
  }

  /// Creates a node that forwards the call's results under the name of a fetched node.
  void forwardFetched(Node node, Node call, ArrayRef<Value> outputs) {
    OpBuilder b(node.getOperation());
    SmallVector<Value> values;
    SmallVector<Attribute> types;
    for (Value result : node.results()) {
      values.push_back(call->getResult(llvm::find(outputs, result) - outputs.begin()));
      types.push_back(dtypeAttr(result.getType()));
    }
    bool isOne = values.size() == 1, isNone = values.empty();
    NodeBuilder builder(b, isNone ? "NoOp" : isOne ? "Identity" : "IdentityN");
    builder.name(node.name()).placedAs(node).inputs(values);
    if (!isNone)
      builder.attr("T", isOne ? types.front() : b.getArrayAttr(types));
    builder.control(call.controlResult()).results(ValueRange(values).getTypes()).build();
  }

  bool isInside(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && inside.contains(op);
  }

  /// Values from outside become arguments; constants are copied, unless runs may feed them.
  SmallVector<Value> takeInputs() {
    SmallVector<Value> inputs;
    for (Node node : nodes)
      for (Value operand : node.data()) {
        if (isInside(operand) || body.contains(operand))
          continue;
        if (Operation *op = operand.getDefiningOp();
            op && isConstant(Node(op)) && !asked.kept.contains(Node(op).name())) {
          body.clone(Node(op));
          constants.push_back(Node(op));
          continue;
        }
        body.map(operand, body.addArgument(operand.getType(), nameOf(operand)));
        inputs.push_back(operand);
      }
    return inputs;
  }

  const ArrayRef<Node> nodes;
  const bool isStateful;
  const RequestedNames &asked;
  Outline body;
  SmallVector<Node> constants; // copied
  llvm::DenseSet<Operation *> inside;
};

} // namespace

Node outlineCluster(const Cluster &cluster, const RequestedNames &names, ModuleOp module,
                    StringRef functionName, StringRef callName) {
  return Outliner(cluster, names, module, functionName).run(callName);
}

} // namespace treadle::tfg
