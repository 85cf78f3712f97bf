// Records the exchanges of a session with other ranks, for traces.
#pragma once

#include "treadle/runtime/ResourceManager.h"

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace treadle {

/// An exchange, from its start on this rank to the arrival of its result.
struct LoggedExchange {
  using Clock = std::chrono::steady_clock;
  std::string name, op; // of the node
  Clock::time_point begin, end;
};

/// The exchanges of a session's traced runs, as a resource of the session. Thread-safe.
class ExchangeLog final : public Resource {
public:
  static constexpr std::string_view kindName = "exchange log";
  std::string_view kind() const override { return kindName; }

  /// The limit is the same as for the slices of a trace.
  static constexpr size_t maxExchanges = 1'000'000;

  void add(LoggedExchange exchange) {
    std::lock_guard lock(mutex);
    if (list.size() < maxExchanges)
      list.push_back(std::move(exchange));
  }
  std::vector<LoggedExchange> exchanges() const {
    std::lock_guard lock(mutex);
    return list;
  }

  /// Returns the log of a session, created at the first call.
  static Ref<ExchangeLog> of(ResourceManager &resources) {
    return resources.lookupOrCreate<ExchangeLog>("", "", [] { return makeRef<ExchangeLog>(); });
  }

private:
  mutable std::mutex mutex;
  std::vector<LoggedExchange> list;
};

} // namespace treadle
