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
  /// One; of a program whose devices exchange values one for each device.
  std::vector<Session> sessions;
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

  void describeResults();
};

/// InvalidArgument for options that are malformed; Unimplemented names what isn't supported.
Expected<std::shared_ptr<CompiledProgram>> compile(const PJRT_Client &client, std::string code,
                                                   std::string options);

} // namespace treadle::pjrt
