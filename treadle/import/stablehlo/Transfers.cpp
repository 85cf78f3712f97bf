// Converts send, recv and feeds. Tokens order them: a token is a tensor without content that
// depends on its producer.
#include "treadle/import/stablehlo/DeviceGroups.h"
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

static bool isByHost(Operation *op) { return numberOr(op, "is_host_transfer", 0); }

/// Whether the program itself is at the other end of the host channel.
static bool hasOtherEnd(BodyConverter &body, Operation *op) {
  StringRef other = tableName(op) == "send" ? "stablehlo.recv" : "stablehlo.send";
  return body.program.module
      .walk([&](Operation *end) {
        bool isIt = end->getName().getStringRef() == other && isByHost(end) &&
                    channelOf(end) == channelOf(op);
        return isIt ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Checks that each device sends to at most one and receives from at most one.
static LogicalResult checkPairs(Operation *op, ArrayRef<int64_t> pairs) {
  llvm::SmallDenseSet<int64_t> seen[2];
  for (auto [i, rank] : llvm::enumerate(pairs))
    if (!seen[i % 2].insert(rank).second)
      return op->emitError("two of its source_target_pairs ")
             << (i % 2 ? "end" : "begin") << " at one device";
  return success();
}

/// Returns the attributes of either end.
static FailureOr<Attrs> channelAttrs(BodyConverter &body, Operation *op) {
  if (body.isElementwise)
    return unimplementedOp(op) << " in a function on scalars";
  SmallVector<int64_t> pairs;
  if (isByHost(op)) {
    if (!hasOtherEnd(body, op))
      return unimplementedOp(op)
             << " with the host program; a send to the host needs a recv from it "
             << "on the same channel in this program, and vice versa";
  } else {
    // If each replica is one device, replica numbers are device numbers.
    GroupNumbering numbering =
        body.program.devices.partitions == 1 ? GroupNumbering::Replicas : moveNumbering(op);
    FailureOr<SmallVector<int64_t>> stated = pairsOf(body, op, numbering);
    if (failed(stated))
      return failure();
    pairs = *stated;
    if (pairs.empty())
      return op->emitError("it has no source_target_pairs, expected the source and target devices");
    if (failed(checkPairs(op, pairs)))
      return failure();
  }
  Attrs attrs;
  attrs.append("tensor_name", body.builder.getStringAttr("channel " + Twine(channelOf(op))));
  attrs.append("pairs", body.builder.getI64ArrayAttr(pairs));
  return attrs;
}

static LogicalResult readSend(BodyConverter &body, Operation *op) {
  FailureOr<Attrs> attrs = channelAttrs(body, op);
  if (failed(attrs))
    return failure();
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  body.waitForEffects(inputs);
  Value token = body.node("_ChannelSend", inputs, body.resultType(op), *attrs);
  body.addEffect();
  return done(body, op, token);
}

/// A receive waits for earlier effects, but only users of its results or token wait for it: what it
/// receives may depend on a later send.
static LogicalResult readReceive(BodyConverter &body, Operation *op) {
  FailureOr<Attrs> attrs = channelAttrs(body, op);
  if (failed(attrs))
    return failure();
  SmallVector<Type> types;
  SmallVector<Attribute> shapes;
  for (Type type : op->getResultTypes()) {
    types.push_back(body.typeOf(type));
    auto ranked = dyn_cast<RankedTensorType>(types.back());
    if (!ranked || !ranked.hasStaticShape())
      return unimplementedOp(op) << " of values with dynamic shapes";
    shapes.push_back(tf_type::ShapeAttr::get(cast<ShapedType>(types.back())));
  }
  attrs->append("output_shapes", body.builder.getArrayAttr(shapes));
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  body.waitForEffects(inputs);
  SmallVector<Value> values = body.nodes("_ChannelReceive", inputs, types, *attrs);
  for (auto [from, to] : llvm::zip(op->getResults(), values))
    body.map(from, to);
  body.addUnorderedEffect();
  return success();
}

/// Feeds directly in @main are arguments or results by now, unless a graph calls @main.
static LogicalResult readFeed(BodyConverter &, Operation *op) {
  return unimplementedOp(op) << " outside of @main, or in a loop or a conditional there; feeds "
                             << "directly in @main are arguments and results of the program";
}

static constexpr ConverterRow rows[] = {
    {"infeed", readFeed},
    {"outfeed", readFeed},
    {"send", readSend},
    {"recv", readReceive},
};

ArrayRef<ConverterRow> hlo::transferRows() { return rows; }

bool hlo::isPointToPoint(Operation *op) {
  return llvm::is_contained(llvm::map_range(rows, [](const ConverterRow &row) { return row.op; }),
                            tableName(op));
}
