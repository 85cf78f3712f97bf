// Names of devices: `/job:worker/replica:0/task:1/device:GPU:0`, any part of which may be missing.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace treadle::tfg {

/// A device, or a pattern for devices: a part that isn't stated fits every device. `/gpu:0` and
/// `/CPU:*` are read as `/device:GPU:0` and `/device:CPU:*`.
struct DeviceName {
  std::optional<std::string> job, type;
  std::optional<int64_t> replica, task, id; // no id beside a type: any of that type

  /// Nothing if the text is no device's name. The empty text is the name without any part.
  static std::optional<DeviceName> parse(llvm::StringRef text);
  std::string str() const;

  /// Takes from `other` what isn't stated here; the device's number only with its type.
  void fillFrom(const DeviceName &other);
  /// Whether some device fits both.
  bool agreesWith(const DeviceName &other) const;

  bool operator==(const DeviceName &other) const = default;
};

} // namespace treadle::tfg
