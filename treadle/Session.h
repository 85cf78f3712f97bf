// Sessions: running graphs.
#pragma once

#include "treadle/CodeProfile.h"
#include "treadle/Graph.h"
#include "treadle/Permissions.h"
#include "treadle/Profile.h"
#include "treadle/runtime/Denormals.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/Modes.h"
#include "treadle/runtime/OpTraits.h"

#include <functional>

namespace treadle {

class Communicator;

struct SessionOptions {
  /// Number of threads that a run may use, including its caller; 0: one for each core that it may
  /// use. At most 1,024, and as many as the system provides.
  int threads = 0;
  /// The numbers of the cores for the session's own threads; empty: all that the process may use.
  /// The caller's thread is not moved; the caller can pin it to the same cores.
  std::vector<int> cores = {};
  /// Interpret: runs node by node. Auto: fuses chains of nodes, and compiles loops to machine code
  /// for the ranks of their inputs, on a thread of the process from the second run of a request on;
  /// they are interpreted until that is done. Jit: runs wait for compilation when they first reach
  /// a loop. Parts that can't be compiled are interpreted.
  Tier tier = Tier::Auto;
  /// Optimizations of compiled code that change rounding: fused multiply-add; multiplication by a
  /// reciprocal instead of division; less accurate f32 functions (docs/tiers.md lists the error
  /// bounds). Infinities and NaN are preserved. Interpreted parts are not affected.
  bool fastMath = false;
  /// Flush: arithmetic takes denormal numbers for zero, and zero is its result instead of one, in
  /// interpreted and compiled parts; such numbers make loops up to 60 times slower. Keep: they are
  /// computed as IEEE 754 has them. The caller's thread has its own mode again after a run.
  Denormals denormals = Denormals::Flush;
  /// The loops whose iterations overlap, as far as the order of side effects and the loop's
  /// parallel_iterations allow. Off: none. Auto: loops with ops that wait (queues, Python, ops with
  /// the trait `waits`) if overlap saves time. On: all that may. v1 loops overlap as far as their
  /// edges allow; On also keeps the order of conflicting nodes.
  LoopOverlap loopOverlap = LoopOverlap::Auto;
  /// Resources outside of the graph that ops may access. Ops may always read the files of the
  /// folder that the graph was read from (docs/security.md).
  Permissions permissions = {};
  /// Memory limit in bytes for tensors that the session's runs create, including those in its
  /// variables, lists, queues and stacks; 0: none. A run that exceeds it fails with
  /// ResourceExhausted at the node that does.
  int64_t memory = 0;
  /// Time limit of a run in seconds, after which it fails with DeadlineExceeded; 0: none.
  double timeout = 0;
  /// Whether to collect counters for `Session::statistics`.
  bool statistics = false;
  /// Whether to instrument compiled code for `Session::codeProfile`. The code is then slower, and
  /// compiled separately.
  bool countsCode = false;
  /// Whether to record a timeline for `Session::trace` and `profile`. Adds a fraction of a
  /// microsecond to each op.
  bool trace = false;
  /// Kernels that take precedence over the built-in ones; null: none. Must outlive the session.
  const KernelRegistry *kernels = nullptr;
  /// Traits of the ops in `kernels`; null: none. Must outlive the session.
  const OpTraitsTable *traits = nullptr;
  /// The processes that collective ops, sends and receives communicate with; null: none. Runs of
  /// sessions that share a communicator run one after the other, in the same order on all ranks.
  std::shared_ptr<Communicator> communicator = nullptr;
  /// Receives the output of Print ops; by default standard error (for PrintV2 the stream that it
  /// names).
  std::function<void(std::string_view line, std::string_view stream)> print;
};

/// A graph in use: its variables, queues and tables, and the plans of its requests. Thread-safe:
/// runs of one session may overlap, and a run may provide values that ops of another run wait for.
class Session {
public:
  using Feeds = std::vector<std::pair<std::string, Tensor>>;

  static Expected<Session> create(Graph graph, SessionOptions options = {});

  /// Runs the nodes that the fetches (`x:0`, `x`; in a loop also `x:0@3`, `x:0@last`, `x:0@*`, one
  /// selector for each frame, outermost first: `x:0@2@*`) and the targets (node names) need, with
  /// `feeds` instead of computed values. Returns one tensor for each fetch. Errors: InvalidArgument
  /// for a feed with an unknown name or a wrong dtype or shape, and for an unknown fetch (not
  /// NotFound, as in TensorFlow); those of ops.
  Expected<std::vector<Tensor>> run(const std::vector<std::string> &fetches,
                                    const Feeds &feeds = {},
                                    const std::vector<std::string> &targets = {});
  /// Returns the variables that have a value, by name (`container/name` for one in a container).
  std::vector<std::pair<std::string, Tensor>> variables() const;
  /// Assigns the variable of that name outside of containers; creates it if necessary.
  /// InvalidArgument if the dtype differs from the variable's.
  Expected<void> setVariable(const std::string &name, Tensor value);
  /// Returns the contents of the tables created so far, by name; for a dense table all buckets.
  struct TableContents {
    std::string name;
    Tensor keys, values;
  };
  std::vector<TableContents> tables() const;
  /// Ends the runs in progress with a Cancelled error.
  void cancel();

  /// Counters since the session was created.
  struct Statistics {
    int64_t runs = 0;
    /// Calls of parts that may be compiled: those that ran compiled code to the end; those that
    /// compiled code left to the interpreter (bailed out), for example because of an error; those
    /// that were interpreted because there was no code.
    int64_t compiledCalls = 0, bails = 0, interpretedCalls = 0;
    /// Compilations and their total time; code that was reused, of any session: found in memory,
    /// and on disk.
    int64_t compilations = 0;
    double compileSeconds = 0;
    int64_t memoryHits = 0, diskHits = 0;
    /// With tier auto: parts that are waiting to be compiled, or are being compiled.
    int64_t pendingCompilations = 0;
    /// Parts that can't be compiled, and the reason for the last one.
    int64_t failedCompilations = 0;
    std::string lastFailure;
    /// Tensors, except scalars, that compiled code and the kernels that it calls created: new ones,
    /// and their bytes; those of them that only copy elements (as a concatenation does); and those
    /// that reuse the memory of another tensor.
    int64_t allocations = 0, allocatedBytes = 0, copies = 0, reuses = 0;
    /// Bytes of live tensors above 1 MiB in the whole process.
    int64_t liveBytes = 0;
  };
  /// Whether code for later runs is being compiled (tier auto), or is ready for the next run of its
  /// request. To warm up a session, run it twice, and then until this is false.
  bool isCompiling() const;
  /// Returns the counters; they are consistent between runs, but not during one. FailedPrecondition
  /// unless the session was created with `statistics`.
  Expected<Statistics> statistics() const;

  /// Returns the timeline of all runs so far as JSON in the Trace Event Format, for Perfetto and
  /// chrome://tracing. Has tracks for threads, and for overlapping iterations of loops; records the
  /// first 1,000,000 slices. FailedPrecondition unless the session was created with `trace`.
  Expected<std::string> trace() const;
  /// Returns the time of each op in the same runs. FailedPrecondition unless the session was
  /// created with `trace`.
  Expected<Profile> profile() const;
  /// Returns the work of compiled code in all runs so far. FailedPrecondition unless the session
  /// was created with `countsCode`.
  Expected<CodeProfile> codeProfile() const;
  /// Discards the records of earlier runs for `trace` and `profile`. FailedPrecondition as above.
  Expected<void> forgetTrace();

  const Graph &graph() const;

  struct Impl;
  std::shared_ptr<Impl> impl; // internal
};

} // namespace treadle
