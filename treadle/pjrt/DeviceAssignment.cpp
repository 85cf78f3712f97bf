#include "treadle/pjrt/DeviceAssignment.h"

#include "treadle/kernels/WireFormat.h"

namespace treadle::pjrt {

using wire::Reader;

namespace {

constexpr int64_t mostDevices = 1 << 16;

Error malformed(std::string_view what) {
  return invalidArgument("the ", what, " of the program are malformed");
}

/// Numbers of a repeated field, packed or not.
void readNumbers(uint64_t type, Reader &from, std::vector<uint64_t> &into) {
  if (type == wire::Varint)
    return into.push_back(from.varint());
  if (type != wire::Bytes)
    return from.fail();
  Reader packed(from.delimited());
  while (!packed.isAtEnd())
    into.push_back(packed.varint());
  if (!packed.isGood())
    from.fail();
}

} // namespace

Expected<DeviceAssignment> DeviceAssignment::inOrder(int64_t replicas, int64_t partitions) {
  if (replicas < 1 || partitions < 1 || replicas > mostDevices || partitions > mostDevices ||
      replicas * partitions > mostDevices)
    return Unexpected(invalidArgument("the program is for ", replicas, " replicas and ", partitions,
                                      " partitions, expected 1 to ", mostDevices, " in all"));
  DeviceAssignment made{static_cast<int>(replicas), static_cast<int>(partitions), {}};
  for (int i = 0; i < made.size(); ++i)
    made.devices.push_back(i);
  return made;
}

Expected<DeviceAssignment> DeviceAssignment::parse(std::string_view message) {
  enum Field : uint64_t { ReplicaCount = 1, ComputationCount = 2, Computations = 3 };
  uint64_t replicas = 0, partitions = 0;
  std::vector<std::vector<uint64_t>> computations;
  bool isGood = wire::readFields(message, [&](uint64_t field, uint64_t type, Reader &from) {
    if (field == ReplicaCount && type == wire::Varint)
      replicas = from.varint();
    else if (field == ComputationCount && type == wire::Varint)
      partitions = from.varint();
    else if (field == Computations && type == wire::Bytes) {
      std::vector<uint64_t> &ids = computations.emplace_back();
      bool isRead = wire::readFields(
          from.delimited(), [&](uint64_t inner, uint64_t innerType, Reader &innerFrom) {
            inner == 1 ? readNumbers(innerType, innerFrom, ids) : innerFrom.skip(innerType);
          });
      if (!isRead)
        from.fail();
    } else {
      from.skip(type);
    }
  });
  DeviceAssignment made =
      TREADLE_TRY(inOrder(static_cast<int64_t>(std::min<uint64_t>(replicas, mostDevices + 1)),
                          static_cast<int64_t>(std::min<uint64_t>(partitions, mostDevices + 1))));
  if (!isGood || computations.size() != partitions)
    return Unexpected(malformed("device assignment"));
  for (size_t partition = 0; partition < partitions; ++partition) {
    if (computations[partition].size() != replicas)
      return Unexpected(malformed("device assignment"));
    for (size_t replica = 0; replica < replicas; ++replica)
      made.devices[replica * partitions + partition] =
          static_cast<int>(std::min<uint64_t>(computations[partition][replica], mostDevices));
  }
  return made;
}

std::string DeviceAssignment::serialize() const {
  std::string out;
  wire::putNumber(out, 1, static_cast<uint64_t>(replicas));
  wire::putNumber(out, 2, static_cast<uint64_t>(partitions));
  for (int partition = 0; partition < partitions; ++partition) {
    std::string ids, computation;
    for (int replica = 0; replica < replicas; ++replica)
      wire::putVarint(ids, static_cast<uint64_t>(devices[replica * partitions + partition]));
    wire::putBytes(computation, 1, ids);
    wire::putBytes(out, 3, computation);
  }
  return out;
}

Expected<CompileOptions> CompileOptions::parse(std::string_view message) {
  enum Field : uint64_t { IsTupled = 2, BuildOptions = 3, Overrides = 7 };
  enum BuildField : uint64_t { Replicas = 4, Partitions = 5, Assignment = 9 };
  CompileOptions made;
  uint64_t replicas = 1, partitions = 1;
  std::string_view assignment, unknown;
  auto readOverride = [&](uint64_t field, uint64_t type, Reader &from) {
    constexpr uint64_t key = 1;
    if (field != key || type != wire::Bytes)
      return from.skip(type);
    if (std::string_view name = from.delimited(); !name.starts_with("xla_"))
      unknown = name;
  };
  auto readBuild = [&](uint64_t field, uint64_t type, Reader &from) {
    if (field == Replicas && type == wire::Varint)
      replicas = from.varint();
    else if (field == Partitions && type == wire::Varint)
      partitions = from.varint();
    else if (field == Assignment && type == wire::Bytes)
      assignment = from.delimited();
    else
      from.skip(type);
  };
  bool isGood = wire::readFields(message, [&](uint64_t field, uint64_t type, Reader &from) {
    if (field == IsTupled && type == wire::Varint)
      made.isTupled = from.varint() != 0;
    else if (field == BuildOptions && type == wire::Bytes) {
      if (!wire::readFields(from.delimited(), readBuild))
        from.fail();
    } else if (field == Overrides && type == wire::Bytes) {
      if (!wire::readFields(from.delimited(), readOverride))
        from.fail();
    } else {
      from.skip(type);
    }
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
