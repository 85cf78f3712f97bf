// Message handling: arrived values, waiting exchanges, and timeouts.
#include "treadle/collective/CommunicatorImpl.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace treadle {

using namespace collective;

/// Returns the key of the group that a message announces; nullopt if the message is invalid.
static std::optional<int> groupKeyOf(const Message &message) {
  int key = 0;
  const char *end = message.key.data() + message.key.size();
  auto [at, error] = std::from_chars(message.key.data() + groupPrefix.size(), end, key);
  bool isWhole = error == std::errc() && at == end;
  bool isPair = message.value.dtype() == DType::Int32 && message.value.count() == 2;
  return isWhole && isPair ? std::optional(key) : std::nullopt;
}

void Communicator::Impl::take(Message message) {
  if (message.key == abortKey)
    return failAll(aborted("rank ", message.from, " failed: ", toText(message.value)));
  if (message.key == leaveKey)
    return onRankLeft(message.from);
  if (message.key == orderKey)
    return receiveOrder(message.from, toText(message.value));
  if (message.key == cycleKey)
    return failAll(failedPrecondition(toText(message.value)));
  if (message.key.starts_with(groupPrefix)) {
    std::optional<int> key = groupKeyOf(message);
    auto numbers = message.value.values<int32_t>();
    return key ? announced(*key, message.from, {numbers[0], numbers[1]})
               : failAll(unknownMessage(
                     message.from, str("'", message.key, "' with ", tensorTypeText(message.value)),
                     str("'", groupPrefix, "KEY' with int32[2]")));
  }
  if (message.key.starts_with(depositPrefix) || message.key.starts_with(collectPrefix))
    return serveHostRequest(std::move(message));
  ExchangePtr complete;
  {
    std::lock_guard lock(mutex);
    auto waiting = expected.find({message.from, message.key});
    if (waiting == expected.end())
      waiting = expected.find({anyRank, message.key});
    if (waiting == expected.end()) {
      // Messages that any rank may send are matched by key alone.
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

/// Delivers a message to a rank, which may be this one.
void Communicator::Impl::deliverTo(int to, std::string key, Tensor value) {
  if (to == (transport ? transport->rank() : 0))
    return take({to, std::move(key), std::move(value)});
  transport->send(to, std::move(key), std::move(value));
}

/// On rank 0: handles a deposited value, or a request to collect one.
void Communicator::Impl::serveHostRequest(Message message) {
  constexpr size_t maxDeposited = 4096;
  std::string key = message.key.substr(depositPrefix.size());
  std::unique_lock lock(mutex);
  DepositQueue &box = boxes[key];
  if (message.key.starts_with(depositPrefix))
    box.values.push_back(std::move(message.value));
  else
    box.collectors.push_back(message.from);
  if (box.values.size() > maxDeposited) {
    lock.unlock();
    Error error = resourceExhausted("no rank collects what is sent over ", key, ": ", maxDeposited,
                                    " values are waiting");
    return transport ? abort(error) : failAll(error);
  }
  if (box.values.empty() || box.collectors.empty())
    return;
  pendingDeliveries.push_back(
      {box.collectors.front(), {0, "p/" + key, std::move(box.values.front())}});
  box.values.pop_front();
  box.collectors.pop_front();
  // The thread that is delivering takes over, which preserves the order per target.
  if (std::exchange(isDelivering, true))
    return;
  while (!pendingDeliveries.empty()) {
    auto [to, delivery] = std::move(pendingDeliveries.front());
    pendingDeliveries.pop_front();
    lock.unlock();
    deliverTo(to, std::move(delivery.key), std::move(delivery.value));
    lock.lock();
  }
  isDelivering = false;
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
    if (!failed && !exchange->missing.empty()) {
      failed = startWatcher();
      if (!failed)
        return await(exchange);
    }
    if (failed)
      forget(exchange);
  }
  if (failed)
    exchange->then(Unexpected(*failed));
  else
    exchange->then(std::move(exchange->values));
}

/// Requires the lock. Returns an error if the deadline thread can't be started.
std::optional<Error> Communicator::Impl::startWatcher() {
  try {
    if (!watcher.joinable())
      watcher = std::thread([this] { watch(); });
    return std::nullopt;
  } catch (const std::system_error &error) {
    return resourceExhausted("can't start a thread for exchanges: ", error.what());
  }
}

/// Requires the lock and the watcher. From now on the exchange can end, by arrival of its values or
/// by its deadline.
void Communicator::Impl::await(const ExchangePtr &exchange) {
  awaited.insert(exchange);
  changed.notify_all();
}

/// Requires the lock. Stops matching messages to the exchange.
void Communicator::Impl::forget(const ExchangePtr &exchange) {
  awaited.erase(exchange);
  for (auto it = expected.begin(); it != expected.end();) {
    std::erase_if(it->second, [&](const auto &entry) { return entry.first == exchange; });
    it = it->second.empty() ? expected.erase(it) : std::next(it);
  }
}

/// Requires the lock. Returns an error if the exchange can no longer complete.
std::optional<Error> Communicator::Impl::unreachable(const Exchange &exchange) const {
  if (exchange.isThroughHost)
    return std::nullopt;
  for (int rank : exchange.missing)
    if (departed.contains(rank))
      return unavailable(exchange.what, ": rank ", rank,
                         " has ended and can't take part; all ranks must run the same graph");
  bool hasOtherRanks = departed.size() + 1 < static_cast<size_t>(transport ? transport->size() : 1);
  bool receivesFromAnyRank = std::ranges::find(exchange.missing, anyRank) != exchange.missing.end();
  if (!hasOtherRanks && receivesFromAnyRank && exchange.arrivedText.empty())
    return unavailable(exchange.what, ": all other ranks have exited");
  return std::nullopt;
}

void Communicator::Impl::onRankLeft(int rank) {
  std::vector<std::pair<ExchangePtr, Error>> ended;
  {
    std::lock_guard lock(mutex);
    departed.insert(rank);
    changed.notify_all();
    for (const ExchangePtr &exchange : awaited)
      if (std::optional<Error> error = unreachable(*exchange))
        ended.emplace_back(exchange, std::move(*error));
    for (const auto &[exchange, error] : ended)
      forget(exchange);
  }
  for (auto &[exchange, error] : ended)
    exchange->then(Unexpected(std::move(error)));
  failGroupsWithLostMembers();
}

/// Ends exchanges whose deadline has passed.
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
    Error error = deadlineExceeded(
        exchange->what, ": nothing arrived from ",
        !missing.empty()                ? rankList(missing)
        : exchange->arrivedText.empty() ? std::string("any rank")
                                        : "the others",
        " within ", exchange->timeout, " s",
        exchange->arrivedText.empty() ? std::string() : str(" (", exchange->arrivedText, ")"),
        "; it has exited, waits for something else, or is slow");
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
    changed.notify_all();
    ended.swap(awaited);
    expected.clear();
  }
  for (const ExchangePtr &exchange : ended)
    exchange->then(Unexpected(error));
}

ExchangePtr Communicator::Impl::makeExchange(const Collective &call, size_t size,
                                             Exchange::Then then) const {
  auto exchange = std::make_shared<Exchange>();
  exchange->what = descriptionOf(call);
  exchange->values.resize(size);
  exchange->timeout = call.timeout > 0 ? call.timeout : timeout;
  exchange->deadline = after(exchange->timeout);
  exchange->then = std::move(then);
  return exchange;
}

} // namespace treadle
