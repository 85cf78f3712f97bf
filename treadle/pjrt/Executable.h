// Programs that were compiled, and their runs.
#pragma once

#include "treadle/Session.h"
#include "treadle/pjrt/Buffer.h"
#include "treadle/pjrt/DeviceAssignment.h"
#include "treadle/pjrt/Program.h"

/// What is known of a program without running it.
struct PJRT_Executable {
  std::shared_ptr<const struct CompiledProgram> compiled;
};

/// A program with the devices that run it.
struct PJRT_LoadedExecutable {
  std::shared_ptr<struct CompiledProgram> compiled;
  PJRT_Client *client;
  std::vector<PJRT_Device *> devices;
  std::atomic<bool> isDeleted{false};
};

namespace treadle::pjrt {
void addExecutableFunctions(PJRT_Api &api);
} // namespace treadle::pjrt
