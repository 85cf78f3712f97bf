// Runs of a program on several devices. The program computes with whole arrays; each device has a
// shard of each, or all of it.
#pragma once

#include "treadle/pjrt/CompiledProgram.h"

namespace treadle::pjrt {

/// One run of a program on several devices. Each device calls `run` on its own thread.
class MultiDeviceRun {
public:
  MultiDeviceRun(std::shared_ptr<CompiledProgram> compiled, CompiledProgram::Sessions sessions)
      : compiled(std::move(compiled)), sessions(std::move(sessions)),
        arguments(this->compiled->program.devices) {}

  /// Adds the shards of a device. All devices must join before any runs.
  void join(size_t place, std::vector<std::shared_ptr<Content>> parts) {
    arguments[place] = std::move(parts);
  }
  /// Returns the device's shards of the results.
  Expected<std::vector<Tensor>> run(size_t place);

private:
  Expected<std::vector<Tensor>> assemble() const;
  Expected<std::vector<Tensor>> compute(size_t place);

  const std::shared_ptr<CompiledProgram> compiled;
  const CompiledProgram::Sessions sessions;
  std::vector<std::vector<std::shared_ptr<Content>>> arguments; // by device
  std::once_flag isAssembled, isComputed;
  Expected<std::vector<Tensor>> wholeArrays, results;
};

} // namespace treadle::pjrt
