// Converts ops that communicate between devices. Each device runs the program in a process or
// session of its own; these are the ranks of a world.
#include "treadle/import/stablehlo/DeviceGroups.h"
#include "treadle/import/stablehlo/Formula.h"
#include "treadle/import/stablehlo/Import.h"
#include "treadle/import/stablehlo/Sharding.h"
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

// --- nodes --------------------------------------------------------------------------------------

/// Creates a collective node, which all ranks execute in the same order.
static Value exchange(BodyConverter &body, StringRef op, ValueRange inputs, Type type,
                      Attrs attrs) {
  SmallVector<Value> operands(inputs);
  body.waitForEffects(operands);
  Value result = body.node(op, operands, type, std::move(attrs));
  body.addEffect();
  return result;
}

static Attrs groupAttrs(BodyConverter &body, const RankGroups &groups) {
  Attrs attrs;
  attrs.append("groups", body.builder.getI64ArrayAttr(groups.flattened()));
  attrs.append("group_size", body.builder.getI64IntegerAttr(static_cast<int64_t>(groups.largest)));
  return attrs;
}

static Value rankOf(BodyConverter &body) {
  return body.node("_ProcessRank", {}, RankedTensorType::get({}, body.builder.getI32Type()));
}

/// Returns this rank's row of a table with one row per rank.
static Value rowOfRank(BodyConverter &body, ArrayRef<int64_t> table, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> all{body.program.devices.size()};
  llvm::append_range(all, shape);
  Value rows = body.integers(table, all);
  return body.node("GatherV2", {rows, rankOf(body), body.index(0)},
                   RankedTensorType::get(shape, elementOf(rows)));
}

static RankedTensorType stackType(RankedTensorType type, int64_t count) {
  SmallVector<int64_t> shape{count};
  llvm::append_range(shape, type.getShape());
  return RankedTensorType::get(shape, type.getElementType());
}

/// Returns the stacked values of all ranks of the group.
static Value gathered(BodyConverter &body, Value x, const RankGroups &groups) {
  RankedTensorType type = rankedOf(x);
  Value row = body.node("ExpandDims", {x, body.index(0)}, stackType(type, 1));
  return exchange(body, "_AllGather", row, stackType(type, static_cast<int64_t>(groups.largest)),
                  groupAttrs(body, groups));
}

/// Moves the first dimension before dimension `dim` of the others and merges the two.
static Value mergedAt(BodyConverter &body, Value stack, int64_t dim, RankedTensorType type) {
  RankedTensorType given = rankedOf(stack);
  SmallVector<int64_t> order, shape;
  for (int64_t i = 1; i < given.getRank(); ++i) {
    if (i - 1 == dim)
      order.push_back(0);
    order.push_back(i);
  }
  for (int64_t i : order)
    shape.push_back(given.getDimSize(i));
  if (!llvm::is_sorted(order))
    stack = body.node("Transpose", {stack, body.vector(order)}, given.clone(shape));
  return body.reshapeTo(stack, type);
}

/// Splits dimension `dim` into `count` pieces and stacks them.
static Value stackedPieces(BodyConverter &body, Value x, int64_t dim, int64_t count) {
  RankedTensorType type = rankedOf(x);
  SmallVector<int64_t> cut(type.getShape()), order{dim}, shape;
  cut[dim] /= count;
  cut.insert(cut.begin() + dim, count);
  Value pieces = body.reshape(x, cut);
  for (int64_t i = 0; i <= type.getRank(); ++i)
    if (i != dim)
      order.push_back(i);
  for (int64_t i : order)
    shape.push_back(cut[i]);
  if (llvm::is_sorted(order))
    return pieces;
  return body.node("Transpose", {pieces, body.vector(order)}, type.clone(shape));
}

// --- reductions ---------------------------------------------------------------------------------

/// Combines the values of the stack one after another by the op's function.
static FailureOr<Value> reducedStack(BodyConverter &body, Operation *op, Value stack) {
  FailureOr<ScalarFunction> function = scalarFunction(body, op->getRegion(0), "reducer");
  if (failed(function))
    return failure();
  if (!function->isElementwise)
    return unimplementedOp(op) << " by a function that doesn't consist of elementwise ops";
  RankedTensorType all = rankedOf(stack);
  auto type = RankedTensorType::get(all.getShape().drop_front(), all.getElementType());
  Attrs attrs, number;
  attrs.append("f", body.func(function->name));
  number.append("num", body.builder.getI64IntegerAttr(all.getDimSize(0)));
  number.append("axis", body.builder.getI64IntegerAttr(0));
  SmallVector<Type> types(all.getDimSize(0), type);
  SmallVector<Value> values = body.nodes("Unpack", stack, types, number);
  Value result = values.front();
  for (Value next : ArrayRef(values).drop_front())
    result = body.node("PartitionedCall", {result, next}, type, attrs);
  return result;
}

static StringRef reductionName(Operation *op, Type element) {
  static const llvm::StringMap<StringRef> names = {
      {"add", "Add"}, {"multiply", "Mul"}, {"minimum", "Min"}, {"maximum", "Max"}};
  return isBool(element) || isComplex(element) ? StringRef()
                                               : names.lookup(combinerOf(op->getRegion(0)));
}

static FailureOr<Value> reduced(BodyConverter &body, Operation *op, Value x,
                                const RankGroups &groups) {
  if (StringRef name = reductionName(op, elementOf(x)); !name.empty()) {
    Attrs attrs = groupAttrs(body, groups);
    attrs.append("reduction", body.builder.getStringAttr(name));
    return exchange(body, "_AllReduce", x, x.getType(), attrs);
  }
  if (!groups.areEqual())
    return unimplementedOp(op) << " with groups of different sizes by this function";
  return reducedStack(body, op, gathered(body, x, groups));
}

static LogicalResult checkReduction(Operation *op) {
  if (op->getNumRegions() == 1 && llvm::hasSingleElement(op->getRegion(0)) &&
      op->getNumOperands() == op->getNumResults() && !op->getRegion(0).front().empty())
    return success();
  return op->emitError("it has ") << op->getNumOperands() << " operands and " << op->getNumResults()
                                  << " results, expected equal numbers and a function";
}

static LogicalResult readAllReduce(BodyConverter &body, Operation *op) {
  FailureOr<RankGroups> groups = allDeviceGroups(body, op, reductionNumbering(op));
  if (failed(checkReduction(op)) || failed(groups))
    return failure();
  for (auto [from, to] : llvm::zip(op->getOperands(), op->getResults())) {
    FailureOr<Value> value = reduced(body, op, body.of(from), *groups);
    if (failed(value))
      return failure();
    body.map(to, *value);
  }
  return success();
}

/// The first rank of each group gets the reduction; the others get zeros.
static LogicalResult readCollectiveReduce(BodyConverter &body, Operation *op) {
  FailureOr<RankGroups> groups = groupsOf(body, op, reductionNumbering(op));
  if (failed(checkReduction(op)) || failed(groups))
    return failure();
  int64_t size = body.program.devices.size();
  SmallVector<int64_t> isRoot =
      groups->byRank(size, 0, [](const Ranks &, int64_t place) { return place == 0; });
  SmallVector<int64_t> isMember = groups->byRank(size, 0, [](const Ranks &, int64_t) { return 1; });
  for (auto [rank, isIn] : llvm::enumerate(isMember))
    if (!isIn)
      groups->rows.push_back({static_cast<int64_t>(rank)});
  for (auto [from, to] : llvm::zip(op->getOperands(), op->getResults())) {
    FailureOr<Value> value = reduced(body, op, body.of(from), *groups);
    if (failed(value))
      return failure();
    Value isMine = body.cast(rowOfRank(body, isRoot, {}), body.builder.getI1Type());
    Value zeros = body.like("ZerosLike", *value);
    body.map(to, body.node("SelectV2", {isMine, *value, zeros}, value->getType()));
  }
  return success();
}

/// Checks that each group can divide the operand evenly along the dimension.
static LogicalResult checkShared(Operation *op, Value x, int64_t dim, int64_t count) {
  RankedTensorType type = rankedOf(x);
  if (type && type.hasStaticShape() && dim >= 0 && dim < type.getRank() &&
      type.getDimSize(dim) % count == 0)
    return success();
  return op->emitError("its operand ") << x.getType() << " can't be divided among " << count
                                       << " devices along dimension " << dim;
}

/// Checks that along the dimension, the whole has `count` times the size of a part.
static LogicalResult expectParts(Operation *op, Value whole, Value part, int64_t dim,
                                 int64_t count) {
  auto type = dyn_cast<RankedTensorType>(whole.getType()),
       partType = dyn_cast<RankedTensorType>(part.getType());
  if (!type || !partType || type.isDynamicDim(dim) || partType.isDynamicDim(dim) ||
      (type.getDimSize(dim) % count == 0 &&
       type.getDimSize(dim) / count == partType.getDimSize(dim)))
    return success();
  return op->emitError("dimension ")
         << dim << " of " << Type(type) << " isn't " << count << " times that of " << Type(partType)
         << ", as its groups require";
}

static LogicalResult readReduceScatter(BodyConverter &body, Operation *op) {
  FailureOr<RankGroups> groups = allDeviceGroups(body, op, reductionNumbering(op));
  if (failed(checkReduction(op)) || failed(groups))
    return failure();
  auto count = static_cast<int64_t>(groups->largest);
  int64_t dim = numberOr(op, "scatter_dimension", -1);
  if (!groups->areEqual())
    return unimplementedOp(op) << " with groups of different sizes";
  SmallVector<int64_t> places = groups->byRank(body.program.devices.size(), 0,
                                               [](const Ranks &, int64_t place) { return place; });
  for (auto [from, to] : llvm::zip(op->getOperands(), op->getResults())) {
    Value x = body.of(from);
    if (failed(checkShared(op, x, dim, count)) || failed(expectParts(op, x, to, dim, count)))
      return failure();
    FailureOr<Value> value = reduced(body, op, body.of(from), *groups);
    if (failed(value))
      return failure();
    Value pieces = stackedPieces(body, *value, dim, count);
    body.map(to, body.node("GatherV2", {pieces, rowOfRank(body, places, {}), body.index(0)},
                           body.typeOf(to.getType())));
  }
  return success();
}

// --- moves --------------------------------------------------------------------------------------

static LogicalResult checkMove(Operation *op) {
  if (op->getNumOperands() == op->getNumResults() && op->getNumResults())
    return success();
  return op->emitError("it has ") << op->getNumOperands() << " operands and " << op->getNumResults()
                                  << " results, expected equal numbers";
}

static LogicalResult readAllGather(BodyConverter &body, Operation *op) {
  FailureOr<RankGroups> groups = allDeviceGroups(body, op, reductionNumbering(op));
  if (failed(checkMove(op)) || failed(groups))
    return failure();
  if (!groups->areEqual())
    return unimplementedOp(op) << " with groups of different sizes";
  int64_t dim = numberOr(op, "all_gather_dim", -1);
  for (auto [from, to] : llvm::zip(op->getOperands(), op->getResults())) {
    Value x = body.of(from);
    auto type = dyn_cast<RankedTensorType>(body.typeOf(to.getType()));
    if (!type || failed(checkShared(op, x, dim, 1)) ||
        failed(expectParts(op, to, x, dim, static_cast<int64_t>(groups->largest))))
      return failure();
    body.map(to, mergedAt(body, gathered(body, x, *groups), dim, type));
  }
  return success();
}

static LogicalResult readAllToAll(BodyConverter &body, Operation *op) {
  FailureOr<RankGroups> groups = allDeviceGroups(body, op, moveNumbering(op));
  if (failed(checkMove(op)) || failed(groups))
    return failure();
  auto count = static_cast<int64_t>(groups->largest);
  int64_t split = numberOr(op, "split_dimension", -1),
          concat = numberOr(op, "concat_dimension", -1),
          splitCount = numberOr(op, "split_count", count);
  if (!groups->areEqual() || splitCount != count)
    return op->emitError("its split_count is ")
           << splitCount << ", expected groups of that many devices";
  for (auto [from, to] : llvm::zip(op->getOperands(), op->getResults())) {
    Value x = body.of(from);
    auto type = dyn_cast<RankedTensorType>(body.typeOf(to.getType()));
    if (!type || failed(checkShared(op, x, split, count)) || failed(checkShared(op, x, concat, 1)))
      return failure();
    Value pieces = stackedPieces(body, x, split, count);
    Value got = exchange(body, "_AllToAll", pieces, pieces.getType(), groupAttrs(body, *groups));
    body.map(to, mergedAt(body, got, concat, type));
  }
  return success();
}

/// Gathers all values, from which each rank takes its group root's.
static LogicalResult readBroadcast(BodyConverter &body, Operation *op) {
  FailureOr<RankGroups> groups = groupsOf(body, op, moveNumbering(op));
  if (failed(groups))
    return failure();
  bool hasRoots = op->hasAttr("has_dynamic_root");
  unsigned count = op->getNumResults();
  if (op->getNumOperands() != count + (hasRoots ? 1 : 0))
    return op->emitError("it has ")
           << op->getNumOperands() << " operands for " << count << " results";
  int64_t size = body.program.devices.size();
  RankGroups world{{llvm::to_vector(llvm::seq(int64_t{0}, size))}, static_cast<size_t>(size)};
  SmallVector<int64_t> isMember = groups->byRank(size, 0, [](const Ranks &, int64_t) { return 1; });
  auto width = static_cast<int64_t>(groups->largest);
  SmallVector<int64_t> members(size * width, 0);
  for (const Ranks &row : groups->rows)
    for (int64_t rank : row)
      llvm::copy(row, members.begin() + rank * width);
  Value mine = rowOfRank(body, members, {width});
  for (unsigned i = 0; i < count; ++i) {
    Value x = input(body, op, i), place = body.index(0);
    if (hasRoots)
      place =
          body.cast(body.node("GatherV2", {input(body, op, count), body.index(i), body.index(0)},
                              RankedTensorType::get({}, elementOf(input(body, op, count)))),
                    body.builder.getI32Type());
    Value root = body.node("GatherV2", {mine, place, body.index(0)},
                           RankedTensorType::get({}, elementOf(mine)));
    Value given =
        body.node("GatherV2", {gathered(body, x, world), root, body.index(0)}, x.getType());
    Value isIn = body.cast(rowOfRank(body, isMember, {}), body.builder.getI1Type());
    body.map(op->getResult(i),
             body.node("SelectV2", {isIn, given, body.like("ZerosLike", x)}, x.getType()));
  }
  return success();
}

/// Ranks that receive nothing get zeros.
static LogicalResult readPermute(BodyConverter &body, Operation *op) {
  FailureOr<SmallVector<int64_t>> pairs = pairsOf(body, op, moveNumbering(op));
  if (failed(checkMove(op)) || failed(pairs))
    return failure();
  Value table = body.integers(*pairs, {static_cast<int64_t>(pairs->size()) / 2, 2});
  Type byte = body.builder.getIntegerType(8, /*isSigned=*/false);
  for (auto [from, to] : llvm::zip(op->getOperands(), op->getResults())) {
    Value x = body.of(from), sent = isBool(elementOf(x)) ? body.cast(x, byte) : x;
    Value got = exchange(body, "CollectivePermute", {sent, table}, sent.getType(), {});
    body.map(to, body.cast(got, elementOf(x)));
  }
  return success();
}

// --- numbers of devices -------------------------------------------------------------------------

template <bool isReplica> static LogicalResult readDeviceId(BodyConverter &body, Operation *op) {
  Type element = elementOf(body.resultType(op));
  const Devices &devices = body.program.devices;
  if (devices.size() == 1)
    return done(body, op, body.scalarInt(element, 0));
  Term rank(body, rankOf(body)), partitions = rank.whole(devices.partitions);
  return done(body, op, rank.binary(isReplica ? "FloorDiv" : "FloorMod", partitions).as(element));
}

// --- one device ---------------------------------------------------------------------------------

/// On a single device, a collective returns its operand.
template <Converter among> static LogicalResult readAmong(BodyConverter &body, Operation *op) {
  auto groups = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
  if (body.isElementwise)
    return unimplementedOp(op) << " in a function on scalars";
  if (body.program.devices.size() > 1)
    return among(body, op);
  if ((groups && groups.getNumElements() > 1) || op->getOperandTypes() != op->getResultTypes())
    return unimplementedOp(op) << " among several devices; the module's mhlo.num_replicas and "
                               << "mhlo.num_partitions state one";
  for (auto [from, to] : llvm::zip(op->getOperands(), op->getResults()))
    body.map(to, body.of(from));
  return success();
}

static LogicalResult readPermuteAmong(BodyConverter &body, Operation *op) {
  if (body.isElementwise)
    return unimplementedOp(op) << " in a function on scalars";
  if (body.program.devices.size() > 1)
    return readPermute(body, op);
  SmallVector<int64_t> pairs = numbers(op, "source_target_pairs");
  if (llvm::any_of(pairs, [](int64_t device) { return device != 0; }) || pairs.size() > 2)
    return unimplementedOp(op) << " among several devices; the module's mhlo.num_replicas and "
                               << "mhlo.num_partitions state one";
  Value x = input(body, op, 0);
  return done(body, op, pairs.empty() ? body.like("ZerosLike", x) : x);
}

namespace {

/// A computation that each device performs on its own shards of global values.
class ManualComputation {
public:
  ManualComputation(BodyConverter &body, Operation *op) : body(body), op(op) {}
  LogicalResult read();

private:
  FailureOr<Sharding> shardingOf(StringRef key, unsigned index, RankedTensorType whole,
                                 RankedTensorType part);
  Value partOf(Value whole, const Sharding &sharding, RankedTensorType type);
  Value assembleReplica(Value part, const Sharding &sharding, RankedTensorType type);

  BodyConverter &body;
  Operation *op;
};

} // namespace

/// Returns the sharding of a value after checking it against the size of the shards.
FailureOr<Sharding> ManualComputation::shardingOf(StringRef key, unsigned index,
                                                  RankedTensorType whole, RankedTensorType part) {
  auto all = op->getAttrOfType<ArrayAttr>(key);
  if (!all || index >= all.size() || !whole || !part || !whole.hasStaticShape() ||
      !part.hasStaticShape() || whole.getRank() != part.getRank())
    return unimplementedOp(op)
           << " in this form on several devices; partition the program before it is exported";
  Expected<Sharding> sharding =
      Sharding::read(all[index], body.program.module, whole.getRank(), body.program.devices.size());
  if (!sharding) {
    if (sharding.error().code == Code::Unimplemented)
      return unimplementedOp(op) << ": " << sharding.error().message;
    return op->emitError(sharding.error().message);
  }
  for (int64_t dim = 0; dim < whole.getRank(); ++dim)
    if (int64_t size = whole.getDimSize(dim), tiles = sharding->tiles[dim];
        size % tiles || part.getDimSize(dim) != size / tiles)
      return op->emitError("its ") << key << " split a dimension of " << size << " into " << tiles
                                   << " parts of " << part.getDimSize(dim);
  return *sharding;
}

Value ManualComputation::partOf(Value whole, const Sharding &sharding, RankedTensorType type) {
  if (sharding.isReplicated())
    return whole;
  SmallVector<int64_t> starts;
  for (const SmallVector<int64_t> &place : sharding.places)
    for (auto [at, size] : llvm::zip(place, type.getShape()))
      starts.push_back(at * size);
  Value size = body.vector(type.getShape()), start = rowOfRank(body, starts, {type.getRank()});
  return body.node("Slice", {whole, body.cast(start, elementOf(size)), size}, type);
}

/// Returns, for each replica of the value, the devices that hold it together, in the order of their
/// shards.
static RankGroups replicasOf(const Sharding &sharding) {
  int64_t count = 1;
  for (int64_t tile : sharding.tiles)
    count *= tile;
  auto copies = static_cast<int64_t>(sharding.places.size()) / count;
  RankGroups groups{SmallVector<Ranks>(copies, Ranks(count, 0)), static_cast<size_t>(count)};
  for (auto [device, place] : llvm::enumerate(sharding.places)) {
    int64_t number = 0;
    for (auto [tile, at] : llvm::zip(sharding.tiles, place))
      number = number * tile + at;
    groups.rows[sharding.copies[device]][number] = static_cast<int64_t>(device);
  }
  return groups;
}

/// Assembles the replica that the device's shard belongs to. In a nested manual computation,
/// replicas differ.
Value ManualComputation::assembleReplica(Value part, const Sharding &sharding,
                                         RankedTensorType type) {
  if (sharding.isReplicated())
    return part;
  int64_t rank = type.getRank();
  RankedTensorType partType = rankedOf(part);
  Value parts = gathered(body, part, replicasOf(sharding));
  SmallVector<int64_t> grid(sharding.tiles), order, turned;
  llvm::append_range(grid, partType.getShape());
  for (int64_t dim = 0; dim < rank; ++dim) {
    order.append({dim, rank + dim});
    turned.append({grid[dim], grid[rank + dim]});
  }
  Value inGrid = body.reshape(parts, grid);
  Value inOrder = body.node("Transpose", {inGrid, body.vector(order)},
                            RankedTensorType::get(turned, type.getElementType()));
  return body.reshapeTo(inOrder, type);
}

LogicalResult ManualComputation::read() {
  Block &block = op->getRegion(0).front();
  auto ranked = [&](Value value) {
    return dyn_cast<RankedTensorType>(body.typeOf(value.getType()));
  };
  for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
    Value operand = op->getOperand(i);
    FailureOr<Sharding> sharding = shardingOf("in_shardings", i, ranked(operand), ranked(argument));
    if (failed(sharding))
      return failure();
    body.map(argument, partOf(body.of(operand), *sharding, ranked(argument)));
  }
  if (failed(body.readBlock(block)))
    return failure();
  for (auto [i, value] : llvm::enumerate(block.back().getOperands())) {
    Value result = op->getResult(i);
    FailureOr<Sharding> sharding = shardingOf("out_shardings", i, ranked(result), ranked(value));
    if (failed(sharding))
      return failure();
    body.map(result, assembleReplica(body.of(value), *sharding, ranked(result)));
  }
  return success();
}

/// Inlines the body if the device's shard of each value is the whole value.
static LogicalResult readSingleDevice(BodyConverter &body, Operation *op) {
  Block &block = op->getRegion(0).front();
  if (body.program.devices.size() > 1 && !body.isElementwise && op->hasAttr("in_shardings"))
    return ManualComputation(body, op).read();
  if (block.getArgumentTypes() != op->getOperandTypes() ||
      block.back().getOperandTypes() != op->getResultTypes())
    return unimplementedOp(op) << " among several devices; partition the program before it is "
                               << "exported";
  for (auto [argument, operand] : llvm::zip(block.getArguments(), op->getOperands()))
    body.map(argument, body.of(operand));
  if (failed(body.readBlock(block)))
    return failure();
  for (auto [result, value] : llvm::zip(op->getResults(), block.back().getOperands()))
    body.map(result, body.of(value));
  return success();
}

static constexpr ConverterRow deviceNumberRows[] = {
    {"replica_id", readDeviceId<true>},
    {"partition_id", readDeviceId<false>},
};

static constexpr ConverterRow exchangeRows[] = {
    {"all_reduce", readAmong<readAllReduce>},
    {"all_gather", readAmong<readAllGather>},
    {"reduce_scatter", readAmong<readReduceScatter>},
    {"all_to_all", readAmong<readAllToAll>},
    {"collective_broadcast", readAmong<readBroadcast>},
    {"collective_reduce", readAmong<readCollectiveReduce>},
    {"collective_permute", readPermuteAmong},
    {"sdy.manual_computation", readSingleDevice},
};

ArrayRef<ConverterRow> hlo::collectiveRows() {
  static const SmallVector<ConverterRow> all = [] {
    SmallVector<ConverterRow> rows = llvm::to_vector(exchangeRows);
    llvm::append_range(rows, deviceNumberRows);
    rows.push_back({"sdy.named_computation", readSingleDevice});
    rows.push_back({"async_start", readSingleDevice}); // its body contains communication
    return rows;
  }();
  return all;
}

static bool isIn(ArrayRef<ConverterRow> rows, Operation *op) {
  StringRef name = tableName(op);
  return llvm::any_of(rows, [&](const ConverterRow &row) { return row.op == name; });
}

bool hlo::isCollective(Operation *op) { return isIn(exchangeRows, op); }

bool treadle::dependsOnDevice(Operation *op) {
  return isCollective(op) || isPointToPoint(op) || isIn(deviceNumberRows, op);
}
