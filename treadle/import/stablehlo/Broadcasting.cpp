// chlo's ops that broadcast their operands as numpy does, and what else older programs have beside
// the ops of StableHLO.
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

namespace {

struct Broadcasting {
  StringRef op, name, ofBool; // ofBool: the op for i1, empty if there is none
};

constexpr Broadcasting broadcasting[] = {
    {"broadcast_add", "AddV2", "LogicalOr"},
    {"broadcast_subtract", "Sub", ""},
    {"broadcast_multiply", "Mul", "LogicalAnd"},
    {"broadcast_maximum", "Maximum", "LogicalOr"},
    {"broadcast_minimum", "Minimum", "LogicalAnd"},
    {"broadcast_and", "BitwiseAnd", "LogicalAnd"},
    {"broadcast_or", "BitwiseOr", "LogicalOr"},
    {"broadcast_xor", "BitwiseXor", "NotEqual"},
    {"broadcast_atan2", "Atan2", ""},
    {"broadcast_complex", "Complex", ""},
    {"broadcast_select", "SelectV2", "SelectV2"},
    {"broadcast_next_after", "NextAfter", ""},
    {"broadcast_zeta", "Zeta", ""},
    {"broadcast_polygamma", "Polygamma", ""},
};

} // namespace

/// Operands line up at their ends; dimensions named otherwise aren't read.
static LogicalResult checkPlaces(Operation *op) {
  SmallVector<int64_t> places = numbers(op, "broadcast_dimensions");
  int64_t most = 0;
  for (Type type : op->getOperandTypes())
    if (auto ranked = dyn_cast<RankedTensorType>(type))
      most = std::max(most, ranked.getRank());
  for (auto [i, place] : llvm::enumerate(places))
    if (place != most - static_cast<int64_t>(places.size()) + static_cast<int64_t>(i))
      return unimplementedOp(op) << " with broadcast_dimensions that aren't the last ones";
  return success();
}

static LogicalResult readBroadcasting(Body &body, Operation *op) {
  if (failed(checkPlaces(op)))
    return failure();
  StringRef name = op->getName().stripDialect();
  const Broadcasting *row =
      llvm::find_if(broadcasting, [&](const Broadcasting &b) { return b.op == name; });
  Value last = input(body, op, op->getNumOperands() - 1);
  StringRef node = isBool(elementOf(last)) ? row->ofBool : row->name;
  if (node.empty())
    return unimplementedOp(op) << " of i1";
  return done(body, op, body.node(node, body.allOf(op->getOperands()), body.resultType(op)));
}

static LogicalResult readBroadcastCompare(Body &body, Operation *op) {
  static const llvm::StringMap<StringRef> ops = {
      {"EQ", "Equal"},     {"NE", "NotEqual"}, {"LT", "Less"},
      {"LE", "LessEqual"}, {"GT", "Greater"},  {"GE", "GreaterEqual"},
  };
  StringRef name = ops.lookup(word(op, "comparison_direction"));
  if (name.empty() || word(op, "compare_type") == "TOTALORDER" || failed(checkPlaces(op)))
    return unimplementedOp(op) << " in total order, or of an unknown direction";
  return done(body, op, body.node(name, body.allOf(op->getOperands()), body.resultType(op)));
}

/// The value everywhere, in the shape of the operand.
static LogicalResult readConstantLike(Body &body, Operation *op) {
  Value x = input(body, op, 0);
  Type element = elementOf(x);
  Value value;
  if (auto real = op->getAttrOfType<FloatAttr>("value"))
    value = body.scalar(element, real.getValueAsDouble());
  else if (auto whole = op->getAttrOfType<IntegerAttr>("value"))
    value = body.scalarInt(element, whole.getValue().getSExtValue());
  else
    return unimplementedOp(op) << " of a value that is no number";
  RankedTensorType type = rankedOf(x);
  if (!type || body.isElementwise) {
    return done(body, op, value);
  }
  Attrs attrs;
  attrs.append("out_type", TypeAttr::get(body.builder.getI32Type()));
  Value shape = body.node(
      "Shape", x, RankedTensorType::get({type.getRank()}, body.builder.getI32Type()), attrs);
  return done(body, op, body.node("BroadcastTo", {value, shape}, x.getType()));
}

static LogicalResult readIndexSelect(Body &body, Operation *op) {
  if (numberOr(op, "batch_dims", 0) != 0)
    return unimplementedOp(op) << " with batch dimensions";
  Value axis = body.index(numberOr(op, "dim", 0));
  return done(
      body, op,
      body.node("GatherV2", {input(body, op, 0), input(body, op, 1), axis}, body.resultType(op)));
}

static LogicalResult readUnaryEinsum(Body &body, Operation *op) {
  Attrs attrs;
  attrs.append("equation", body.builder.getStringAttr(word(op, "einsum_config")));
  return done(body, op, body.node("Einsum", input(body, op, 0), body.resultType(op), attrs));
}

static constexpr Row rows[] = {
    {"broadcast_compare", readBroadcastCompare},
    {"constant_like", readConstantLike},
    {"torch_index_select", readIndexSelect},
    {"unary_einsum", readUnaryEinsum},
};

ArrayRef<Row> hlo::broadcastingRows() {
  static const SmallVector<Row> all = withOpsOf(broadcasting, readBroadcasting, rows);
  return all;
}
