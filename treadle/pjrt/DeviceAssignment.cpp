#include "treadle/pjrt/DeviceAssignment.h"

#include "treadle/tensor/Wire.h"

namespace treadle::pjrt {

using Field = WireReader::Field;

namespace {

constexpr int64_t maxDevices = 1 << 16;

Error malformed(std::string_view what) {
  return invalidArgument("the ", what, " of the program are malformed");
}

} // namespace

Expected<DeviceAssignment> DeviceAssignment::inOrder(int64_t replicas, int64_t partitions) {
  if (replicas < 1 || partitions < 1 || replicas > maxDevices || partitions > maxDevices ||
      replicas * partitions > maxDevices)
    return Unexpected(invalidArgument("the program is for ", replicas, " replicas and ", partitions,
                                      " partitions, expected 1 to ", maxDevices, " in all"));
  DeviceAssignment made{static_cast<int>(replicas), static_cast<int>(partitions), {}};
  for (int i = 0; i < made.size(); ++i)
    made.devices.push_back(i);
  return made;
}

Expected<DeviceAssignment> DeviceAssignment::parse(std::string_view message) {
  enum : uint64_t { ReplicaCount = 1, ComputationCount = 2, Computations = 3 };
  uint64_t replicas = 0, partitions = 0;
  std::vector<std::vector<uint64_t>> computations;
  auto readIds = [&](const Field &field) {
    auto add = [&](uint64_t id) { computations.back().push_back(id); };
    return field.number != 1 || forEachNumber(field, WireType::Varint, add);
  };
  bool isGood = forEachField(message, [&](const Field &field) {
    if (field.number == ReplicaCount && field.isVarint())
      replicas = field.value;
    else if (field.number == ComputationCount && field.isVarint())
      partitions = field.value;
    else if (field.number == Computations && field.isBytes()) {
      computations.emplace_back();
      return forEachField(field.bytes, readIds);
    }
    return true;
  });
  DeviceAssignment made =
      TREADLE_TRY(inOrder(static_cast<int64_t>(std::min<uint64_t>(replicas, maxDevices + 1)),
                          static_cast<int64_t>(std::min<uint64_t>(partitions, maxDevices + 1))));
  if (!isGood || computations.size() != partitions)
    return Unexpected(malformed("device assignment"));
  for (size_t partition = 0; partition < partitions; ++partition) {
    if (computations[partition].size() != replicas)
      return Unexpected(malformed("device assignment"));
    for (size_t replica = 0; replica < replicas; ++replica)
      made.devices[replica * partitions + partition] =
          static_cast<int>(std::min<uint64_t>(computations[partition][replica], maxDevices));
  }
  return made;
}

std::string DeviceAssignment::serialize() const {
  std::string out;
  putNumberAlways(out, 1, static_cast<uint64_t>(replicas));
  putNumberAlways(out, 2, static_cast<uint64_t>(partitions));
  for (int partition = 0; partition < partitions; ++partition) {
    std::string ids, computation;
    for (int replica = 0; replica < replicas; ++replica)
      putVarint(ids, static_cast<uint64_t>(devices[replica * partitions + partition]));
    putBytes(computation, 1, ids);
    putBytes(out, 3, computation);
  }
  return out;
}

Expected<CompileOptions> CompileOptions::parse(std::string_view message) {
  enum : uint64_t { IsTupled = 2, BuildOptions = 3, Overrides = 7 };
  enum : uint64_t { Replicas = 4, Partitions = 5, Assignment = 9 };
  CompileOptions made;
  uint64_t replicas = 1, partitions = 1;
  std::string_view assignment, unknown;
  auto readOverride = [&](const Field &field) {
    constexpr uint64_t key = 1;
    if (field.number == key && field.isBytes() && !field.bytes.starts_with("xla_"))
      unknown = field.bytes;
    return true;
  };
  auto readBuild = [&](const Field &field) {
    if (field.number == Replicas && field.isVarint())
      replicas = field.value;
    else if (field.number == Partitions && field.isVarint())
      partitions = field.value;
    else if (field.number == Assignment && field.isBytes())
      assignment = field.bytes;
    return true;
  };
  bool isGood = forEachField(message, [&](const Field &field) {
    if (field.number == IsTupled && field.isVarint())
      made.isTupled = field.value != 0;
    else if (field.number == BuildOptions && field.isBytes())
      return forEachField(field.bytes, readBuild);
    else if (field.number == Overrides && field.isBytes())
      return forEachField(field.bytes, readOverride);
    return true;
  });
  if (!isGood)
    return Unexpected(malformed("compile options"));
  if (!unknown.empty())
    return Unexpected(invalidArgument("No such compile option: '", unknown, "'"));
  made.assignment = TREADLE_TRY(
      assignment.empty() ? DeviceAssignment::inOrder(static_cast<int64_t>(replicas & 0xffffffff),
                                                     static_cast<int64_t>(partitions & 0xffffffff))
                         : DeviceAssignment::parse(assignment));
  return made;
}

} // namespace treadle::pjrt
