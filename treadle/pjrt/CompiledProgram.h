// Programs that are ready to run.
#pragma once

#include "treadle/Session.h"
#include "treadle/pjrt/Buffer.h"
#include "treadle/pjrt/DeviceAssignment.h"
#include "treadle/pjrt/Program.h"

namespace treadle::pjrt {

struct CompiledProgram {
  Program program;
  DeviceAssignment assignment;
  using Sessions = std::shared_ptr<std::vector<Session>>;
  /// One; of a program whose devices exchange values one for each device. A run that fails ends
  /// their world: the next one makes a new one.
  Expected<Sessions> sessions();
  /// Those of a run that failed.
  void abandon(const Sessions &failed);
  void cancel();
  /// What it was made of.
  std::string code, options, fingerprint;
  /// What JAX is shown: the program. Of one for several devices only how its arguments and results
  /// are spread, which JAX asks for; it doesn't read all that stands in such programs.
  std::string description;
  // Of the results, as PJRT asks for them.
  std::vector<PJRT_Buffer_Type> types;
  std::vector<int64_t> dims;
  std::vector<size_t> ranks;
  std::vector<const char *> memoryKinds;
  std::vector<size_t> memoryKindSizes;
  /// Whether the last run took so little time that another thread isn't worth it.
  std::atomic<bool> isShort{false};

  std::function<Expected<Sessions>()> makeSessions;

private:
  std::mutex mutex;
  Sessions current;

  friend Expected<std::shared_ptr<CompiledProgram>> compile(PJRT_Client &client, std::string code,
                                                            std::string options);
  void describeResults();
};

/// InvalidArgument for options that are malformed; Unimplemented names what isn't supported.
Expected<std::shared_ptr<CompiledProgram>> compile(PJRT_Client &client, std::string code,
                                                   std::string options);

} // namespace treadle::pjrt
