#include "treadle/distributed/Exchanges.h"

#include "treadle/dialect/FunctionNames.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/CallGraph.h"
#include "treadle/runtime/PlanBuilder.h"
#include "treadle/runtime/Run.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <optional>

using namespace mlir;

namespace treadle {
namespace {

/// Returns the name of a collective for messages and for comparison between ranks; senders and
/// receivers have the same name.
StringRef nameOf(OpCost cost) {
  switch (cost) {
  case OpCost::AllGather:
    return "Gather";
  case OpCost::AllReduce:
    return "Reduce";
  case OpCost::AllToAll:
    return "AllToAll";
  case OpCost::Broadcast:
    return "Bcast";
  case OpCost::ReduceScatter:
    return "ReduceScatter";
  case OpCost::Transfer:
    return "Permute";
  default:
    return "";
  }
}

/// Returns null unless the op is a collective.
const OpFacts *collectiveFacts(StringRef op) {
  const OpFacts &facts = opFacts(op);
  return facts.keys == ExchangeKeys::None ? nullptr : &facts;
}

/// The numbers in a constant.
struct ConstantNumbers {
  std::vector<int32_t> values;
  int64_t columns = 1;
};

/// A node of the graph or of a function.
struct NodeRef {
  const GraphSpec *graph = nullptr; // null in a function
  const NodeSpec *spec = nullptr;   // null: none
  tfg::Node node = {};
  int output = 0; // of the node

  bool exists() const { return spec || node; }
  std::string op() const { return spec ? spec->op : node.opType().str(); }
  std::string name() const { return spec ? spec->name : node.name().str(); }

  NodeRef input(size_t i) const {
    if (spec)
      return i < spec->inputs.size()
                 ? NodeRef{graph, &graph->nodes[spec->inputs[i].node], {}, spec->inputs[i].output}
                 : NodeRef();
    if (i >= node.numData())
      return {};
    Value value = node.data()[static_cast<unsigned>(i)];
    auto result = dyn_cast<OpResult>(value);
    return result ? NodeRef{nullptr, nullptr, tfg::definingNode(value),
                            static_cast<int>(result.getResultNumber())}
                  : NodeRef();
  }

  std::optional<int64_t> integer(StringRef key) const {
    if (spec)
      return spec->attrs.find(key) ? std::optional(spec->attrs.getOr<int64_t>(key, 0))
                                   : std::nullopt;
    auto number = node.attr<IntegerAttr>(key);
    return number ? std::optional(number.getInt()) : std::nullopt;
  }

  std::string text(StringRef key) const {
    if (spec)
      return spec->attrs.getOr<std::string>(key, "");
    auto value = node.attr<StringAttr>(key);
    return value ? value.str() : std::string();
  }

  double timeout() const {
    if (spec)
      return spec->attrs.getOr("timeout_seconds", 0.0F);
    auto number = node.attr<FloatAttr>("timeout_seconds");
    return number ? number.getValueAsDouble() : 0;
  }

  std::optional<ConstantNumbers> constant() const {
    if (!exists() || op() != "Const")
      return std::nullopt;
    if (spec) {
      const auto *value = std::get_if<Tensor>(spec->attrs.find("value"));
      if (!value || value->dtype() != DType::Int32)
        return std::nullopt;
      auto span = value->values<int32_t>();
      return ConstantNumbers{{span.begin(), span.end()}, value->rank() == 2 ? value->dim(1) : 1};
    }
    auto value = node.attr<DenseIntElementsAttr>("value");
    if (!value || !value.getElementType().isInteger(32))
      return std::nullopt;
    ShapedType type = value.getType();
    auto range = value.getValues<int32_t>();
    return ConstantNumbers{{range.begin(), range.end()},
                           type.getRank() == 2 ? type.getDimSize(1) : 1};
  }
};

std::optional<int64_t> numberOf(const NodeRef &source);

/// Returns the result of CollectiveAssignGroupV2 for constant inputs: the size of the device's
/// group, or its key.
std::optional<int64_t> assignedNumber(const NodeRef &source) {
  std::optional<ConstantNumbers> assignment = source.input(0).constant();
  std::optional<int64_t> device = numberOf(source.input(1)), base = numberOf(source.input(2));
  if (!assignment || !device || !base)
    return std::nullopt;
  auto at = llvm::find(assignment->values, *device);
  if (at == assignment->values.end())
    return std::nullopt;
  return source.output == 0 ? assignment->columns
                            : *base + (at - assignment->values.begin()) / assignment->columns;
}

/// Returns nullopt if the value is computed at run time.
std::optional<int64_t> numberOf(const NodeRef &source) {
  if (source.exists() && source.op() == "CollectiveAssignGroupV2")
    return assignedNumber(source);
  std::optional<ConstantNumbers> value = source.constant();
  return value && value->values.size() == 1 ? std::optional<int64_t>(value->values[0])
                                            : std::nullopt;
}

/// The constant group size and keys of a collective.
struct GroupKeys {
  std::optional<int64_t> size, group, place;
  std::string instance;
};

std::string textOf(std::optional<int64_t> number) { return number ? std::to_string(*number) : "?"; }

GroupKeys inputKeys(const NodeRef &node, size_t first) {
  return {numberOf(node.input(first)), numberOf(node.input(first + 1)), -1,
          textOf(numberOf(node.input(first + 2)))};
}

GroupKeys communicatorKeys(const NodeRef &node) {
  NodeRef communicator = node.input(1);
  if (!communicator.exists() || communicator.op() != "CollectiveInitializeCommunicator")
    return {};
  return {numberOf(communicator.input(2)), numberOf(communicator.input(0)),
          numberOf(communicator.input(1)), str("'", node.name(), "'")};
}

GroupKeys keysOf(const NodeRef &node, ExchangeKeys keys, int worldSize) {
  switch (keys) {
  case ExchangeKeys::Attributes:
    return {node.integer("group_size"), node.integer("group_key"), -1,
            textOf(node.integer("instance_key"))};
  case ExchangeKeys::Inputs:
    return inputKeys(node, 0);
  case ExchangeKeys::AfterValue:
    return inputKeys(node, 1);
  case ExchangeKeys::Communicator:
    return communicatorKeys(node);
  case ExchangeKeys::World:
    return {worldSize, 0, -1, str("'", node.name(), "'")};
  case ExchangeKeys::None:
    break;
  }
  return {};
}

/// Returns the name of the reduction; empty if the op doesn't reduce.
std::string reductionOf(const NodeRef &node) {
  std::string text;
  for (StringRef key : {"merge_op", "reduction", "final_op"})
    if (std::string how = node.text(key); !how.empty() && how != "Id")
      text += str(text.empty() ? ", by " : " and ", how);
  return text;
}

/// The position of a collective: the key of its agenda, and its line there.
using AgendaKey = std::pair<int, int64_t>; // the world's first, then by key
struct AgendaPosition {
  AgendaKey agenda;
  int line;
};

bool runsOnce(const NodeSpec &node) {
  return !isV1ControlFlow(opKind(node.op)) && node.op != "_Recv";
}

/// Finds the dependencies of collectives by following edges from them, in the order of the nodes.
class OrderBuilder {
public:
  OrderBuilder(const GraphSpec &graph, const std::map<const NodeSpec *, AgendaPosition> &listed)
      : graph(graph), listed(listed), after(graph.nodes.size(), nothing),
        isUncertain(graph.nodes.size(), true) {
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      visit(i);
  }

  CollectiveOrder take(const std::map<AgendaKey, GroupAgenda> &agendas) {
    CollectiveOrder order;
    std::vector<bool> isNeeded = needed();
    std::vector<size_t> places(points.size());
    for (size_t i = 0; i < points.size(); ++i)
      if (isNeeded[i]) {
        places[i] = order.points.size();
        order.points.push_back({});
        if (points[i])
          order.points.back() = {
              static_cast<int>(std::distance(agendas.begin(), agendas.find(points[i]->agenda))),
              points[i]->line};
      }
    for (auto [from, to] : edges)
      if (isNeeded[to])
        order.edges.emplace_back(places[from], places[to]);
    return order;
  }

private:
  static constexpr int nothing = -1;

  void visit(size_t i) {
    const NodeSpec &node = graph.nodes[i];
    std::vector<int> before;
    isUncertain[i] = false; // inputs that come later in the list: loops in frames
    auto follow = [&](int32_t input) {
      auto at = static_cast<size_t>(input);
      isUncertain[i] = isUncertain[i] || at >= i || isUncertain[at];
      before.push_back(at < i ? after[at] : nothing);
    };
    for (const Endpoint &input : node.inputs)
      follow(input.node);
    llvm::for_each(node.controls, follow);
    isUncertain[i] = isUncertain[i] || !runsOnce(node);
    // A call or a loop may produce results before all its arguments have arrived.
    if (isUncertain[i] || node.loop || !plan::calledFunctions(node).empty())
      return;
    auto found = listed.find(&node);
    after[i] = found == listed.end() ? joinedPoint(std::move(before))
                                     : collective(node, found->second, std::move(before));
  }

  // Senders wait for nothing, and nothing waits for receivers.
  int collective(const NodeSpec &node, const AgendaPosition &at, std::vector<int> before) {
    const OpFacts &facts = opFacts(node.op);
    int start = joinedPoint(std::move(before));
    if (facts.keys == ExchangeKeys::World) // not all of its ranks need to reach it
      return start;
    int self = newPoint(at);
    bool isReceiver = facts.receives, isSender = facts.cost == OpCost::Broadcast && !isReceiver;
    if (start != nothing && !isReceiver)
      edges.emplace_back(start, self);
    return isSender ? start : isReceiver ? joinedPoint({start, self}) : self;
  }

  int joinedPoint(std::vector<int> parts) {
    llvm::sort(parts);
    parts.erase(llvm::unique(parts), parts.end());
    llvm::erase(parts, nothing);
    if (parts.size() < 2)
      return parts.empty() ? nothing : parts.front();
    auto [joint, isNew] = joints.try_emplace(parts, static_cast<int>(points.size()));
    if (isNew) {
      newPoint(std::nullopt);
      for (int part : parts)
        edges.emplace_back(part, joint->second);
    }
    return joint->second;
  }

  int newPoint(std::optional<AgendaPosition> at) {
    points.push_back(at);
    return static_cast<int>(points.size()) - 1;
  }

  /// Marks the points that are collectives, or that a collective depends on.
  std::vector<bool> needed() const {
    std::vector<bool> isNeeded(points.size());
    for (size_t i = 0; i < points.size(); ++i)
      isNeeded[i] = points[i].has_value();
    for (auto [from, to] : llvm::reverse(edges))
      isNeeded[from] = isNeeded[from] || isNeeded[to];
    return isNeeded;
  }

  const GraphSpec &graph;
  const std::map<const NodeSpec *, AgendaPosition> &listed;
  std::vector<int> after; // by node: the point that has ended when the node has
  std::vector<bool> isUncertain;
  std::vector<std::optional<AgendaPosition>> points; // nullopt: several points combined
  std::vector<std::pair<size_t, size_t>> edges;
  std::map<std::vector<int>, int> joints;
};

class AgendaBuilder {
public:
  AgendaBuilder(ModuleOp module, int size) : functions(tfg::functionsOf(module)), size(size) {}

  void addGraph(const GraphSpec &graph) {
    for (const NodeSpec &node : graph.nodes) {
      if (const OpFacts *facts = collectiveFacts(node.op))
        if (auto at =
                addLine({&graph, &node}, *facts, node.name,
                        node.outputTypes.empty() ? DType::Invalid : node.outputTypes[0].dtype))
          listed.emplace(&node, *at);
      for (const FunctionRef &function : plan::calledFunctions(node))
        addFunction(function.name);
    }
  }

  CollectiveOrder order(const GraphSpec &graph) {
    dropAmbiguous();
    return listed.empty() ? CollectiveOrder() : OrderBuilder(graph, listed).take(agendas);
  }

  std::vector<GroupAgenda> groups() {
    std::vector<GroupAgenda> all;
    for (auto &[key, group] : agendas)
      all.push_back(std::move(group));
    return all;
  }

private:
  bool hasCollectives(StringRef name) {
    auto lookup = [&](StringRef callee) { return functions.lookup(callee); };
    return tfg::anyReachable(name, lookup, known, [&](tfg::FuncOp function) {
      return llvm::any_of(function.getEntry(), [&](Operation &op) {
        bool found = tfg::Node::isNode(&op) && collectiveFacts(tfg::Node(&op).opType());
        if (tfg::Node::isNode(&op))
          tfg::forEachCallee(tfg::Node(&op),
                             [&](StringRef callee) { found |= known.lookup(callee); });
        return found;
      });
    });
  }

  /// Adds the collectives of each call. Runs reject deeper calls than those that are visited.
  void addFunction(const std::string &name) {
    tfg::FuncOp function = functions.lookup(name);
    if (!hasCollectives(name) || function.getGeneric() || llvm::is_contained(path, name) ||
        path.size() > size_t{RunState::maxCallDepth})
      return;
    path.push_back(name);
    for (Operation &op : function.getEntry()) {
      if (!tfg::Node::isNode(&op))
        continue;
      tfg::Node node(&op);
      if (const OpFacts *facts = collectiveFacts(node.opType()))
        addLine({nullptr, nullptr, node}, *facts, str(name, "/", node.name().str()),
                DType::Invalid);
      tfg::forEachCallee(node, [&](StringRef callee) { addFunction(callee.str()); });
    }
    path.pop_back();
  }

  /// If two collectives share an instance, ranks can't tell which is which.
  void dropAmbiguous() {
    std::map<AgendaKey, std::map<StringRef, int>> counts;
    auto compared = [](const std::string &line) { return StringRef(line).split('\t').first; };
    for (const auto &[key, agenda] : agendas)
      for (const std::string &line : agenda.lines)
        ++counts[key][compared(line)];
    std::erase_if(listed, [&](const auto &entry) {
      auto [agenda, line] = entry.second;
      StringRef text = compared(agendas[agenda].lines[static_cast<size_t>(line)]);
      return counts[agenda][text] > 1 || text.contains('?');
    });
  }

  // Returns nullopt if the group is computed at run time.
  std::optional<AgendaPosition> addLine(const NodeRef &node, const OpFacts &facts,
                                        const std::string &name, DType dtype) {
    GroupKeys keys = keysOf(node, facts.keys, size);
    bool isWorld = keys.size == size;
    if (!keys.size || *keys.size < 2 || *keys.size > size ||
        (!isWorld && (!keys.group || !keys.place)))
      return std::nullopt;
    AgendaKey key(isWorld ? 0 : 1, isWorld ? 0 : *keys.group);
    auto [it, isNew] = agendas.try_emplace(key);
    GroupAgenda &agenda = it->second;
    double timeout = node.timeout();
    if (isNew)
      agenda = {static_cast<int>(*keys.size),
                static_cast<int>(key.second),
                isWorld ? -1 : static_cast<int>(*keys.place),
                timeout,
                {}};
    // The longest timeout of all its collectives.
    agenda.timeout = agenda.timeout > 0 && timeout > 0 ? std::max(agenda.timeout, timeout) : 0;
    agenda.lines.push_back(
        str(nameOf(facts.cost).str(), " in group ", textOf(keys.group), ", instance ",
            keys.instance, dtype == DType::Invalid ? std::string() : str(", of ", dtypeName(dtype)),
            reductionOf(node), "\t('", name, "', ", node.op(), ")"));
    return AgendaPosition{key, static_cast<int>(agenda.lines.size()) - 1};
  }

  const tfg::FunctionMap functions;
  const int size;
  std::map<AgendaKey, GroupAgenda> agendas;
  std::map<const NodeSpec *, AgendaPosition> listed; // collectives of the graph itself
  std::vector<std::string> path;                     // functions being visited
  llvm::StringMap<bool> known;                       // whether a function has collectives
};

} // namespace

std::shared_ptr<CollectiveAgenda> collectiveAgenda(const GraphSpec &graph, ModuleOp module,
                                                   int size) {
  if (size == 1)
    return nullptr;
  AgendaBuilder lister(module, size);
  lister.addGraph(graph);
  auto agenda = std::make_shared<CollectiveAgenda>();
  agenda->order = lister.order(graph);
  agenda->groups = lister.groups();
  return agenda->groups.empty() ? nullptr : agenda;
}

Expected<void> agreeOnCollectives(Communicator &world, CollectiveAgenda &agenda, double timeout) {
  constexpr std::string_view what = "the order of collectives";
  if (agenda.isAgreed.exchange(true))
    return world.agree(agenda.groups, what, Communicator::Patience::GoesOn);
  std::vector<GroupAgenda> groups = agenda.groups;
  for (GroupAgenda &group : groups) {
    double own = group.timeout > 0 ? group.timeout : world.timeout();
    group.timeout = timeout > 0 ? std::min(own, timeout) : own;
  }
  return world.agree(groups, what, Communicator::Patience::Waits, agenda.order);
}

} // namespace treadle
