// Sends and receives between the devices of a StableHLO program. A channel is FIFO.
#include "treadle/collective/Communicator.h"
#include "treadle/kernels/Element.h"
#include "treadle/kernels/exchange/Rendezvous.h"
#include "treadle/runtime/Run.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace treadle {
namespace {

struct Channel {
  std::string node, op, key;
  /// Pairs of source and target ranks. Empty: via the host, to the first receiver.
  std::vector<std::pair<int, int>> pairs;
  /// Types of the received values; the last one is the token.
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;

  bool isViaHost() const { return pairs.empty(); }
};

Tensor token() { return Tensor::scalar<bool>(DType::Bool, true); }

/// Packs all inputs but the token into one tensor: a single input unchanged, several as bytes.
Expected<Tensor> packInputs(OpContext &ctx) {
  int count = ctx.numInputs() - 1;
  if (count == 1)
    return ctx.takeInput(0);
  size_t bytes = 0;
  for (int i = 0; i < count; ++i)
    bytes += ctx.input(i).bytes();
  Tensor whole = TREADLE_TRY(Tensor::make(DType::UInt8, {static_cast<int64_t>(bytes)}));
  auto *at = whole.data<uint8_t>();
  for (int i = 0; i < count; ++i) {
    std::memcpy(at, ctx.input(i).raw(), ctx.input(i).bytes());
    at += ctx.input(i).bytes();
  }
  return whole;
}

/// Returns zeros of the channel's types.
Expected<std::vector<Tensor>> zeroValues(const Channel &channel) {
  std::vector<Tensor> values;
  for (size_t i = 0; i + 1 < channel.dtypes.size(); ++i) {
    values.push_back(TREADLE_TRY(Tensor::make(channel.dtypes[i], channel.shapes[i].dims)));
    std::memset(values.back().raw(), 0, values.back().bytes());
  }
  values.push_back(token());
  return values;
}

/// Unpacks the result of `packInputs` to values of the channel's types.
Expected<std::vector<Tensor>> unpackValues(const Channel &channel, const Tensor &whole) {
  std::vector<Tensor> values = TREADLE_TRY(zeroValues(channel));
  values.pop_back();
  auto isAlike = [&](const Tensor &value) {
    return value.dtype() == whole.dtype() && std::ranges::equal(value.dims(), whole.dims());
  };
  size_t bytes = 0;
  for (const Tensor &value : values)
    bytes += value.bytes();
  if (values.size() == 1 ? !isAlike(values.front()) : whole.bytes() != bytes)
    return Unexpected(invalidArgument(
        "the message received over ", channel.key, " is ", tensorTypeText(whole), ", expected ",
        values.size() == 1 ? tensorTypeText(values.front())
                           : str(values.size(), " values of ", bytes, " bytes in all"),
        "; send values of the received dtype and shape"));
  if (values.size() == 1) {
    values.front() = whole;
  } else {
    const auto *at = static_cast<const char *>(whole.raw());
    for (Tensor &value : values) {
      std::memcpy(value.raw(), at, value.bytes());
      at += value.bytes();
    }
  }
  values.push_back(token());
  return values;
}

/// Returns false after failing the op if the pairs contain invalid ranks.
bool checkPairs(OpContext &ctx, const Channel &channel, int size) {
  for (auto [from, to] : channel.pairs)
    if (int most = std::max(from, to); most >= size) {
      ctx.fail(invalidArgument("its pairs contain rank ", most, ", but there ",
                               size == 1 ? "is " : "are ", size,
                               "; run it on as many processes as it has devices"));
      return false;
    }
  return true;
}

void sendOver(OpContext &ctx) {
  const auto &channel = ctx.state<Channel>();
  std::shared_ptr<Communicator> world = communicatorOf(ctx.run().resources);
  if (!checkPairs(ctx, channel, world->size()))
    return;
  auto to = std::ranges::find(channel.pairs, world->rank(), &std::pair<int, int>::first);
  ctx.setOutput(0, token());
  if (!channel.isViaHost() && to == channel.pairs.end())
    return;
  auto value = TREADLE_OR_RETURN(ctx.check(packInputs(ctx)));
  if (world->size() == 1)
    Rendezvous::of(ctx)->send(ctx, channel.key, std::move(value));
  else if (channel.isViaHost())
    world->deposit(channel.key, std::move(value));
  else
    world->send(to->second, channel.key, std::move(value));
}

void receiveOver(OpContext &ctx) {
  const auto &channel = ctx.state<Channel>();
  std::shared_ptr<Communicator> world = communicatorOf(ctx.run().resources);
  if (!checkPairs(ctx, channel, world->size()))
    return;
  auto from = std::ranges::find(channel.pairs, world->rank(), &std::pair<int, int>::second);
  if (!channel.isViaHost() && from == channel.pairs.end()) {
    auto zeros = ctx.check(zeroValues(channel));
    for (size_t i = 0; zeros && i < zeros->size(); ++i)
      ctx.setOutput(static_cast<int>(i), std::move((*zeros)[i]));
    return;
  }
  ConvertReceived open = [&channel](const Tensor &value) { return unpackValues(channel, value); };
  if (world->size() == 1)
    return Rendezvous::of(ctx)->receive(ctx, channel.key, std::move(open));
  Communicator::Done done = suspendUntilReceived(ctx, channel.node, channel.op, std::move(open));
  if (channel.isViaHost())
    world->collect(channel.key, std::move(done));
  else
    world->receive(from->first, channel.key, 0, std::move(done));
}

template <KernelFn fn, bool mayBlock> Expected<BoundKernel> bindChannel(const BindContext &node) {
  Channel channel{std::string(node.node),
                  std::string(node.op),
                  node.attrs.getOr<std::string>("tensor_name", ""),
                  {},
                  {node.outputTypes.begin(), node.outputTypes.end()},
                  node.attrs.getOr("output_shapes", std::vector<PartialShape>())};
  auto ranks = node.attrs.getOr("pairs", std::vector<int64_t>());
  if (ranks.size() % 2)
    return Unexpected(invalidArgument("pairs has ", ranks.size(), " ranks, expected pairs"));
  for (size_t i = 0; i < ranks.size(); i += 2) {
    if (!std::in_range<int>(ranks[i]) || !std::in_range<int>(ranks[i + 1]) || ranks[i] < 0 ||
        ranks[i + 1] < 0)
      return Unexpected(invalidArgument("pairs has the ranks ", ranks[i], " and ", ranks[i + 1],
                                        ", expected numbers from 0"));
    channel.pairs.emplace_back(ranks[i], ranks[i + 1]);
  }
  channel.key += channel.isViaHost() ? " of the host" : "";
  for (std::span<const DType> types : {node.inputTypes, node.outputTypes}) {
    if (types.empty() || types.back() != DType::Bool)
      return Unexpected(invalidArgument("its last input and output are tokens, of dtype bool"));
    for (DType dtype : types)
      if (!isPlain(dtype))
        return unsupportedDType(node, dtype);
  }
  bool isReceiver = mayBlock;
  if (isReceiver && (channel.shapes.size() != channel.dtypes.size() ||
                     !std::ranges::all_of(channel.shapes, &PartialShape::isFullyKnown)))
    return Unexpected(invalidArgument("output_shapes has ", channel.shapes.size(), " shapes for ",
                                      channel.dtypes.size(),
                                      " outputs, expected a known shape for each output"));
  BoundKernel bound = boundWith(fn, std::move(channel));
  bound.mayBlock = mayBlock;
  return bound;
}

const KernelEntry channelTable[] = {
    {"_ChannelReceive", bindChannel<receiveOver, true>},
    {"_ChannelSend", bindChannel<sendOver, false>},
};

} // namespace

std::span<const KernelEntry> channelKernels() { return channelTable; }

} // namespace treadle
