// Collectives among the ranks of a distributed run.
//
// A collective takes one or two exchanges of messages, each between a rank and all others of its
// group. The gathering rank combines values in rank order, so that all ranks get the same bits, in
// every run. Nothing here blocks: arrived values are counted, and the last message of an exchange
// triggers the next step.
//
// All-reduce is a reduce-scatter of n parts followed by an all-gather, in which each rank sends and
// receives 2(n - 1)/n of the value (R. Thakur, R. Rabenseifner and W. Gropp, Optimization of
// Collective Communication Operations in MPICH, 2005). Small values are sent to all ranks at once.
#pragma once

#include "treadle/collective/Transport.h"
#include "treadle/runtime/ResourceManager.h"
#include "treadle/tensor/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace treadle {

/// The function that combines the values of several ranks.
enum class Reduction : uint8_t { Add, Mul, Min, Max };

/// A rank's participation in a collective.
struct Collective {
  enum Kind : uint8_t {
    AllReduce,     // the reduction of all values, which have equal shapes
    AllGather,     // all values concatenated along dimension 0, in which their sizes may differ
    ReduceScatter, // this rank's part of the reduction, split along dimension 0
    BroadcastSend, // the value of the sender
    BroadcastReceive,
    AllToAll, // every value is split along dimension 0; the parts for this rank, concatenated
    Permute,  // the value of this rank's source in `pairs`; zeros if it has none
  };
  Kind kind = AllReduce;
  Reduction reduction = Reduction::Add;
  bool isMean = false; // divide by the size of the group
  /// The number of participating ranks, and a key that identifies the group among its ranks. A
  /// group as large as the world is the world.
  int groupSize = 1;
  int groupKey = 0;
  /// Position of this rank in the group; -1: in order of rank numbers.
  int place = -1;
  /// Positions of the participating ranks in the group; empty: all. Includes this rank.
  std::vector<int> places;
  std::vector<std::pair<int, int>> pairs; // for Permute: source and target, as positions in the
                                          // group
  /// Distinguishes the collectives of a group, by number or name; repetitions are counted as well.
  int64_t instance = 0;
  std::string instanceName;
  Tensor input;       // empty for BroadcastReceive
  double timeout = 0; // in seconds; 0: that of the communicator
  std::string name;   // for error messages
};

/// The collectives of a rank's run in one group, as lines. The text of a line before a tab must be
/// the same on all ranks of the group; the rest is only shown in messages.
struct GroupAgenda {
  int groupSize = 1;
  int groupKey = 0;   // ignored for a group as large as the world
  int place = -1;     // as in Collective
  double timeout = 0; // in seconds; 0: that of the communicator
  std::vector<std::string> lines;
};

/// The dependencies of a rank's collectives. A point is a collective, identified by an agenda and a
/// line, which no rank of the group can leave before all have reached it, or (agenda -1) the end of
/// several other points. An edge leads from a point that must end on this rank to one that starts
/// after it. Edges are sorted by their target, and their source precedes it.
struct CollectiveOrder {
  struct Point {
    int agenda = -1, line = 0;
  };
  std::vector<Point> points;
  std::vector<std::pair<size_t, size_t>> edges;
};

/// One rank of a world. Thread-safe. After one rank has failed, all pending and future operations
/// fail on all ranks.
class Communicator {
public:
  using Done = std::function<void(Expected<Tensor>)>;
  static constexpr double defaultTimeout = 60;

  explicit Communicator(std::unique_ptr<Transport> transport, double timeout = defaultTimeout);
  ~Communicator();
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  int rank() const;
  int size() const;
  /// The default timeout of collectives, in seconds.
  double timeout() const;

  /// Starts a collective. Calls `done` once, on any thread and possibly before it returns: with the
  /// value; InvalidArgument if the values of the ranks don't match; DeadlineExceeded, naming the
  /// missing ranks; Unavailable if one of them has left; or Aborted with the error of another rank.
  void start(const Collective &collective, Done done);

  /// Sends a value to another rank, or to this one.
  void send(int to, const std::string &key, Tensor value);
  /// Receives the next value that `from` sends under the key.
  void receive(int from, const std::string &key, double timeout, Done done);

  /// Deposits a value on the host, which is rank 0; the first rank that collects the key gets it.
  /// All ranks fail with ResourceExhausted if thousands of values aren't collected.
  void deposit(const std::string &key, Tensor value);
  /// Collects the oldest value deposited under the key. Waits for one until the timeout, even if
  /// ranks have left.
  void collect(const std::string &key, Done done);
  /// Returns when all other ranks have left, or one has failed. The host stays until then.
  void waitForOthersToLeave();

  enum class Patience : uint8_t { Waits, GoesOn };
  /// Compares each list with those of the group's other ranks for the same turn: the first, second,
  /// ... agreement in that group. Returns FailedPrecondition on all ranks, with the first line that
  /// differs and its rank, or an error as for `start`. A rank that has agreed on the same lists
  /// before doesn't wait: a difference aborts pending operations as soon as it is known. Only one
  /// call at a time is allowed for each group.
  ///
  /// Ranks that wait also send their `order`. If the orders of several ranks form a cycle, all
  /// ranks fail with FailedPrecondition and a description of it: before `agree` returns if the
  /// ranks of the cycle share groups or are in a group with rank 0; otherwise as soon as rank 0 has
  /// received the orders.
  Expected<void> agree(const std::vector<GroupAgenda> &agendas, std::string_view what,
                       Patience patience = Patience::Waits, const CollectiveOrder &order = {});

  /// Tells all other ranks that this one has failed; only the first call has an effect.
  void abort(const Error &error);
  /// Tells all other ranks that this one sends nothing more: ranks that wait for it fail with
  /// Unavailable. Earlier messages still arrive. Also called by the destructor.
  void leave();

private:
  struct Impl;
  const std::unique_ptr<Impl> impl;
};

/// The communicator of a session, among its resources.
class CommunicatorResource final : public Resource {
public:
  static constexpr std::string_view kindName = "communicator";
  explicit CommunicatorResource(std::shared_ptr<Communicator> c) : communicator(std::move(c)) {}
  std::string_view kind() const override { return kindName; }

  const std::shared_ptr<Communicator> communicator;
};

/// Returns the session's communicator; without one, a communicator of a world with one rank.
std::shared_ptr<Communicator> communicatorOf(ResourceManager &resources);

/// A simulated world of ranks in this process, for tests and measurements. Messages arrive with a
/// delay, as over links. Each rank has one outgoing link, which transmits its messages one after
/// the other.
struct Link {
  double latency = 0;        // additional seconds per message
  double bytesPerSecond = 0; // 0: unlimited
};
std::vector<std::unique_ptr<Transport>> simulatedWorld(int size, Link link = {});

/// Parameters of a link measurement: repetitions with messages of one byte, and of many.
struct LinkMeasurement {
  int64_t bytes = int64_t{4} << 20;
  int smallRepeats = 200, largeRepeats = 20;
};
/// Measures the link between ranks in a ring in which each sends to the next one. Must be called on
/// all ranks, which get the same result: the latency of the slowest link (a median), and its
/// bandwidth. Returns FailedPrecondition in a world with one rank; errors as for
/// Communicator::start.
Expected<Link> measureLink(Communicator &world, LinkMeasurement how = {});

/// Reduces a value with another of equal dtype and element count, in place; `value` must be the
/// only reference. Returns Unimplemented for dtypes that aren't numeric.
Expected<void> reduceInto(Tensor &value, const Tensor &other, Reduction reduction);
/// Divides in place; rounds towards zero for integral dtypes.
Expected<void> divideBy(Tensor &value, int64_t divisor);

} // namespace treadle
