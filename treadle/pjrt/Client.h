// The machine as PJRT shows it: a client with devices, each with memories.
#pragma once

#include "treadle/pjrt/Completion.h"
#include "treadle/pjrt/Queue.h"
#include "treadle/pjrt/Results.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/Modes.h"
#include "treadle/runtime/ThreadPool.h"

#include <deque>
#include <string>

namespace treadle::pjrt {
struct CompiledProgram;
} // namespace treadle::pjrt

/// A memory of a device. All are the host's: they differ in name alone.
struct PJRT_Memory {
  PJRT_Device *device;
  int id, kind;
  std::string text; // `treadle:0 device`

  std::string_view kindName() const;
};

/// What programs are told of a device.
struct PJRT_DeviceDescription {
  int id;
  std::string text; // `TreadleDevice(id=0)`
};

/// What runs programs, one after the other.
struct PJRT_Device {
  PJRT_Client *client;
  PJRT_DeviceDescription description;
  std::vector<PJRT_Memory *> memories; // the first is the default
  treadle::pjrt::Queue queue;

  int id() const { return description.id; }
  /// The memory of a kind; null: there is none.
  PJRT_Memory *memory(std::string_view kind) const;
};

struct PJRT_TopologyDescription {
  PJRT_Client *client;
  std::vector<PJRT_DeviceDescription *> descriptions;
};

struct PJRT_Client {
  struct Options {
    int devices = 1;
    int threads = 0; // that devices share; 0: one for each core
    std::optional<treadle::Tier> tier;
  };
  explicit PJRT_Client(const Options &options);

  /// Runs that aren't done end with an error.
  ~PJRT_Client();

  /// InvalidArgument if there is none of that number.
  treadle::Expected<PJRT_Device *> device(int64_t id);
  /// Notes a program whose runs end with the client.
  void add(const std::shared_ptr<treadle::pjrt::CompiledProgram> &program);

  const Options options;
  std::deque<PJRT_Device> devices;
  std::deque<PJRT_Memory> memories;
  std::vector<PJRT_Device *> deviceList;
  std::vector<PJRT_Memory *> memoryList;
  PJRT_TopologyDescription topology;
  /// Threads that runs of all programs share.
  const std::shared_ptr<treadle::ThreadPool> pool;
  /// Held while devices are given the runs of a program for several.
  std::mutex gangs;

private:
  std::mutex programsMutex;
  std::vector<std::weak_ptr<treadle::pjrt::CompiledProgram>> programs;
};

namespace treadle::pjrt {

inline constexpr std::string_view platformName = "treadle";
/// `Treadle 0.1.0`
const std::string &platformVersion();

void addClientFunctions(PJRT_Api &api);

} // namespace treadle::pjrt
