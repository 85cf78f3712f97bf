// Bucketing: merges small all-reduces, since each costs a latency.
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/transforms/schedule_communication/ScheduleCommunication.h"

#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/runtime/SoftOrder.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// Returns the value of a constant, so that equal constants compare equal.
Attribute constantOf(Value value) {
  Node source = definingNode(value);
  return source && source.opType() == "Const" ? source.attr("value") : Attribute();
}

/// An input that identifies a group, by its value if it is constant.
using Key = std::pair<Value, Attribute>;
Key keyOf(Value value) {
  Attribute constant = constantOf(value);
  return constant ? Key(Value(), constant) : Key(value, Attribute());
}

/// An all-reduce op, and the inputs and attributes that identify its group.
struct Reduction {
  ExchangeKeys keys;
  unsigned inputs;
  ArrayRef<unsigned> groupInputs;
  ArrayRef<StringRef> attrs; // that must be equal
};
constexpr unsigned sizeAndKey[] = {1, 2};
constexpr StringRef byAttributes[] = {"group_size", "group_key", "merge_op", "final_op"},
                    byInputs[] = {"merge_op", "final_op"}, byCommunicator[] = {"reduction"};
const Reduction reductions[] = {
    {ExchangeKeys::Attributes, 1, {}, byAttributes},
    {ExchangeKeys::AfterValue, 4, sizeAndKey, byInputs},
    {ExchangeKeys::Communicator, 3, sizeAndKey, byCommunicator}, // the communicator and its groups
};

const Reduction *reductionOf(Node node) {
  const OpFacts &facts = opFacts(node.opType());
  const Reduction *found =
      llvm::find_if(reductions, [&](const Reduction &row) { return row.keys == facts.keys; });
  return facts.cost == OpCost::AllReduce && found != std::end(reductions) &&
                 node.numData() == found->inputs
             ? found
             : nullptr;
}

bool isJoinable(Node node, const ScheduleOptions &options) {
  if (!reductionOf(node))
    return false;
  std::optional<int64_t> bytes = bytesOf(node.data()[0]);
  return bytes && *bytes < options.bucketBytes;
}

/// The properties that all-reduces must share to be merged: op, dtype, device, group and
/// attributes.
struct Kind {
  StringRef op;
  Type element;
  SmallVector<Attribute> attrs;
  SmallVector<Key> group;
  bool operator==(const Kind &) const = default;
};

Kind kindOf(Node node) {
  const Reduction &reduction = *reductionOf(node);
  Kind kind{node.opType(), cast<ShapedType>(node.data()[0].getType()).getElementType(), {}, {}};
  kind.attrs.push_back(node.deviceAttr());
  for (StringRef attr : reduction.attrs)
    kind.attrs.push_back(node.attr(attr));
  for (unsigned input : reduction.groupInputs)
    kind.group.push_back(keyOf(node.data()[input]));
  return kind;
}

/// Replaces all-reduces with one all-reduce of their concatenated values.
class ReductionMerger {
public:
  ReductionMerger(ArrayRef<Node> members, NameScope &names)
      : members(members), names(names), builder(members.back().getOperation()),
        element(cast<ShapedType>(members[0].data()[0].getType()).getElementType()) {}

  void run() {
    Node exchange = buildExchange();
    Node split = buildSplit(exchange);
    for (auto [i, member] : llvm::enumerate(members))
      replace(member, split.results()[i]);
  }

private:
  NodeBuilder make(StringRef op, StringRef name) {
    return NodeBuilder(builder, op).placedAs(members[0]).name(names.unique(name));
  }
  RankedTensorType vectorOf(int64_t size) { return RankedTensorType::get({size}, element); }

  Value constant(ArrayRef<int32_t> values, bool isScalar, StringRef name) {
    Type i32 = builder.getI32Type();
    auto type = isScalar ? RankedTensorType::get({}, i32)
                         : RankedTensorType::get({static_cast<int64_t>(values.size())}, i32);
    return make("Const", name)
        .attr("dtype", TypeAttr::get(i32))
        .attr("value", DenseIntElementsAttr::get(type, values))
        .results(type)
        .build()
        .results()[0];
  }

  Value reshaped(Value value, RankedTensorType type, StringRef name) {
    SmallVector<int32_t> dims(type.getShape());
    Value shape = constant(dims, false, (name + "/shape").str());
    return make("Reshape", name)
        .attr("T", TypeAttr::get(element))
        .attr("Tshape", TypeAttr::get(builder.getI32Type()))
        .inputs({value, shape})
        .results(type)
        .build()
        .results()[0];
  }

  Node buildExchange() {
    SmallVector<Value> parts;
    llvm::SmallSetVector<Value, 8> tokens;
    SmallVector<StringRef> soft;
    int64_t total = 0;
    for (Node member : members) {
      Value value = member.data()[0];
      auto type = cast<ShapedType>(value.getType());
      counts.push_back(static_cast<int32_t>(type.getNumElements()));
      total += type.getNumElements();
      parts.push_back(
          reshaped(value, vectorOf(type.getNumElements()), (member.name() + "/flat").str()));
      tokens.insert(member.control().begin(), member.control().end());
      llvm::append_range(soft, softInputs(member));
    }
    parts.push_back(constant({0}, true, "bucket/axis"));
    Value joined = make("ConcatV2", "bucket/values")
                       .attr("N", builder.getI64IntegerAttr(static_cast<int64_t>(members.size())))
                       .attr("T", TypeAttr::get(element))
                       .attr("Tidx", TypeAttr::get(builder.getI32Type()))
                       .inputs(parts)
                       .results(vectorOf(total))
                       .build()
                       .results()[0];
    SmallVector<Value> inputs(members[0].data());
    inputs[0] = joined;
    NodeBuilder exchange = make(members[0].opType(), "bucket");
    for (NamedAttribute attr : members[0].attrs())
      if (!members[0].isKeyword(attr.getName()) && !isAboutNode(attr.getName()))
        exchange.attr(attr.getName(), attr.getValue());
    Node node =
        exchange.inputs(inputs).control(tokens.getArrayRef()).results(vectorOf(total)).build();
    addSoftInputs(node, soft);
    return node;
  }

  Node buildSplit(Node exchange) {
    SmallVector<Type> types;
    for (int32_t count : counts)
      types.push_back(vectorOf(count));
    Value sizes = constant(counts, false, "bucket/sizes"),
          axis = constant({0}, true, "bucket/axis");
    return make("SplitV", "bucket/parts")
        .attr("num_split", builder.getI64IntegerAttr(static_cast<int64_t>(counts.size())))
        .attr("T", TypeAttr::get(element))
        .attr("Tlen", TypeAttr::get(builder.getI32Type()))
        .inputs({exchange.results()[0], sizes, axis})
        .results(types)
        .build();
  }

  // The node that returns a member's part takes over its name.
  void replace(Node member, Value part) {
    auto type = cast<ShapedType>(member.data()[0].getType());
    std::string name = member.name().str();
    Value value = reshaped(part, RankedTensorType::get(type.getShape(), element), name);
    Node made = definingNode(value);
    member.results()[0].replaceAllUsesWith(value);
    replaceControl(member.controlResult(), made.controlResult());
    member->erase();
    made.setName(name);
  }

  ArrayRef<Node> members;
  NameScope &names;
  OpBuilder builder;
  Type element;
  SmallVector<int32_t> counts;
};

/// Returns whether a path leads from one node to the other; only nodes between them in the order
/// can be on it.
bool isBefore(Node from, Node to, const llvm::DenseMap<Operation *, unsigned> &position) {
  unsigned first = position.lookup(from.getOperation());
  SmallVector<Operation *> pending = {to.getOperation()};
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (!source || position.lookup(source) < first || !seen.insert(source).second)
        continue;
      if (source == from.getOperation())
        return true;
      pending.push_back(source);
    }
  }
  return false;
}

} // namespace

int64_t mergeSmallReductions(Block &body, const ScheduleOptions &options) {
  std::vector<std::pair<Kind, SmallVector<SmallVector<Node>>>> buckets; // there are few kinds
  llvm::DenseMap<Operation *, unsigned> position;
  std::vector<Operation *> order = topologicalOrder(body);
  for (auto [i, op] : llvm::enumerate(order))
    position[op] = static_cast<unsigned>(i);
  llvm::DenseMap<Operation *, int64_t> bytes;
  for (Operation *op : order) {
    Node node(op);
    if (!Node::isNode(op) || !isJoinable(node, options))
      continue;
    bytes[op] = *bytesOf(node.data()[0]);
    Kind kind = kindOf(node);
    auto known = llvm::find_if(buckets, [&](const auto &entry) { return entry.first == kind; });
    if (known == buckets.end())
      known = buckets.insert(known, {kind, {}});
    auto &open = known->second;
    auto mayTake = [&](ArrayRef<Node> members) {
      int64_t sum = bytes[op];
      for (Node member : members)
        sum += bytes[member.getOperation()];
      return sum <= options.bucketBytes &&
             llvm::none_of(members, [&](Node member) { return isBefore(member, node, position); });
    };
    if (!open.empty() && mayTake(open.back()))
      open.back().push_back(node);
    else
      open.push_back({node});
  }
  NameScope names(body);
  int64_t joined = 0;
  for (auto &[kind, lists] : buckets)
    for (SmallVector<Node> &members : lists)
      if (members.size() > 1) {
        ReductionMerger(members, names).run();
        ++joined;
      }
  return joined;
}

} // namespace treadle::tfg
