#include "treadle/import/stablehlo/DeviceGroups.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

FailureOr<Devices> hlo::devicesOf(ModuleOp module) {
  constexpr int64_t most = 1024;
  Devices devices;
  for (auto [key, into] : {std::pair("mhlo.num_replicas", &devices.replicas),
                           std::pair("mhlo.num_partitions", &devices.partitions)}) {
    auto number = module->getAttrOfType<IntegerAttr>(key);
    if (!number)
      continue;
    *into = number.getValue().getSExtValue();
    if (*into < 1 || *into > most || devices.size() > most)
      return module.emitError("its attribute '")
             << key << "' is " << *into << ", expected 1 to " << most << " devices in all";
  }
  return devices;
}

int64_t hlo::channelOf(Operation *op) {
  SmallVector<int64_t> handle =
      fieldNumbers(op->getAttrOfType<DictionaryAttr>("channel_handle"), "handle");
  return handle.empty() ? numberOr(op, "channel_id", 0) : handle.front();
}

GroupNumbering hlo::reductionNumbering(Operation *op) {
  bool isGlobal = op->hasAttr("use_global_device_ids") &&
                  op->getAttr("use_global_device_ids") != BoolAttr::get(op->getContext(), false);
  if (isGlobal)
    return GroupNumbering::Processes;
  return channelOf(op) > 0 ? GroupNumbering::ReplicasOfAllPartitions : GroupNumbering::Replicas;
}

GroupNumbering hlo::moveNumbering(Operation *op) {
  return channelOf(op) > 0 ? GroupNumbering::Partitions : GroupNumbering::Replicas;
}

/// Returns the groups that the attribute specifies; all devices if it specifies none.
static FailureOr<SmallVector<Ranks>> statedGroups(Operation *op, StringRef key, int64_t count) {
  Attribute attr = op->getAttr(key);
  auto elements = dyn_cast_or_null<DenseIntElementsAttr>(attr);
  if (attr && !elements)
    return unimplementedOp(op) << " whose " << key << " aren't a matrix of numbers";
  if (!elements || elements.getNumElements() == 0)
    return SmallVector<Ranks>{llvm::to_vector(llvm::seq(int64_t{0}, count))};
  if (elements.getType().getRank() != 2)
    return op->emitError("its ") << key << " are " << elements.getType() << ", expected a matrix";
  auto columns = static_cast<size_t>(elements.getType().getDimSize(1));
  SmallVector<Ranks> rows;
  for (auto [i, number] : llvm::enumerate(numbers(elements))) {
    if (i % columns == 0)
      rows.emplace_back();
    if (number == -1)
      continue;
    if (number < 0 || number >= count)
      return op->emitError("its ")
             << key << " name " << number << ", expected numbers from 0 below " << count;
    rows.back().push_back(number);
  }
  return rows;
}

static int64_t countOf(GroupNumbering numbering, const Devices &devices) {
  switch (numbering) {
  case GroupNumbering::Partitions:
    return devices.partitions;
  case GroupNumbering::Processes:
    return devices.size();
  case GroupNumbering::Replicas:
  case GroupNumbering::ReplicasOfAllPartitions:
    return devices.replicas;
  }
  return 0;
}

/// Maps rows of such numbers to rows of ranks.
static SmallVector<Ranks> ranksOf(ArrayRef<Ranks> stated, GroupNumbering numbering,
                                  const Devices &devices) {
  SmallVector<Ranks> rows;
  int64_t step = devices.partitions;
  auto add = [&](const Ranks &row, int64_t first, int64_t factor) {
    for (int64_t number : row)
      rows.back().push_back(first + factor * number);
  };
  for (const Ranks &row : stated) {
    if (numbering == GroupNumbering::Processes) {
      rows.push_back(row);
    } else if (numbering == GroupNumbering::Partitions) {
      for (int64_t replica = 0; replica < devices.replicas; ++replica) {
        rows.emplace_back();
        add(row, replica * step, 1);
      }
    } else {
      for (int64_t partition = 0; partition < step; ++partition) {
        if (partition == 0 || numbering == GroupNumbering::Replicas)
          rows.emplace_back();
        add(row, partition, step);
      }
    }
  }
  return rows;
}

FailureOr<RankGroups> hlo::groupsOf(BodyConverter &body, Operation *op, GroupNumbering numbering) {
  const Devices &devices = body.program.devices;
  FailureOr<SmallVector<Ranks>> stated =
      statedGroups(op, "replica_groups", countOf(numbering, devices));
  if (failed(stated))
    return failure();
  RankGroups groups{ranksOf(*stated, numbering, devices)};
  for (const Ranks &row : groups.rows)
    groups.largest = std::max(groups.largest, row.size());
  return groups;
}

FailureOr<RankGroups> hlo::allDeviceGroups(BodyConverter &body, Operation *op,
                                           GroupNumbering numbering) {
  FailureOr<RankGroups> groups = groupsOf(body, op, numbering);
  if (failed(groups))
    return failure();
  size_t count = 0;
  for (const Ranks &row : groups->rows)
    count += row.size();
  if (static_cast<int64_t>(count) != body.program.devices.size())
    return op->emitError("its replica_groups hold ")
           << count << " of the program's " << body.program.devices.size() << " devices";
  return groups;
}

FailureOr<SmallVector<int64_t>> hlo::pairsOf(BodyConverter &body, Operation *op,
                                             GroupNumbering numbering) {
  constexpr StringRef key = "source_target_pairs";
  const Devices &devices = body.program.devices;
  FailureOr<SmallVector<Ranks>> stated = statedGroups(op, key, countOf(numbering, devices));
  if (failed(stated))
    return failure();
  SmallVector<int64_t> pairs;
  if (numbers(op, key).empty())
    return pairs;
  for (const Ranks &row : ranksOf(*stated, numbering, devices)) {
    if (row.size() != 2)
      return op->emitError("a row of its source_target_pairs has ")
             << row.size() << " devices, expected 2";
    llvm::append_range(pairs, row);
  }
  return pairs;
}
