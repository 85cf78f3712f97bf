// Gradients of ops that gather or scatter rows, or reduce them by segments.
#include "treadle/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

Value sizeOf(Emitter &e, Value x) {
  Type i32 = e.builder.getI32Type();
  return e.to(i32, "Size", x, e.attr("out_type", i32));
}

Value flattened(Emitter &e, Value x) { return e.reshape(x, e.integers(-1)); }

/// Returns elements `begin` to `end` of a vector; both are scalars.
Value part(Emitter &e, Value vector, Value begin, Value end) {
  Type i32 = e.builder.getI32Type();
  Value one = e.integers(1);
  return e.same("StridedSlice", {vector, e.reshape(begin, one), e.reshape(end, one), one},
                e.attr("Index", i32));
}

Value product(Emitter &e, Value vector) {
  return e.same("Prod", {vector, e.integers(0)}, e.attr("Tidx", Type(e.builder.getI32Type())));
}

Value transposed(Emitter &e, Value x, ArrayRef<int32_t> order) {
  Value permutation = e.integers(order);
  return e.same("Transpose", {x, permutation}, e.attr("Tperm", elementOf(permutation)));
}

Value segmentSum(Emitter &e, Value rows, Value segments, Value count) {
  return e.same(
      "UnsortedSegmentSum", {rows, segments, count},
      {e.attr("Tindices", elementOf(segments)), e.attr("Tnumsegments", elementOf(count))});
}

/// Sums gathered rows into a tensor of this shape along the first axis.
Value scatteredRows(Emitter &e, const DifferentiatedNode &f, Value shape) {
  Value rank = sizeOf(e, shape);
  Value zero = e.integer(0), one = e.integer(1);
  Value rest = part(e, shape, one, rank), rows = product(e, part(e, shape, zero, one));
  Value rowsShape = e.concat({e.reshape(sizeOf(e, f.x(1)), e.integers(1)), rest}, zero);
  return segmentSum(e, e.reshape(f.dy(), rowsShape), flattened(e, f.x(1)), rows);
}

/// Sums rows [batch, outer, rows, inner] into a tensor of shape [batch, outer, axis, inner].
Value scatteredAlong(Emitter &e, const DifferentiatedNode &f, Value axis, int64_t batchDims) {
  Value shape = e.shapeOf(f.x(0)), rank = sizeOf(e, shape), zero = e.integer(0), one = e.integer(1);
  Term at{&e, e.same("FloorMod", {e.index(axis), rank})};
  Value batch = e.integer(batchDims);
  Value sizes[] = {product(e, part(e, shape, zero, batch)), product(e, part(e, shape, batch, at)),
                   product(e, part(e, shape, at, at + Term{&e, one})),
                   product(e, part(e, shape, at + Term{&e, one}, rank))};
  auto vector = [&](ArrayRef<Value> values) {
    return e.same("Pack", values, {e.integerAttr("N", values.size()), e.integerAttr("axis", 0)});
  };
  auto [batches, outer, along, inner] = sizes;
  Term all{&e, sizeOf(e, f.x(1))};
  Value perBatch = all("FloorDiv", Term{&e, batches}("Maximum", Term{&e, one}));
  Value rows =
      transposed(e, e.reshape(f.dy(), vector({batches, outer, perBatch, inner})), {0, 2, 1, 3});
  Value flatRows = e.reshape(rows, vector({all, outer, inner}));
  // Each batch has its own segments.
  Value first = e.reshape(Term{&e, e.range(batches)} * Term{&e, along}, e.integers({-1, 1}));
  Value indices = e.index(e.reshape(f.x(1), vector({batches, perBatch})));
  Value segments = flattened(e, e.same("AddV2", {indices, first}));
  Value sums = segmentSum(e, flatRows, segments, Term{&e, batches} * Term{&e, along});
  Value table =
      transposed(e, e.reshape(sums, vector({batches, along, outer, inner})), {0, 2, 1, 3});
  return e.reshape(table, shape);
}

int64_t integerOf(Node node, StringRef key) {
  auto value = node.attr<IntegerAttr>(key);
  return value ? value.getInt() : 0;
}

bool isZero(Value axis) {
  Node node = definingNode(axis);
  auto value = node ? node.attr<DenseIntElementsAttr>("value") : DenseIntElementsAttr();
  return value && node.opType() == "Const" && value.isSplat() &&
         value.getSplatValue<APInt>().isZero();
}

Values gatherV2Gradient(Emitter &e, const DifferentiatedNode &f) {
  int64_t batchDims = integerOf(f.node, "batch_dims");
  if (batchDims == 0 && isZero(f.x(2)))
    return {scatteredRows(e, f, e.shapeOf(f.x(0)))};
  if (batchDims < 0) {
    e.fail(
        unimplemented("its batch_dims is ", batchDims, "; expected a value that is not negative"));
    return {};
  }
  return {scatteredAlong(e, f, f.x(2), batchDims)};
}

Value variableShape(Emitter &e, Value handle, Type element) {
  return e.emit("VariableShape", handle, element, e.attr("out_type", element))->getResult(0);
}

Values resourceGatherGradient(Emitter &e, const DifferentiatedNode &f) {
  if (integerOf(f.node, "batch_dims") != 0) {
    e.fail(unimplemented("it has batch_dims"));
    return {};
  }
  return {scatteredRows(e, f, variableShape(e, f.x(0), e.builder.getI32Type()))};
}

Value scatterNd(Emitter &e, Value indices, Value updates, Value shape) {
  return e
      .emit("ScatterNd", {indices, updates, shape}, elementOf(updates),
            {e.attr("T", elementOf(updates)), e.attr("Tindices", elementOf(indices))})
      ->getResult(0);
}

Value gatherNd(Emitter &e, Value params, Value indices) {
  return e
      .emit("GatherNd", {params, indices}, elementOf(params),
            {e.attr("Tparams", elementOf(params)), e.attr("Tindices", elementOf(indices))})
      ->getResult(0);
}

Values gatherNdGradient(Emitter &e, const DifferentiatedNode &f) {
  Value shape = e.cast(e.shapeOf(f.x(0)), elementOf(f.x(1)));
  return {scatterNd(e, f.x(1), f.dy(), shape)};
}

Values resourceGatherNdGradient(Emitter &e, const DifferentiatedNode &f) {
  return {scatterNd(e, f.x(1), f.dy(), variableShape(e, f.x(0), elementOf(f.x(1))))};
}

Values scatterNdGradient(Emitter &e, const DifferentiatedNode &f) {
  return {nullptr, gatherNd(e, f.dy(), f.x(0))};
}

Value scattered(Emitter &e, StringRef op, Value tensor, Value indices, Value updates) {
  return e.same(op, {tensor, indices, updates}, e.attr("Tindices", elementOf(indices)));
}

Values tensorScatterUpdateGradient(Emitter &e, const DifferentiatedNode &f) {
  Value zeros = e.zerosLike(f.x(2));
  return {scattered(e, "TensorScatterUpdate", f.dy(), f.x(1), zeros), nullptr,
          gatherNd(e, f.dy(), f.x(1))};
}

Values tensorScatterAddGradient(Emitter &e, const DifferentiatedNode &f) {
  return {f.dy(), nullptr, gatherNd(e, f.dy(), f.x(1))};
}

Values tensorScatterSubGradient(Emitter &e, const DifferentiatedNode &f) {
  return {f.dy(), nullptr, e.same("Neg", gatherNd(e, f.dy(), f.x(1)))};
}

// --- segments ----------------------------------------------------------------------------------

Value gatherRows(Emitter &e, Value rows, Value indices) {
  return e
      .emit("GatherV2", {rows, indices, e.integer(0)}, elementOf(rows),
            {e.attr("Tparams", elementOf(rows)), e.attr("Tindices", elementOf(indices)),
             e.attr("Taxis", Type(e.builder.getI32Type()))})
      ->getResult(0);
}

/// Returns the shape of `like` with size 1 in the dimensions that `x` lacks.
Value alignedTo(Emitter &e, Value x, Value like) {
  Value more = e.same("Sub", {e.rankOf(like), e.rankOf(x)});
  Value ones = e.fill(e.reshape(more, e.integers(1)), e.integer(1));
  return e.reshape(x, e.concat({e.shapeOf(x), ones}, e.integer(0)));
}

Values segmentSumGradient(Emitter &e, const DifferentiatedNode &f) {
  return {gatherRows(e, f.dy(), f.x(1))};
}

Values segmentMeanGradient(Emitter &e, const DifferentiatedNode &f) {
  Value ones = e.fill(e.shapeOf(f.x(1)), e.number(1, f.element()));
  Value counts = e.same("SegmentSum", {ones, f.x(1)}, e.attr("Tindices", elementOf(f.x(1))));
  return {gatherRows(e, e.same("RealDiv", {f.dy(), alignedTo(e, counts, f.dy())}), f.x(1))};
}

/// Ops of this kind drop rows with negative numbers.
struct UnsortedSegments {
  Emitter &e;
  const DifferentiatedNode &f;

  Value clipped() const { return e.same("Maximum", {f.x(1), e.number(0, elementOf(f.x(1)))}); }
  /// Zero in dropped rows.
  Value gathered(Value rows) const {
    Value kept =
        e.to(e.builder.getI1Type(), "GreaterEqual", {f.x(1), e.number(0, elementOf(f.x(1)))});
    Value found = gatherRows(e, rows, clipped());
    Value mask = alignedTo(e, e.cast(kept, elementOf(rows)), found);
    return e.same("MulNoNan", {found, mask});
  }
};

Values unsortedSegmentSumGradient(Emitter &e, const DifferentiatedNode &f) {
  return {UnsortedSegments{e, f}.gathered(f.dy())};
}

/// Elements equal to their segment's extreme value share its gradient.
Value shareEqually(Emitter &e, const DifferentiatedNode &f, Value extreme, Value dy, Value counts) {
  Value isChosen = e.to(e.builder.getI1Type(), "Equal", {f.x(0), extreme});
  Value mask = e.cast(isChosen, f.element());
  return e.same("Mul", {mask, e.same("DivNoNan", {dy, counts})});
}

Values segmentExtremeGradient(Emitter &e, const DifferentiatedNode &f) {
  Value extreme = gatherRows(e, f.y(0), f.x(1));
  Value mask = e.cast(e.to(e.builder.getI1Type(), "Equal", {f.x(0), extreme}), f.element());
  Value counts = e.same("SegmentSum", {mask, f.x(1)}, e.attr("Tindices", elementOf(f.x(1))));
  return {
      shareEqually(e, f, extreme, gatherRows(e, f.dy(), f.x(1)), gatherRows(e, counts, f.x(1)))};
}

Values unsortedSegmentExtremeGradient(Emitter &e, const DifferentiatedNode &f) {
  UnsortedSegments s{e, f};
  Value extreme = gatherRows(e, f.y(0), s.clipped());
  Value mask = e.cast(e.to(e.builder.getI1Type(), "Equal", {f.x(0), extreme}), f.element());
  Value counts = segmentSum(e, mask, f.x(1), f.x(2));
  return {shareEqually(e, f, extreme, s.gathered(f.dy()), gatherRows(e, counts, s.clipped()))};
}

/// The forward op gathers and then sums rows: one op each does both backward.
Values sparseSegmentGradient(Emitter &e, const DifferentiatedNode &f) {
  Value shape = e.shapeOf(f.x(0));
  Value rows = product(e, part(e, shape, e.integer(0), e.integer(1)));
  SmallVector<NamedAttribute> attrs = e.attrsOf(f.node, {"Tidx", "Tsegmentids"});
  return {e.same((f.node.opType() + "Grad").str(), {f.dy(), f.x(1), f.x(2), rows}, attrs)};
}

// --- stitching ---------------------------------------------------------------------------------

Values dynamicStitchGradient(Emitter &e, const DifferentiatedNode &f) {
  unsigned count = f.numInputs() / 2;
  Values gradients(count);
  for (unsigned i = 0; i < count; ++i)
    gradients.push_back(gatherRows(e, f.dy(), f.x(i)));
  return gradients;
}

Values dynamicPartitionGradient(Emitter &e, const DifferentiatedNode &f) {
  Value shape = e.shapeOf(f.x(1)), count = product(e, shape);
  Type i32 = e.builder.getI32Type();
  unsigned parts = f.gradients.size();
  Value places = e.reshape(e.range(count), shape);
  Node partitioned = e.emit("DynamicPartition", {places, f.x(1)}, SmallVector<Type>(parts, i32),
                            {e.attr("T", i32), e.integerAttr("num_partitions", parts)});
  SmallVector<Value> inputs(partitioned.results());
  llvm::append_range(inputs, f.gradients);
  Value rows = e.emit("ParallelDynamicStitch", inputs, f.element(),
                      {e.attr("T", f.element()), e.integerAttr("N", parts)})
                   ->getResult(0);
  return {e.reshape(rows, e.shapeOf(f.x(0)))};
}

/// Scatters the largest elements of each row back to their positions.
Values topKGradient(Emitter &e, const DifferentiatedNode &f) {
  Value shape = e.shapeOf(f.x(0)), rank = sizeOf(e, shape), zero = e.integer(0), one = e.integer(1);
  Value last = e.same("Sub", {rank, one});
  Value columns = product(e, part(e, shape, last, rank));
  Value rows = product(e, part(e, shape, zero, last));
  Value first = e.reshape(Term{&e, e.range(rows)} * Term{&e, columns}, e.integers({-1, 1}));
  Value count = e.same("FloorDiv", {sizeOf(e, f.dy()), e.same("Maximum", {rows, one})});
  Value matrix = e.same("Pack", {rows, count}, {e.integerAttr("N", 2), e.integerAttr("axis", 0)});
  Value indices = e.same("AddV2", {e.index(e.reshape(f.y(1), matrix)), first});
  Value flat = segmentSum(e, flattened(e, f.dy()), flattened(e, indices), product(e, shape));
  return {e.reshape(flat, shape)};
}

const std::pair<const char *, Values (*)(Emitter &, const DifferentiatedNode &)> gradients[] = {
    {"Gather",
     [](Emitter &e, const DifferentiatedNode &f) -> Values {
       return {scatteredRows(e, f, e.shapeOf(f.x(0)))};
     }},
    {"GatherV2", gatherV2Gradient},
    {"ResourceGather", resourceGatherGradient},
    {"GatherNd", gatherNdGradient},
    {"ResourceGatherNd", resourceGatherNdGradient},
    {"ScatterNd", scatterNdGradient},
    {"TensorScatterUpdate", tensorScatterUpdateGradient},
    {"TensorScatterAdd", tensorScatterAddGradient},
    {"TensorScatterSub", tensorScatterSubGradient},
    {"SegmentSum", segmentSumGradient},
    {"SegmentMean", segmentMeanGradient},
    {"SegmentMax", segmentExtremeGradient},
    {"SegmentMin", segmentExtremeGradient},
    {"UnsortedSegmentSum", unsortedSegmentSumGradient},
    {"UnsortedSegmentMax", unsortedSegmentExtremeGradient},
    {"UnsortedSegmentMin", unsortedSegmentExtremeGradient},
    {"SparseSegmentSum", sparseSegmentGradient},
    {"SparseSegmentMean", sparseSegmentGradient},
    {"SparseSegmentSqrtN", sparseSegmentGradient},
    {"DynamicStitch", dynamicStitchGradient},
    {"ParallelDynamicStitch", dynamicStitchGradient},
    {"DynamicPartition", dynamicPartitionGradient},
    {"TopK", topKGradient},
    {"TopKV2", topKGradient},
};

} // namespace

void addGatherGradients(GradientTable &table) {
  for (auto [op, gradient] : gradients)
    table[op] = gradient;
}

} // namespace treadle::tfg
