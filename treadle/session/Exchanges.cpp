#include "treadle/session/Exchanges.h"

#include "treadle/dialect/TfType.h"
#include "treadle/dialect/Tfg.h"
#include "treadle/runtime/PlanBuilder.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <optional>

using namespace mlir;

namespace treadle {
namespace {

/// Where an op's keys stand among its inputs.
enum class Keys : uint8_t { Attributes, Inputs, AfterValue, Communicator, World };

/// What sends and what receives are one collective.
struct Family {
  StringRef op, name;
  Keys keys;
};
constexpr Family families[] = {
    {"CollectiveAllToAllV2", "AllToAll", Keys::AfterValue},
    {"CollectiveAllToAllV3", "AllToAll", Keys::Communicator},
    {"CollectiveBcastRecv", "Bcast", Keys::Attributes},
    {"CollectiveBcastRecvV2", "Bcast", Keys::Inputs},
    {"CollectiveBcastSend", "Bcast", Keys::Attributes},
    {"CollectiveBcastSendV2", "Bcast", Keys::AfterValue},
    {"CollectiveGather", "Gather", Keys::Attributes},
    {"CollectiveGatherV2", "Gather", Keys::AfterValue},
    {"CollectivePermute", "Permute", Keys::World},
    {"CollectiveReduce", "Reduce", Keys::Attributes},
    {"CollectiveReduceScatterV2", "ReduceScatter", Keys::AfterValue},
    {"CollectiveReduceV2", "Reduce", Keys::AfterValue},
    {"CollectiveReduceV3", "Reduce", Keys::Communicator},
};

const Family *familyOf(StringRef op) {
  const Family *found = llvm::find_if(families, [&](const Family &row) { return row.op == op; });
  return found == std::end(families) ? nullptr : found;
}

/// Numbers that a constant holds.
struct Numbers {
  std::vector<int32_t> values;
  int64_t columns = 1;
};

/// A node of the graph, as it is about to run, or of a function.
struct Place {
  const GraphSpec *graph = nullptr; // null: of a function
  const NodeSpec *spec = nullptr;   // null: none
  tfg::Node node = {};
  int output = 0; // of the node

  bool exists() const { return spec || node; }
  std::string op() const { return spec ? spec->op : node.opType().str(); }
  std::string name() const { return spec ? spec->name : node.name().str(); }

  Place input(size_t i) const {
    if (spec)
      return i < spec->inputs.size()
                 ? Place{graph, &graph->nodes[spec->inputs[i].node], {}, spec->inputs[i].output}
                 : Place();
    if (i >= node.numData())
      return {};
    Value value = node.data()[static_cast<unsigned>(i)];
    auto result = dyn_cast<OpResult>(value);
    return result ? Place{nullptr, nullptr, tfg::definingNode(value),
                          static_cast<int>(result.getResultNumber())}
                  : Place();
  }

  std::optional<int64_t> integer(StringRef key) const {
    if (spec)
      return spec->attrs.find(key) ? std::optional(spec->attrs.getOr<int64_t>(key, 0))
                                   : std::nullopt;
    auto number = node.attr<IntegerAttr>(key);
    return number ? std::optional(number.getInt()) : std::nullopt;
  }

  double timeout() const {
    if (spec)
      return spec->attrs.getOr("timeout_seconds", 0.0F);
    auto number = node.attr<FloatAttr>("timeout_seconds");
    return number ? number.getValueAsDouble() : 0;
  }

  std::optional<Numbers> constant() const {
    if (!exists() || op() != "Const")
      return std::nullopt;
    if (spec) {
      const auto *value = std::get_if<Tensor>(spec->attrs.find("value"));
      if (!value || value->dtype() != DType::Int32)
        return std::nullopt;
      auto span = value->values<int32_t>();
      return Numbers{{span.begin(), span.end()}, value->rank() == 2 ? value->dim(1) : 1};
    }
    auto value = node.attr<DenseIntElementsAttr>("value");
    if (!value || !value.getElementType().isInteger(32))
      return std::nullopt;
    ShapedType type = value.getType();
    auto range = value.getValues<int32_t>();
    return Numbers{{range.begin(), range.end()}, type.getRank() == 2 ? type.getDimSize(1) : 1};
  }
};

std::optional<int64_t> numberOf(const Place &source);

/// What CollectiveAssignGroupV2 gives of constants: the size of the device's group, and its key.
std::optional<int64_t> assignedNumber(const Place &source) {
  std::optional<Numbers> assignment = source.input(0).constant();
  std::optional<int64_t> device = numberOf(source.input(1)), base = numberOf(source.input(2));
  if (!assignment || !device || !base)
    return std::nullopt;
  auto at = llvm::find(assignment->values, *device);
  if (at == assignment->values.end())
    return std::nullopt;
  return source.output == 0 ? assignment->columns
                            : *base + (at - assignment->values.begin()) / assignment->columns;
}

/// Nothing where a run computes it.
std::optional<int64_t> numberOf(const Place &source) {
  if (source.exists() && source.op() == "CollectiveAssignGroupV2")
    return assignedNumber(source);
  std::optional<Numbers> value = source.constant();
  return value && value->values.size() == 1 ? std::optional<int64_t>(value->values[0])
                                            : std::nullopt;
}

/// The numbers that constants give.
struct GroupKeys {
  std::optional<int64_t> size, group, place;
  std::string instance;
};

std::string textOf(std::optional<int64_t> number) { return number ? std::to_string(*number) : "?"; }

GroupKeys inputKeys(const Place &node, size_t first) {
  return {numberOf(node.input(first)), numberOf(node.input(first + 1)), -1,
          textOf(numberOf(node.input(first + 2)))};
}

GroupKeys communicatorKeys(const Place &node) {
  Place communicator = node.input(1);
  if (!communicator.exists() || communicator.op() != "CollectiveInitializeCommunicator")
    return {};
  return {numberOf(communicator.input(2)), numberOf(communicator.input(0)),
          numberOf(communicator.input(1)), str("'", node.name(), "'")};
}

GroupKeys keysOf(const Place &node, Keys keys, int worldSize) {
  switch (keys) {
  case Keys::Attributes:
    return {node.integer("group_size"), node.integer("group_key"), -1,
            textOf(node.integer("instance_key"))};
  case Keys::Inputs:
    return inputKeys(node, 0);
  case Keys::AfterValue:
    return inputKeys(node, 1);
  case Keys::Communicator:
    return communicatorKeys(node);
  case Keys::World:
    return {worldSize, 0, -1, str("'", node.name(), "'")};
  }
  return {};
}

class Lister {
public:
  Lister(ModuleOp module, int size) : module(module), size(size) {}

  void addGraph(const GraphSpec &graph) {
    for (const NodeSpec &node : graph.nodes) {
      if (const Family *family = familyOf(node.op))
        addLine({&graph, &node}, *family, node.name,
                node.outputTypes.empty() ? DType::Invalid : node.outputTypes[0].dtype);
      for (const FunctionRef &function : plan::calledFunctions(node))
        addFunction(function.name);
    }
  }

  std::vector<GroupAgenda> groups() {
    std::vector<GroupAgenda> all;
    for (auto &[key, group] : agendas)
      all.push_back(std::move(group));
    return all;
  }

private:
  void addFunction(const std::string &name) {
    auto function = module.lookupSymbol<tfg::FuncOp>(name);
    if (!function || function.isExternal() || function.getGeneric() ||
        llvm::is_contained(path, name))
      return;
    path.push_back(name);
    for (Operation &op : function.getEntry()) {
      if (!tfg::Node::isNode(&op))
        continue;
      tfg::Node node(&op);
      if (const Family *family = familyOf(node.opType()))
        addLine({nullptr, nullptr, node}, *family, str(name, "/", node.name().str()),
                DType::Invalid);
      addFunction(node.opType().str());
      for (NamedAttribute attr : node.attrs())
        attr.getValue().walk([&](tf_type::FuncAttr callee) {
          addFunction(callee.getName().getRootReference().str());
        });
    }
    path.pop_back();
  }

  // Of a group that a run computes nothing can be said beforehand.
  void addLine(const Place &node, const Family &family, const std::string &name, DType dtype) {
    GroupKeys keys = keysOf(node, family.keys, size);
    bool isWorld = keys.size == size;
    if (!keys.size || *keys.size < 2 || *keys.size > size ||
        (!isWorld && (!keys.group || !keys.place)))
      return;
    auto key = std::pair(isWorld ? 0 : 1, isWorld ? 0 : *keys.group);
    auto [it, isNew] = agendas.try_emplace(key);
    GroupAgenda &agenda = it->second;
    double timeout = node.timeout();
    if (isNew)
      agenda = {static_cast<int>(*keys.size),
                static_cast<int>(key.second),
                isWorld ? -1 : static_cast<int>(*keys.place),
                timeout,
                {}};
    // The longest that any of them has.
    agenda.timeout = agenda.timeout > 0 && timeout > 0 ? std::max(agenda.timeout, timeout) : 0;
    agenda.lines.push_back(
        str(family.name.str(), " in group ", textOf(keys.group), ", instance ", keys.instance,
            dtype == DType::Invalid ? std::string() : str(", of ", dtypeName(dtype)), "\t('", name,
            "', ", node.op(), ")"));
  }

  ModuleOp module;
  const int size;
  std::map<std::pair<int, int64_t>, GroupAgenda> agendas; // the world's first, then by key
  std::vector<std::string> path;                          // functions that are being looked into
};

} // namespace

std::shared_ptr<CollectiveAgenda> collectiveAgenda(const GraphSpec &graph, ModuleOp module,
                                                   int size) {
  if (size == 1)
    return nullptr;
  Lister lister(module, size);
  lister.addGraph(graph);
  auto agenda = std::make_shared<CollectiveAgenda>();
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
  return world.agree(groups, what, Communicator::Patience::Waits);
}

} // namespace treadle
