// The collectives of a rank: the messages that each kind sends, and the results that it computes.
#include "treadle/collective/CommunicatorImpl.h"

#include <algorithm>
#include <cstring>

namespace treadle {

using namespace collective;

namespace {

int64_t countOf(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

bool areAlike(const Tensor &a, const Tensor &b) {
  return a.dtype() == b.dtype() && std::ranges::equal(a.dims(), b.dims());
}

/// Concatenates values along dimension 0.
Expected<Tensor> joined(const std::vector<Tensor> &parts) {
  const Tensor &first = parts.front();
  std::vector<int64_t> dims(first.dims().begin(), first.dims().end());
  if (dims.empty())
    dims.push_back(1);
  int64_t rows = 0;
  for (const Tensor &part : parts)
    rows += part.rank() == 0 ? 1 : part.dim(0);
  dims[0] = rows;
  Tensor whole = TREADLE_TRY(Tensor::make(first.dtype(), dims));
  auto *at = static_cast<char *>(whole.raw());
  for (const Tensor &part : parts) {
    std::memcpy(at, part.raw(), part.bytes());
    at += part.bytes();
  }
  return whole;
}

Expected<Tensor> zerosLike(const Tensor &value) {
  Expected<Tensor> zeros = Tensor::make(value.dtype(), value.dims());
  if (zeros)
    std::memset(zeros->raw(), 0, zeros->bytes());
  return zeros;
}

/// Returns part `i` of `n`, of elements (`flat`) or rows; a view of the whole.
Tensor partOf(const Tensor &whole, size_t i, size_t n, bool isFlat) {
  auto place = static_cast<int64_t>(i), parts = static_cast<int64_t>(n);
  if (isFlat) {
    int64_t begin = whole.count() * place / parts, end = whole.count() * (place + 1) / parts;
    int64_t dims[] = {end - begin};
    return whole.view(begin, dims);
  }
  std::vector<int64_t> dims(whole.dims().begin(), whole.dims().end());
  dims[0] /= parts;
  return whole.view(countOf(dims) * place, dims);
}

/// Reduces all values in rank order, into new memory.
Expected<Tensor> reduced(const std::vector<Tensor> &values, const Collective &call) {
  for (const Tensor &value : values)
    if (!areAlike(value, values.front()))
      return Unexpected(invalidArgument(
          kindNames[call.kind], " '", call.name, "': one rank has ", tensorTypeText(values.front()),
          ", another ", tensorTypeText(value), "; all ranks must have the same dtype and shape"));
  Expected<Tensor> sum = values.front().clone();
  for (size_t i = 1; sum && i < values.size(); ++i)
    TREADLE_TRY(reduceInto(*sum, values[i], call.reduction));
  if (sum && call.isMean)
    TREADLE_TRY(divideBy(*sum, static_cast<int64_t>(values.size())));
  return sum;
}

} // namespace

/// A collective in progress on this rank.
struct Communicator::Impl::ActiveCollective : std::enable_shared_from_this<ActiveCollective> {
  ActiveCollective(Impl &world, Collective call, std::vector<int> members, std::string key,
                   Done done)
      : world(world), call(std::move(call)), members(std::move(members)), key(std::move(key)),
        done(std::move(done)),
        place(static_cast<size_t>(std::ranges::find(this->members, world.transport->rank()) -
                                  this->members.begin())) {}

  void run();

private:
  using Then = std::function<void(std::vector<Tensor>)>;

  void exchange(std::string_view round, const std::function<Tensor(size_t)> &partFor, Tensor own,
                Then then);
  void reduceAtOnce();
  void reduceInParts();
  void reduceScatter();
  void gather();
  void allToAll();
  void broadcastSend();
  void broadcastReceive();
  void permute();
  bool hasRowsForAll();

  Impl &world;
  const Collective call;
  const std::vector<int> members;
  const std::string key;
  const Done done;
  const size_t place; // index of this rank among the members
};

/// Sends each other member its part, and continues when all parts have arrived; `own` is the part
/// of this rank.
void Communicator::Impl::ActiveCollective::exchange(std::string_view round,
                                                    const std::function<Tensor(size_t)> &partFor,
                                                    Tensor own, Then then) {
  std::string name = str(key, round);
  auto self = shared_from_this();
  auto awaited = world.makeExchange(
      call, members.size(), [self, then = std::move(then)](Expected<std::vector<Tensor>> values) {
        if (values)
          then(std::move(*values));
        else
          self->done(Unexpected(std::move(values.error())));
      });
  awaited->values[place] = std::move(own);
  std::vector<Source> sources;
  for (size_t i = 0; i < members.size(); ++i)
    if (i != place) {
      world.transport->send(members[i], name, partFor(i));
      sources.push_back({members[i], name, i});
    }
  world.expect(awaited, sources);
}

void Communicator::Impl::ActiveCollective::reduceAtOnce() {
  exchange(
      "/all", [&](size_t) { return call.input; }, call.input,
      [self = shared_from_this()](std::vector<Tensor> values) {
        self->done(reduced(values, self->call));
      });
}

// A reduce-scatter followed by an all-gather.
void Communicator::Impl::ActiveCollective::reduceInParts() {
  size_t n = members.size();
  auto part = [&](size_t i) { return partOf(call.input, i, n, true); };
  exchange("/part", part, part(place), [self = shared_from_this()](std::vector<Tensor> values) {
    Expected<Tensor> mine = reduced(values, self->call);
    if (!mine)
      return self->done(std::move(mine));
    self->exchange(
        "/whole", [&](size_t) { return *mine; }, *mine,
        [self](std::vector<Tensor> parts) {
          Expected<Tensor> whole = joined(parts);
          self->done(whole ? whole->withDims(self->call.input.dims()) : std::move(whole));
        });
  });
}

bool Communicator::Impl::ActiveCollective::hasRowsForAll() {
  const Tensor &input = call.input;
  auto n = static_cast<int64_t>(members.size());
  if (input.rank() > 0 && input.dim(0) % n == 0)
    return true;
  done(Unexpected(invalidArgument(kindNames[call.kind], " '", call.name, "': its input is ",
                                  tensorTypeText(input), ", but dimension 0 must split into ", n,
                                  " equal parts")));
  return false;
}

void Communicator::Impl::ActiveCollective::reduceScatter() {
  if (!hasRowsForAll())
    return;
  auto part = [&](size_t i) { return partOf(call.input, i, members.size(), false); };
  exchange("/part", part, part(place), [self = shared_from_this()](std::vector<Tensor> values) {
    self->done(reduced(values, self->call));
  });
}

void Communicator::Impl::ActiveCollective::gather() {
  exchange(
      "/all", [&](size_t) { return call.input; }, call.input,
      [self = shared_from_this()](std::vector<Tensor> values) {
        for (const Tensor &value : values)
          if (value.dtype() != values[0].dtype() || value.rank() != values[0].rank() ||
              (value.rank() > 1 &&
               !std::ranges::equal(value.dims().subspan(1), values[0].dims().subspan(1))))
            return self->done(Unexpected(invalidArgument(
                "all-gather '", self->call.name, "': one rank has ", tensorTypeText(values[0]),
                ", another ", tensorTypeText(value), "; only dimension 0 may differ")));
        self->done(joined(values));
      });
}

void Communicator::Impl::ActiveCollective::allToAll() {
  if (!hasRowsForAll())
    return;
  auto part = [&](size_t i) { return partOf(call.input, i, members.size(), false); };
  exchange("/part", part, part(place), [self = shared_from_this()](std::vector<Tensor> values) {
    for (const Tensor &value : values)
      if (!areAlike(value, values[0]))
        return self->done(Unexpected(invalidArgument(
            "all-to-all '", self->call.name, "': one rank has ", tensorTypeText(values[0]),
            " to each, another ", tensorTypeText(value), "; all ranks must have the same shape")));
    self->done(joined(values));
  });
}

void Communicator::Impl::ActiveCollective::broadcastSend() {
  for (int member : members)
    if (member != members[place])
      world.transport->send(member, "b/" + key, call.input);
  done(call.input);
}

void Communicator::Impl::ActiveCollective::broadcastReceive() {
  auto self = shared_from_this();
  auto awaited = world.makeExchange(call, 1, [self](Expected<std::vector<Tensor>> values) {
    if (values)
      self->done(std::move(values->front()));
    else
      self->done(Unexpected(std::move(values.error())));
  });
  world.expect(awaited, {{anyRank, "b/" + key, 0}});
}

// A rank without a source receives zeros; one without a target sends nothing.
void Communicator::Impl::ActiveCollective::permute() {
  int self = static_cast<int>(place), from = -1;
  for (auto [source, target] : call.pairs) {
    if (target == self)
      from = source;
    if (source == self && target != self)
      world.transport->send(members[static_cast<size_t>(target)], key, call.input);
  }
  if (from == self)
    return done(call.input);
  if (from < 0)
    return done(zerosLike(call.input));
  int sender = members[static_cast<size_t>(from)];
  auto awaited = world.makeExchange(
      call, 1, [running = shared_from_this()](Expected<std::vector<Tensor>> values) {
        if (values)
          running->done(std::move(values->front()));
        else
          running->done(Unexpected(std::move(values.error())));
      });
  world.expect(awaited, {{sender, key, 0}});
}

void Communicator::Impl::ActiveCollective::run() {
  switch (call.kind) {
  case Collective::AllReduce:
    return call.input.bytes() <= smallBytes ? reduceAtOnce() : reduceInParts();
  case Collective::AllGather:
    return gather();
  case Collective::ReduceScatter:
    return reduceScatter();
  case Collective::BroadcastSend:
    return broadcastSend();
  case Collective::BroadcastReceive:
    return broadcastReceive();
  case Collective::AllToAll:
    return allToAll();
  case Collective::Permute:
    return permute();
  }
}

void Communicator::Impl::run(const Collective &call, std::vector<int> members, std::string key,
                             Done done) {
  std::make_shared<ActiveCollective>(*this, call, std::move(members), std::move(key),
                                     std::move(done))
      ->run();
}

std::optional<Error> collective::validationError(const Collective &call) {
  std::set<int> sources, targets;
  for (auto [source, target] : call.pairs) {
    for (int place : {source, target})
      if (place < 0 || place >= call.groupSize)
        return invalidArgument(kindNames[call.kind], " '", call.name, "': its pairs name rank ",
                               place, ", but there ", call.groupSize == 1 ? "is " : "are ",
                               call.groupSize);
    bool isNewSource = sources.insert(source).second;
    if (!isNewSource || !targets.insert(target).second)
      return invalidArgument(kindNames[call.kind], " '", call.name, "': two of its pairs ",
                             isNewSource ? str("end at rank ", target)
                                         : str("begin at rank ", source));
  }
  return std::nullopt;
}

Expected<Tensor> collective::alone(const Collective &call) {
  if (call.kind == Collective::BroadcastReceive)
    return Unexpected(invalidArgument("broadcast '", call.name,
                                      "': it receives in a group of 1, in which no rank sends"));
  if (call.kind == Collective::Permute && call.pairs.empty())
    return zerosLike(call.input);
  if (call.kind == Collective::AllGather)
    return joined({call.input});
  return call.input;
}

} // namespace treadle
