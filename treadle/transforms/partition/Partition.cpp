#include "treadle/dialect/TfType.h"
#include "treadle/rewriting/DeviceName.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/runtime/ValueName.h"
#include "treadle/transforms/Passes.h"

#include <map>

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_PARTITION
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

constexpr int64_t everywhere = -1;

bool isCopiedAnywhere(Node node) { return node.opType() == "Const" || isPlaceholder(node); }

/// Returns the task that the node is placed on; `everywhere` for constants, placeholders and nodes
/// without a task. The job `localhost`, of a single process, counts as no task.
int64_t taskOf(Node node) {
  StringRef name = node.assignedDevice().empty() ? node.device() : node.assignedDevice();
  std::optional<DeviceName> device = DeviceName::parse(name);
  bool isPlaced = device && device->task && device->job != "localhost";
  return isPlaced && !isCopiedAnywhere(node) ? *device->task : everywhere;
}

std::string deviceOf(int64_t task) {
  return ("/job:worker/replica:0/task:" + Twine(task) + "/device:CPU:0").str();
}

/// Reduces one body to the nodes that one rank runs.
class Partitioner {
public:
  Partitioner(Block &body, int64_t rank, int64_t ranks, const llvm::StringSet<> &fetched)
      : body(body), rank(rank), ranks(ranks), fetched(fetched), names(body),
        builder(body.getParentOp()->getContext()) {}

  LogicalResult run() {
    for (Operation &op : body)
      if (Node::isNode(&op))
        if (failed(check(Node(&op))))
          return failure();
    SmallVector<Node> nodes;
    for (Operation &op : body)
      if (Node::isNode(&op))
        nodes.emplace_back(&op);
    for (Node node : nodes)
      if (taskOf(node) != everywhere)
        for (Value value : node->getResults())
          exchange(node, value);
    for (Node node : nodes)
      if (isElsewhere(node))
        node->dropAllReferences();
    for (Node node : nodes)
      if (isElsewhere(node))
        node->erase();
    nameReceived();
    return success();
  }

private:
  bool isElsewhere(Node node) const {
    int64_t task = taskOf(node);
    return task != everywhere && task != rank;
  }

  LogicalResult check(Node node) {
    int64_t task = taskOf(node);
    if (task >= ranks)
      return node->emitError() << "node '" << node.name() << "' is placed on task " << task
                               << ", but there " << (ranks == 1 ? "is " : "are ") << ranks
                               << (ranks == 1 ? " process" : " processes")
                               << "; start more: mpirun -n " << task + 1;
    if (task != everywhere && isV1ControlFlow(node))
      return node->emitError() << "node '" << node.name() << "' (" << node.opType()
                               << ") is v1 control flow that is assigned to a task; run "
                                  "tfg-v1-to-functional first";
    return success();
  }

  /// Returns the ranks other than the value's that need it, in order.
  SmallVector<int64_t> needing(Value value, int64_t from) {
    llvm::DenseSet<int64_t> tasks;
    bool all = false;
    for (Operation *user : value.getUsers()) {
      int64_t task = Node::isNode(user) ? taskOf(Node(user)) : everywhere;
      all |= task == everywhere;
      tasks.insert(task);
    }
    // Fetched values are needed on rank 0, which prints them.
    if (!isControl(value) && isFetched(value))
      tasks.insert(0);
    SmallVector<int64_t> needed;
    for (int64_t task = 0; task < ranks; ++task)
      if (task != from && (all || tasks.contains(task)))
        needed.push_back(task);
    return needed;
  }

  bool isFetched(Value value) {
    auto result = cast<OpResult>(value);
    return isa<GraphOp>(body.getParentOp()) &&
           fetched.contains(
               (Node(result.getOwner()).name() + ":" + Twine(result.getResultNumber())).str());
  }

  void exchange(Node node, Value value) {
    int64_t from = taskOf(node);
    SmallVector<int64_t> to = needing(value, from);
    if (to.empty())
      return;
    builder.setInsertionPointAfter(node.getOperation());
    std::string key =
        (node.name() + ":" +
         (isControl(value) ? Twine("control") : Twine(cast<OpResult>(value).getResultNumber())))
            .str();
    if (from == rank)
      for (int64_t task : to)
        send(node, value, key, task);
    else if (llvm::is_contained(to, rank))
      receive(node, value, key, from);
  }

  NodeBuilder end(StringRef op, StringRef suffix, Node node, const std::string &key, int64_t from,
                  int64_t to) {
    return NodeBuilder(builder, op)
        .name(names.unique((node.name() + suffix).str()))
        .attr("tensor_name", builder.getStringAttr(key))
        .attr("send_device", builder.getStringAttr(deviceOf(from)))
        .attr("recv_device", builder.getStringAttr(deviceOf(to)))
        .attr("send_device_incarnation", builder.getI64IntegerAttr(0))
        .attr("client_terminated", builder.getBoolAttr(false));
  }

  // A control token is sent as a value without content.
  void send(Node node, Value value, const std::string &key, int64_t to) {
    Value carried = value;
    if (isControl(value)) {
      auto type = RankedTensorType::get({}, builder.getI1Type());
      carried = NodeBuilder(builder, "Const")
                    .name(names.unique((node.name() + "/done").str()))
                    .attr("dtype", mlir::TypeAttr::get(builder.getI1Type()))
                    .attr("value", DenseElementsAttr::get(type, true))
                    .control(value)
                    .results(type)
                    .build()
                    .results()[0];
    }
    end("_Send", "/send", node, key, rank, to)
        .attr("T", dtypeAttr(carried.getType()))
        .inputs(carried)
        .build();
  }

  void receive(Node node, Value value, const std::string &key, int64_t from) {
    Type type = isControl(value) ? RankedTensorType::get({}, builder.getI1Type()) : value.getType();
    Node received = end("_Recv", "/recv", node, key, from, rank)
                        .attr("tensor_type", dtypeAttr(type))
                        .results(type)
                        .build();
    if (isControl(value))
      value.replaceAllUsesWith(received.controlResult());
    else
      value.replaceAllUsesWith(received.results()[0]);
    if (!isControl(value) && isFetched(value))
      asked[node.name().str()].emplace_back(cast<OpResult>(value).getResultNumber(),
                                            received.results()[0]);
  }

  // Gives received values that are fetched the names that they have in the whole graph.
  void nameReceived() {
    builder.setInsertionPointToEnd(&body);
    for (auto &[name, values] : asked) {
      unsigned count = values.back().first + 1;
      SmallVector<Value> all(count, values.front().second);
      for (auto [index, value] : values)
        all[index] = value;
      forwardValues(builder, all).name(name).build();
    }
  }

  Block &body;
  const int64_t rank, ranks;
  const llvm::StringSet<> &fetched;
  NameScope names;
  OpBuilder builder;
  std::map<std::string, SmallVector<std::pair<unsigned, Value>>> asked;
};

/// A resource handle is valid on one machine only; strings and lists can't be sent.
LogicalResult checkTypes(Block &body) {
  for (Operation &op : body)
    if (auto node = Node(&op); Node::isNode(&op) && node.opType() == "_Send") {
      Type element = cast<ShapedType>(node.data()[0].getType()).getElementType();
      if (!element.isIntOrFloat() && !isa<ComplexType>(element))
        return node->emitError() << "a value of " << element << " of node '"
                                 << definingNode(node.data()[0]).name()
                                 << "' is used on another task; place both nodes on one task";
    }
  return success();
}

} // namespace
} // namespace tfg

namespace {

struct Partition : impl::PartitionBase<Partition> {
  using Base::Base;

  void runOnOperation() override {
    if (rank < 0 || rank >= ranks) {
      emitError(UnknownLoc::get(&getContext()))
          << "rank is " << rank.getValue() << ", expected a number from 0 below "
          << ranks.getValue();
      return signalPassFailure();
    }
    tfg::SoftEdges soft(getOperation());
    llvm::StringSet<> fetched;
    for (const std::string &name : fetches)
      fetched.insert(withOutput(name));
    bool isFine = true;
    tfg::forEachBody(getOperation(), [&](Block &body) {
      isFine = isFine && succeeded(tfg::Partitioner(body, rank, ranks, fetched).run()) &&
               succeeded(tfg::checkTypes(body));
    });
    if (!isFine)
      signalPassFailure();
  }
};

} // namespace
} // namespace treadle
