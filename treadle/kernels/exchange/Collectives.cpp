// Collective ops of TensorFlow and StableHLO. A node passes its value to the session's
// communicator, and completes asynchronously when the other ranks' parts have arrived; no thread is
// blocked meanwhile.
#include "treadle/collective/Communicator.h"
#include "treadle/collective/ExchangeLog.h"
#include "treadle/kernels/Element.h"
#include "treadle/kernels/Handles.h"
#include "treadle/runtime/Run.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace treadle {
namespace {

/// The source of a collective's group.
enum class GroupSource : uint8_t {
  Attributes,
  Inputs,       // group_size, group_key and instance_key
  Communicator, // a handle, and its subgroups
  World,        // the world, with pairs of its ranks
  Rows,         // groups of world ranks, in an attribute
};

struct State {
  Collective call; // as far as attributes define it
  std::string op;
  std::vector<std::vector<int>> rows; // groups of ranks
};

/// The result of CollectiveInitializeCommunicator: a group, and this rank's position in it.
class CommunicatorHandle final : public Resource {
public:
  static constexpr std::string_view kindName = "group of ranks";
  CommunicatorHandle(int groupKey, int place, int groupSize)
      : groupKey(groupKey), place(place), groupSize(groupSize) {}
  std::string_view kind() const override { return kindName; }

  const int groupKey, place, groupSize;
};

/// Returns the value of a scalar input; nullopt after failing the op.
std::optional<int> scalarInput(OpContext &ctx, int i, std::string_view name) {
  const Tensor &value = ctx.input(i);
  if (value.count() == 1)
    return *value.data<int32_t>();
  ctx.fail(invalidArgument(name, " is ", tensorTypeText(value), ", expected a scalar"));
  return std::nullopt;
}

// Reads inputs 1, 2 and 3; for a receiver, which has no value input, 0, 1 and 2.
bool readInputs(OpContext &ctx, Collective &call) {
  int first = call.kind == Collective::BroadcastReceive ? 0 : 1;
  std::optional<int> size = scalarInput(ctx, first, "group_size"),
                     key = size ? scalarInput(ctx, first + 1, "group_key") : std::nullopt,
                     instance = key ? scalarInput(ctx, first + 2, "instance_key") : std::nullopt;
  if (!instance)
    return false;
  call.groupSize = *size;
  call.groupKey = *key;
  call.instance = *instance;
  return true;
}

// Reads the communicator and the assignment, whose rows are groups of positions in the
// communicator; without rows, all ranks form one group.
bool readCommunicator(OpContext &ctx, Collective &call) {
  auto *group = resourceInput<CommunicatorHandle>(ctx, 1);
  if (!group)
    return false;
  call.groupKey = group->groupKey;
  call.groupSize = group->groupSize;
  call.place = group->place;
  call.instanceName = call.name;
  const Tensor &assignment = ctx.input(2);
  if (assignment.count() == 0)
    return true;
  if (assignment.rank() != 2) {
    ctx.fail(invalidArgument("group_assignment is ", tensorTypeText(assignment),
                             ", expected a matrix with a row for each group"));
    return false;
  }
  std::span<const int32_t> all = assignment.values<int32_t>();
  if (std::set<int32_t>(all.begin(), all.end()).size() != all.size() ||
      std::ranges::any_of(all, [&](int32_t i) { return i < 0 || i >= group->groupSize; })) {
    ctx.fail(invalidArgument("group_assignment has duplicate ranks, or ranks outside of the ",
                             group->groupSize, " of its communicator"));
    return false;
  }
  auto columns = static_cast<size_t>(assignment.dim(1));
  size_t at = static_cast<size_t>(std::ranges::find(all, group->place) - all.begin());
  if (at == all.size()) {
    ctx.fail(invalidArgument("rank ", group->place, " isn't in any row of group_assignment"));
    return false;
  }
  std::span<const int32_t> row = all.subspan(at / columns * columns, columns);
  call.places.assign(row.begin(), row.end());
  return true;
}

bool readPairs(OpContext &ctx, Collective &call) {
  const Tensor &pairs = ctx.input(1);
  if (pairs.rank() != 2 || pairs.dim(1) != 2) {
    ctx.fail(invalidArgument("source_target_pairs is ", tensorTypeText(pairs),
                             ", expected a matrix of two columns"));
    return false;
  }
  call.groupSize = communicatorOf(ctx.run().resources)->size();
  call.instanceName = call.name;
  std::span<const int32_t> numbers = pairs.values<int32_t>();
  for (size_t i = 0; i < numbers.size(); i += 2)
    call.pairs.emplace_back(numbers[i], numbers[i + 1]);
  return true;
}

bool readNoInputs(OpContext &, Collective &) { return true; }

/// Selects the group that contains this rank.
bool readGroupOfRank(OpContext &ctx, Collective &call) {
  const auto &world = communicatorOf(ctx.run().resources);
  int size = world->size(), rank = world->rank();
  for (const std::vector<int> &row : ctx.state<State>().rows) {
    if (auto other = std::ranges::find_if(row, [&](int r) { return r >= size; });
        other != row.end()) {
      ctx.fail(invalidArgument("its groups contain rank ", *other, ", but there ",
                               size == 1 ? "is " : "are ", size,
                               "; run it on as many processes as it has devices"));
      return false;
    }
    if (std::ranges::find(row, rank) != row.end())
      call.places = row;
  }
  if (call.places.empty()) {
    ctx.fail(invalidArgument("rank ", rank, " isn't in any of its groups"));
    return false;
  }
  call.groupSize = size;
  call.instanceName = call.name;
  return true;
}

constexpr bool (*readers[])(OpContext &, Collective &) = {
    readNoInputs, readInputs, readCommunicator, readPairs, readGroupOfRank};

template <GroupSource keys> void run(OpContext &ctx) {
  const auto &state = ctx.state<State>();
  Collective call = state.call;
  if (!readers[static_cast<int>(keys)](ctx, call))
    return;
  if (call.kind != Collective::BroadcastReceive)
    call.input = ctx.takeInput(0);
  Ref<ExchangeLog> log;
  if (ctx.run().trace)
    log = ExchangeLog::of(ctx.run().resources);
  LoggedExchange logged{
      call.name, log ? state.op : std::string(), LoggedExchange::Clock::now(), {}};
  Ref<Suspension> suspension = ctx.suspend();
  communicatorOf(ctx.run().resources)
      ->start(call, [suspension, log, logged](Expected<Tensor> value) mutable {
        if (!suspension->claim())
          return; // the run was stopped
        if (!value)
          return suspension->fail(std::move(value.error()));
        logged.end = LoggedExchange::Clock::now();
        if (log)
          log->add(std::move(logged));
        suspension->complete({std::move(*value)});
      });
}

Expected<Reduction> reductionOf(std::string_view attr, const std::string &name) {
  static constexpr std::pair<std::string_view, Reduction> rows[] = {{"Add", Reduction::Add},
                                                                    {"Mul", Reduction::Mul},
                                                                    {"Min", Reduction::Min},
                                                                    {"Max", Reduction::Max}};
  for (auto [text, reduction] : rows)
    if (text == name)
      return reduction;
  return Unexpected(
      invalidArgument(attr, " is '", name, "', expected 'Add', 'Mul', 'Min' or 'Max'"));
}

/// Splits the attribute, a concatenation of groups of ranks.
Expected<std::vector<std::vector<int>>> rowsOf(const BindContext &node) {
  std::vector<std::vector<int>> rows;
  auto size = node.attrs.getOr<int64_t>("group_size", 1);
  auto ranks = node.attrs.getOr("groups", std::vector<int64_t>());
  if (size < 1 || ranks.size() % static_cast<size_t>(size))
    return Unexpected(invalidArgument("groups has ", ranks.size(), " ranks, in groups of ", size));
  std::set<int64_t> seen;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i % static_cast<size_t>(size) == 0)
      rows.emplace_back();
    if (ranks[i] == -1)
      continue;
    if (!std::in_range<int>(ranks[i]) || ranks[i] < 0 || !seen.insert(ranks[i]).second)
      return Unexpected(
          invalidArgument("groups contains rank ", ranks[i], ", expected each once, from 0"));
    rows.back().push_back(static_cast<int>(ranks[i]));
  }
  return rows;
}

template <Collective::Kind kind, GroupSource keys>
Expected<BoundKernel> bindCollective(const BindContext &node) {
  State state;
  state.op = node.op;
  state.call.kind = kind;
  state.call.name = node.node;
  state.call.timeout = node.attrs.getOr("timeout_seconds", 0.0F);
  if (keys == GroupSource::Attributes) {
    for (auto [attr, into] : {std::pair("group_size", &state.call.groupSize),
                              std::pair("group_key", &state.call.groupKey)})
      if (int64_t value = node.attrs.getOr<int64_t>(attr, *into); std::in_range<int>(value))
        *into = static_cast<int>(value);
      else
        return Unexpected(invalidArgument(attr, " is ", value, ", expected 32 bits"));
    state.call.instance = node.attrs.getOr<int64_t>("instance_key", 0);
  }
  if (kind == Collective::AllReduce || kind == Collective::ReduceScatter) {
    std::string_view attr =
        keys == GroupSource::Communicator || keys == GroupSource::Rows ? "reduction" : "merge_op";
    Reduction reduction =
        TREADLE_TRY(reductionOf(attr, node.attrs.getOr<std::string>(attr, "Add")));
    state.call.reduction = reduction;
    state.call.isMean = node.attrs.getOr<std::string>("final_op", "Id") == "Div";
  }
  if (keys == GroupSource::Rows) {
    std::vector<std::vector<int>> rows = TREADLE_TRY(rowsOf(node));
    state.rows = std::move(rows);
  }
  if (DType dtype = node.outputTypes[0]; !isPlain(dtype))
    return unsupportedDType(node, dtype);
  BoundKernel bound = boundWith(run<keys>, std::move(state));
  bound.mayBlock = true;
  return bound;
}

void makeCommunicator(OpContext &ctx) {
  std::optional<int> key = scalarInput(ctx, 0, "group_key"),
                     place = key ? scalarInput(ctx, 1, "rank") : std::nullopt,
                     size = place ? scalarInput(ctx, 2, "group_size") : std::nullopt;
  if (!size)
    return;
  if (*size < 1 || *place < 0 || *place >= *size)
    return ctx.fail(invalidArgument("rank is ", *place, " and group_size ", *size,
                                    ", expected a rank from 0 below the size"));
  ctx.setOutput(0, makeHandle(makeRef<CommunicatorHandle>(*key, *place, *size)));
}

/// Assigns the device to its group: row i of group_assignment is the group with key base_key + i.
void assignGroup(OpContext &ctx) {
  const Tensor &assignment = ctx.input(0);
  std::optional<int> device = scalarInput(ctx, 1, "device_index"),
                     base = device ? scalarInput(ctx, 2, "base_key") : std::nullopt;
  if (!base)
    return;
  if (assignment.rank() != 2)
    return ctx.fail(invalidArgument("group_assignment is ", tensorTypeText(assignment),
                                    ", expected a matrix with a row for each group"));
  std::span<const int32_t> all = assignment.values<int32_t>();
  for (int32_t index : all)
    if (index < 0 || static_cast<size_t>(index) >= all.size())
      return ctx.fail(invalidArgument("group_assignment contains device ", index,
                                      ", expected numbers from 0 below ", all.size()));
  auto at = static_cast<int64_t>(std::ranges::find(all, *device) - all.begin());
  if (at == assignment.count())
    return ctx.fail(invalidArgument("device ", *device, " isn't in any row of group_assignment"));
  auto row = static_cast<uint32_t>(at / assignment.dim(1));
  auto key = static_cast<int32_t>(static_cast<uint32_t>(*base) + row);
  if (key == 0)
    return ctx.fail(invalidArgument("the key of group ", row,
                                    " would be 0, which is reserved; "
                                    "choose another base_key than ",
                                    *base));
  ctx.setOutput(0, Tensor::scalar<int32_t>(DType::Int32, static_cast<int32_t>(assignment.dim(1))));
  ctx.setOutput(1, Tensor::scalar<int32_t>(DType::Int32, key));
}

void outputRank(OpContext &ctx) {
  int rank = communicatorOf(ctx.run().resources)->rank();
  ctx.setOutput(0, Tensor::scalar<int32_t>(DType::Int32, rank));
}

template <KernelFn fn> Expected<BoundKernel> bindPlain(const BindContext &) {
  return BoundKernel{.fn = fn};
}

using enum Collective::Kind;
const KernelEntry collectiveTable[] = {
    {"CollectiveAllToAllV2", bindCollective<AllToAll, GroupSource::Inputs>},
    {"CollectiveAllToAllV3", bindCollective<AllToAll, GroupSource::Communicator>},
    {"CollectiveAssignGroupV2", bindPlain<assignGroup>},
    {"CollectiveBcastRecv", bindCollective<BroadcastReceive, GroupSource::Attributes>},
    {"CollectiveBcastRecvV2", bindCollective<BroadcastReceive, GroupSource::Inputs>},
    {"CollectiveBcastSend", bindCollective<BroadcastSend, GroupSource::Attributes>},
    {"CollectiveBcastSendV2", bindCollective<BroadcastSend, GroupSource::Inputs>},
    {"CollectiveGather", bindCollective<AllGather, GroupSource::Attributes>},
    {"CollectiveGatherV2", bindCollective<AllGather, GroupSource::Inputs>},
    {"CollectiveInitializeCommunicator", bindPlain<makeCommunicator>},
    {"CollectivePermute", bindCollective<Permute, GroupSource::World>},
    {"CollectiveReduce", bindCollective<AllReduce, GroupSource::Attributes>},
    {"CollectiveReduceScatterV2", bindCollective<ReduceScatter, GroupSource::Inputs>},
    {"CollectiveReduceV2", bindCollective<AllReduce, GroupSource::Inputs>},
    {"CollectiveReduceV3", bindCollective<AllReduce, GroupSource::Communicator>},
    {"_AllGather", bindCollective<AllGather, GroupSource::Rows>},
    {"_AllReduce", bindCollective<AllReduce, GroupSource::Rows>},
    {"_AllToAll", bindCollective<AllToAll, GroupSource::Rows>},
    {"_ProcessRank", bindPlain<outputRank>},
};

} // namespace

std::span<const KernelEntry> collectiveKernels() { return collectiveTable; }

} // namespace treadle
