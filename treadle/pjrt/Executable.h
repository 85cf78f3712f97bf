// Programs that were compiled, and their runs.
#pragma once

#include "treadle/pjrt/CompiledProgram.h"

/// What is known of a program without running it.
struct PJRT_Executable {
  std::shared_ptr<const treadle::pjrt::CompiledProgram> compiled;
};

/// A program with the devices that run it.
struct PJRT_LoadedExecutable {
  std::shared_ptr<treadle::pjrt::CompiledProgram> compiled;
  PJRT_Client *client;
  std::vector<PJRT_Device *> devices;
  std::atomic<bool> isDeleted{false};
};

namespace treadle::pjrt {
void addExecutableFunctions(PJRT_Api &api);
} // namespace treadle::pjrt
