// A model in a process of its own, which can do nothing but compute: for models that you don't
// trust. Linux on x86-64. docs/sandbox.md says what it protects from, and what not.
#pragma once

#include "treadle/Graph.h"
#include "treadle/Permissions.h"
#include "treadle/runtime/Modes.h"

namespace treadle {

struct SandboxOptions {
  /// What the model may reach beside the folder that it comes from, which it may read. The kernel
  /// holds it to that, too; what may be written must exist.
  Permissions permissions = {};
  /// Bytes that tensors may take; 0: as many as the machine has. The kernel holds the process to
  /// 256 MiB more, for the graph and for compiling it.
  int64_t memory = 0;
  /// Seconds after which a call fails with DeadlineExceeded; 0: never. A process that goes on half
  /// a second longer is killed, and its state is lost.
  double timeout = 0;
  /// The same for loading, which no state survives.
  double loadTimeout = 300;
  /// As SessionOptions has them.
  int threads = 0;
  std::vector<int> cores = {};
  Tier tier = Tier::Auto;
  bool fastMath = false;
  LoopOverlap loopOverlap = LoopOverlap::Auto;
  /// Passes to run over the graph first, and what they are told of later runs: what these ask for
  /// and give stays.
  std::string passes = {};
  std::vector<std::string> fetches = {}, targets = {}, feeds = {};
  /// Of a SavedModel with several meta graphs: which.
  std::vector<std::string> tags = {};
  /// The program `treadle`; empty: the one that came with the library.
  std::string program = {};
};

/// How a model is held.
struct SandboxStatus {
  /// The version of Landlock, by which the kernel guards files; 0: it has none, and files are
  /// guarded by the process itself, which then may write none.
  int landlock = 0;
  /// Seconds from the start of the process to its confinement, and for loading.
  double startSeconds = 0, loadSeconds = 0;
  /// Empty while the process lives; then how it ended.
  std::string end;

  /// For people, one line.
  std::string text() const;
};

/// A model, or a graph, that was loaded in a process of its own. Cheap to copy: copies share the
/// process, which ends with the last of them, or with the program. Thread-safe; calls are made one
/// after the other.
///
/// Errors: what the model gives; Unavailable once its process has ended, with the reason;
/// DeadlineExceeded where it was killed for taking too long; Unimplemented for handles, which mean
/// nothing in another process.
class Sandbox {
public:
  using Values = std::vector<std::pair<std::string, Tensor>>;

  /// Reads the file or folder in the new process: not a byte of it is read in this one. Errors as
  /// of Graph::fromFile and Model::load; FailedPrecondition where there is no program for the
  /// process, or the system can't confine it.
  static Expected<Sandbox> load(const std::string &path, SandboxOptions options = {});
  /// The same of a graph in memory.
  static Expected<Sandbox> fromBytes(std::string_view bytes, SandboxOptions options = {});

  /// As of Model; none for a plain graph.
  const std::vector<Graph::Signature> &signatures() const;
  Expected<const Graph::Signature *> signature(std::string_view name) const;
  /// As of Graph.
  const std::vector<Graph::Value> &inputs() const;
  const std::vector<Graph::Value> &outputs() const;
  const std::vector<std::string> &notes() const;

  /// As Model::call.
  Expected<Values> call(std::string_view signature, const Values &inputs) const;
  /// As Session::run.
  Expected<std::vector<Tensor>> run(const std::vector<std::string> &fetches,
                                    const Values &feeds = {},
                                    const std::vector<std::string> &targets = {}) const;
  /// As of Session, when the last call ended.
  bool isCompiling() const;
  /// Ends the call in progress with a Cancelled error, if need be by ending the process.
  void cancel() const;
  SandboxStatus status() const;

  struct Impl;
  std::shared_ptr<Impl> impl; // internal
};

} // namespace treadle
