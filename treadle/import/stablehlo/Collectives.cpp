// Ops among devices, as far as one device goes: groups of one give back what they are given.
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

/// The only device is the first one.
static LogicalResult readDeviceId(Body &body, Operation *op) {
  body.map(op->getResult(0), body.scalarInt(elementOf(body.resultType(op)), 0));
  return success();
}

static LogicalResult readAlone(Body &body, Operation *op) {
  auto groups = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
  bool isAlone = groups && groups.getNumElements() <= 1;
  if (!isAlone || op->getNumOperands() != op->getNumResults() ||
      op->getOperandTypes() != op->getResultTypes())
    return unimplementedOp(op) << " among several devices; a program is run on one";
  for (auto [from, to] : llvm::zip(op->getOperands(), op->getResults()))
    body.map(to, body.of(from));
  return success();
}

/// What nobody sends is zero.
static LogicalResult readPermute(Body &body, Operation *op) {
  SmallVector<int64_t> pairs = numbers(op, "source_target_pairs");
  if (llvm::any_of(pairs, [](int64_t device) { return device != 0; }) || pairs.size() > 2)
    return unimplementedOp(op) << " among several devices; a program is run on one";
  Value x = input(body, op, 0);
  body.map(op->getResult(0), pairs.empty() ? body.like("ZerosLike", x) : x);
  return success();
}

static constexpr Row rows[] = {
    {"replica_id", readDeviceId},        {"partition_id", readDeviceId},
    {"all_reduce", readAlone},           {"all_gather", readAlone},
    {"reduce_scatter", readAlone},       {"all_to_all", readAlone},
    {"collective_broadcast", readAlone}, {"collective_permute", readPermute},
};

ArrayRef<Row> hlo::collectiveRows() { return rows; }
