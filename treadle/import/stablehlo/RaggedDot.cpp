// Converts products whose rows or columns are divided into groups.
#include "treadle/import/stablehlo/SourceOps.h"
#include "treadle/import/stablehlo/Tables.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

namespace {

/// Converts chlo.ragged_dot to one product per group: of all rows, masked to those of the group; or
/// of the group's columns, with the results stacked.
class RaggedDot final : private OpBuilder::Listener {
public:
  RaggedDot(BodyConverter &body, Operation *op) : body(body), op(op), builder(op, this) {}
  LogicalResult read();

private:
  LogicalResult check();
  Value product(Value left, Value right, RankedTensorType type);
  Value ofRows();
  Value ofColumns();
  /// Returns the mask of positions along a dimension that are in the group.
  Value isIn(int64_t group, RankedTensorType type, int64_t dim);
  Value maskedToGroup(Value x, int64_t group, int64_t dim);
  Value make(StringRef name, ValueRange operands, Type type, ArrayRef<NamedAttribute> attrs = {}) {
    return makeOp(builder, op->getLoc(), name, operands, type, attrs);
  }
  Value zeros(RankedTensorType type) {
    auto value = cast<TypedAttr>(builder.getZeroAttr(type));
    return make("stablehlo.constant", {}, type, builder.getNamedAttr("value", value));
  }
  Value broadcast(Value scalar, RankedTensorType type) {
    return make("stablehlo.broadcast_in_dim", scalar, type.clone(elementOf(scalar)),
                builder.getNamedAttr("broadcast_dimensions", builder.getDenseI64ArrayAttr({})));
  }
  /// Slices a dimension with stride 1.
  Value sliced(Value x, int64_t dim, int64_t from, int64_t to);
  void notifyOperationInserted(Operation *made, OpBuilder::InsertPoint) override {
    all.push_back(made);
  }
  SmallVector<int64_t> dims(StringRef key) { return fieldNumbers(fields, key); }
  RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

  BodyConverter &body;
  Operation *op;
  OpBuilder builder;
  DictionaryAttr fields;
  SmallVector<Operation *> all;
  SmallVector<Value> ends; // prefix sums of the group sizes, ending with the total
  RankedTensorType result;
  int64_t ragged = -1, numGroups = 0;
};

} // namespace

LogicalResult RaggedDot::check() {
  fields = op->getAttrOfType<DictionaryAttr>("ragged_dot_dimension_numbers");
  auto isFixed = [](Type type) {
    auto ranked = dyn_cast<RankedTensorType>(type);
    return ranked && ranked.hasStaticShape();
  };
  if (!llvm::all_of(op->getOperandTypes(), isFixed) || !isFixed(op->getResult(0).getType()))
    return unimplementedOp(op) << " with dynamic shapes";
  for (Value value : {op->getOperand(0), op->getOperand(1), Value(op->getResult(0))})
    if (!elementOf(value.getType()).isIntOrFloat())
      return unimplementedOp(op) << " of " << elementOf(value.getType());
  result = typeOf(op->getResult(0));
  RankedTensorType left = typeOf(op->getOperand(0)), right = typeOf(op->getOperand(1)),
                   sizes = typeOf(op->getOperand(2));
  SmallVector<int64_t> raggedDims = dims("lhs_ragged_dimensions");
  constexpr int64_t maxGroups = 4096;
  if (sizes.getRank() != 1 || sizes.getDimSize(0) > maxGroups ||
      !isa<IntegerType>(sizes.getElementType()))
    return unimplementedOp(op) << " with group sizes " << sizes << ", expected up to " << maxGroups
                               << " integers";
  auto areDims = [](ArrayRef<int64_t> numbers, RankedTensorType type) {
    return llvm::all_of(numbers, [&](int64_t dim) { return dim >= 0 && dim < type.getRank(); });
  };
  bool isGood = raggedDims.size() == 1 && areDims(raggedDims, left) &&
                dims("rhs_group_dimensions").size() <= 1 &&
                areDims(dims("rhs_group_dimensions"), right);
  for (StringRef kind : {"batching_dimensions", "contracting_dimensions"})
    isGood &= areDims(dims(("lhs_" + kind).str()), left) &&
              areDims(dims(("rhs_" + kind).str()), right) &&
              dims(("lhs_" + kind).str()).size() == dims(("rhs_" + kind).str()).size();
  if (!isGood)
    return op->emitError("its dimension numbers don't match ") << left << " and " << right;
  ragged = raggedDims.front();
  numGroups = sizes.getDimSize(0);
  return success();
}

Value RaggedDot::sliced(Value x, int64_t dim, int64_t from, int64_t to) {
  RankedTensorType type = typeOf(x);
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), steps(type.getRank(), 1);
  starts[dim] = from;
  limits[dim] = to;
  SmallVector<int64_t> shape(limits);
  shape[dim] = to - from;
  return make("stablehlo.slice", x, type.clone(shape),
              {builder.getNamedAttr("start_indices", builder.getDenseI64ArrayAttr(starts)),
               builder.getNamedAttr("limit_indices", builder.getDenseI64ArrayAttr(limits)),
               builder.getNamedAttr("strides", builder.getDenseI64ArrayAttr(steps))});
}

Value RaggedDot::product(Value left, Value right, RankedTensorType type) {
  // The right side's group dimension is removed.
  SmallVector<int64_t> groupDims = dims("rhs_group_dimensions");
  bool isWhole = typeOf(right).getRank() == typeOf(op->getOperand(1)).getRank();
  NamedAttrList numbers;
  for (StringRef key : {"lhs_batching_dimensions", "rhs_batching_dimensions",
                        "lhs_contracting_dimensions", "rhs_contracting_dimensions"}) {
    SmallVector<int64_t> list = dims(key);
    for (int64_t &dim : list)
      dim -= key.starts_with("rhs") && !isWhole && dim > groupDims.front() ? 1 : 0;
    numbers.append(key, builder.getDenseI64ArrayAttr(list));
  }
  return make(
      "stablehlo.dot_general", {left, right}, type,
      builder.getNamedAttr("dot_dimension_numbers", numbers.getDictionary(builder.getContext())));
}

Value RaggedDot::isIn(int64_t group, RankedTensorType type, int64_t dim) {
  Type element = elementOf(ends.front());
  auto places = type.clone(element);
  Value place = make("stablehlo.iota", {}, places,
                     builder.getNamedAttr("iota_dimension", builder.getI64IntegerAttr(dim)));
  auto compared = [&](StringRef direction, Value with) {
    return make("stablehlo.compare", {place, broadcast(with, type)},
                type.clone(builder.getI1Type()),
                builder.getNamedAttr("comparison_direction", builder.getStringAttr(direction)));
  };
  return make("stablehlo.and", {compared("GE", ends[group]), compared("LT", ends[group + 1])},
              type.clone(builder.getI1Type()));
}

/// Zeroes positions outside of the group.
Value RaggedDot::maskedToGroup(Value x, int64_t group, int64_t dim) {
  RankedTensorType type = typeOf(x);
  return make("stablehlo.select", {isIn(group, type, dim), x, zeros(type)}, type);
}

Value RaggedDot::ofRows() {
  Value left = op->getOperand(0), right = op->getOperand(1), sum = zeros(result);
  int64_t groupDim = dims("rhs_group_dimensions").front();
  SmallVector<int64_t> shape(typeOf(right).getShape()),
      batch = dims("lhs_batching_dimensions"), contracted = dims("lhs_contracting_dimensions");
  shape.erase(shape.begin() + groupDim);
  // The result has the batch dimensions first, then the other dimensions of the left side.
  auto row = static_cast<int64_t>(batch.size());
  for (int64_t dim = 0; dim < ragged; ++dim)
    row += !llvm::is_contained(batch, dim) && !llvm::is_contained(contracted, dim);
  for (int64_t group = 0; group < numGroups; ++group) {
    Value part = make("stablehlo.reshape", sliced(right, groupDim, group, group + 1),
                      typeOf(right).clone(shape));
    sum = make("stablehlo.select", {isIn(group, result, row), product(left, part, result), sum},
               result);
  }
  return sum;
}

Value RaggedDot::ofColumns() {
  SmallVector<int64_t> contracted = dims("lhs_contracting_dimensions"), shape(result.getShape());
  int64_t other =
      dims("rhs_contracting_dimensions")[llvm::find(contracted, ragged) - contracted.begin()];
  auto type = RankedTensorType::get(result.getShape().drop_front(), result.getElementType());
  shape[0] = 1;
  SmallVector<Value> parts;
  for (int64_t group = 0; group < numGroups; ++group) {
    Value part = product(maskedToGroup(op->getOperand(0), group, ragged),
                         maskedToGroup(op->getOperand(1), group, other), type);
    parts.push_back(make("stablehlo.reshape", part, result.clone(shape)));
  }
  return make("stablehlo.concatenate", parts, result,
              builder.getNamedAttr("dimension", builder.getI64IntegerAttr(0)));
}

LogicalResult RaggedDot::read() {
  if (failed(check()))
    return failure();
  bool isOfColumns = llvm::is_contained(dims("lhs_contracting_dimensions"), ragged);
  bool isOfBatch = llvm::is_contained(dims("lhs_batching_dimensions"), ragged);
  bool hasGroups = !dims("rhs_group_dimensions").empty();
  Value sizes = op->getOperand(2);
  Type element = elementOf(sizes.getType());
  auto scalar = RankedTensorType::get({}, element);
  ends.push_back(zeros(scalar));
  for (int64_t group = 0; group < numGroups; ++group) {
    Value size = make("stablehlo.reshape", sliced(sizes, 0, group, group + 1), scalar);
    ends.push_back(make("stablehlo.add", {ends.back(), size}, scalar));
  }
  if (hasGroups == (isOfColumns || isOfBatch) || (isOfColumns && result.getRank() == 0) ||
      (isOfColumns && (numGroups == 0 || result.getDimSize(0) != numGroups)) ||
      (hasGroups &&
       typeOf(op->getOperand(1)).getDimSize(dims("rhs_group_dimensions").front()) != numGroups)) {
    for (Operation *made : llvm::reverse(all))
      made->erase();
    return op->emitError("its groups don't match ") << op->getOperand(1).getType();
  }
  Value value = isOfColumns ? ofColumns()
                : isOfBatch ? product(op->getOperand(0), op->getOperand(1), result)
                            : ofRows();
  return readInPlaceOf(body, op, all, value);
}

LogicalResult hlo::readRaggedDot(BodyConverter &body, Operation *op) {
  return RaggedDot(body, op).read();
}
