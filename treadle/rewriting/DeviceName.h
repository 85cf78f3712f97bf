// Device names: `/job:worker/replica:0/task:1/device:GPU:0`, of which any part may be missing.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace treadle::tfg {

/// A device, or a pattern for devices: a missing part matches every device. `/gpu:0` and `/CPU:*`
/// are parsed as `/device:GPU:0` and `/device:CPU:*`.
struct DeviceName {
  std::optional<std::string> job, type;
  std::optional<int64_t> replica, task, id; // missing with a type: any device of that type

  /// Returns nullopt if the text isn't a device name. An empty text is a name without parts.
  static std::optional<DeviceName> parse(llvm::StringRef text);
  std::string str() const;

  /// Fills missing parts from `other`; the device number only together with its type.
  void fillFrom(const DeviceName &other);
  /// Returns whether a device exists that matches both.
  bool agreesWith(const DeviceName &other) const;

  bool operator==(const DeviceName &other) const = default;
};

} // namespace treadle::tfg
