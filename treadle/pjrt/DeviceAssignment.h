// The assignment of replicas and partitions of a program to devices.
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
  /// Assigns devices from 0 on. Returns InvalidArgument for counts below 1 or too large.
  static Expected<DeviceAssignment> inOrder(int64_t replicas, int64_t partitions);
  /// Parses an xla.DeviceAssignmentProto. Returns InvalidArgument if it is malformed.
  static Expected<DeviceAssignment> parse(std::string_view message);
  std::string serialize() const;
};

/// The supported fields of xla.CompileOptionsProto.
struct CompileOptions {
  DeviceAssignment assignment;
  bool isTupled = false; // the arguments are passed as one tuple

  /// Returns InvalidArgument if the message is malformed, or sets an option that XLA doesn't have,
  /// with XLA's error text. XLA's own options are ignored.
  static Expected<CompileOptions> parse(std::string_view message);
};

} // namespace treadle::pjrt
