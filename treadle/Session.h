// A graph being used.
#pragma once

#include "treadle/CodeProfile.h"
#include "treadle/Graph.h"
#include "treadle/Permissions.h"
#include "treadle/Profile.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/Modes.h"
#include "treadle/runtime/OpTraits.h"

#include <functional>

namespace treadle {

class Communicator;

struct SessionOptions {
  /// Threads that a run may use, its caller's included; 0: one for each core that it may use. At
  /// most 1,024, and as many as the system gives.
  int threads = 0;
  /// The numbers of the cores that runs may use beside their caller's; none: all that the process
  /// may. The session's own threads stay on them. The caller's thread stays where it is: whoever
  /// wants it on the same cores puts it there.
  std::vector<int> cores = {};
  /// Interpret: node by node. Auto: chains of nodes become one, and loops become machine code
  /// for the ranks of the tensors that come: from the second run of a request on a thread of the
  /// process compiles them, and they are interpreted until that is done. Jit: runs wait for it
  /// where a loop is first reached. What can't be compiled is interpreted.
  Tier tier = Tier::Auto;
  /// What machine code may do for speed: round a product and a sum once, together; multiply by the
  /// reciprocal of a divisor; compute some functions of f32 to fewer places (docs/tiers.md has the
  /// bounds). Infinities and NaN stay what they are. Nothing changes for what is interpreted.
  bool fastMath = false;
  /// Which loops' iterations run at the same time, wherever the order of effects and the loop's
  /// parallel_iterations allow. Off: none; Auto: those with ops that wait (queues, Python, ops
  /// whose traits say so) if they end sooner for it; On: all that may. Loops of v1 overlap as far
  /// as their edges let them; On keeps the order of their nodes where these conflict.
  LoopOverlap loopOverlap = LoopOverlap::Auto;
  /// What ops may reach beside their values, and beside what the graph brings: they may read the
  /// files of the folder that it was read from (docs/security.md).
  Permissions permissions = {};
  /// Bytes that tensors may take which the session's runs make, those that stay in its variables,
  /// lists, queues and stacks included; 0: as many as the machine has. A run that wants more fails
  /// with ResourceExhausted at the node that does.
  int64_t memory = 0;
  /// Seconds after which a run fails with DeadlineExceeded; 0: never.
  double timeout = 0;
  /// Whether to count what compiled code does, for `Session::statistics`.
  bool statistics = false;
  /// Whether code counts what it does, for `Session::codeProfile`. It is slower then, and made
  /// anew.
  bool countsCode = false;
  /// Whether to record what runs when, for `Session::trace` and `profile`. Each op then costs a
  /// fraction of a microsecond more.
  bool trace = false;
  /// Kernels to look in before the built-in ones; null: none. Must outlive the session.
  const KernelRegistry *kernels = nullptr;
  /// What is said of the ops of `kernels`; null: nothing. Must outlive the session.
  const OpTraitsTable *traits = nullptr;
  /// The world of processes that collective ops, sends and receives reach; null: this process
  /// alone. Sessions that share one run one after the other, on all ranks in the same order.
  std::shared_ptr<Communicator> communicator = nullptr;
  /// Where Print ops write; by default standard error (PrintV2: the stream that it names).
  std::function<void(std::string_view line, std::string_view stream)> print;
};

/// A graph being used: its variables, queues and tables, and plans for what was asked of it.
/// Thread-safe: runs of one session may overlap, and a run may serve ops that wait in another.
class Session {
public:
  using Feeds = std::vector<std::pair<std::string, Tensor>>;

  static Expected<Session> create(Graph graph, SessionOptions options = {});

  /// Runs what the fetches (`x:0`, `x`; in a loop also `x:0@3`, `x:0@last`, `x:0@*`, one selector a
  /// frame, outermost first: `x:0@2@*`) and the targets (node names) need, with values fed in place
  /// of `feeds`. Gives one tensor a fetch. Errors: InvalidArgument for a feed of wrong name, dtype
  /// or shape, a fetch that doesn't exist (NotFound is never given: as TensorFlow), and whatever
  /// ops give.
  Expected<std::vector<Tensor>> run(const std::vector<std::string> &fetches,
                                    const Feeds &feeds = {},
                                    const std::vector<std::string> &targets = {});
  /// The variables that were made so far and have a value, by name (`container/name` in a container
  /// of its own).
  std::vector<std::pair<std::string, Tensor>> variables() const;
  /// Gives the variable of that name, in no container of its own, a value; it is made if it wasn't
  /// yet. InvalidArgument for a value of another dtype than the variable's.
  Expected<void> setVariable(const std::string &name, Tensor value);
  /// What the tables that were made so far hold, by name. Of a dense table it is all buckets.
  struct TableContents {
    std::string name;
    Tensor keys, values;
  };
  std::vector<TableContents> tables() const;
  /// Ends the runs in progress with a Cancelled error.
  void cancel();

  /// What the session did since it was made.
  struct Statistics {
    int64_t runs = 0;
    /// Calls of parts that may be compiled: that compiled code ran to the end; that it left to the
    /// interpreter when it met something unforeseen (an error, for one); that were interpreted from
    /// the beginning, for want of code.
    int64_t compiledCalls = 0, bails = 0, interpretedCalls = 0;
    /// Code that was made: how often, and in what time in all; code that had been made before, for
    /// whichever session: found in memory, and on disk.
    int64_t compilations = 0;
    double compileSeconds = 0;
    int64_t memoryHits = 0, diskHits = 0;
    /// With tier auto: what waits to be compiled, or is being compiled now.
    int64_t pendingCompilations = 0;
    /// Parts that can't be compiled, and why the last one can't.
    int64_t failedCompilations = 0;
    std::string lastFailure;
    /// Tensors that compiled code and the kernels that it called made, scalars aside: new ones, and
    /// their bytes; those among them that only hold elements of others (as a concatenation does);
    /// and those that took over the memory of another.
    int64_t allocations = 0, allocatedBytes = 0, copies = 0, reuses = 0;
    /// Bytes of large tensors (above 1 MiB) that are alive now, in the whole process.
    int64_t liveBytes = 0;
  };
  /// Whether code for later runs is being made (tier auto), or is ready for the next run of its
  /// request. To warm a session up, run it twice, and then until this is false.
  bool isCompiling() const;
  /// Consistent between runs, not in the middle of one. FailedPrecondition unless the session was
  /// made to count.
  Expected<Statistics> statistics() const;

  /// What ran when, in all runs so far: JSON in the Trace Event Format, which Perfetto and
  /// chrome://tracing show. Ops by thread, and the iterations of loops that overlap on tracks of
  /// their own; the first 1,000,000 slices. FailedPrecondition unless the session was made to
  /// trace.
  Expected<std::string> trace() const;
  /// What each op took, in the same runs. FailedPrecondition unless the session was made to trace.
  Expected<Profile> profile() const;
  /// What machine code did in all runs so far. FailedPrecondition unless the session was made to
  /// count it.
  Expected<CodeProfile> codeProfile() const;
  /// Lets `trace` and `profile` tell of later runs alone. FailedPrecondition as there.
  Expected<void> forgetTrace();

  const Graph &graph() const;

  struct Impl;
  std::shared_ptr<Impl> impl; // internal
};

} // namespace treadle
