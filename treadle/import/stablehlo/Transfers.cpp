// What devices send each other, and feeds. Tokens order it: they are tensors that tell nothing but
// that what gave them is done.
#include "treadle/import/stablehlo/DeviceGroups.h"
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

static bool isByHost(Operation *op) { return numberOr(op, "is_host_transfer", 0); }

/// Whether the program itself is at the other end of the host's channel.
static bool hasOtherEnd(Body &body, Operation *op) {
  StringRef other = tableName(op) == "send" ? "stablehlo.recv" : "stablehlo.send";
  return body.program.module
      .walk([&](Operation *end) {
        bool isIt = end->getName().getStringRef() == other && isByHost(end) &&
                    channelOf(end) == channelOf(op);
        return isIt ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Each device sends to one at most, and receives from one at most.
static LogicalResult checkPairs(Operation *op, ArrayRef<int64_t> pairs) {
  llvm::SmallDenseSet<int64_t> seen[2];
  for (auto [i, rank] : llvm::enumerate(pairs))
    if (!seen[i % 2].insert(rank).second)
      return op->emitError("two of its source_target_pairs ")
             << (i % 2 ? "end" : "begin") << " at one device";
  return success();
}

/// The attributes of either end.
static FailureOr<Attrs> channelAttrs(Body &body, Operation *op) {
  if (body.isElementwise)
    return unimplementedOp(op) << " in a function of scalars";
  SmallVector<int64_t> pairs;
  if (isByHost(op)) {
    if (!hasOtherEnd(body, op))
      return unimplementedOp(op) << " with a program of the host; what is sent to the host goes to "
                                 << "who receives from it over the same channel, and here nobody "
                                 << "does, or nobody sends";
  } else {
    // Where each replica is one device, these are the devices.
    Numbering numbering =
        body.program.devices.partitions == 1 ? Numbering::Replicas : moveNumbering(op);
    FailureOr<SmallVector<int64_t>> stated = pairsOf(body, op, numbering);
    if (failed(stated))
      return failure();
    pairs = *stated;
    if (pairs.empty())
      return op->emitError("it states no source_target_pairs, expected from which device to which "
                           "it goes");
    if (failed(checkPairs(op, pairs)))
      return failure();
  }
  Attrs attrs;
  attrs.append("tensor_name", body.builder.getStringAttr("channel " + Twine(channelOf(op))));
  attrs.append("pairs", body.builder.getI64ArrayAttr(pairs));
  return attrs;
}

static LogicalResult readSend(Body &body, Operation *op) {
  FailureOr<Attrs> attrs = channelAttrs(body, op);
  if (failed(attrs))
    return failure();
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  body.afterEffects(inputs);
  Value token = body.node("_ChannelSend", inputs, body.resultType(op), *attrs);
  body.addEffect();
  return done(body, op, token);
}

/// It waits for what comes before it, but only what takes its results, or its token, waits for it:
/// what it receives may depend on what is sent behind it.
static LogicalResult readReceive(Body &body, Operation *op) {
  FailureOr<Attrs> attrs = channelAttrs(body, op);
  if (failed(attrs))
    return failure();
  SmallVector<Type> types;
  SmallVector<Attribute> shapes;
  for (Type type : op->getResultTypes()) {
    types.push_back(body.typeOf(type));
    auto ranked = dyn_cast<RankedTensorType>(types.back());
    if (!ranked || !ranked.hasStaticShape())
      return unimplementedOp(op) << " of values of unknown size";
    shapes.push_back(tf_type::ShapeAttr::get(cast<ShapedType>(types.back())));
  }
  attrs->append("output_shapes", body.builder.getArrayAttr(shapes));
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  body.afterEffects(inputs);
  SmallVector<Value> values = body.nodes("_ChannelReceive", inputs, types, *attrs);
  for (auto [from, to] : llvm::zip(op->getResults(), values))
    body.map(from, to);
  body.addEffectAside();
  return success();
}

/// What stands in @main itself is an argument or a result of the program by now, unless a graph
/// calls @main.
static LogicalResult readFeed(Body &, Operation *op) {
  return unimplementedOp(op) << " outside of @main, or in a loop or a conditional there; what is "
                             << "fed are arguments and results of the program";
}

static constexpr Row rows[] = {
    {"infeed", readFeed},
    {"outfeed", readFeed},
    {"send", readSend},
    {"recv", readReceive},
};

ArrayRef<Row> hlo::transferRows() { return rows; }

bool hlo::isTransfer(Operation *op) {
  return llvm::is_contained(llvm::map_range(rows, [](const Row &row) { return row.op; }),
                            tableName(op));
}
