#include "treadle/collective/Communicator.h"

#include "treadle/collective/Digest.h"
#include "treadle/collective/WaitGraph.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

namespace treadle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int anyRank = -1;
constexpr std::string_view abortKey = "!";
constexpr std::string_view leaveKey = ".";
constexpr std::string_view groupPrefix = "g/";
constexpr std::string_view orderKey = ">";
constexpr std::string_view circleKey = "o";
constexpr double forever = 1e8; // seconds: years, which clocks still can count
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

constexpr std::string_view kindNames[] = {"all-reduce", "all-gather", "reduce-scatter", "broadcast",
                                          "broadcast",  "all-to-all", "permutation"};

/// A value that several others are awaited for.
struct Exchange {
  using Then = std::function<void(Expected<std::vector<Tensor>>)>;
  std::string what;
  std::vector<Tensor> values; // by place
  std::vector<int> missing;   // ranks
  std::string come;           // where nobody knows which ranks are missing: those that aren't
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

/// What a rank says of a group when it first uses its key.
struct Announcement {
  int32_t size;  // how many ranks make it
  int32_t place; // of this one; -1: by its number
};

struct Group {
  using Then = std::function<void(Expected<std::vector<int>>)>;
  std::map<int, Announcement> announced; // by rank
  bool isComplete = false;
  ExchangePtr awaited; // the others' announcements; null: this rank hasn't asked, or all are there
  std::deque<Then> waiting;
};

/// Ranks in the order of their places.
std::vector<int> membersOf(const Group &group) {
  std::vector<std::pair<int32_t, int>> order;
  order.reserve(group.announced.size());
  for (auto [rank, announcement] : group.announced)
    order.emplace_back(announcement.place, rank);
  std::ranges::sort(order);
  std::vector<int> members;
  members.reserve(order.size());
  for (auto [place, rank] : order)
    members.push_back(rank);
  return members;
}

std::vector<int> ranksOf(const Group &group) {
  std::vector<int> ranks;
  ranks.reserve(group.announced.size());
  for (auto [rank, announcement] : group.announced)
    ranks.push_back(rank);
  return ranks;
}

/// Why ranks that use one key are no group; nothing where more may come, or all are there.
std::optional<Error> contradictionIn(const Group &group, int key) {
  auto [first, said] = *group.announced.begin();
  for (auto [rank, announcement] : group.announced)
    if (announcement.size != said.size)
      return invalidArgument("group ", key, " is of ", said.size, " ranks on rank ", first,
                             ", but of ", announcement.size, " on rank ", rank,
                             "; give it the same size on all of its ranks");
  if (group.announced.size() > static_cast<size_t>(said.size))
    return invalidArgument("group ", key, " is of ", said.size, " ranks, but ",
                           rankList(ranksOf(group)), " use it; give each group a key of its own");
  return std::nullopt;
}

std::string whatOf(const Collective &call) {
  return str(kindNames[call.kind], call.name.empty() ? "" : str(" '", call.name, "'"), " (group ",
             call.groupKey, ", instance ",
             call.instanceName.empty() ? std::to_string(call.instance)
                                       : str("'", call.instanceName, "'"),
             ")");
}

/// A list that ranks compare, as they send it: its digest, and the list where the others don't know
/// it yet.
struct SentList {
  uint64_t digest = 0;
  std::string text;

  Tensor toTensor() const {
    std::string bytes(reinterpret_cast<const char *>(&digest), sizeof(digest));
    return treadle::toTensor(bytes + text);
  }
  static SentList of(const Tensor &value) {
    SentList list{0, toText(value)};
    std::memcpy(&list.digest, list.text.data(), sizeof(list.digest));
    list.text.erase(0, sizeof(list.digest));
    return list;
  }
};

/// What a rank says of the order in which it waits, to each other rank once.
struct SaidOrder {
  std::string text; // empty: nothing
  std::set<int> told;
};

/// What comes of agreeing in several groups: the first error, when all have ended.
class Outcome {
public:
  explicit Outcome(size_t awaited) : awaited(awaited) {}

  void add(const Expected<void> &result) {
    std::lock_guard lock(mutex);
    if (!result && found)
      found = result;
    if (--awaited == 0 || !result)
      changed.notify_all();
  }
  Expected<void> wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return awaited == 0 || !found; });
    return found;
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  size_t awaited;
  Expected<void> found = {};
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
  void abort(const Error &error);
  void withGroup(const Collective &call, const std::string &what, Group::Then then);
  bool isHopeless(const Group &group) const;
  void endHopelessGroups();
  void failGroup(int key, const Error &error);
  void completeGroup(int key, std::unique_lock<std::mutex> &lock);
  void announced(int key, int from, Announcement announcement);
  void left(int rank);
  std::optional<Error> unreachable(const Exchange &exchange) const;
  void agree(const GroupAgenda &agenda, const std::string &turn, std::vector<int> members,
             std::string_view what, Communicator::Patience patience,
             std::function<void(Expected<void>)> then);
  std::string ledgerOf(const GroupAgenda &agenda) const;
  std::vector<std::string> takeTurns(const std::vector<GroupAgenda> &agendas);
  void tellOrder(SaidOrder &said, const std::vector<int> &ranks);
  void learnOrder(int from, std::string_view text);
  Expected<void> compare(const std::string &ledger, const std::vector<int> &members,
                         const std::vector<Tensor> &lists, const std::string &what);
  void await(const ExchangePtr &exchange);
  void forget(const ExchangePtr &exchange);
  Clock::time_point after(double seconds) const {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(std::min(seconds, forever)));
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
  std::set<int> gone; // ranks that have left
  std::map<std::pair<std::string, int>, std::map<uint64_t, std::string>> knownLists; // of a ledger
  WaitGraph waits;
  std::optional<Error> failure;
  bool hasAborted = false;
  bool hasLeft = false;
  bool isClosed = false;
  std::thread watcher;
};

Communicator::Communicator(std::unique_ptr<Transport> transport, double timeout)
    : impl(std::make_unique<Impl>(std::move(transport), timeout)) {
  impl->listen();
}

Communicator::~Communicator() {
  leave();
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
double Communicator::timeout() const { return impl->timeout; }
int Communicator::size() const { return impl->transport ? impl->transport->size() : 1; }

void Communicator::Impl::listen() {
  if (transport)
    transport->listen([this](Message message) { take(std::move(message)); });
}

// --- messages ----------------------------------------------------------------------------------

void Communicator::Impl::take(Message message) {
  if (message.key == abortKey)
    return failAll(aborted("rank ", message.from, " failed: ", toText(message.value)));
  if (message.key == leaveKey)
    return left(message.from);
  if (message.key == orderKey)
    return learnOrder(message.from, toText(message.value));
  if (message.key == circleKey)
    return failAll(failedPrecondition(toText(message.value)));
  if (message.key.starts_with(groupPrefix)) {
    auto numbers = message.value.values<int32_t>();
    return announced(std::stoi(message.key.substr(groupPrefix.size())), message.from,
                     {numbers[0], numbers[1]});
  }
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
    if (!failed)
      failed = unreachable(*exchange);
    if (!failed && !exchange->missing.empty())
      return await(exchange);
    if (failed)
      forget(exchange);
  }
  if (failed)
    exchange->then(Unexpected(*failed));
  else
    exchange->then(std::move(exchange->values));
}

/// With the lock: from now on the exchange can end, by what comes or by its deadline.
void Communicator::Impl::await(const ExchangePtr &exchange) {
  awaited.insert(exchange);
  if (!watcher.joinable())
    watcher = std::thread([this] { watch(); });
  changed.notify_all();
}

/// With the lock: nothing that comes is for this exchange any more.
void Communicator::Impl::forget(const ExchangePtr &exchange) {
  awaited.erase(exchange);
  for (auto it = expected.begin(); it != expected.end();) {
    std::erase_if(it->second, [&](const auto &entry) { return entry.first == exchange; });
    it = it->second.empty() ? expected.erase(it) : std::next(it);
  }
}

/// With the lock: why what the exchange waits for will never come.
std::optional<Error> Communicator::Impl::unreachable(const Exchange &exchange) const {
  for (int rank : exchange.missing)
    if (gone.contains(rank))
      return unavailable(exchange.what, ": rank ", rank,
                         " has ended and will not come; let all ranks run the same");
  bool isAnyoneLeft = gone.size() + 1 < static_cast<size_t>(transport ? transport->size() : 1);
  bool waitsForAny = std::ranges::find(exchange.missing, anyRank) != exchange.missing.end();
  if (!isAnyoneLeft && waitsForAny && exchange.come.empty())
    return unavailable(exchange.what, ": all other ranks have ended");
  return std::nullopt;
}

void Communicator::Impl::left(int rank) {
  std::vector<std::pair<ExchangePtr, Error>> ended;
  {
    std::lock_guard lock(mutex);
    gone.insert(rank);
    for (const ExchangePtr &exchange : awaited)
      if (std::optional<Error> error = unreachable(*exchange))
        ended.emplace_back(exchange, std::move(*error));
    for (const auto &[exchange, error] : ended)
      forget(exchange);
  }
  for (auto &[exchange, error] : ended)
    exchange->then(Unexpected(std::move(error)));
  endHopelessGroups();
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
    forget(exchange);
    std::vector<int> missing = exchange->missing;
    std::ranges::sort(missing);
    std::erase(missing, anyRank);
    Error error =
        deadlineExceeded(exchange->what, ": nothing came from ",
                         !missing.empty()         ? rankList(missing)
                         : exchange->come.empty() ? std::string("any rank")
                                                  : "the others",
                         " within ", exchange->timeout, " s",
                         exchange->come.empty() ? std::string() : str(" (", exchange->come, ")"),
                         "; it has ended, waits for something else, or is slow");
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
  exchange->what = whatOf(call);
  exchange->values.resize(size);
  exchange->timeout = call.timeout > 0 ? call.timeout : timeout;
  exchange->deadline = after(exchange->timeout);
  exchange->then = std::move(then);
  return exchange;
}

// --- groups ------------------------------------------------------------------------------------

// A group of some ranks is those that said so: each tells all when it first uses the group's key.
void Communicator::Impl::withGroup(const Collective &call, const std::string &what,
                                   Group::Then then) {
  int size = transport->size(), key = call.groupKey;
  if (call.groupSize == size && call.place < 0) {
    std::vector<int> all(static_cast<size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    return then(std::move(all));
  }
  Announcement announcement{call.groupSize, call.place};
  bool announces = false;
  {
    std::unique_lock lock(mutex);
    if (failure) {
      Error failed = *failure;
      lock.unlock();
      return then(Unexpected(std::move(failed)));
    }
    Group &group = groups[key];
    announces = group.announced.try_emplace(transport->rank(), announcement).second;
    group.waiting.push_back(std::move(then));
    if (!group.awaited && !group.isComplete) {
      group.awaited = makeExchange(call, 0, [this, key](const auto &result) {
        if (!result)
          failGroup(key, result.error());
      });
      group.awaited->what = str(what, ": ", call.groupSize, " ranks make this group");
      group.awaited->missing.push_back(anyRank);
      await(group.awaited);
    }
  }
  if (announces)
    for (int to = 0; to < size; ++to)
      if (to != transport->rank())
        transport->send(to, str(groupPrefix, key),
                        Tensor::vector<int32_t>(DType::Int32,
                                                std::array{announcement.size, announcement.place}));
  {
    std::unique_lock lock(mutex);
    completeGroup(key, lock);
  }
  endHopelessGroups();
}

/// Whether ranks that have left are missing from the group.
bool Communicator::Impl::isHopeless(const Group &group) const {
  int possible = 0;
  for (int rank = 0; rank < transport->size(); ++rank)
    possible += group.announced.contains(rank) || !gone.contains(rank);
  return group.awaited && possible < group.announced.begin()->second.size;
}

void Communicator::Impl::endHopelessGroups() {
  std::vector<std::pair<int, Error>> ended;
  {
    std::lock_guard lock(mutex);
    for (const auto &[key, group] : groups)
      if (isHopeless(group)) {
        ended.emplace_back(key, unavailable(group.awaited->what, ": ", group.awaited->come,
                                            ", and ", rankList({gone.begin(), gone.end()}),
                                            gone.size() == 1 ? " has ended" : " have ended"));
        forget(group.awaited);
      }
  }
  for (auto &[key, error] : ended)
    failGroup(key, error);
}

void Communicator::Impl::failGroup(int key, const Error &error) {
  std::deque<Group::Then> waiting;
  {
    std::lock_guard lock(mutex);
    waiting.swap(groups[key].waiting);
    groups[key].awaited.reset();
  }
  for (auto &next : waiting)
    next(Unexpected(error));
}

/// Goes on with what waits for the group, if all of its ranks have come or never will.
void Communicator::Impl::completeGroup(int key, std::unique_lock<std::mutex> &lock) {
  Group &group = groups[key];
  std::optional<Error> error = contradictionIn(group, key);
  if (!error &&
      group.announced.size() < static_cast<size_t>(group.announced.begin()->second.size)) {
    if (group.awaited)
      group.awaited->come = str("so far ", rankList(ranksOf(group)), " came");
    return;
  }
  group.isComplete = !error;
  if (group.awaited)
    forget(group.awaited);
  group.awaited.reset();
  std::deque<Group::Then> waiting;
  waiting.swap(group.waiting);
  std::vector<int> members = membersOf(group);
  lock.unlock();
  for (auto &next : waiting)
    next(error ? Expected<std::vector<int>>(Unexpected(*error)) : members);
}

void Communicator::Impl::announced(int key, int from, Announcement announcement) {
  std::unique_lock lock(mutex);
  Group &group = groups[key];
  group.announced.try_emplace(from, announcement);
  if (!group.waiting.empty())
    return completeGroup(key, lock);
  // Ranks may have come together differently on each: nobody's group is right then.
  std::optional<Error> error = contradictionIn(group, key);
  bool isMember = group.announced.contains(transport->rank());
  lock.unlock();
  if (error && isMember)
    abort(*error);
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

Expected<Tensor> zerosLike(const Tensor &value) {
  Expected<Tensor> zeros = Tensor::make(value.dtype(), value.dims());
  if (zeros)
    std::memset(zeros->raw(), 0, zeros->bytes());
  return zeros;
}

/// Each rank sends once at most, and gets one value at most.
std::optional<Error> errorIn(const Collective &call) {
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
  void permute();
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

// Who is in no pair sends nothing, or waits for nothing and gets zeros.
void Communicator::Impl::Running::permute() {
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
  case Collective::Permute:
    return permute();
  }
}

/// What a group of one rank gives.
static Expected<Tensor> alone(const Collective &call) {
  if (call.kind == Collective::BroadcastReceive)
    return Unexpected(invalidArgument("broadcast '", call.name,
                                      "': it receives in a group of 1, in which nobody sends"));
  if (call.kind == Collective::Permute && call.pairs.empty())
    return zerosLike(call.input);
  if (call.kind == Collective::AllGather)
    return joined({call.input});
  return call.input;
}

static std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

/// Compares every rank's lines with the first rank's.
static Expected<void> firstDifference(const std::vector<std::string> &texts,
                                      const std::vector<int> &ranks, std::string_view what) {
  std::vector<std::string> first = linesOf(texts[0]);
  auto compared = [](const std::string &text) { return text.substr(0, text.find('\t')); };
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    std::vector<std::string> lines = linesOf(texts[rank]);
    size_t i = 0;
    while (i < first.size() && i < lines.size() && compared(first[i]) == compared(lines[i]))
      ++i;
    auto line = [&](const std::vector<std::string> &of) {
      std::string text = i < of.size() ? of[i] : "nothing more";
      std::ranges::replace(text, '\t', ' ');
      return text;
    };
    if (i < first.size() || i < lines.size())
      return Unexpected(failedPrecondition("ranks don't agree on ", what, ": number ", i + 1,
                                           " is on rank ", ranks[0], " ", line(first),
                                           ", but on rank ", ranks[rank], " ", line(lines),
                                           "; let all ranks run the same, in the same order"));
  }
  return {};
}

static std::vector<int> chosen(const std::vector<int> &members, const std::vector<int> &places) {
  std::vector<int> ranks;
  ranks.reserve(places.size());
  for (int place : places)
    ranks.push_back(members[static_cast<size_t>(place)]);
  return ranks;
}

void Communicator::start(const Collective &call, Done done) {
  if (call.groupSize < 1 || call.groupSize > size())
    return done(Unexpected(invalidArgument(
        kindNames[call.kind], " '", call.name, "': its group is of ", call.groupSize,
        call.groupSize == 1 ? " rank" : " ranks", ", but there ", size() == 1 ? "is " : "are ",
        size(),
        call.groupSize > 1 ? str("; start as many processes: mpirun -n ", call.groupSize)
                           : std::string())));
  if (std::optional<Error> error = errorIn(call))
    return done(Unexpected(std::move(*error)));
  if (call.groupSize == 1 || call.places.size() == 1)
    return done(alone(call));
  // What one message of MPI can hold.
  if (call.input && call.input.bytes() > size_t{1} << 30)
    return done(
        Unexpected(unimplemented(kindNames[call.kind], " '", call.name, "' of ", call.input.bytes(),
                                 " bytes; values of up to 1 GiB can be sent")));
  std::string key = str("c/", call.groupKey, "/", call.instance, "/", call.instanceName);
  if (!call.places.empty())
    key += str("@", call.places.front()); // lists of places share none
  {
    // The same name again is the next of its kind, on all ranks.
    std::lock_guard lock(impl->mutex);
    int64_t use = impl->uses[key]++;
    key += str("/", use);
  }
  impl->withGroup(
      call, whatOf(call),
      [this, call, key, done = std::move(done)](Expected<std::vector<int>> members) {
        if (!members)
          return done(Unexpected(std::move(members.error())));
        if (!call.places.empty())
          *members = chosen(*members, call.places);
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
  if (size() > 1)
    impl->abort(error);
}

void Communicator::Impl::abort(const Error &error) {
  {
    std::lock_guard lock(mutex);
    if (std::exchange(hasAborted, true) || failure)
      return;
  }
  for (int to = 0; to < transport->size(); ++to)
    if (to != transport->rank())
      transport->send(to, std::string(abortKey), toTensor(error.message));
  failAll(error);
}

void Communicator::leave() {
  {
    std::lock_guard lock(impl->mutex);
    if (size() == 1 || std::exchange(impl->hasLeft, true))
      return;
  }
  for (int to = 0; to < size(); ++to)
    if (to != rank())
      impl->transport->send(to, std::string(leaveKey), toTensor(""));
}

// --- agreement -----------------------------------------------------------------------------------

std::string Communicator::Impl::ledgerOf(const GroupAgenda &agenda) const {
  return agenda.groupSize >= transport->size() ? "a/" : str("a/", agenda.groupKey, "/");
}

/// Turns are counted for each group by itself: what ranks do in other groups meanwhile is their own
/// affair.
std::vector<std::string> Communicator::Impl::takeTurns(const std::vector<GroupAgenda> &agendas) {
  std::vector<std::string> turns;
  std::lock_guard lock(mutex);
  for (const GroupAgenda &agenda : agendas) {
    std::string ledger = ledgerOf(agenda);
    turns.push_back(str(ledger, uses[ledger]++));
  }
  return turns;
}

void Communicator::Impl::tellOrder(SaidOrder &said, const std::vector<int> &ranks) {
  if (said.text.empty())
    return;
  for (int to : ranks) {
    bool isNew = false;
    {
      std::lock_guard lock(mutex);
      isNew = to != transport->rank() && said.told.insert(to).second;
    }
    if (isNew)
      transport->send(to, std::string(orderKey), toTensor(said.text));
  }
}

/// Whoever first sees a circle ends all ranks, with the same words.
void Communicator::Impl::learnOrder(int from, std::string_view text) {
  std::optional<std::string> circle;
  {
    std::lock_guard lock(mutex);
    circle = waits.add(from, text);
    if (!circle || failure)
      return;
  }
  std::string message = str("ranks would wait for each other in a circle: ", *circle,
                            "; give collectives the same order on all ranks");
  for (int to = 0; to < transport->size(); ++to)
    if (to != transport->rank())
      transport->send(to, std::string(circleKey), toTensor(message));
  failAll(failedPrecondition(message));
}

// A list goes as its digest, and the first time as a whole.
void Communicator::Impl::agree(const GroupAgenda &agenda, const std::string &turn,
                               std::vector<int> members, std::string_view what, Patience patience,
                               std::function<void(Expected<void>)> then) {
  bool isWorld = members.size() == static_cast<size_t>(transport->size());
  std::string ledger = ledgerOf(agenda);
  std::string subject =
      isWorld ? std::string(what)
              : str(what, " of group ", agenda.groupKey, " (", rankList(members), ")");
  std::string text;
  for (const std::string &line : agenda.lines)
    text += line + "\n";
  uint64_t digest = digestOf(text);
  {
    std::lock_guard lock(mutex);
    if (!knownLists[{ledger, transport->rank()}].try_emplace(digest, text).second)
      text.clear();
  }
  Tensor list = SentList{digest, text}.toTensor();
  Collective call;
  call.timeout = patience == Patience::Waits ? agenda.timeout : forever;
  auto exchange =
      makeExchange(call, members.size(), [this, ledger, members, subject, then](auto lists) {
        then(lists ? compare(ledger, members, *lists, subject)
                   : Expected<void>(Unexpected(std::move(lists.error()))));
      });
  exchange->what = str("agreeing on ", subject);
  std::vector<Source> sources;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i] == transport->rank()) {
      exchange->values[i] = list;
      continue;
    }
    transport->send(members[i], turn, list);
    sources.push_back({members[i], turn, i});
  }
  expect(exchange, sources);
}

Expected<void> Communicator::Impl::compare(const std::string &ledger,
                                           const std::vector<int> &members,
                                           const std::vector<Tensor> &lists,
                                           const std::string &what) {
  std::vector<std::string> texts;
  bool areEqual = true;
  std::lock_guard lock(mutex);
  for (size_t i = 0; i < lists.size(); ++i) {
    SentList list = SentList::of(lists[i]);
    std::string &known = knownLists[{ledger, members[i]}][list.digest];
    if (!list.text.empty())
      known = list.text;
    texts.push_back(known);
    areEqual &= list.digest == SentList::of(lists[0]).digest;
  }
  return areEqual ? Expected<void>() : firstDifference(texts, members, what);
}

Expected<void> Communicator::agree(const std::vector<GroupAgenda> &agendas, std::string_view what,
                                   Patience patience, const CollectiveOrder &order) {
  if (size() == 1)
    return {};
  std::vector<std::string> turns = impl->takeTurns(agendas);
  auto said = std::make_shared<SaidOrder>();
  if (patience == Patience::Waits && !order.edges.empty()) {
    said->text = textOf(order, agendas, turns);
    impl->learnOrder(rank(), said->text);
    impl->tellOrder(*said, {0}); // who hears of all
  }
  auto outcome = std::make_shared<Outcome>(agendas.size());
  for (size_t i = 0; i < agendas.size(); ++i) {
    const GroupAgenda &agenda = agendas[i];
    auto then = [this, outcome, patience](const Expected<void> &result) {
      // Nobody waits for it: what differs ends the run by another way.
      if (!result && patience == Patience::GoesOn &&
          result.error().code == Code::FailedPrecondition)
        abort(result.error());
      outcome->add(result);
    };
    Collective call;
    call.groupSize = std::min(agenda.groupSize, size());
    call.groupKey = agenda.groupKey;
    call.timeout = agenda.timeout;
    call.place = agenda.place;
    std::string subject = str("agreeing on ", what, " of group ", agenda.groupKey);
    impl->withGroup(call, subject,
                    [this, agenda, turn = turns[i], said, what = std::string(what), patience,
                     then](Expected<std::vector<int>> members) {
                      if (!members)
                        return then(Unexpected(std::move(members.error())));
                      // Before the list: who has all lists then knows their orders.
                      impl->tellOrder(*said, *members);
                      impl->agree(agenda, turn, std::move(*members), what, patience, then);
                    });
  }
  return patience == Patience::Waits ? outcome->wait() : Expected<void>();
}

} // namespace treadle
