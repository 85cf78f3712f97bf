#include "treadle/collective/Communicator.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace treadle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int anyRank = -1;
constexpr std::string_view abortKey = "!";
constexpr std::string_view groupPrefix = "g/";
// Smaller values go to all at once: two messages take longer than the bytes.
constexpr size_t smallBytes = 8192;

Tensor toTensor(std::string_view text) {
  return Tensor::vector<uint8_t>(DType::UInt8,
                                 {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

std::string toText(const Tensor &value) {
  return {static_cast<const char *>(value.raw()), value.bytes()};
}

std::string rankList(const std::vector<int> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += str(i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  return text;
}

constexpr std::string_view kindNames[] = {"all-reduce", "all-gather", "reduce-scatter",
                                          "broadcast",  "broadcast",  "all-to-all"};

/// A value that several others are awaited for.
struct Exchange {
  using Then = std::function<void(Expected<std::vector<Tensor>>)>;
  std::string what;
  std::vector<Tensor> values; // by place
  std::vector<int> missing;   // ranks
  Clock::time_point deadline;
  double timeout = 0;
  Then then;
};
using ExchangePtr = std::shared_ptr<Exchange>;

/// Where a value of an exchange comes from, and its place.
struct Source {
  int from;
  std::string key;
  size_t place;
};

struct Group {
  size_t size = 0; // as this rank says
  std::set<int> announced;
  bool isAnnounced = false; // by this rank
  bool isComplete = false;
  ExchangePtr awaited; // the others' announcements
  std::deque<std::function<void(Expected<std::vector<int>>)>> waiting;
};

} // namespace

struct Communicator::Impl {
  Impl(std::unique_ptr<Transport> t, double timeout) : transport(std::move(t)), timeout(timeout) {}

  struct Running;

  void listen();
  void take(Message message);
  void expect(const ExchangePtr &exchange, const std::vector<Source> &sources);
  void watch();
  void failAll(const Error &error);
  void withGroup(const Collective &call, std::function<void(Expected<std::vector<int>>)> then);
  void completeGroup(int key, size_t size, std::unique_lock<std::mutex> &lock);
  void announced(int key, int from);
  Clock::time_point after(double seconds) const {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(std::min(seconds, 1e8)));
  }
  ExchangePtr makeExchange(const Collective &call, size_t size, Exchange::Then then) const;

  const std::unique_ptr<Transport> transport;
  const double timeout;

  std::mutex mutex; // guards what follows
  std::condition_variable changed;
  std::map<std::pair<int, std::string>, std::deque<Tensor>> arrived;
  std::map<std::pair<int, std::string>, std::deque<std::pair<ExchangePtr, size_t>>> expected;
  std::set<ExchangePtr> awaited;
  std::map<int, Group> groups;
  std::map<std::string, int64_t> uses;
  std::optional<Error> failure;
  bool hasAborted = false;
  bool isClosed = false;
  std::thread watcher;
};

Communicator::Communicator(std::unique_ptr<Transport> transport, double timeout)
    : impl(std::make_unique<Impl>(std::move(transport), timeout)) {
  impl->listen();
}

Communicator::~Communicator() {
  if (impl->transport)
    impl->transport->close();
  {
    std::lock_guard lock(impl->mutex);
    impl->isClosed = true;
  }
  impl->failAll(cancelled("the communicator was closed"));
  impl->changed.notify_all();
  if (impl->watcher.joinable())
    impl->watcher.join();
}

int Communicator::rank() const { return impl->transport ? impl->transport->rank() : 0; }
int Communicator::size() const { return impl->transport ? impl->transport->size() : 1; }

void Communicator::Impl::listen() {
  if (transport)
    transport->listen([this](Message message) { take(std::move(message)); });
}

// --- messages ----------------------------------------------------------------------------------

void Communicator::Impl::take(Message message) {
  if (message.key == abortKey)
    return failAll(aborted("rank ", message.from, " failed: ", toText(message.value)));
  if (message.key.starts_with(groupPrefix))
    return announced(std::stoi(message.key.substr(groupPrefix.size())), message.from);
  ExchangePtr complete;
  {
    std::lock_guard lock(mutex);
    auto waiting = expected.find({message.from, message.key});
    if (waiting == expected.end())
      waiting = expected.find({anyRank, message.key});
    if (waiting == expected.end()) {
      // What anyone may send is looked for under its key alone.
      int from = message.key.starts_with("b/") ? anyRank : message.from;
      arrived[{from, std::move(message.key)}].push_back(std::move(message.value));
      return;
    }
    auto [exchange, place] = waiting->second.front();
    waiting->second.pop_front();
    if (waiting->second.empty())
      expected.erase(waiting);
    exchange->values[place] = std::move(message.value);
    auto missing = std::ranges::find(exchange->missing, message.from);
    exchange->missing.erase(missing == exchange->missing.end() ? exchange->missing.begin()
                                                               : missing);
    if (!exchange->missing.empty() || awaited.erase(exchange) == 0)
      return;
    complete = exchange;
  }
  complete->then(std::move(complete->values));
}

void Communicator::Impl::expect(const ExchangePtr &exchange, const std::vector<Source> &sources) {
  std::optional<Error> failed;
  {
    std::lock_guard lock(mutex);
    failed = failure;
    for (const Source &source : sources) {
      if (failed)
        break;
      auto value = arrived.find({source.from, source.key});
      if (value == arrived.end()) {
        exchange->missing.push_back(source.from);
        expected[{source.from, source.key}].emplace_back(exchange, source.place);
        continue;
      }
      exchange->values[source.place] = std::move(value->second.front());
      value->second.pop_front();
      if (value->second.empty())
        arrived.erase(value);
    }
    if (!failed && !exchange->missing.empty()) {
      awaited.insert(exchange);
      if (!watcher.joinable())
        watcher = std::thread([this] { watch(); });
      changed.notify_all();
      return;
    }
  }
  if (failed)
    exchange->then(Unexpected(*failed));
  else
    exchange->then(std::move(exchange->values));
}

/// Ends exchanges whose time is over.
void Communicator::Impl::watch() {
  std::unique_lock lock(mutex);
  while (!isClosed) {
    auto next = std::ranges::min_element(awaited, {}, &Exchange::deadline);
    if (next == awaited.end()) {
      changed.wait(lock);
      continue;
    }
    ExchangePtr exchange = *next;
    if (Clock::now() < exchange->deadline) {
      changed.wait_until(lock, exchange->deadline);
      continue;
    }
    awaited.erase(next);
    for (auto it = expected.begin(); it != expected.end();) {
      std::erase_if(it->second, [&](const auto &entry) { return entry.first == exchange; });
      it = it->second.empty() ? expected.erase(it) : std::next(it);
    }
    std::vector<int> missing = exchange->missing;
    std::ranges::sort(missing);
    std::erase(missing, anyRank);
    Error error = deadlineExceeded(
        exchange->what, ": nothing came from ", missing.empty() ? "any rank" : rankList(missing),
        " within ", exchange->timeout, " s; it has ended, waits for something else, or is slow");
    lock.unlock();
    exchange->then(Unexpected(std::move(error)));
    exchange.reset();
    lock.lock();
  }
}

void Communicator::Impl::failAll(const Error &error) {
  std::set<ExchangePtr> ended;
  {
    std::lock_guard lock(mutex);
    if (!failure)
      failure = error;
    ended.swap(awaited);
    expected.clear();
  }
  for (const ExchangePtr &exchange : ended)
    exchange->then(Unexpected(error));
}

ExchangePtr Communicator::Impl::makeExchange(const Collective &call, size_t size,
                                             Exchange::Then then) const {
  auto exchange = std::make_shared<Exchange>();
  exchange->what = str(kindNames[call.kind], call.name.empty() ? "" : str(" '", call.name, "'"),
                       " (group ", call.groupKey, ", instance ", call.instance, ")");
  exchange->values.resize(size);
  exchange->timeout = call.timeout > 0 ? call.timeout : timeout;
  exchange->deadline = after(exchange->timeout);
  exchange->then = std::move(then);
  return exchange;
}

// --- groups ------------------------------------------------------------------------------------

// A group of some ranks is those that said so: each tells all when it first uses the group's key.
void Communicator::Impl::withGroup(const Collective &call,
                                   std::function<void(Expected<std::vector<int>>)> then) {
  int size = transport->size();
  if (call.groupSize == size) {
    std::vector<int> all(static_cast<size_t>(size));
    for (int i = 0; i < size; ++i)
      all[static_cast<size_t>(i)] = i;
    return then(std::move(all));
  }
  bool announces = false;
  std::optional<Error> failed;
  {
    std::unique_lock lock(mutex);
    Group &group = groups[call.groupKey];
    failed = failure;
    if (!failed) {
      announces = !std::exchange(group.isAnnounced, true);
      group.announced.insert(transport->rank());
      group.size = static_cast<size_t>(call.groupSize);
      group.waiting.push_back(std::move(then));
      if (!group.awaited && !group.isComplete) {
        int key = call.groupKey;
        group.awaited = makeExchange(call, 0, [this, key](const auto &result) {
          if (result)
            return;
          std::deque<std::function<void(Expected<std::vector<int>>)>> waiting;
          {
            std::lock_guard inner(mutex);
            waiting.swap(groups[key].waiting);
          }
          for (auto &next : waiting)
            next(Unexpected(result.error()));
        });
        group.awaited->what += str(": ", call.groupSize, " ranks make this group");
        group.awaited->missing.push_back(anyRank);
        awaited.insert(group.awaited);
        if (!watcher.joinable())
          watcher = std::thread([this] { watch(); });
        changed.notify_all();
      }
    }
  }
  if (failed)
    return then(Unexpected(*failed));
  if (announces)
    for (int to = 0; to < size; ++to)
      if (to != transport->rank())
        transport->send(to, str(groupPrefix, call.groupKey), toTensor(""));
  std::unique_lock lock(mutex);
  completeGroup(call.groupKey, static_cast<size_t>(call.groupSize), lock);
}

void Communicator::Impl::completeGroup(int key, size_t size, std::unique_lock<std::mutex> &lock) {
  Group &group = groups[key];
  if (group.announced.size() < size)
    return;
  group.isComplete = true;
  awaited.erase(group.awaited);
  group.awaited.reset();
  std::deque<std::function<void(Expected<std::vector<int>>)>> waiting;
  waiting.swap(group.waiting);
  std::vector<int> members(group.announced.begin(), group.announced.end());
  lock.unlock();
  for (auto &next : waiting)
    if (members.size() == size)
      next(members);
    else
      next(Unexpected(invalidArgument("group ", key, " is of ", size, " ranks, but ",
                                      rankList(members), " use it")));
}

void Communicator::Impl::announced(int key, int from) {
  std::unique_lock lock(mutex);
  Group &group = groups[key];
  group.announced.insert(from);
  if (group.waiting.empty())
    return;
  completeGroup(key, group.size, lock);
}

// --- collectives -------------------------------------------------------------------------------

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

/// Values one behind the other along dimension 0.
Expected<Tensor> joined(const std::vector<Tensor> &parts) {
  const Tensor &first = parts.front();
  std::vector<int64_t> dims(first.dims().begin(), first.dims().end());
  if (dims.empty())
    dims.push_back(1);
  int64_t rows = 0;
  for (const Tensor &part : parts)
    rows += part.rank() == 0 ? 1 : part.dim(0);
  dims[0] = rows;
  Expected<Tensor> whole = Tensor::make(first.dtype(), dims);
  if (!whole)
    return whole;
  auto *at = static_cast<char *>(whole->raw());
  for (const Tensor &part : parts) {
    std::memcpy(at, part.raw(), part.bytes());
    at += part.bytes();
  }
  return whole;
}

/// Part `i` of `n`, of elements (`flat`) or rows; it shares memory with the whole.
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

/// The reduction of all in their order, in memory of its own.
Expected<Tensor> reduced(const std::vector<Tensor> &values, const Collective &call) {
  for (const Tensor &value : values)
    if (!areAlike(value, values.front()))
      return Unexpected(invalidArgument(kindNames[call.kind], " '", call.name, "': one rank gives ",
                                        tensorTypeText(values.front()), ", another ",
                                        tensorTypeText(value),
                                        "; all must give the same dtype and shape"));
  Expected<Tensor> sum = values.front().clone();
  for (size_t i = 1; sum && i < values.size(); ++i)
    if (Expected<void> ok = reduceInto(*sum, values[i], call.reduction); !ok)
      return Unexpected(std::move(ok.error()));
  if (sum && call.isMean)
    if (Expected<void> ok = divideBy(*sum, static_cast<int64_t>(values.size())); !ok)
      return Unexpected(std::move(ok.error()));
  return sum;
}

} // namespace

/// A collective under way on this rank.
struct Communicator::Impl::Running : std::enable_shared_from_this<Running> {
  Running(Impl &world, Collective call, std::vector<int> members, std::string key, Done done)
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
  bool hasRowsForAll();

  Impl &world;
  const Collective call;
  const std::vector<int> members;
  const std::string key;
  const Done done;
  const size_t place; // of this rank among the members
};

/// Sends each other member its part, and goes on with what comes from all; `own` is this rank's.
void Communicator::Impl::Running::exchange(std::string_view round,
                                           const std::function<Tensor(size_t)> &partFor, Tensor own,
                                           Then then) {
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

void Communicator::Impl::Running::reduceAtOnce() {
  exchange(
      "/all", [&](size_t) { return call.input; }, call.input,
      [self = shared_from_this()](std::vector<Tensor> values) {
        self->done(reduced(values, self->call));
      });
}

// Each member reduces its part, then all get all parts.
void Communicator::Impl::Running::reduceInParts() {
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

bool Communicator::Impl::Running::hasRowsForAll() {
  const Tensor &input = call.input;
  auto n = static_cast<int64_t>(members.size());
  if (input.rank() > 0 && input.dim(0) % n == 0)
    return true;
  done(Unexpected(invalidArgument(kindNames[call.kind], " '", call.name, "': its input is ",
                                  tensorTypeText(input), ", but dimension 0 must be cut into ", n,
                                  " equal parts")));
  return false;
}

void Communicator::Impl::Running::reduceScatter() {
  if (!hasRowsForAll())
    return;
  auto part = [&](size_t i) { return partOf(call.input, i, members.size(), false); };
  exchange("/part", part, part(place), [self = shared_from_this()](std::vector<Tensor> values) {
    self->done(reduced(values, self->call));
  });
}

void Communicator::Impl::Running::gather() {
  exchange(
      "/all", [&](size_t) { return call.input; }, call.input,
      [self = shared_from_this()](std::vector<Tensor> values) {
        for (const Tensor &value : values)
          if (value.dtype() != values[0].dtype() || value.rank() != values[0].rank() ||
              (value.rank() > 1 &&
               !std::ranges::equal(value.dims().subspan(1), values[0].dims().subspan(1))))
            return self->done(Unexpected(invalidArgument(
                "all-gather '", self->call.name, "': one rank gives ", tensorTypeText(values[0]),
                ", another ", tensorTypeText(value), "; they may differ in dimension 0 alone")));
        self->done(joined(values));
      });
}

void Communicator::Impl::Running::allToAll() {
  if (!hasRowsForAll())
    return;
  auto part = [&](size_t i) { return partOf(call.input, i, members.size(), false); };
  exchange("/part", part, part(place), [self = shared_from_this()](std::vector<Tensor> values) {
    for (const Tensor &value : values)
      if (!areAlike(value, values[0]))
        return self->done(Unexpected(invalidArgument(
            "all-to-all '", self->call.name, "': one rank gives ", tensorTypeText(values[0]),
            " to each, another ", tensorTypeText(value), "; all must give the same shape")));
    self->done(joined(values));
  });
}

void Communicator::Impl::Running::broadcastSend() {
  for (int member : members)
    if (member != members[place])
      world.transport->send(member, "b/" + key, call.input);
  done(call.input);
}

void Communicator::Impl::Running::broadcastReceive() {
  auto self = shared_from_this();
  auto awaited = world.makeExchange(call, 1, [self](Expected<std::vector<Tensor>> values) {
    if (values)
      self->done(std::move(values->front()));
    else
      self->done(Unexpected(std::move(values.error())));
  });
  world.expect(awaited, {{anyRank, "b/" + key, 0}});
}

void Communicator::Impl::Running::run() {
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
  }
}

/// What a group of one rank gives.
static Expected<Tensor> alone(const Collective &call) {
  if (call.kind == Collective::BroadcastReceive)
    return Unexpected(invalidArgument("broadcast '", call.name,
                                      "': it receives in a group of 1, in which nobody sends"));
  if (call.kind == Collective::AllGather)
    return joined({call.input});
  return call.input;
}

static std::vector<std::string> linesOf(const Tensor &text) {
  std::vector<std::string> lines;
  std::string rest = toText(text);
  for (size_t end; (end = rest.find('\n')) != std::string::npos; rest = rest.substr(end + 1))
    lines.push_back(rest.substr(0, end));
  return lines;
}

/// Compares every rank's lines with rank 0's.
static Expected<void> firstDifference(const std::vector<Tensor> &texts, std::string_view what) {
  std::vector<std::string> first = linesOf(texts[0]);
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    std::vector<std::string> lines = linesOf(texts[rank]);
    size_t i = 0;
    auto compared = [](const std::string &text) { return text.substr(0, text.find('\t')); };
    while (i < first.size() && i < lines.size() && compared(first[i]) == compared(lines[i]))
      ++i;
    auto line = [&](const std::vector<std::string> &of) {
      std::string text = i < of.size() ? of[i] : "nothing more";
      std::ranges::replace(text, '\t', ' ');
      return text;
    };
    if (i < first.size() || i < lines.size())
      return Unexpected(failedPrecondition("ranks don't agree on ", what, ": number ", i + 1,
                                           " is on rank 0 ", line(first), ", but on rank ", rank,
                                           " ", line(lines),
                                           "; let all ranks run the same, in the same order"));
  }
  return {};
}

void Communicator::start(const Collective &call, Done done) {
  if (call.groupSize < 1 || call.groupSize > size())
    return done(Unexpected(invalidArgument(
        kindNames[call.kind], " '", call.name, "': its group is of ", call.groupSize,
        call.groupSize == 1 ? " rank" : " ranks", ", but there ", size() == 1 ? "is " : "are ",
        size(),
        call.groupSize > 1 ? str("; start as many processes: mpirun -n ", call.groupSize)
                           : std::string())));
  if (call.groupSize == 1)
    return done(alone(call));
  // What one message of MPI can hold.
  if (call.input && call.input.bytes() > size_t{1} << 30)
    return done(
        Unexpected(unimplemented(kindNames[call.kind], " '", call.name, "' of ", call.input.bytes(),
                                 " bytes; values of up to 1 GiB can be sent")));
  std::string key = str("c/", call.groupKey, "/", call.instance);
  {
    // The same name again is the next of its kind, on all ranks.
    std::lock_guard lock(impl->mutex);
    int64_t use = impl->uses[key]++;
    key += str("/", use);
  }
  impl->withGroup(
      call, [this, call, key, done = std::move(done)](Expected<std::vector<int>> members) {
        if (!members)
          return done(Unexpected(std::move(members.error())));
        std::make_shared<Impl::Running>(*impl, call, std::move(*members), key, done)->run();
      });
}

std::shared_ptr<Communicator> communicatorOf(ResourceManager &resources) {
  static const auto alone = std::make_shared<Communicator>(nullptr);
  auto found = resources.lookup<CommunicatorResource>("", "");
  return found ? found->communicator : alone;
}

void Communicator::send(int to, const std::string &key, Tensor value) {
  std::string name = "p/" + key;
  if (to == rank()) {
    Message message{to, std::move(name), std::move(value)};
    return impl->take(std::move(message));
  }
  impl->transport->send(to, std::move(name), std::move(value));
}

void Communicator::receive(int from, const std::string &key, double timeout, Done done) {
  Collective call;
  call.timeout = timeout;
  auto exchange = impl->makeExchange(call, 1, [done](Expected<std::vector<Tensor>> values) {
    if (values)
      done(std::move(values->front()));
    else
      done(Unexpected(std::move(values.error())));
  });
  exchange->what = str("receiving '", key, "'");
  impl->expect(exchange, {{from, "p/" + key, 0}});
}

void Communicator::abort(const Error &error) {
  {
    std::lock_guard lock(impl->mutex);
    if (size() == 1 || std::exchange(impl->hasAborted, true) || impl->failure)
      return;
  }
  for (int to = 0; to < size(); ++to)
    if (to != rank())
      impl->transport->send(to, std::string(abortKey), toTensor(error.message));
  impl->failAll(error);
}

Expected<void> Communicator::agree(const std::vector<std::string> &lines, std::string_view what) {
  if (size() == 1)
    return {};
  std::string text;
  for (const std::string &line : lines)
    text += line + "\n";
  Collective call;
  call.kind = Collective::AllGather;
  call.groupSize = size();
  call.groupKey = -1;
  call.name = what;
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<Expected<std::vector<Tensor>>> others;
  // Lists differ in length: each comes by itself.
  std::string key;
  {
    std::lock_guard lock(impl->mutex);
    key = str("a/", impl->uses["a"]++);
  }
  auto exchange = impl->makeExchange(call, static_cast<size_t>(size()), [&](auto values) {
    std::lock_guard lock(mutex);
    others = std::move(values);
    ended.notify_all();
  });
  exchange->what = str("agreeing on ", what);
  exchange->values[static_cast<size_t>(rank())] = toTensor(text);
  std::vector<Source> sources;
  for (int other = 0; other < size(); ++other)
    if (other != rank()) {
      impl->transport->send(other, key, toTensor(text));
      sources.push_back({other, key, static_cast<size_t>(other)});
    }
  impl->expect(exchange, sources);
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return others.has_value(); });
  if (!*others)
    return Unexpected(std::move(others->error()));
  return firstDifference(**others, what);
}

} // namespace treadle
