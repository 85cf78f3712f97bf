// Collectives among the ranks of a run on several processes.
//
// A collective is one exchange of messages or two, each rank with all others of its group. Values
// are combined in the order of ranks by whoever gathers them, so that all ranks get the same bits,
// and the same in each run. Nothing here waits: what has come is counted, and the last message of
// an exchange calls what comes next.
//
// All-reduce is a reduce-scatter of n parts and an all-gather of these, each rank sending and
// receiving 2(n - 1)/n of the value (R. Thakur, R. Rabenseifner and W. Gropp, Optimization of
// Collective Communication Operations in MPICH, 2005); a small value goes to all at once.
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

/// How values of several ranks become one.
enum class Reduction : uint8_t { Add, Mul, Min, Max };

/// A rank's part in a collective.
struct Collective {
  enum Kind : uint8_t {
    AllReduce,     // the values' reduction; shapes are equal
    AllGather,     // the values one behind the other; they may differ in dimension 0 alone
    ReduceScatter, // of the reduction this rank's part, cut along dimension 0
    BroadcastSend, // the value, as it was given
    BroadcastReceive,
    AllToAll, // of each rank's value, cut along dimension 0, this rank's part, one behind the other
    Permute,  // the value of the rank that `pairs` names for this one; zeros where there is none
  };
  Kind kind = AllReduce;
  Reduction reduction = Reduction::Add;
  bool isMean = false; // divide by the group's size
  /// How many ranks take part, and a number that is the same on them alone. A group as large as the
  /// world is the world.
  int groupSize = 1;
  int groupKey = 0;
  /// This rank's place among the group's; -1: by the number of the rank in the world.
  int place = -1;
  /// Which places among the group's ranks take part; empty: all, in the order of ranks. This rank
  /// is among them.
  std::vector<int> places;
  std::vector<std::pair<int, int>> pairs; // Permute: from and to, by place in the group
  /// What tells apart the collectives of a group, a number or a name; how often it was used counts
  /// as well.
  int64_t instance = 0;
  std::string instanceName;
  Tensor input;       // none: BroadcastReceive
  double timeout = 0; // seconds; 0: the communicator's
  std::string name;   // for messages
};

/// What a rank's run comes to in one group: lines that are the same on all of its ranks, up to a
/// tab; what follows is shown beside it.
struct GroupAgenda {
  int groupSize = 1;
  int groupKey = 0;   // of a group as large as the world: any
  int place = -1;     // as in Collective
  double timeout = 0; // seconds; 0: the communicator's
  std::vector<std::string> lines;
};

/// What a rank's run is sure to wait for: points that have edges from those that must have ended
/// on this rank before they begin. A point is a collective, told by its agenda and the line there,
/// which all ranks of the group come to and which none leaves before; or (agenda -1) the end of
/// several others. Edges are sorted by their ends, and begin at points before these.
struct CollectiveOrder {
  struct Point {
    int agenda = -1, line = 0;
  };
  std::vector<Point> points;
  std::vector<std::pair<size_t, size_t>> edges;
};

/// One rank of a world. Thread-safe. Once a rank has failed, everything that waits and everything
/// that is started later fails on all ranks.
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
  /// Seconds after which a collective fails that says nothing else.
  double timeout() const;

  /// Calls `done` once, on any thread and maybe before it returns: with the value, or
  /// InvalidArgument where the ranks' values don't go together, DeadlineExceeded, with the ranks
  /// that didn't come, Unavailable where one of them has left, or Aborted with the error of another
  /// rank.
  void start(const Collective &collective, Done done);

  /// Hands a value to another rank, or to this one.
  void send(int to, const std::string &key, Tensor value);
  /// The next value that `from` sends under the key.
  void receive(int from, const std::string &key, double timeout, Done done);

  /// Hands a value to the host, which is rank 0: whoever first collects under the key gets it. All
  /// ranks fail with ResourceExhausted where nobody collects thousands of them.
  void deposit(const std::string &key, Tensor value);
  /// The value that was deposited first under the key. Waits for one, and even then, until the time
  /// is over, where ranks have left.
  void collect(const std::string &key, Done done);
  /// Returns when all other ranks have left, or one has failed. Who is the host stays so long.
  void waitForOthersToLeave();

  enum class Patience : uint8_t { Waits, GoesOn };
  /// Compares each list with those that the group's other ranks give for the same turn: the first,
  /// second, ... time that they agree on something in that group. FailedPrecondition, with the
  /// first line that differs and whose it is, on all ranks; or an error as `start` gives it. Who
  /// has agreed on the same lists before needn't wait for the others: what differs then ends
  /// whatever waits, as soon as it is known. One at a time for each group.
  ///
  /// Who waits also says in which `order`. Where several ranks' orders make a circle, all ranks
  /// fail with FailedPrecondition, which tells it: before `agree` returns, where the circle's ranks
  /// share groups or are in one with rank 0; else as soon as rank 0 has heard of it.
  Expected<void> agree(const std::vector<GroupAgenda> &agendas, std::string_view what,
                       Patience patience = Patience::Waits, const CollectiveOrder &order = {});

  /// Tells all other ranks that this one has failed, once.
  void abort(const Error &error);
  /// Tells all other ranks that nothing more will come from this one: who waits for it fails with
  /// Unavailable. What was sent before still comes. Called by the destructor, too.
  void leave();

private:
  struct Impl;
  const std::unique_ptr<Impl> impl;
};

/// A session's communicator, among its resources.
class CommunicatorResource final : public Resource {
public:
  static constexpr std::string_view kindName = "communicator";
  explicit CommunicatorResource(std::shared_ptr<Communicator> c) : communicator(std::move(c)) {}
  std::string_view kind() const override { return kindName; }

  const std::shared_ptr<Communicator> communicator;
};

/// The session's communicator; the one rank of a world of its own where it has none.
std::shared_ptr<Communicator> communicatorOf(ResourceManager &resources);

/// A world of ranks in this process, for tests and for measuring: messages arrive late, as over
/// links. Each rank has one link to the others, on which its messages go one after the other.
struct Link {
  double latency = 0;        // seconds that each message takes on top
  double bytesPerSecond = 0; // 0: no time for bytes
};
std::vector<std::unique_ptr<Transport>> simulatedWorld(int size, Link link = {});

/// How a link is measured: repetitions with a message of one byte, and of many.
struct LinkMeasurement {
  int64_t bytes = int64_t{4} << 20;
  int smallRepeats = 200, largeRepeats = 20;
};
/// Measures what messages take, on all ranks at once: each sends to the next while it gets one. All
/// ranks call it, and get the same: the slowest link's latency, of the medians, and bandwidth.
/// FailedPrecondition in a world of one; errors as Communicator::start gives them.
Expected<Link> measureLink(Communicator &world, LinkMeasurement how = {});

/// The reduction of a value with another of equal dtype and count, into the first, which is unique.
/// Unimplemented for dtypes that aren't numbers.
Expected<void> reduceInto(Tensor &value, const Tensor &other, Reduction reduction);
/// Divides in place, towards zero where the dtype is integral.
Expected<void> divideBy(Tensor &value, int64_t divisor);

} // namespace treadle
