// Which device runs which replica and partition of a program.
#pragma once

#include "treadle/tensor/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace treadle::pjrt {

struct DeviceAssignment {
  int replicas = 1, partitions = 1;
  std::vector<int> devices = {0}; // by replica, then by partition

  int size() const { return replicas * partitions; }
  /// Devices from 0 on. InvalidArgument for counts below 1 or too large.
  static Expected<DeviceAssignment> inOrder(int64_t replicas, int64_t partitions);
  /// Of xla.DeviceAssignmentProto. InvalidArgument if it is malformed.
  static Expected<DeviceAssignment> parse(std::string_view message);
  std::string serialize() const;
};

/// What of xla.CompileOptionsProto means something here.
struct CompileOptions {
  DeviceAssignment assignment;
  bool isTupled = false; // the program takes its arguments as one tuple

  /// InvalidArgument if it is malformed, or sets an option that isn't XLA's, in XLA's words. XLA's
  /// own mean nothing here.
  static Expected<CompileOptions> parse(std::string_view message);
};

} // namespace treadle::pjrt
