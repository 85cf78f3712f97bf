// Internal to the folder: the state of a communicator, shared by messages, groups, collectives and
// agreement.
#pragma once

#include "treadle/collective/Communicator.h"
#include "treadle/collective/WaitGraph.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace treadle::collective {

using Clock = std::chrono::steady_clock;

inline constexpr int anyRank = -1;
inline constexpr std::string_view abortKey = "!";
inline constexpr std::string_view leaveKey = ".";
inline constexpr std::string_view groupPrefix = "g/";
inline constexpr std::string_view orderKey = ">";
inline constexpr std::string_view cycleKey = "o";
inline constexpr std::string_view depositPrefix = "h/";
inline constexpr std::string_view collectPrefix = "t/";
inline constexpr double forever = 1e8; // seconds: years, and still representable by clocks
// Values below this size are sent to all ranks at once: two messages would take longer.
inline constexpr size_t smallBytes = 8192;

/// The error of a message that this version of treadle doesn't send.
inline Error unknownMessage(int from, std::string_view found, std::string_view expected) {
  return dataLoss("rank ", from, " sent ", found, ", expected ", expected,
                  "; run the same version of treadle on all ranks");
}

inline Tensor toTensor(std::string_view text) {
  return Tensor::vector<uint8_t>(DType::UInt8,
                                 {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

inline std::string toText(const Tensor &value) {
  return {static_cast<const char *>(value.raw()), value.bytes()};
}

/// Formats ranks like `ranks 0, 1 and 2`.
std::string rankList(const std::vector<int> &ranks);

inline constexpr std::string_view kindNames[] = {"all-reduce", "all-gather", "reduce-scatter",
                                                 "broadcast",  "broadcast",  "all-to-all",
                                                 "permutation"};

/// Names the collective in messages.
std::string descriptionOf(const Collective &call);

/// An exchange: a value that requires the values of several other ranks.
struct Exchange {
  using Then = std::function<void(Expected<std::vector<Tensor>>)>;
  std::string what;
  std::vector<Tensor> values; // by position
  std::vector<int> missing;   // ranks whose values are missing
  std::string arrivedText;    // ranks that have arrived, if the missing ones aren't known
  Clock::time_point deadline;
  double timeout = 0;
  Then then;
  bool isThroughHost = false; // the value comes through rank 0, even if the sender has departed
};
using ExchangePtr = std::shared_ptr<Exchange>;

/// The source of a value of an exchange, and its position.
struct Source {
  int from;
  std::string key;
  size_t place;
};

/// The announcement of a rank that uses a group's key for the first time.
struct Announcement {
  int32_t size;  // number of ranks in the group
  int32_t place; // of the announcing rank; -1: in order of rank numbers
};

struct Group {
  using Then = std::function<void(Expected<std::vector<int>>)>;
  std::map<int, Announcement> announced; // by rank
  bool isComplete = false;
  ExchangePtr awaited; // pending announcements; null: not requested, or complete
  std::deque<Then> waiting;
};

/// The values deposited under a key, and the ranks waiting for them. One of the two is empty.
struct DepositQueue {
  std::deque<Tensor> values;
  std::deque<int> collectors; // waiting ranks
};

/// The wait order that a rank sends to each other rank once.
struct OrderMessage {
  std::string text; // empty: none
  std::set<int> notified;
};

/// Returns the result of a collective in a group of one rank.
Expected<Tensor> alone(const Collective &call);

/// Returns InvalidArgument unless each rank sends and receives at most one value.
std::optional<Error> validationError(const Collective &call);

} // namespace treadle::collective

namespace treadle {

struct Communicator::Impl {
  Impl(std::unique_ptr<Transport> t, double timeout) : transport(std::move(t)), timeout(timeout) {}

  struct ActiveCollective;

  void listen();
  /// Starts this rank's part of a collective among these members.
  void run(const Collective &call, std::vector<int> members, std::string key, Done done);
  void take(Message message);
  void deliverTo(int to, std::string key, Tensor value);
  collective::ExchangePtr makeReception(std::string what, double timeout, Done done) const;
  void serveHostRequest(Message message);
  void expect(const collective::ExchangePtr &exchange,
              const std::vector<collective::Source> &sources);
  void watch();
  void failAll(const Error &error);
  void abort(const Error &error);
  void whenGroupKnown(const Collective &call, const std::string &what,
                      collective::Group::Then then);
  bool hasLostMembers(const collective::Group &group) const;
  void failGroupsWithLostMembers();
  void failGroup(int key, const Error &error);
  void completeGroup(int key, std::unique_lock<std::mutex> &lock);
  void announced(int key, int from, collective::Announcement announcement);
  void onRankLeft(int rank);
  std::optional<Error> unreachable(const collective::Exchange &exchange) const;
  void agree(const GroupAgenda &agenda, const std::string &turn, std::vector<int> members,
             std::string_view what, Communicator::Patience patience,
             std::function<void(Expected<void>)> then);
  std::string ledgerOf(const GroupAgenda &agenda) const;
  std::vector<std::string> takeTurns(const std::vector<GroupAgenda> &agendas);
  void sendOrder(collective::OrderMessage &said, const std::vector<int> &ranks);
  void receiveOrder(int from, std::string_view text);
  Expected<void> compare(const std::string &ledger, const std::vector<int> &members,
                         const std::vector<Tensor> &lists, const std::string &what);
  std::optional<Error> startWatcher();
  void await(const collective::ExchangePtr &exchange);
  void forget(const collective::ExchangePtr &exchange);
  collective::Clock::time_point after(double seconds) const {
    return collective::Clock::now() +
           std::chrono::duration_cast<collective::Clock::duration>(
               std::chrono::duration<double>(std::min(seconds, collective::forever)));
  }
  collective::ExchangePtr makeExchange(const Collective &call, size_t size,
                                       collective::Exchange::Then then) const;

  const std::unique_ptr<Transport> transport;
  const double timeout;

  std::mutex mutex; // guards the following members
  std::condition_variable changed;
  std::map<std::pair<int, std::string>, std::deque<Tensor>> arrived;
  std::map<std::pair<int, std::string>, std::deque<std::pair<collective::ExchangePtr, size_t>>>
      expected;
  std::set<collective::ExchangePtr> awaited;
  std::map<int, collective::Group> groups;
  std::map<std::string, int64_t> uses;
  std::set<int> departed; // ranks that have departed
  // lists by digest, for each ledger
  std::map<std::pair<std::string, int>, std::map<uint64_t, std::string>> knownLists;
  // on rank 0 only
  std::map<std::string, collective::DepositQueue> boxes;
  std::deque<std::pair<int, Message>> pendingDeliveries; // from boxes, with their target ranks
  bool isDelivering = false;
  WaitGraph waits;
  std::optional<Error> failure;
  bool hasAborted = false;
  bool hasLeft = false;
  bool isClosed = false;
  std::thread watcher;
};

} // namespace treadle
