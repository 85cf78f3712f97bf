// Send and Recv: tensors handed over by name within a run, wherever in the graph the two ops are;
// and between the processes of a run, where their devices are of different tasks.
#include "treadle/collective/Communicator.h"
#include "treadle/collective/ExchangeLog.h"
#include "treadle/kernels/Element.h"
#include "treadle/kernels/Families.h"
#include "treadle/runtime/Run.h"
#include "treadle/tensor/KeptMemory.h"

#include <charconv>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

namespace treadle {
namespace {

/// Tensors on their way, of all runs of a session. Thread-safe.
class Rendezvous final : public Resource {
public:
  static constexpr std::string_view kindName = "rendezvous";
  std::string_view kind() const override { return kindName; }

  void send(OpContext &ctx, const std::string &key, Tensor value);
  void receive(OpContext &ctx, const std::string &key, DType dtype);

private:
  struct Receiver {
    Ref<Suspension> suspension;
    DType dtype;
  };
  // One of the two is empty.
  struct Line {
    explicit Line(const MemoryShare &share) : values(share) {}
    std::deque<Tensor, KeptAllocator<Tensor>> values;
    std::deque<Receiver> waiting;
    bool isEmpty() const { return values.empty() && waiting.empty(); }
  };
  using Key = std::pair<uint64_t, std::string>; // number of the run, name

  void dropOldest();

  const MemoryShare share;
  std::mutex mutex;
  std::map<Key, Line, std::less<>, KeptAllocator<std::pair<const Key, Line>>> lines{share};
};

// Values that nobody received stay behind when their run ends; only so many of them are kept.
constexpr size_t maxLines = 4096;

Error wrongDType(const std::string &key, const Tensor &sent, DType expected) {
  return invalidArgument("what was sent as '", key, "' is ", tensorTypeText(sent),
                         ", but what is received is ", dtypeName(expected));
}

void Rendezvous::dropOldest() {
  if (lines.size() > maxLines)
    lines.erase(lines.begin());
}

void Rendezvous::send(OpContext &ctx, const std::string &key, Tensor value) {
  Receiver receiver;
  {
    std::lock_guard lock(mutex);
    auto at = lines.try_emplace({ctx.run().step, key}, share).first;
    Line &line = at->second;
    while (!receiver.suspension && !line.waiting.empty()) {
      if (line.waiting.front().suspension->claim()) // else its run was stopped
        receiver = std::move(line.waiting.front());
      line.waiting.pop_front();
    }
    if (!receiver.suspension)
      line.values.push_back(value);
    if (line.isEmpty())
      lines.erase(at);
    dropOldest();
  }
  if (!receiver.suspension)
    return;
  if (value.dtype() == receiver.dtype)
    receiver.suspension->complete({std::move(value)});
  else
    receiver.suspension->fail(wrongDType(key, value, receiver.dtype));
}

void Rendezvous::receive(OpContext &ctx, const std::string &key, DType dtype) {
  std::lock_guard lock(mutex);
  auto at = lines.try_emplace({ctx.run().step, key}, share).first;
  Line &line = at->second;
  if (line.values.empty()) {
    line.waiting.push_back({ctx.suspend(), dtype});
    return;
  }
  if (line.values.front().dtype() != dtype)
    return ctx.fail(wrongDType(key, line.values.front(), dtype));
  ctx.setOutput(0, std::move(line.values.front()));
  line.values.pop_front();
  if (line.isEmpty())
    lines.erase(at);
}

Ref<Rendezvous> rendezvousOf(OpContext &ctx) {
  return ctx.run().resources.lookupOrCreate<Rendezvous>("", "",
                                                        [] { return makeRef<Rendezvous>(); });
}

struct State {
  std::string node, key;
  DType dtype;                 // of what Recv gives
  std::optional<int> from, to; // tasks
  bool goesOut() const { return from && to && *from != *to; }
};

/// The number in `/job:worker/task:1`.
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

/// False, having failed, where there is no such rank.
bool checkRank(OpContext &ctx, int rank, int size) {
  if (rank >= 0 && rank < size)
    return true;
  ctx.fail(invalidArgument("its other end is task ", rank, ", but there ",
                           size == 1 ? "is 1 process" : str("are ", size, " processes"),
                           "; start more: mpirun -n ", rank + 1));
  return false;
}

void sendOut(OpContext &ctx, const State &state) {
  std::shared_ptr<Communicator> world = communicatorOf(ctx.run().resources);
  if (!checkRank(ctx, *state.to, world->size()))
    return;
  Tensor value = ctx.takeInput(0);
  if (!isPlain(value.dtype()))
    return ctx.fail(
        unimplemented("values of ", dtypeName(value.dtype()), " can't be sent to another process"));
  world->send(*state.to, state.key, std::move(value));
}

void receiveFromOutside(OpContext &ctx, const State &state) {
  std::shared_ptr<Communicator> world = communicatorOf(ctx.run().resources);
  if (!checkRank(ctx, *state.from, world->size()))
    return;
  Ref<ExchangeLog> log;
  if (ctx.run().trace)
    log = ExchangeLog::of(ctx.run().resources);
  LoggedExchange logged{state.node, "_Recv", LoggedExchange::Clock::now(), {}};
  Ref<Suspension> suspension = ctx.suspend();
  auto received = [suspension, &state, log, logged](Expected<Tensor> value) mutable {
    if (!suspension->claim())
      return; // the run was stopped
    logged.end = LoggedExchange::Clock::now();
    if (log && value)
      log->add(std::move(logged));
    if (!value)
      suspension->fail(std::move(value.error()));
    else if (value->dtype() != state.dtype)
      suspension->fail(wrongDType(state.key, *value, state.dtype));
    else
      suspension->complete({std::move(*value)});
  };
  world->receive(*state.from, state.key, 0, received);
}

void send(OpContext &ctx) {
  if (ctx.state<State>().goesOut())
    return sendOut(ctx, ctx.state<State>());
  rendezvousOf(ctx)->send(ctx, ctx.state<State>().key, ctx.takeInput(0));
}

void receive(OpContext &ctx) {
  const auto &state = ctx.state<State>();
  if (state.goesOut())
    return receiveFromOutside(ctx, state);
  rendezvousOf(ctx)->receive(ctx, state.key, state.dtype);
}

/// What both ends agree on.
std::string keyOf(const AttrMap &attrs) {
  std::string key;
  for (std::string_view part : {"send_device", "recv_device", "tensor_name"})
    key += str(attrs.getOr(part, std::string()), ";");
  return key;
}

template <KernelFn fn, bool mayBlock> Expected<BoundKernel> bindEnd(const BindContext &node) {
  BoundKernel bound =
      boundWith(fn, State{std::string(node.node), keyOf(node.attrs),
                          node.outputTypes.empty() ? DType::Invalid : node.outputTypes[0],
                          taskOf(node.attrs.getOr<std::string>("send_device", "")),
                          taskOf(node.attrs.getOr<std::string>("recv_device", ""))});
  bound.mayBlock = mayBlock;
  return bound;
}

constexpr BindFn bindSend = bindEnd<send, false>;
constexpr BindFn bindReceive = bindEnd<receive, true>;

const KernelEntry rendezvousTable[] = {
    {"Recv", bindReceive},   {"Send", bindSend},     {"_HostRecv", bindReceive},
    {"_HostSend", bindSend}, {"_Recv", bindReceive}, {"_Send", bindSend},
};

} // namespace

std::span<const KernelEntry> rendezvousKernels() { return rendezvousTable; }

} // namespace treadle
