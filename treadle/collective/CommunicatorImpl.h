// Internal to the folder: a communicator's state, and what its parts (messages, groups,
// collectives, agreement) share.
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
inline constexpr std::string_view circleKey = "o";
inline constexpr std::string_view depositPrefix = "h/";
inline constexpr std::string_view collectPrefix = "t/";
inline constexpr double forever = 1e8; // seconds: years, which clocks still can count
// Smaller values go to all at once: two messages take longer than the bytes.
inline constexpr size_t smallBytes = 8192;

/// What comes from a rank isn't what this version of treadle sends.
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

/// `ranks 0, 1 and 2`.
std::string rankList(const std::vector<int> &ranks);

inline constexpr std::string_view kindNames[] = {"all-reduce", "all-gather", "reduce-scatter",
                                                 "broadcast",  "broadcast",  "all-to-all",
                                                 "permutation"};

/// The collective, as messages call it.
std::string whatOf(const Collective &call);

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
  bool isByHost = false; // what comes is on its way through rank 0, whoever has left
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

/// What the host holds under a key. One of the two is empty.
struct Box {
  std::deque<Tensor> values;
  std::deque<int> collectors; // ranks that wait
};

/// What a rank says of the order in which it waits, to each other rank once.
struct SaidOrder {
  std::string text; // empty: nothing
  std::set<int> told;
};

/// What a group of one rank gives.
Expected<Tensor> alone(const Collective &call);

/// InvalidArgument unless each rank sends once at most, and gets one value at most.
std::optional<Error> errorIn(const Collective &call);

} // namespace treadle::collective

namespace treadle {

struct Communicator::Impl {
  Impl(std::unique_ptr<Transport> t, double timeout) : transport(std::move(t)), timeout(timeout) {}

  struct Running;

  void listen();
  /// Starts this rank's part among these members.
  void run(const Collective &call, std::vector<int> members, std::string key, Done done);
  void take(Message message);
  void hand(int to, std::string key, Tensor value);
  collective::ExchangePtr makeReception(std::string what, double timeout, Done done) const;
  void serve(Message message);
  void expect(const collective::ExchangePtr &exchange,
              const std::vector<collective::Source> &sources);
  void watch();
  void failAll(const Error &error);
  void abort(const Error &error);
  void withGroup(const Collective &call, const std::string &what, collective::Group::Then then);
  bool isHopeless(const collective::Group &group) const;
  void endHopelessGroups();
  void failGroup(int key, const Error &error);
  void completeGroup(int key, std::unique_lock<std::mutex> &lock);
  void announced(int key, int from, collective::Announcement announcement);
  void left(int rank);
  std::optional<Error> unreachable(const collective::Exchange &exchange) const;
  void agree(const GroupAgenda &agenda, const std::string &turn, std::vector<int> members,
             std::string_view what, Communicator::Patience patience,
             std::function<void(Expected<void>)> then);
  std::string ledgerOf(const GroupAgenda &agenda) const;
  std::vector<std::string> takeTurns(const std::vector<GroupAgenda> &agendas);
  void tellOrder(collective::SaidOrder &said, const std::vector<int> &ranks);
  void learnOrder(int from, std::string_view text);
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

  std::mutex mutex; // guards what follows
  std::condition_variable changed;
  std::map<std::pair<int, std::string>, std::deque<Tensor>> arrived;
  std::map<std::pair<int, std::string>, std::deque<std::pair<collective::ExchangePtr, size_t>>>
      expected;
  std::set<collective::ExchangePtr> awaited;
  std::map<int, collective::Group> groups;
  std::map<std::string, int64_t> uses;
  std::set<int> gone; // ranks that have left
  std::map<std::pair<std::string, int>, std::map<uint64_t, std::string>> knownLists; // of a ledger
  std::map<std::string, collective::Box> boxes;                                      // on rank 0
  std::deque<std::pair<int, Message>> beingDelivered; // from boxes, by whom they go to
  bool isDelivering = false;
  WaitGraph waits;
  std::optional<Error> failure;
  bool hasAborted = false;
  bool hasLeft = false;
  bool isClosed = false;
  std::thread watcher;
};

} // namespace treadle
