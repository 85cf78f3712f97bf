// A model in a separate process that can do nothing but compute: for models that you don't trust.
// Linux on x86-64. docs/security.md lists what it protects against.
#pragma once

#include "treadle/Graph.h"
#include "treadle/Permissions.h"
#include "treadle/runtime/Denormals.h"
#include "treadle/runtime/Modes.h"

namespace treadle {

struct SandboxOptions {
  /// Permissions in addition to reading the model's own folder. They are also enforced by the
  /// kernel; files that may be written must exist.
  Permissions permissions = {};
  /// Memory limit for tensors in bytes; 0: no limit. The kernel limits the process to 256 MiB more,
  /// for the graph and the compiler.
  int64_t memory = 0;
  /// Time limit of a call in seconds, after which it fails with DeadlineExceeded; 0: none. A
  /// process that doesn't stop within another half second is killed, and its state is lost.
  double timeout = 0;
  /// Time limit for loading in seconds, after which the process is killed.
  double loadTimeout = 300;
  /// As in SessionOptions.
  int threads = 0;
  std::vector<int> cores = {};
  Tier tier = Tier::Auto;
  bool fastMath = false;
  Denormals denormals = Denormals::Flush;
  LoopOverlap loopOverlap = LoopOverlap::Auto;
  /// Passes to run on the graph first, and the fetches, targets and feeds of later runs, which the
  /// passes preserve.
  std::string passes = {};
  std::vector<std::string> fetches = {}, targets = {}, feeds = {};
  /// The tags of the meta graph, for a SavedModel with several.
  std::vector<std::string> tags = {};
  /// The path of the program `treadle`; empty: the one installed with the library.
  std::string program = {};
};

/// The state of a sandbox.
struct SandboxStatus {
  /// The version of Landlock, which the kernel uses to guard files; 0: not available, and the
  /// process guards files itself and can't write any.
  int landlock = 0;
  /// Seconds from the start of the process to its confinement, and for loading.
  double startSeconds = 0, loadSeconds = 0;
  /// How the process ended; empty while it runs.
  std::string end;

  /// Formats the status as one line of text.
  std::string text() const;
};

/// A model or graph that is loaded in a separate process. Cheap to copy: copies share the process,
/// which ends with the last copy, or with the program. Thread-safe; calls run one after the other.
///
/// Errors: those of the model; Unavailable, with the reason, once its process has exited;
/// DeadlineExceeded if it was killed at the time limit; Unimplemented for handles, which are not
/// valid in another process.
class Sandbox {
public:
  using Values = std::vector<std::pair<std::string, Tensor>>;

  /// Reads the file or folder in the new process; this process reads nothing of it. Errors as for
  /// Graph::fromFile and Model::load; FailedPrecondition if the program is missing, or the system
  /// can't confine the process.
  static Expected<Sandbox> load(const std::string &path, SandboxOptions options = {});
  /// Loads a graph from memory in a new process.
  static Expected<Sandbox> fromBytes(std::string_view bytes, SandboxOptions options = {});

  /// As in Model; empty for a plain graph.
  const std::vector<Graph::Signature> &signatures() const;
  Expected<const Graph::Signature *> signature(std::string_view name) const;
  /// As in Graph.
  const std::vector<Graph::Value> &inputs() const;
  const std::vector<Graph::Value> &outputs() const;
  const std::vector<std::string> &notes() const;

  /// As Model::call.
  Expected<Values> call(std::string_view signature, const Values &inputs) const;
  /// As Session::run.
  Expected<std::vector<Tensor>> run(const std::vector<std::string> &fetches,
                                    const Values &feeds = {},
                                    const std::vector<std::string> &targets = {}) const;
  /// As in Session, at the end of the last call.
  bool isCompiling() const;
  /// Ends the call in progress with a Cancelled error, and kills the process if it doesn't stop.
  void cancel() const;
  SandboxStatus status() const;

  struct Impl;
  std::shared_ptr<Impl> impl; // internal
};

} // namespace treadle
