// Converts chlo's implicitly broadcasting ops (as in numpy), and ops of older programs that
// StableHLO doesn't have.
#include "treadle/import/stablehlo/SourceOps.h"
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

namespace {

struct Broadcasting {
  StringRef op, name, ofBool; // ofBool: the op for i1, empty if there is none
};

constexpr Broadcasting broadcasting[] = {
    {"broadcast_add", "AddV2", "LogicalOr"},       {"broadcast_subtract", "Sub", ""},
    {"broadcast_multiply", "Mul", "LogicalAnd"},   {"broadcast_divide", "RealDiv", ""},
    {"broadcast_maximum", "Maximum", "LogicalOr"}, {"broadcast_minimum", "Minimum", "LogicalAnd"},
    {"broadcast_and", "BitwiseAnd", "LogicalAnd"}, {"broadcast_or", "BitwiseOr", "LogicalOr"},
    {"broadcast_xor", "BitwiseXor", "NotEqual"},   {"broadcast_atan2", "Atan2", ""},
    {"broadcast_complex", "Complex", ""},          {"broadcast_select", "SelectV2", "SelectV2"},
    {"broadcast_next_after", "NextAfter", ""},     {"broadcast_zeta", "Zeta", ""},
    {"broadcast_polygamma", "Polygamma", ""},
};

} // namespace

/// Whether operands are aligned at their last dimensions.
static bool alignsAtEnd(Operation *op) {
  SmallVector<int64_t> places = numbers(op, "broadcast_dimensions");
  int64_t most = 0;
  for (Type type : op->getOperandTypes())
    if (auto ranked = dyn_cast<RankedTensorType>(type))
      most = std::max(most, ranked.getRank());
  for (auto [i, place] : llvm::enumerate(places))
    if (place != most - static_cast<int64_t>(places.size()) + static_cast<int64_t>(i))
      return false;
  return true;
}

/// Returns the result dimensions that an operand maps to: the last ones, or those that the op
/// states.
static SmallVector<int64_t> broadcastDims(Operation *op, RankedTensorType from,
                                          RankedTensorType to) {
  int64_t first = to.getRank() - from.getRank();
  SmallVector<int64_t> last = llvm::to_vector(llvm::seq(first, to.getRank()));
  SmallVector<int64_t> named = numbers(op, "broadcast_dimensions");
  return first && std::ssize(named) == from.getRank() ? named : last;
}

/// Converts the op as the StableHLO op on explicitly broadcast operands.
static LogicalResult readWithExplicitBroadcast(BodyConverter &body, Operation *op) {
  auto to = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                                     : RankedTensorType();
  auto isFixed = [&](Type type) {
    auto from = dyn_cast<RankedTensorType>(type);
    return from && from.hasStaticShape() && to && from.getRank() <= to.getRank();
  };
  if (!to || !to.hasStaticShape() || !llvm::all_of(op->getOperandTypes(), isFixed))
    return unimplementedOp(op) << " with dynamic shapes";
  OpBuilder builder(op);
  SmallVector<Operation *> made;
  OperationState plain(op->getLoc(), ("stablehlo." + op->getName().stripDialect().drop_front(
                                                         StringRef("broadcast_").size()))
                                         .str());
  for (Value operand : op->getOperands()) {
    auto from = cast<RankedTensorType>(operand.getType());
    if (from.getShape() != to.getShape()) {
      auto places = builder.getNamedAttr("broadcast_dimensions",
                                         builder.getDenseI64ArrayAttr(broadcastDims(op, from, to)));
      operand = makeOp(builder, op->getLoc(), "stablehlo.broadcast_in_dim", operand,
                       to.clone(from.getElementType()), places);
      made.push_back(operand.getDefiningOp());
    }
    plain.addOperands(operand);
  }
  plain.addTypes(to);
  plain.addAttributes(op->getAttrs());
  made.push_back(builder.create(plain));
  return readInPlaceOf(body, op, made, made.back()->getResults());
}

static LogicalResult readBroadcasting(BodyConverter &body, Operation *op) {
  StringRef name = op->getName().stripDialect();
  const Broadcasting *row =
      llvm::find_if(broadcasting, [&](const Broadcasting &b) { return b.op == name; });
  Value last = input(body, op, op->getNumOperands() - 1);
  StringRef node = isBool(elementOf(last)) ? row->ofBool : row->name;
  bool isDivision = name == "broadcast_divide" && isa<IntegerType>(elementOf(last));
  if (node.empty() || isDivision || !alignsAtEnd(op))
    return readWithExplicitBroadcast(body, op);
  return done(body, op, body.node(node, body.allOf(op->getOperands()), body.resultType(op)));
}

static LogicalResult readBroadcastCompare(BodyConverter &body, Operation *op) {
  static const llvm::StringMap<StringRef> ops = {
      {"EQ", "Equal"},     {"NE", "NotEqual"}, {"LT", "Less"},
      {"LE", "LessEqual"}, {"GT", "Greater"},  {"GE", "GreaterEqual"},
  };
  StringRef name = ops.lookup(word(op, "comparison_direction"));
  if (name.empty() || word(op, "compare_type") == "TOTALORDER" || !alignsAtEnd(op))
    return readWithExplicitBroadcast(body, op);
  return done(body, op, body.node(name, body.allOf(op->getOperands()), body.resultType(op)));
}

/// Fills the operand's shape with the value.
static LogicalResult readConstantLike(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  Type element = elementOf(x);
  Value value;
  if (auto real = op->getAttrOfType<FloatAttr>("value"))
    value = body.scalar(element, real.getValueAsDouble());
  else if (auto whole = op->getAttrOfType<IntegerAttr>("value"))
    value = body.scalarInt(element, whole.getValue().getSExtValue());
  else
    return unimplementedOp(op) << " of a value that isn't a number";
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

static LogicalResult readIndexSelect(BodyConverter &body, Operation *op) {
  if (numberOr(op, "batch_dims", 0) != 0)
    return unimplementedOp(op) << " with batch dimensions";
  Value axis = body.index(numberOr(op, "dim", 0));
  return done(
      body, op,
      body.node("GatherV2", {input(body, op, 0), input(body, op, 1), axis}, body.resultType(op)));
}

static LogicalResult readUnaryEinsum(BodyConverter &body, Operation *op) {
  Attrs attrs;
  attrs.append("equation", body.builder.getStringAttr(word(op, "einsum_config")));
  return done(body, op, body.node("Einsum", input(body, op, 0), body.resultType(op), attrs));
}

static constexpr ConverterRow rows[] = {
    {"broadcast_compare", readBroadcastCompare},
    {"broadcast_power", readWithExplicitBroadcast},
    {"broadcast_remainder", readWithExplicitBroadcast},
    {"broadcast_shift_left", readWithExplicitBroadcast},
    {"broadcast_shift_right_arithmetic", readWithExplicitBroadcast},
    {"broadcast_shift_right_logical", readWithExplicitBroadcast},
    {"constant_like", readConstantLike},
    {"torch_index_select", readIndexSelect},
    {"unary_einsum", readUnaryEinsum},
};

ArrayRef<ConverterRow> hlo::broadcastingRows() {
  static const SmallVector<ConverterRow> all = withTableOps(broadcasting, readBroadcasting, rows);
  return all;
}
