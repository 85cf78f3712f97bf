// Verifiers of ops that communicate between devices.
#include "treadle/dialect/stablehlo/TypeChecks.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::stablehlo;

static bool isSet(std::optional<Attribute> flag) {
  return flag && *flag != BoolAttr::get(flag->getContext(), false);
}

/// Returns the number of devices in a group if its rows determine it: groups of a channel list
/// replicas, each with all its partitions.
static std::optional<int64_t> groupSize(Attribute groups, std::optional<DictionaryAttr> channel) {
  auto elements = dyn_cast<DenseIntElementsAttr>(groups);
  SmallVector<int64_t> handle = fieldNumbers(channel.value_or(DictionaryAttr()), "handle");
  bool hasChannel = !handle.empty() && handle.front() > 0;
  if (!elements || elements.getType().getRank() != 2 || elements.getType().getDimSize(1) == 0 ||
      hasChannel)
    return std::nullopt;
  return elements.getType().getDimSize(1);
}

/// Checks that groups are disjoint. If `areWhole`, they also cover all devices from 0 on. If groups
/// may differ in size, rows are padded with -1.
static LogicalResult verifyGroups(Operation *op, Attribute groups, bool areWhole = true,
                                  bool maybeUneven = false) {
  if (isa<DictionaryAttr>(groups))
    return success();
  if (!areNumbers(groups))
    return op->emitOpError("replica_groups must be integers or axes of a mesh");
  if (auto elements = dyn_cast<DenseIntElementsAttr>(groups);
      elements && elements.getType().getRank() != 2)
    return op->emitOpError("replica_groups has type ")
           << elements.getType() << ", expected a matrix";
  SmallVector<int64_t> devices = numbers(groups);
  if (maybeUneven)
    llvm::erase(devices, -1);
  llvm::sort(devices);
  for (size_t i = 0; i + 1 < devices.size(); ++i)
    if (devices[i] == devices[i + 1])
      return op->emitOpError("replica_groups have ") << devices[i] << " twice";
  if (!devices.empty() &&
      (devices.front() < 0 || (areWhole && devices.back() >= std::ssize(devices))))
    return op->emitOpError("replica_groups don't contain all devices from 0 on");
  return success();
}

/// Checks for one result for each operand.
static LogicalResult expectResultPerOperand(Operation *op, ValueRange operands) {
  if (!operands.empty() && operands.size() == op->getNumResults())
    return success();
  return op->emitOpError("has ") << operands.size() << " operands and " << op->getNumResults()
                                 << " results";
}

/// Checks that each result has its operand's shape except along one dimension, where the size in
/// `larges` is a multiple of that in `smalls`. The factor is checked at run time, when the number
/// of devices is known.
static LogicalResult expectMultipleSizes(Operation *op, ValueRange smalls, ValueRange larges,
                                         int64_t dim, StringRef what) {
  for (auto [few, many] : llvm::zip(smalls, larges)) {
    RankedTensorType small = ranked(few), large = ranked(many);
    if (!small || !large)
      continue;
    if (failed(expectDim(op, dim, small.getRank(), what)))
      return failure();
    SmallVector<int64_t> expected(small.getShape());
    if (expected.size() != static_cast<size_t>(large.getRank()))
      return op->emitOpError() << Type(small) << " and " << Type(large) << " have different ranks";
    expected[dim] = large.getDimSize(dim);
    int64_t size = small.getDimSize(dim);
    bool isKnown = !isUnknown(size) && !isUnknown(expected[dim]);
    if (!fits(expected, large.getShape()) ||
        (isKnown && (size ? expected[dim] % size : expected[dim])))
      return op->emitOpError("dimension ")
             << dim << " of " << Type(large) << " isn't a multiple of that of " << Type(small)
             << ", or others differ";
  }
  return success();
}

LogicalResult AllGatherOp::verify() {
  if (failed(expectResultPerOperand(*this, getOperands())) ||
      failed(verifyGroups(*this, getReplicaGroups())))
    return failure();
  for (auto [operand, result] : llvm::zip(getOperands(), getResults()))
    if (failed(expectElement(*this, result, elementOf(operand))))
      return failure();
  return expectMultipleSizes(*this, getOperands(), getResults(), getAllGatherDim(),
                             "all_gather_dim");
}

/// Checks that one function of two scalars fits all operands, and that the results have its element
/// types.
static LogicalResult verifyReduction(Operation *op, ValueRange operands, Region &function) {
  if (failed(expectResultPerOperand(op, operands)))
    return failure();
  for (auto [operand, result] : llvm::zip(operands, op->getResults()))
    if (failed(expectReducer(op, function, elementOf(operand))) ||
        failed(expectElement(op, result, elementOf(function.front().getArgument(0)))))
      return failure();
  return success();
}

LogicalResult AllReduceOp::verifyRegions() {
  if (failed(verifyGroups(*this, getReplicaGroups(), /*areWhole=*/true, /*maybeUneven=*/true)) ||
      failed(verifyReduction(*this, getOperands(), getComputation())))
    return failure();
  for (auto [operand, result] : llvm::zip(getOperands(), getResults()))
    if (RankedTensorType type = ranked(operand);
        type && failed(expectShape(*this, result, type.getShape())))
      return failure();
  return success();
}

LogicalResult ReduceScatterOp::verifyRegions() {
  if (failed(verifyGroups(*this, getReplicaGroups())) ||
      failed(verifyReduction(*this, getOperands(), getComputation())))
    return failure();
  return expectMultipleSizes(*this, getResults(), getOperands(), getScatterDimension(),
                             "scatter_dimension");
}

/// Returns the operands without the last one if that holds the root device of each.
static FailureOr<OperandRange> dataOf(Operation *op, OperandRange operands, bool hasRoot) {
  size_t count = operands.size() - (hasRoot && !operands.empty());
  OperandRange data = operands.take_front(count);
  if (data.empty())
    return op->emitOpError("has no operands");
  if (!hasRoot)
    return data;
  RankedTensorType roots = ranked(operands.back());
  if (failed(expectRank(op, operands.back(), "the list of roots", 1)) ||
      failed(expectElement(op, operands.back(), IntegerType::get(op->getContext(), 32))))
    return failure();
  if (roots && !fits(roots.getDimSize(0), std::ssize(data)))
    return op->emitOpError("the list of roots is ")
           << Type(roots) << ", expected one for each of " << data.size() << " operands";
  return data;
}

LogicalResult CollectiveBroadcastOp::verify() {
  FailureOr<OperandRange> data = dataOf(*this, getOperands(), isSet(getHasDynamicRoot()));
  if (failed(data) || failed(verifyGroups(*this, getReplicaGroups(), /*areWhole=*/false)))
    return failure();
  return expectTypes(*this, "its results are", getResultTypes(), TypeRange(*data));
}

LogicalResult CollectiveReduceOp::verifyRegions() {
  FailureOr<OperandRange> data = dataOf(*this, getOperands(), isSet(getHasDynamicRoot()));
  if (failed(data) || failed(verifyGroups(*this, getReplicaGroups(), /*areWhole=*/false)))
    return failure();
  return verifyReduction(*this, *data, getComputation());
}

LogicalResult AllToAllOp::verify() {
  auto count = getSplitCount(), from = getSplitDimension(), to = getConcatDimension();
  if (failed(expectResultPerOperand(*this, getOperands())) ||
      failed(verifyGroups(*this, getReplicaGroups())))
    return failure();
  if (std::optional<int64_t> group = groupSize(getReplicaGroups(), getChannelHandle());
      group && *group != count)
    return emitOpError("split_count is ") << count << ", but a group has " << *group << " devices";
  for (auto [operand, result] : llvm::zip(getOperands(), getResults())) {
    RankedTensorType type = ranked(operand);
    if (failed(expectElement(*this, result, elementOf(operand))))
      return failure();
    if (!type)
      continue;
    if (failed(expectDim(*this, from, type.getRank(), "split_dimension")) ||
        failed(expectDim(*this, to, type.getRank(), "concat_dimension")))
      return failure();
    SmallVector<int64_t> expected(type.getShape());
    if (!isUnknown(expected[from]) && expected[from] % count)
      return emitOpError("dimension ")
             << from << " of " << Type(type) << " can't be split into " << count << " parts";
    expected[from] = isUnknown(expected[from]) ? unknown : expected[from] / count;
    if (int64_t whole; !isUnknown(expected[to]))
      expected[to] = llvm::MulOverflow(expected[to], count, whole) ? unknown : whole;
    if (failed(expectShape(*this, result, expected)))
      return failure();
  }
  return success();
}

/// Checks that each device sends at most once and receives at most once.
LogicalResult CollectivePermuteOp::verify() {
  llvm::SmallDenseSet<int64_t> sources, targets;
  SmallVector<int64_t> pairs = getSourceTargetPairs();
  auto elements = dyn_cast<DenseElementsAttr>(getSourceTargetPairsAttr());
  if (pairs.size() % 2 ||
      (elements && (elements.getType().getRank() != 2 || elements.getType().getDimSize(1) != 2)))
    return emitOpError("source_target_pairs aren't pairs");
  for (size_t i = 0; i < pairs.size(); i += 2) {
    if (pairs[i] < 0 || pairs[i + 1] < 0)
      return emitOpError("an element of source_target_pairs is negative");
    if (!sources.insert(pairs[i]).second || !targets.insert(pairs[i + 1]).second)
      return emitOpError("source_target_pairs has ")
             << pairs[i] << " -> " << pairs[i + 1]
             << ", but one of these devices sends or receives twice";
  }
  return success();
}

// --- the host -----------------------------------------------------------------------------------

/// Checks for tensors followed by a token.
static LogicalResult expectToken(Operation *op) {
  TypeRange types = op->getResultTypes();
  if (!types.empty() && isa<NoneType>(types.back()) &&
      llvm::all_of(types.drop_back(), llvm::IsaPred<TensorType>))
    return success();
  return op->emitOpError("its results are (") << types << "), expected tensors and a token";
}

/// Checks the channel type, which tells its endpoints: two devices, device to host, or host to
/// device.
static LogicalResult expectChannel(Operation *op, DictionaryAttr channel, bool isOfHost,
                                   int64_t typeOfHost) {
  SmallVector<int64_t> type = fieldNumbers(channel, "type");
  int64_t expected = isOfHost ? typeOfHost : 1;
  if (type.empty() || type.front() == expected)
    return success();
  return op->emitOpError("its channel has type ")
         << type.front() << ", expected " << expected << " as is_host_transfer is "
         << (isOfHost ? "true" : "false");
}

LogicalResult InfeedOp::verify() { return expectToken(*this); }

LogicalResult SendOp::verify() {
  return expectChannel(*this, getChannelHandle(), isSet(getIsHostTransfer()), 2);
}

LogicalResult RecvOp::verify() {
  return failure(failed(expectToken(*this)) ||
                 failed(expectChannel(*this, getChannelHandle(), isSet(getIsHostTransfer()), 3)));
}
