// Compiled programs.
#pragma once

#include "treadle/Session.h"
#include "treadle/pjrt/Buffer.h"
#include "treadle/pjrt/DeviceAssignment.h"
#include "treadle/pjrt/ImportedProgram.h"

namespace treadle::pjrt {

struct CompiledProgram {
  ImportedProgram program;
  DeviceAssignment assignment;
  using Sessions = std::shared_ptr<std::vector<Session>>;
  /// Returns the sessions: one per device for programs with exchanges, otherwise a single one. A
  /// failed run invalidates its world; the next run creates a new one.
  Expected<Sessions> sessions();
  /// Drops the sessions of a failed run.
  void abandon(const Sessions &failed);
  void cancel();
  /// The inputs of the compilation, and their fingerprint.
  std::string code, options, fingerprint;
  /// The program text that JAX sees. For programs with several devices, it only contains the
  /// shardings of arguments and results, which JAX reads; it can't parse the rest.
  std::string description;
  // Types and dimensions of the results, in PJRT's format.
  std::vector<PJRT_Buffer_Type> types;
  std::vector<int64_t> dims;
  std::vector<size_t> ranks;
  std::vector<const char *> memoryKinds;
  std::vector<size_t> memoryKindSizes;
  /// Whether the last run was too short to be worth a thread of its own.
  std::atomic<bool> isShort{false};

  std::function<Expected<Sessions>()> makeSessions;

private:
  std::mutex mutex;
  Sessions current;

  friend Expected<std::shared_ptr<CompiledProgram>> compile(PJRT_Client &client, std::string code,
                                                            std::string options);
  void describeResults();
};

/// Compiles a program. Returns InvalidArgument for malformed options, and Unimplemented, naming it,
/// for an unsupported feature.
Expected<std::shared_ptr<CompiledProgram>> compile(PJRT_Client &client, std::string code,
                                                   std::string options);

} // namespace treadle::pjrt
