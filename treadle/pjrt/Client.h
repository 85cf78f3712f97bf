// The PJRT client: devices, each with memories.
#pragma once

#include "treadle/pjrt/Completion.h"
#include "treadle/pjrt/Queue.h"
#include "treadle/pjrt/Results.h"
#include "treadle/runtime/Denormals.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/Modes.h"
#include "treadle/runtime/ThreadPool.h"

#include <deque>
#include <string>

namespace treadle::pjrt {
struct CompiledProgram;
} // namespace treadle::pjrt

/// A memory of a device. All are host memory and differ in name only.
struct PJRT_Memory {
  PJRT_Device *device;
  int id, kind;
  std::string text; // such as `treadle:0 device`

  std::string_view kindName() const;
};

/// The description of a device.
struct PJRT_DeviceDescription {
  int id;
  std::string text; // such as `TreadleDevice(id=0)`
};

/// A device: runs programs one after the other.
struct PJRT_Device {
  PJRT_Client *client;
  PJRT_DeviceDescription description;
  std::vector<PJRT_Memory *> memories; // the first one is the default
  treadle::pjrt::Queue queue;

  int id() const { return description.id; }
  /// Returns the memory of a kind; null if there is none.
  PJRT_Memory *memory(std::string_view kind) const;
};

struct PJRT_TopologyDescription {
  PJRT_Client *client;
  std::vector<PJRT_DeviceDescription *> descriptions;
};

struct PJRT_Client {
  struct Options {
    int devices = 1;
    int threads = 0; // shared by the devices; 0: one per core
    std::optional<treadle::Tier> tier;
    treadle::Denormals denormals = treadle::Denormals::Flush;
    /// The platform's name. JAX packages choose algorithms by it.
    std::string platform = "treadle";
  };
  explicit PJRT_Client(const Options &options);

  /// Unfinished runs end with an error.
  ~PJRT_Client();

  /// Returns InvalidArgument if there is no device with this id.
  treadle::Expected<PJRT_Device *> device(int64_t id);
  /// Registers a program whose runs end with the client.
  void add(const std::shared_ptr<treadle::pjrt::CompiledProgram> &program);

  const Options options;
  std::deque<PJRT_Device> devices;
  std::deque<PJRT_Memory> memories;
  std::vector<PJRT_Device *> deviceList;
  std::vector<PJRT_Memory *> memoryList;
  PJRT_TopologyDescription topology;
  /// Threads shared by the runs of all programs.
  const std::shared_ptr<treadle::ThreadPool> pool;
  /// Held while the runs of a multi-device program are queued on its devices.
  std::mutex launchMutex;

private:
  std::mutex programsMutex;
  std::vector<std::weak_ptr<treadle::pjrt::CompiledProgram>> programs;
};

namespace treadle::pjrt {

/// The kind of all devices.
inline constexpr std::string_view deviceKind = "treadle";
/// Returns the name and version, such as `Treadle 0.1.0`.
const std::string &platformVersion();

void addClientFunctions(PJRT_Api &api);

} // namespace treadle::pjrt
