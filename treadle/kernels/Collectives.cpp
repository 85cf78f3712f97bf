// TensorFlow's collective ops: what a rank gives goes to the communicator of its session, and the
// node's result comes when the others' parts have. Meanwhile no thread is held: a node is its own
// start, and whoever uses its result waits.
#include "treadle/collective/Communicator.h"
#include "treadle/kernels/Element.h"
#include "treadle/kernels/Families.h"
#include "treadle/runtime/Run.h"

#include <algorithm>

namespace treadle {
namespace {

struct State {
  Collective call; // with what attributes say
  bool keysAreInputs = false;
};

// Inputs 1, 2 and 3; without a value to give 0, 1 and 2.
bool readKeys(OpContext &ctx, Collective &call) {
  int first = call.kind == Collective::BroadcastReceive ? 0 : 1;
  for (int i = first; i < first + 3; ++i)
    if (const Tensor &key = ctx.input(i); key.count() != 1) {
      static constexpr std::string_view names[] = {"group_size", "group_key", "instance_key"};
      ctx.fail(
          invalidArgument(names[i - first], " is ", tensorTypeText(key), ", expected a scalar"));
      return false;
    }
  call.groupSize = *ctx.input(first).data<int32_t>();
  call.groupKey = *ctx.input(first + 1).data<int32_t>();
  call.instance = *ctx.input(first + 2).data<int32_t>();
  return true;
}

void run(OpContext &ctx) {
  const auto &state = ctx.state<State>();
  Collective call = state.call;
  if (state.keysAreInputs && !readKeys(ctx, call))
    return;
  if (call.kind != Collective::BroadcastReceive)
    call.input = ctx.takeInput(0);
  Ref<Suspension> suspension = ctx.suspend();
  communicatorOf(ctx.run().resources)->start(call, [suspension](Expected<Tensor> value) {
    if (!suspension->claim())
      return; // the run was stopped
    if (value)
      suspension->complete({std::move(*value)});
    else
      suspension->fail(std::move(value.error()));
  });
}

Expected<Reduction> reductionOf(const std::string &name) {
  static constexpr std::pair<std::string_view, Reduction> rows[] = {{"Add", Reduction::Add},
                                                                    {"Mul", Reduction::Mul},
                                                                    {"Min", Reduction::Min},
                                                                    {"Max", Reduction::Max}};
  for (auto [text, reduction] : rows)
    if (text == name)
      return reduction;
  return Unexpected(
      invalidArgument("merge_op is '", name, "', expected 'Add', 'Mul', 'Min' or 'Max'"));
}

template <Collective::Kind kind, bool keysAreInputs>
Expected<BoundKernel> bindCollective(const BindContext &node) {
  State state;
  state.keysAreInputs = keysAreInputs;
  state.call.kind = kind;
  state.call.name = node.node;
  state.call.timeout = node.attrs.getOr("timeout_seconds", 0.0F);
  if (!keysAreInputs) {
    state.call.groupSize = static_cast<int>(node.attrs.getOr<int64_t>("group_size", 1));
    state.call.groupKey = static_cast<int>(node.attrs.getOr<int64_t>("group_key", 0));
    state.call.instance = node.attrs.getOr<int64_t>("instance_key", 0);
  }
  if (kind == Collective::AllReduce || kind == Collective::ReduceScatter) {
    Expected<Reduction> reduction = reductionOf(node.attrs.getOr<std::string>("merge_op", "Add"));
    if (!reduction)
      return Unexpected(std::move(reduction.error()));
    state.call.reduction = *reduction;
    state.call.isMean = node.attrs.getOr<std::string>("final_op", "Id") == "Div";
  }
  if (DType dtype = node.outputTypes[0]; !isPlain(dtype))
    return unsupportedDType(node, dtype);
  BoundKernel bound = boundWith(run, std::move(state));
  bound.mayBlock = true;
  return bound;
}

const KernelEntry collectiveTable[] = {
    {"CollectiveAllToAllV2", bindCollective<Collective::AllToAll, true>},
    {"CollectiveBcastRecv", bindCollective<Collective::BroadcastReceive, false>},
    {"CollectiveBcastRecvV2", bindCollective<Collective::BroadcastReceive, true>},
    {"CollectiveBcastSend", bindCollective<Collective::BroadcastSend, false>},
    {"CollectiveBcastSendV2", bindCollective<Collective::BroadcastSend, true>},
    {"CollectiveGather", bindCollective<Collective::AllGather, false>},
    {"CollectiveGatherV2", bindCollective<Collective::AllGather, true>},
    {"CollectiveReduce", bindCollective<Collective::AllReduce, false>},
    {"CollectiveReduceScatterV2", bindCollective<Collective::ReduceScatter, true>},
    {"CollectiveReduceV2", bindCollective<Collective::AllReduce, true>},
};

} // namespace

std::span<const KernelEntry> collectiveKernels() { return collectiveTable; }

} // namespace treadle
