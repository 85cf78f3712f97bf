// Converts slices at dynamic positions, gather and scatter.
#include "treadle/import/stablehlo/Tables.h"

#include "treadle/tensor/Wire.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

/// Casts indices to a type that TensorFlow's ops accept.
static Value indicesOf(BodyConverter &body, Value indices) {
  Type element = elementOf(indices);
  return element.isSignlessInteger(32) || element.isSignlessInteger(64)
             ? indices
             : body.cast(indices, body.builder.getI64Type());
}

/// Packs scalars into one vector; old programs pass a vector.
static Value packed(BodyConverter &body, ValueRange scalars) {
  if (scalars.size() == 1 && rankedOf(body.of(scalars[0])).getRank() == 1)
    return indicesOf(body, body.of(scalars[0]));
  SmallVector<Value> inputs;
  bool isUniform = llvm::all_equal(scalars.getTypes());
  for (Value scalar : scalars)
    inputs.push_back(isUniform ? indicesOf(body, body.of(scalar))
                               : body.cast(body.of(scalar), body.builder.getI64Type()));
  return body.node(
      "Pack", inputs,
      RankedTensorType::get({static_cast<int64_t>(inputs.size())}, elementOf(inputs[0])));
}

/// Returns numbers as a vector of the indices' type.
static Value sizesLike(BodyConverter &body, ArrayRef<int64_t> sizes, Value indices) {
  return body.cast(body.vector(sizes), elementOf(indices));
}

static LogicalResult readDynamicSlice(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0);
  if (op->getNumOperands() == 1)
    return done(body, op, x);
  Value starts = packed(body, op->getOperands().drop_front());
  Value sizes = sizesLike(body, numbers(op, "slice_sizes"), starts);
  return done(body, op, body.node("XlaDynamicSlice", {x, starts, sizes}, body.resultType(op)));
}

static LogicalResult readDynamicUpdateSlice(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0), update = input(body, op, 1);
  if (op->getNumOperands() == 2)
    return done(body, op, update);
  Value starts = packed(body, op->getOperands().drop_front(2));
  return done(body, op,
              body.node("XlaDynamicUpdateSlice", {x, update, starts}, body.resultType(op)));
}

// --- dimension numbers as TensorFlow's ops have them: a message in protobuf's wire format -------

static std::string dimensionNumbers(DictionaryAttr fields, ArrayRef<StringRef> keys) {
  std::string out;
  for (auto [i, key] : llvm::enumerate(keys))
    for (int64_t value : fieldNumbers(fields, key))
      putNumberAlways(out, i + 1, static_cast<uint64_t>(value));
  return out;
}

static constexpr StringRef gatherFields[] = {
    "offset_dims",      "collapsed_slice_dims",  "start_index_map",
    "index_vector_dim", "operand_batching_dims", "start_indices_batching_dims"};
static constexpr StringRef scatterFields[] = {
    "update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims",
    "index_vector_dim",   "input_batching_dims",  "scatter_indices_batching_dims"};

static DictionaryAttr fieldsOf(Operation *op, StringRef key) {
  return op->getAttrOfType<DictionaryAttr>(key);
}

static LogicalResult readGather(BodyConverter &body, Operation *op) {
  Value x = input(body, op, 0), starts = indicesOf(body, input(body, op, 1));
  bool isDynamic = op->getNumOperands() == 3;
  Value sizes = isDynamic ? body.cast(input(body, op, 2), elementOf(starts))
                          : sizesLike(body, numbers(op, "slice_sizes"), starts);
  DictionaryAttr fields = fieldsOf(op, "dimension_numbers");
  Attrs attrs;
  attrs.append("dimension_numbers",
               body.builder.getStringAttr(dimensionNumbers(fields, gatherFields)));
  attrs.append("indices_are_sorted", body.builder.getBoolAttr(false));
  return done(body, op, body.node("XlaGather", {x, starts, sizes}, body.resultType(op), attrs));
}

/// Reduces a scatter's function to one of its results: the block then takes the current value and
/// the update of that input. Returns false if the result depends on other inputs.
static bool reduceToResult(Block &block, unsigned index) {
  Operation &end = block.back();
  unsigned count = block.getNumArguments() / 2;
  if (block.getNumArguments() != 2 * end.getNumOperands())
    return false;
  end.setOperands(end.getOperand(index));
  SmallVector<Operation *> ops =
      llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
  for (unsigned i = block.getNumArguments(); i-- > 0;) {
    if (i % count == index)
      continue;
    if (!block.getArgument(i).use_empty())
      return false;
    block.eraseArgument(i);
  }
  return true;
}

/// Returns the numbers of a constant vector, or of one composed of constants; nullopt if they
/// aren't constant.
static std::optional<SmallVector<int64_t>> constantNumbers(Value value) {
  Operation *op = value.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!op || !type || !type.hasStaticShape() || !isa<IntegerType>(type.getElementType()))
    return std::nullopt;
  StringRef name = op->getName().stripDialect();
  if (name == "constant") {
    auto elements = dyn_cast_or_null<DenseIntElementsAttr>(op->getAttr("value"));
    if (!elements)
      return std::nullopt;
    return llvm::map_to_vector(elements.getValues<APInt>(), [&](const APInt &number) {
      return type.getElementType().isUnsignedInteger() ? static_cast<int64_t>(number.getZExtValue())
                                                       : number.getSExtValue();
    });
  }
  if (name != "broadcast_in_dim" && name != "reshape" && name != "concatenate")
    return std::nullopt;
  SmallVector<int64_t> found;
  for (Value operand : op->getOperands()) {
    std::optional<SmallVector<int64_t>> part = constantNumbers(operand);
    if (!part)
      return std::nullopt;
    llvm::append_range(found, *part);
  }
  if (name == "broadcast_in_dim" && found.size() == 1)
    found.assign(type.getNumElements(), found.front());
  // For shapes other than vectors, only reshape preserves the order.
  bool isInOrder = name == "reshape" || type.getRank() < 2;
  return isInOrder && static_cast<int64_t>(found.size()) == type.getNumElements()
             ? std::optional(found)
             : std::nullopt;
}

/// Converts a scatter of one window at a constant position: slices, combines with the updates, and
/// inserts. Returns null for other scatters.
static Value windowScatter(BodyConverter &body, Operation *op, Region &region, unsigned index) {
  unsigned count = op->getNumResults();
  DictionaryAttr fields = fieldsOf(op, "scatter_dimension_numbers");
  Value source = op->getOperand(count), updates = input(body, op, count + 1 + index);
  auto type = dyn_cast<RankedTensorType>(body.resultType(op, index));
  auto given = rankedOf(updates);
  std::optional<SmallVector<int64_t>> starts = constantNumbers(source);
  SmallVector<int64_t> window = fieldNumbers(fields, "update_window_dims"),
                       inserted = fieldNumbers(fields, "inserted_window_dims"),
                       places = fieldNumbers(fields, "scatter_dims_to_operand_dims");
  StringRef combiner = combinerOf(region), combine = combiningOp(region, elementOf(updates));
  if (!starts || !type || !given || !type.getRank() || !type.hasStaticShape() ||
      !given.hasStaticShape() || starts->size() != places.size() ||
      (combine.empty() && combiner != "second") ||
      !fieldNumbers(fields, "input_batching_dims").empty() ||
      static_cast<int64_t>(window.size() + inserted.size()) != type.getRank())
    return {};
  SmallVector<int64_t> begin(type.getRank(), 0), sizes(type.getRank(), 1);
  for (auto [start, dim] : llvm::zip(*starts, places))
    if (dim >= 0 && dim < type.getRank())
      begin[dim] = start;
  size_t next = 0;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (llvm::is_contained(inserted, d))
      continue;
    if (next == window.size() || window[next] < 0 || window[next] >= given.getRank())
      return {};
    sizes[d] = given.getDimSize(window[next++]);
  }
  int64_t elements = 1;
  for (int64_t size : sizes)
    elements *= size;
  if (elements != given.getNumElements())
    return {};
  Value x = input(body, op, index);
  for (auto [start, size, all] : llvm::zip(begin, sizes, type.getShape()))
    if (start < 0 || start > all - size)
      return x; // a window that is out of bounds is skipped
  Value block = body.reshape(updates, sizes), at = body.vector(begin);
  if (!combine.empty()) {
    Value old = body.node("Slice", {x, at, sizesLike(body, sizes, at)}, type.clone(sizes));
    block = body.node(combine, {old, block}, type.clone(sizes));
  }
  return body.node("XlaDynamicUpdateSlice", {x, block, at}, type);
}

/// Converts the scatter of one input with the function in `region`.
static LogicalResult readOneScatter(BodyConverter &body, Operation *op, Region &region,
                                    unsigned index) {
  unsigned count = op->getNumResults();
  if (Value written = windowScatter(body, op, region, index)) {
    body.map(op->getResult(index), written);
    return success();
  }
  FailureOr<ScalarFunction> function = scalarFunction(body, region, "scatter");
  if (failed(function))
    return failure();
  DictionaryAttr fields = fieldsOf(op, "scatter_dimension_numbers");
  Value x = input(body, op, index), indices = indicesOf(body, input(body, op, count)),
        updates = input(body, op, count + 1 + index);
  Attrs attrs;
  attrs.append("dimension_numbers",
               body.builder.getStringAttr(dimensionNumbers(fields, scatterFields)));
  attrs.append("indices_are_sorted", body.builder.getBoolAttr(false));
  attrs.append("update_computation", body.func(function->name));
  body.map(op->getResult(index),
           body.node("XlaScatter", {x, indices, updates}, body.resultType(op, index), attrs));
  return success();
}

static LogicalResult readScatter(BodyConverter &body, Operation *op) {
  unsigned count = op->getNumResults();
  if (!capturesOf(op->getRegions()).empty())
    return readScatterLoop(body, op);
  if (count == 1)
    return readOneScatter(body, op, op->getRegion(0), 0);
  SmallVector<Operation *> parts;
  bool areApart = true;
  for (unsigned i = 0; i < count && areApart; ++i) {
    parts.push_back(cloneBefore(op));
    areApart = reduceToResult(parts.back()->getRegion(0).front(), i);
  }
  LogicalResult result = areApart ? success() : readScatterLoop(body, op);
  for (auto [i, part] : llvm::enumerate(parts)) {
    if (areApart && succeeded(result))
      result = readOneScatter(body, op, part->getRegion(0), static_cast<unsigned>(i));
    part->erase();
  }
  return result;
}

static constexpr ConverterRow rows[] = {
    {"dynamic_slice", readDynamicSlice},
    {"dynamic_update_slice", readDynamicUpdateSlice},
    {"gather", readGather},
    {"dynamic_gather", readGather},
    {"scatter", readScatter},
};

ArrayRef<ConverterRow> hlo::indexRows() { return rows; }
