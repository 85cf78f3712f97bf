// Executables: compiled programs, and loaded ones with devices.
#pragma once

#include "treadle/pjrt/CompiledProgram.h"

/// The properties of a program that are known without running it.
struct PJRT_Executable {
  std::shared_ptr<const treadle::pjrt::CompiledProgram> compiled;
};

/// A program with its devices.
struct PJRT_LoadedExecutable {
  std::shared_ptr<treadle::pjrt::CompiledProgram> compiled;
  PJRT_Client *client;
  std::vector<PJRT_Device *> devices;
  std::atomic<bool> isDeleted{false};
};

namespace treadle::pjrt {
void addExecutableFunctions(PJRT_Api &api);
} // namespace treadle::pjrt
