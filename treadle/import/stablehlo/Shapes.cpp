// Converts ops that rearrange elements as their attributes state, and ops on shapes.
#include "treadle/import/stablehlo/Formula.h"
#include "treadle/import/stablehlo/Tables.h"

#include <numeric>

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

// --- broadcast ----------------------------------------------------------------------------------

/// Reshapes `x` to `rank` dimensions: its own at `dims`, size 1 elsewhere.
static Value aligned(BodyConverter &body, Value x, ArrayRef<int64_t> dims, int64_t rank) {
  RankedTensorType type = rankedOf(x);
  SmallVector<int64_t> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
  if (!llvm::is_sorted(order)) {
    SmallVector<int64_t> shape;
    for (int64_t from : order)
      shape.push_back(type.getDimSize(from));
    type = type.clone(shape);
    x = body.node("Transpose", {x, body.vector(order)}, type);
  }
  SmallVector<int64_t> sorted(dims), shape(rank, 1);
  llvm::sort(sorted);
  for (auto [i, dim] : llvm::enumerate(sorted))
    shape[dim] = type.getDimSize(i);
  if (llvm::count_if(shape, ShapedType::isDynamic) <= 1)
    return body.reshapeTo(x, type.clone(shape));
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (llvm::is_contained(sorted, dim))
      continue;
    SmallVector<int64_t> grown(rankedOf(x).getShape());
    grown.insert(grown.begin() + dim, 1);
    x = body.node("ExpandDims", {x, body.index(dim)}, type.clone(grown));
  }
  return x;
}

static LogicalResult readBroadcast(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  if (body.isElementwise)
    return done(body, op, x);
  auto type = cast<RankedTensorType>(body.resultType(op));
  SmallVector<int64_t> dims = numbers(op, "broadcast_dimensions");
  Value compact = aligned(body, x, dims, type.getRank());
  if (compact.getType() == type && type.hasStaticShape())
    return done(body, op, compact);
  if (!type.hasStaticShape())
    return unimplementedOp(op) << " to a shape that isn't known; expected dynamic_broadcast_in_dim";
  // A scalar broadcasts by itself.
  body.mapBroadcastable(op->getResult(0), rankedOf(x).getRank() == 0 ? x : compact);
  return done(body, op, body.node("BroadcastTo", {compact, body.vector(type.getShape())}, type));
}

/// Casts a vector of sizes to a type that TensorFlow's ops accept.
static Value sizesOf(BodyConverter &body, Value sizes) {
  Type element = elementOf(sizes);
  return element.isSignlessInteger(32) || element.isSignlessInteger(64)
             ? sizes
             : body.cast(sizes, body.builder.getI64Type());
}

static LogicalResult readDynamicBroadcast(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0), shape = sizesOf(body, input(body, op, 1));
  if (body.isElementwise)
    return done(body, op, x);
  auto type = cast<RankedTensorType>(body.resultType(op));
  SmallVector<int64_t> dims = numbers(op, "broadcast_dimensions");
  Value compact = aligned(body, x, dims, type.getRank());
  return done(body, op, body.node("BroadcastTo", {compact, shape}, type));
}

/// broadcast: adds leading dimensions.
static LogicalResult readOldBroadcast(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  auto type = cast<RankedTensorType>(body.resultType(op));
  return done(body, op, body.node("BroadcastTo", {x, body.vector(type.getShape())}, type));
}

// --- reshape and transpose ----------------------------------------------------------------------

static LogicalResult readReshape(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  if (body.isElementwise)
    return done(body, op, x);
  auto type = cast<RankedTensorType>(body.resultType(op));
  if (llvm::count_if(type.getShape(), ShapedType::isDynamic) > 1)
    return unimplementedOp(op) << " to a shape with several dynamic dimensions";
  return done(body, op, body.reshapeTo(x, type));
}

static LogicalResult readDynamicReshape(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0), shape = sizesOf(body, input(body, op, 1));
  return done(body, op, body.node("Reshape", {x, shape}, body.resultType(op)));
}

static LogicalResult readTranspose(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  SmallVector<int64_t> order = numbers(op, "permutation");
  if (body.isElementwise || llvm::is_sorted(order))
    return done(body, op, x);
  return done(body, op, body.node("Transpose", {x, body.vector(order)}, body.resultType(op)));
}

static LogicalResult readReverse(BodyConverter &body, Operation *op) {
  return done(body, op,
              body.node("ReverseV2", {input(body, op, 0), body.vector(numbers(op, "dimensions"))},
                        body.resultType(op)));
}

LogicalResult hlo::readConcatenation(BodyConverter &body, Operation *op, StringRef attribute) {
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  if (inputs.size() == 1)
    return done(body, op, inputs[0]);
  inputs.push_back(body.index(numberOr(op, attribute, 0)));
  return done(body, op, body.node("ConcatV2", inputs, body.resultType(op)));
}

static LogicalResult readConcatenate(BodyConverter &body, Operation *op) {
  return readConcatenation(body, op, "dimension");
}

// --- slices and padding -------------------------------------------------------------------------

static LogicalResult readSlice(BodyConverter &body, Operation *op) {
  SmallVector<int64_t> starts = numbers(op, "start_indices"), limits = numbers(op, "limit_indices"),
                       strides = numbersOr(op, "strides", starts.size(), 1);
  Value x = input(body, op, 0);
  Type type = body.resultType(op);
  bool isDense = llvm::all_of(strides, [](int64_t stride) { return stride == 1; });
  if (!isDense)
    return done(body, op,
                body.node("StridedSlice",
                          {x, body.vector(starts), body.vector(limits), body.vector(strides)},
                          type));
  if (type == x.getType() && cast<RankedTensorType>(type).hasStaticShape())
    return done(body, op, x);
  SmallVector<int64_t> sizes;
  for (auto [start, limit] : llvm::zip(starts, limits))
    sizes.push_back(limit - start);
  return done(body, op, body.node("Slice", {x, body.vector(starts), body.vector(sizes)}, type));
}

static Value shapeOf(BodyConverter &body, Value x, Type element) {
  Attrs attrs;
  attrs.append("out_type", TypeAttr::get(element));
  RankedTensorType type = rankedOf(x);
  return body.node("Shape", x, RankedTensorType::get({type.getRank()}, element), attrs);
}
/// A slice that extends beyond the end is moved to an earlier start if possible, as for
/// dynamic_slice.
static LogicalResult readRealDynamicSlice(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0), steps = sizesOf(body, input(body, op, 3));
  Term start(body, sizesOf(body, input(body, op, 1))), end(body, sizesOf(body, input(body, op, 2)));
  Term sizes(body, shapeOf(body, x, start.element()));
  Term zero = start.whole(0), beyond = max(end.as(start.element()) - sizes, zero);
  Term moved = max(start - beyond, zero);
  Term newEnd = moved + (end.as(start.element()) - start);
  return done(body, op,
              body.node("StridedSlice", {x, moved, newEnd, body.cast(steps, start.element())},
                        body.resultType(op)));
}

static LogicalResult readPad(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0), filler = input(body, op, 1);
  SmallVector<int64_t> low = numbers(op, "edge_padding_low"),
                       high = numbers(op, "edge_padding_high"),
                       interior = numbersOr(op, "interior_padding", low.size(), 0);
  auto isNegative = [](int64_t n) { return n < 0; };
  bool isPlain = llvm::all_of(interior, [](int64_t n) { return n == 0; }) &&
                 llvm::none_of(low, isNegative) && llvm::none_of(high, isNegative);
  Type type = body.resultType(op);
  if (!isPlain)
    return done(body, op,
                body.node("XlaPad",
                          {x, filler, body.vector(low), body.vector(high), body.vector(interior)},
                          type));
  SmallVector<int64_t> pairs;
  for (auto [before, after] : llvm::zip(low, high))
    pairs.append({before, after});
  Value paddings = body.integers(pairs, {static_cast<int64_t>(low.size()), 2});
  return done(body, op, body.node("PadV2", {x, paddings, filler}, type));
}

static LogicalResult readDynamicPad(BodyConverter &body, Operation *op) {
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  for (Value &value : MutableArrayRef(inputs).drop_front(2))
    value = sizesOf(body, value);
  return done(body, op, body.node("XlaPad", inputs, body.resultType(op)));
}

// --- counting -----------------------------------------------------------------------------------

/// Returns 0, 1, ... `count` - 1 in an element type.
static Value counted(BodyConverter &body, Value count, Type element, int64_t size) {
  Type whole = elementOf(count);
  Value range = body.node("Range", {body.scalarInt(whole, 0), count, body.scalarInt(whole, 1)},
                          RankedTensorType::get({size}, whole));
  return body.cast(range, element);
}

static LogicalResult readIota(BodyConverter &body, Operation *op) {
  auto type = cast<RankedTensorType>(body.resultType(op));
  int64_t dim = numberOr(op, "iota_dimension", 0), rank = type.getRank();
  int64_t size = type.getDimSize(dim);
  Value numbers = counted(body, body.index(size), type.getElementType(), size);
  if (rank == 1)
    return done(body, op, numbers);
  Value compact = aligned(body, numbers, {dim}, rank);
  body.mapBroadcastable(op->getResult(0), compact);
  return done(body, op, body.node("BroadcastTo", {compact, body.vector(type.getShape())}, type));
}

/// Returns element `i` of a vector as a scalar.
static Value elementAt(BodyConverter &body, Value vector, int64_t i) {
  Attrs attrs;
  attrs.append("shrink_axis_mask", body.builder.getI64IntegerAttr(1));
  Type type = RankedTensorType::get({}, elementOf(vector));
  return body.node("StridedSlice",
                   {vector, body.vector({i}), body.vector({i + 1}), body.vector({1})}, type, attrs);
}

static LogicalResult readDynamicIota(BodyConverter &body, Operation *op) {
  Value shape = sizesOf(body, input(body, op, 0));
  auto type = cast<RankedTensorType>(body.resultType(op));
  int64_t dim = numberOr(op, "iota_dimension", 0);
  Value numbers =
      counted(body, elementAt(body, shape, dim), type.getElementType(), type.getDimSize(dim));
  Value compact = aligned(body, numbers, {dim}, type.getRank());
  return done(body, op, body.node("BroadcastTo", {compact, shape}, type));
}

static LogicalResult readDimensionSize(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  int64_t dim = numberOr(op, "dimension", 0);
  if (int64_t size = rankedOf(x).getDimSize(dim); !ShapedType::isDynamic(size))
    return done(body, op, body.index(size));
  return done(body, op, elementAt(body, shapeOf(body, x, body.builder.getI32Type()), dim));
}

/// Slices the first elements along a dimension; the elements after them are dropped.
static LogicalResult readSetDimensionSize(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  int64_t dim = numberOr(op, "dimension", 0), rank = rankedOf(x).getRank();
  Type wide = body.builder.getI64Type();
  SmallVector<Value> sizes(rank, body.scalarInt(wide, -1));
  sizes[dim] = body.reshape(body.cast(input(body, op, 1), wide), {});
  Value size = body.node("Pack", sizes, RankedTensorType::get({rank}, wide));
  Value begin = body.cast(body.vector(SmallVector<int64_t>(rank, 0)), wide);
  return done(body, op, body.node("Slice", {x, begin, size}, body.resultType(op)));
}

// --- the dialects tensor and shape, as far as programs with unknown shapes use them -------------

static LogicalResult readShapeOf(BodyConverter &body, Operation *op) {
  return done(body, op, shapeOf(body, input(body, op, 0), body.builder.getI64Type()));
}

static LogicalResult readTensorDim(BodyConverter &body, Operation *op) {
  Value shape = shapeOf(body, input(body, op, 0), body.builder.getI64Type());
  Value index = input(body, op, 1);
  return done(body, op, body.node("GatherV2", {shape, index, body.index(0)}, body.resultType(op)));
}

static LogicalResult readNumElements(BodyConverter &body, Operation *op) {
  return done(body, op,
              body.node("Prod", {input(body, op, 0), body.vector({0})}, body.resultType(op)));
}

static LogicalResult readConstShape(BodyConverter &body, Operation *op) {
  SmallVector<int64_t> sizes = numbers(op, "shape");
  return done(body, op, body.cast(body.vector(sizes), body.builder.getI64Type()));
}

/// Returns the shape that shapes broadcast to.
static LogicalResult readShapeBroadcast(BodyConverter &body, Operation *op) {
  if (op->getNumOperands() == 0)
    return unimplementedOp(op) << " of values without shapes";
  Value shape = input(body, op, 0);
  for (Value other : op->getOperands().drop_front())
    shape = body.node("BroadcastArgs", {shape, body.of(other)}, body.resultType(op));
  return done(body, op, shape);
}

static LogicalResult readShapeRank(BodyConverter &body, Operation *op) {
  Attrs attrs;
  attrs.append("out_type", TypeAttr::get(body.builder.getI64Type()));
  return done(body, op, body.node("Size", input(body, op, 0), body.resultType(op), attrs));
}

static LogicalResult readRank(BodyConverter &body, Operation *op) {
  Value rank =
      body.node("Rank", input(body, op, 0), RankedTensorType::get({}, body.builder.getI32Type()));
  return done(body, op, body.cast(rank, body.builder.getI64Type()));
}

static LogicalResult readFromElements(BodyConverter &body, Operation *op) {
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  auto type = cast<RankedTensorType>(body.resultType(op));
  if (inputs.empty())
    return unimplementedOp(op) << " of no elements";
  Type list = RankedTensorType::get({static_cast<int64_t>(inputs.size())}, type.getElementType());
  return done(body, op, body.reshapeTo(body.node("Pack", inputs, list), type));
}

/// Broadcasts indices to one shape: in a scalar function that is called with tensors, some are
/// scalars.
static SmallVector<Value> sameShapes(BodyConverter &body, SmallVector<Value> indices) {
  if (!body.isElementwise || indices.size() == 1)
    return indices;
  Value sum = indices[0];
  for (Value index : ArrayRef(indices).drop_front())
    sum = body.like("AddV2", {sum, index});
  Value zero = body.like("Sub", {sum, sum});
  for (Value &index : indices)
    index = body.like("AddV2", {index, zero});
  return indices;
}

static LogicalResult readExtract(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  if (op->getNumOperands() == 1)
    return done(body, op, body.isElementwise ? x : body.reshape(x, {}));
  SmallVector<Value> indices = sameShapes(body, body.allOf(op->getOperands().drop_front()));
  Attrs attrs;
  attrs.append("axis", body.builder.getI64IntegerAttr(-1));
  Type element = elementOf(indices[0]);
  Type type = RankedTensorType::get({static_cast<int64_t>(indices.size())}, element);
  if (body.isElementwise)
    type = UnrankedTensorType::get(element);
  Value at = body.node("Pack", indices, type, attrs);
  return done(body, op, body.node("GatherNd", {x, at}, body.resultType(op)));
}

static LogicalResult readSameValue(BodyConverter &body, Operation *op) {
  return done(body, op, input(body, op, 0));
}

static constexpr ConverterRow rows[] = {
    {"broadcast_in_dim", readBroadcast},
    {"dynamic_broadcast_in_dim", readDynamicBroadcast},
    {"broadcast", readOldBroadcast},
    {"reshape", readReshape},
    {"dynamic_reshape", readDynamicReshape},
    {"transpose", readTranspose},
    {"reverse", readReverse},
    {"concatenate", readConcatenate},
    {"slice", readSlice},
    {"real_dynamic_slice", readRealDynamicSlice},
    {"pad", readPad},
    {"dynamic_pad", readDynamicPad},
    {"iota", readIota},
    {"dynamic_iota", readDynamicIota},
    {"get_dimension_size", readDimensionSize},
    {"set_dimension_size", readSetDimensionSize},
    {"shape.shape_of", readShapeOf},
    {"shape.to_extent_tensor", readSameValue},
    {"shape.from_extents", readFromElements},
    {"shape.get_extent", readExtract},
    {"shape.num_elements", readNumElements},
    {"shape.const_shape", readConstShape},
    {"shape.broadcast", readShapeBroadcast},
    {"shape.rank", readShapeRank},
    {"tensor.rank", readRank},
    {"tensor.dim", readTensorDim},
    {"tensor.from_elements", readFromElements},
    {"tensor.extract", readExtract},
    {"tensor.cast", readSameValue},
};

ArrayRef<ConverterRow> hlo::shapeRows() { return rows; }
