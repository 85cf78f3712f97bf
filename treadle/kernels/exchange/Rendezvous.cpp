// Send and Recv: tensors passed by name within a run; between processes if their devices are of
// different tasks.
#include "treadle/kernels/exchange/Rendezvous.h"

#include "treadle/collective/Communicator.h"
#include "treadle/collective/ExchangeLog.h"
#include "treadle/runtime/Run.h"

#include <charconv>
#include <optional>

namespace treadle {

void finishReceiving(Suspension &suspension, Expected<std::vector<Tensor>> outputs) {
  if (outputs)
    suspension.complete(std::move(*outputs));
  else
    suspension.fail(std::move(outputs.error()));
}

// Maximum number of keys with values that no op received by the end of their run.
constexpr size_t maxKeys = 4096;

void Rendezvous::dropOldest() {
  if (lines.size() > maxKeys)
    lines.erase(lines.begin());
}

void Rendezvous::send(OpContext &ctx, const std::string &key, Tensor value) {
  Receiver receiver;
  {
    std::lock_guard lock(mutex);
    auto at = lines.try_emplace({ctx.run().step, key}, share).first;
    KeyQueue &line = at->second;
    while (!receiver.suspension && !line.waiting.empty()) {
      if (line.waiting.front().suspension->claim()) // otherwise its run was stopped
        receiver = std::move(line.waiting.front());
      line.waiting.pop_front();
    }
    if (!receiver.suspension)
      line.values.push_back(value);
    if (line.isEmpty())
      lines.erase(at);
    dropOldest();
  }
  if (receiver.suspension)
    finishReceiving(*receiver.suspension, receiver.open(std::move(value)));
}

void Rendezvous::receive(OpContext &ctx, const std::string &key, ConvertReceived open) {
  Tensor value;
  {
    std::lock_guard lock(mutex);
    auto at = lines.try_emplace({ctx.run().step, key}, share).first;
    KeyQueue &line = at->second;
    if (line.values.empty()) {
      line.waiting.push_back({ctx.suspend(), std::move(open)});
      return;
    }
    value = std::move(line.values.front());
    line.values.pop_front();
    if (line.isEmpty())
      lines.erase(at);
  }
  auto outputs = ctx.check(open(std::move(value)));
  for (size_t i = 0; outputs && i < outputs->size(); ++i)
    ctx.setOutput(static_cast<int>(i), std::move((*outputs)[i]));
}

Ref<Rendezvous> Rendezvous::of(OpContext &ctx) {
  return ctx.run().resources.lookupOrCreate<Rendezvous>("", "",
                                                        [] { return makeRef<Rendezvous>(); });
}

Communicator::Done suspendUntilReceived(OpContext &ctx, std::string_view node, std::string_view op,
                                        ConvertReceived open) {
  Ref<ExchangeLog> log;
  if (ctx.run().trace)
    log = ExchangeLog::of(ctx.run().resources);
  LoggedExchange logged{std::string(node), std::string(op), LoggedExchange::Clock::now(), {}};
  Ref<Suspension> suspension = ctx.suspend();
  return [suspension, log, logged, open = std::move(open)](Expected<Tensor> value) mutable {
    if (!suspension->claim())
      return; // the run was stopped
    logged.end = LoggedExchange::Clock::now();
    if (log && value)
      log->add(std::move(logged));
    if (value)
      finishReceiving(*suspension, open(std::move(*value)));
    else
      suspension->fail(std::move(value.error()));
  };
}

namespace {

struct State {
  std::string node, key;
  DType dtype;                 // dtype of Recv's output
  std::optional<int> from, to; // task indices
  bool crossesProcesses() const { return from && to && *from != *to; }
};

/// Returns the task index in a device name: 1 for `/job:worker/task:1`.
std::optional<int> taskOf(std::string_view device) {
  constexpr std::string_view word = "/task:";
  size_t at = device.find(word);
  if (at == device.npos)
    return std::nullopt;
  int task = 0;
  const char *begin = device.data() + at + word.size();
  auto [end, error] = std::from_chars(begin, device.data() + device.size(), task);
  return error == std::errc() ? std::optional(task) : std::nullopt;
}

/// Returns false after failing the op if there is no such rank.
bool checkRank(OpContext &ctx, int rank, int size) {
  if (rank >= 0 && rank < size)
    return true;
  ctx.fail(invalidArgument("its peer is task ", rank, ", but there ",
                           size == 1 ? "is 1 process" : str("are ", size, " processes"),
                           "; start more: mpirun -n ", rank + 1));
  return false;
}

void sendToRank(OpContext &ctx, const State &state) {
  std::shared_ptr<Communicator> world = communicatorOf(ctx.run().resources);
  if (!checkRank(ctx, *state.to, world->size()))
    return;
  Tensor value = ctx.takeInput(0);
  if (!isPlain(value.dtype()))
    return ctx.fail(
        unimplemented("values of ", dtypeName(value.dtype()), " can't be sent to another process"));
  world->send(*state.to, state.key, std::move(value));
}

/// Returns a check that the received value has the node's dtype.
ConvertReceived checkedReception(const State &state) {
  return [&state](Tensor value) -> Expected<std::vector<Tensor>> {
    if (value.dtype() != state.dtype)
      return Unexpected(invalidArgument("the value sent as '", state.key, "' is ",
                                        tensorTypeText(value), ", but the receiver expects ",
                                        dtypeName(state.dtype)));
    return std::vector{std::move(value)};
  };
}

void receiveFromRank(OpContext &ctx, const State &state) {
  std::shared_ptr<Communicator> world = communicatorOf(ctx.run().resources);
  if (checkRank(ctx, *state.from, world->size()))
    world->receive(*state.from, state.key, 0,
                   suspendUntilReceived(ctx, state.node, "_Recv", checkedReception(state)));
}

void send(OpContext &ctx) {
  if (ctx.state<State>().crossesProcesses())
    return sendToRank(ctx, ctx.state<State>());
  Rendezvous::of(ctx)->send(ctx, ctx.state<State>().key, ctx.takeInput(0));
}

void receive(OpContext &ctx) {
  const auto &state = ctx.state<State>();
  if (state.crossesProcesses())
    return receiveFromRank(ctx, state);
  Rendezvous::of(ctx)->receive(ctx, state.key, checkedReception(state));
}

/// Returns the key that sender and receiver share.
std::string keyOf(const AttrMap &attrs) {
  std::string key;
  for (std::string_view part : {"send_device", "recv_device", "tensor_name"})
    key += str(attrs.getOr(part, std::string()), ";");
  return key;
}

template <KernelFn fn, bool mayBlock>
Expected<BoundKernel> bindSendOrRecv(const BindContext &node) {
  BoundKernel bound =
      boundWith(fn, State{std::string(node.node), keyOf(node.attrs),
                          node.outputTypes.empty() ? DType::Invalid : node.outputTypes[0],
                          taskOf(node.attrs.getOr<std::string>("send_device", "")),
                          taskOf(node.attrs.getOr<std::string>("recv_device", ""))});
  bound.mayBlock = mayBlock;
  return bound;
}

constexpr BindFn bindSend = bindSendOrRecv<send, false>;
constexpr BindFn bindReceive = bindSendOrRecv<receive, true>;

const KernelEntry rendezvousTable[] = {
    {"Recv", bindReceive},   {"Send", bindSend},     {"_HostRecv", bindReceive},
    {"_HostSend", bindSend}, {"_Recv", bindReceive}, {"_Send", bindSend},
};

} // namespace

std::span<const KernelEntry> rendezvousKernels() { return rendezvousTable; }

} // namespace treadle
