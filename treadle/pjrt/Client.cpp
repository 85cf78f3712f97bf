#include "treadle/pjrt/Client.h"

#include "treadle/pjrt/CompiledProgram.h"
#include "treadle/runtime/Cores.h"
#include "treadle/treadle.h"

#include <algorithm>

namespace {
constexpr std::string_view memoryKinds[] = {"device", "pinned_host", "unpinned_host"};
} // namespace

std::string_view PJRT_Memory::kindName() const { return memoryKinds[kind]; }

PJRT_Memory *PJRT_Device::memory(std::string_view kind) const {
  auto it =
      std::ranges::find_if(memories, [&](auto *memory) { return memory->kindName() == kind; });
  return it == memories.end() ? nullptr : *it;
}

static std::shared_ptr<treadle::ThreadPool> makePool(int threads) {
  int count = threads ? threads : treadle::availableCores();
  return count > 1 ? std::make_shared<treadle::ThreadPool>(count - 1) : nullptr;
}

PJRT_Client::PJRT_Client(const Options &options)
    : options(options), pool(makePool(options.threads)) {
  topology.client = this;
  for (int i = 0; i < options.devices; ++i) {
    PJRT_Device &device = devices.emplace_back();
    device.client = this;
    device.description = {i, treadle::str("TreadleDevice(id=", i, ")")};
    deviceList.push_back(&device);
    topology.descriptions.push_back(&device.description);
    for (int kind = 0; kind < static_cast<int>(std::size(memoryKinds)); ++kind) {
      PJRT_Memory &memory =
          memories.emplace_back(PJRT_Memory{&device, static_cast<int>(memories.size()), kind,
                                            treadle::str("treadle:", i, " ", memoryKinds[kind])});
      device.memories.push_back(&memory);
      memoryList.push_back(&memory);
    }
  }
}

PJRT_Client::~PJRT_Client() {
  for (const auto &program : programs)
    if (auto compiled = program.lock())
      compiled->cancel();
}

void PJRT_Client::add(const std::shared_ptr<treadle::pjrt::CompiledProgram> &program) {
  std::lock_guard lock(programsMutex);
  if (programs.size() == programs.capacity())
    std::erase_if(programs, [](const auto &other) { return other.expired(); });
  programs.push_back(program);
}

treadle::Expected<PJRT_Device *> PJRT_Client::device(int64_t id) {
  if (id < 0 || id >= options.devices)
    return treadle::Unexpected(treadle::invalidArgument("there is no device ", id, "; there are ",
                                                        options.devices, " from 0 on"));
  return deviceList[static_cast<size_t>(id)];
}

namespace treadle::pjrt {

const std::string &platformVersion() {
  static const std::string text = str("Treadle ", version());
  return text;
}

namespace {

// --- the client --------------------------------------------------------------------------------

Expected<int> number(const PJRT_NamedValue &option, std::string_view name, int64_t least,
                     int64_t most) {
  if (option.type != PJRT_NamedValue_kInt64)
    return Unexpected(invalidArgument("the option '", name, "' isn't an integer"));
  if (option.int64_value < least || option.int64_value > most)
    return Unexpected(invalidArgument("the option '", name, "' is ", option.int64_value,
                                      ", expected ", least, " to ", most));
  return static_cast<int>(option.int64_value);
}

Expected<std::string_view> text(const PJRT_NamedValue &option, std::string_view name) {
  if (option.type != PJRT_NamedValue_kString)
    return Unexpected(invalidArgument("the option '", name, "' isn't a string"));
  return std::string_view(option.string_value, option.value_size);
}

Expected<std::string> checkPlatform(std::string_view name) {
  if (name != "treadle" && name != "cpu")
    return Unexpected(
        invalidArgument("the option 'platform' is '", name, "', expected treadle or cpu"));
  return std::string(name);
}

Expected<void> read(PJRT_Client::Options &options, const PJRT_NamedValue &option) {
  constexpr int maxDevices = 1024, maxThreads = 1024;
  std::string_view name(option.name, option.name_size);
  if (name == "num_devices")
    options.devices = TREADLE_TRY(number(option, name, 1, maxDevices));
  else if (name == "threads")
    options.threads = TREADLE_TRY(number(option, name, 0, maxThreads));
  else if (name == "tier")
    options.tier = TREADLE_TRY(text(option, name).and_then(parseTier));
  else if (name == "denormals")
    options.denormals = TREADLE_TRY(text(option, name).and_then(parseDenormals));
  else if (name == "platform")
    options.platform = TREADLE_TRY(text(option, name).and_then(checkPlatform));
  else
    return Unexpected(invalidArgument(
        "unknown option '", name, "'; expected num_devices, threads, tier, denormals or platform"));
  return {};
}

Expected<void> create(PJRT_Client_Create_Args &args) {
  PJRT_Client::Options options;
  for (size_t i = 0; i < args.num_options; ++i)
    TREADLE_TRY(read(options, args.create_options[i]));
  args.client = new PJRT_Client(options);
  return {};
}

void destroy(PJRT_Client_Destroy_Args &args) { delete args.client; }

void clientPlatform(PJRT_Client_PlatformName_Args &args) {
  returnText(args.client->options.platform, args.platform_name, args.platform_name_size);
}

void clientVersion(PJRT_Client_PlatformVersion_Args &args) {
  returnText(platformVersion(), args.platform_version, args.platform_version_size);
}

void clientProcess(PJRT_Client_ProcessIndex_Args &args) { args.process_index = 0; }

void allDevices(PJRT_Client_Devices_Args &args) {
  args.devices = args.client->deviceList.data();
  args.num_devices = args.client->deviceList.size();
}

void ownDevices(PJRT_Client_AddressableDevices_Args &args) {
  args.addressable_devices = args.client->deviceList.data();
  args.num_addressable_devices = args.client->deviceList.size();
}

Expected<void> findDevice(PJRT_Client_LookupDevice_Args &args) {
  args.device = TREADLE_TRY(args.client->device(args.id));
  return {};
}

Expected<void> findOwnDevice(PJRT_Client_LookupAddressableDevice_Args &args) {
  args.addressable_device = TREADLE_TRY(args.client->device(args.local_hardware_id));
  return {};
}

void allMemories(PJRT_Client_AddressableMemories_Args &args) {
  args.addressable_memories = args.client->memoryList.data();
  args.num_addressable_memories = args.client->memoryList.size();
}

Expected<void> defaultAssignment(PJRT_Client_DefaultDeviceAssignment_Args &args) {
  DeviceAssignment assignment =
      TREADLE_TRY(DeviceAssignment::inOrder(args.num_replicas, args.num_partitions));
  if (assignment.devices.size() > args.default_assignment_size)
    return Unexpected(invalidArgument("the buffer holds ", args.default_assignment_size,
                                      " devices, expected ", assignment.devices.size()));
  std::ranges::copy(assignment.devices, args.default_assignment);
  return {};
}

// --- devices and memories ----------------------------------------------------------------------

void describe(PJRT_Device_GetDescription_Args &args) {
  args.device_description = &args.device->description;
}

void deviceId(PJRT_DeviceDescription_Id_Args &args) { args.id = args.device_description->id; }

void deviceProcess(PJRT_DeviceDescription_ProcessIndex_Args &args) { args.process_index = 0; }

void deviceAttributes(PJRT_DeviceDescription_Attributes_Args &args) {
  args.num_attributes = 0;
  args.attributes = nullptr;
}

void kindOfDevice(PJRT_DeviceDescription_Kind_Args &args) {
  returnText(deviceKind, args.device_kind, args.device_kind_size);
}

void deviceDebugText(PJRT_DeviceDescription_DebugString_Args &args) {
  returnText(args.device_description->text, args.debug_string, args.debug_string_size);
}

void deviceText(PJRT_DeviceDescription_ToString_Args &args) {
  returnText(args.device_description->text, args.to_string, args.to_string_size);
}

void isOwn(PJRT_Device_IsAddressable_Args &args) { args.is_addressable = true; }

void hardwareId(PJRT_Device_LocalHardwareId_Args &args) {
  args.local_hardware_id = args.device->id();
}

void deviceMemories(PJRT_Device_AddressableMemories_Args &args) {
  args.memories = args.device->memories.data();
  args.num_memories = args.device->memories.size();
}

void defaultMemory(PJRT_Device_DefaultMemory_Args &args) {
  args.memory = args.device->memories.front();
}

void memoryId(PJRT_Memory_Id_Args &args) { args.id = args.memory->id; }

void memoryKind(PJRT_Memory_Kind_Args &args) {
  returnText(args.memory->kindName(), args.kind, args.kind_size);
}

void memoryKindId(PJRT_Memory_Kind_Id_Args &args) { args.kind_id = args.memory->kind; }

void memoryDebugText(PJRT_Memory_DebugString_Args &args) {
  returnText(args.memory->text, args.debug_string, args.debug_string_size);
}

void memoryText(PJRT_Memory_ToString_Args &args) {
  returnText(args.memory->text, args.to_string, args.to_string_size);
}

void memoryDevices(PJRT_Memory_AddressableByDevices_Args &args) {
  args.devices = &args.memory->device;
  args.num_devices = 1;
}

// --- topologies --------------------------------------------------------------------------------

void clientTopology(PJRT_Client_TopologyDescription_Args &args) {
  args.topology = &args.client->topology;
}

void topologyPlatform(PJRT_TopologyDescription_PlatformName_Args &args) {
  returnText(args.topology->client->options.platform, args.platform_name, args.platform_name_size);
}

void topologyVersion(PJRT_TopologyDescription_PlatformVersion_Args &args) {
  returnText(platformVersion(), args.platform_version, args.platform_version_size);
}

void topologyDevices(PJRT_TopologyDescription_GetDeviceDescriptions_Args &args) {
  args.descriptions = args.topology->descriptions.data();
  args.num_descriptions = args.topology->descriptions.size();
}

void topologyAttributes(PJRT_TopologyDescription_Attributes_Args &args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
}

} // namespace

void addClientFunctions(PJRT_Api &api) {
  TREADLE_PJRT_SET(api, PJRT_Client_Create, create);
  TREADLE_PJRT_SET(api, PJRT_Client_Destroy, destroy);
  TREADLE_PJRT_SET(api, PJRT_Client_PlatformName, clientPlatform);
  TREADLE_PJRT_SET(api, PJRT_Client_PlatformVersion, clientVersion);
  TREADLE_PJRT_SET(api, PJRT_Client_ProcessIndex, clientProcess);
  TREADLE_PJRT_SET(api, PJRT_Client_Devices, allDevices);
  TREADLE_PJRT_SET(api, PJRT_Client_AddressableDevices, ownDevices);
  TREADLE_PJRT_SET(api, PJRT_Client_LookupDevice, findDevice);
  TREADLE_PJRT_SET(api, PJRT_Client_LookupAddressableDevice, findOwnDevice);
  TREADLE_PJRT_SET(api, PJRT_Client_AddressableMemories, allMemories);
  TREADLE_PJRT_SET(api, PJRT_Client_DefaultDeviceAssignment, defaultAssignment);
  TREADLE_PJRT_SET(api, PJRT_Device_GetDescription, describe);
  TREADLE_PJRT_SET(api, PJRT_DeviceDescription_Id, deviceId);
  TREADLE_PJRT_SET(api, PJRT_DeviceDescription_ProcessIndex, deviceProcess);
  TREADLE_PJRT_SET(api, PJRT_DeviceDescription_Attributes, deviceAttributes);
  TREADLE_PJRT_SET(api, PJRT_DeviceDescription_Kind, kindOfDevice);
  TREADLE_PJRT_SET(api, PJRT_DeviceDescription_DebugString, deviceDebugText);
  TREADLE_PJRT_SET(api, PJRT_DeviceDescription_ToString, deviceText);
  TREADLE_PJRT_SET(api, PJRT_Device_IsAddressable, isOwn);
  TREADLE_PJRT_SET(api, PJRT_Device_LocalHardwareId, hardwareId);
  TREADLE_PJRT_SET(api, PJRT_Device_AddressableMemories, deviceMemories);
  TREADLE_PJRT_SET(api, PJRT_Device_DefaultMemory, defaultMemory);
  TREADLE_PJRT_SET(api, PJRT_Memory_Id, memoryId);
  TREADLE_PJRT_SET(api, PJRT_Memory_Kind, memoryKind);
  TREADLE_PJRT_SET(api, PJRT_Memory_Kind_Id, memoryKindId);
  TREADLE_PJRT_SET(api, PJRT_Memory_DebugString, memoryDebugText);
  TREADLE_PJRT_SET(api, PJRT_Memory_ToString, memoryText);
  TREADLE_PJRT_SET(api, PJRT_Memory_AddressableByDevices, memoryDevices);
  TREADLE_PJRT_SET(api, PJRT_Client_TopologyDescription, clientTopology);
  TREADLE_PJRT_SET(api, PJRT_TopologyDescription_PlatformName, topologyPlatform);
  TREADLE_PJRT_SET(api, PJRT_TopologyDescription_PlatformVersion, topologyVersion);
  TREADLE_PJRT_SET(api, PJRT_TopologyDescription_GetDeviceDescriptions, topologyDevices);
  TREADLE_PJRT_SET(api, PJRT_TopologyDescription_Attributes, topologyAttributes);
}

} // namespace treadle::pjrt
