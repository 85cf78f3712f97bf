// Converts scatters whose function XlaScatter can't call, because it combines several inputs or
// uses outside values, to loops over the elements of the updates.
#include "treadle/import/stablehlo/SourceOps.h"
#include "treadle/import/stablehlo/Tables.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

namespace {

/// The dimension numbers of the op.
struct ScatterForm {
  SmallVector<int64_t> shape, indexShape, updateShape;
  /// The dimensions of the updates along the indices.
  SmallVector<int64_t> along;
  /// For each dimension of the inputs: the window size; the dimension of the updates along the
  /// window; the component of the index vector with the window's start; the entry of `along` for a
  /// batch dimension. The latter three are -1 if there is none.
  SmallVector<int64_t> sizes, windowOf, component, batch;
  int64_t vectorDim = 0;

  bool hasVectors() const { return vectorDim < std::ssize(indexShape); }
  void read(DictionaryAttr fields);
};

class ScatterLoop {
public:
  ScatterLoop(BodyConverter &body, Operation *op)
      : body(body), op(op), builder(op), count(op->getNumResults()) {}
  LogicalResult read();

private:
  FailureOr<RankedTensorType> staticType(Value value);
  LogicalResult readForm();
  Value make(StringRef name, ValueRange operands, Type result,
             ArrayRef<NamedAttribute> attributes = {}) {
    return makeOp(builder, op->getLoc(), ("stablehlo." + name).str(), operands, result, attributes);
  }
  Type scalarOf(Type element) { return RankedTensorType::get({}, element); }
  Value number(int64_t value);
  Value compare(Value x, StringRef direction, Value y);
  void end(ValueRange values);
  SmallVector<Value> positionInUpdates(Value turn);
  Value elementAt(Value tensor, ValueRange place);
  Value converted(Value scalar, Type type);
  void addCondition(Operation *loop);
  void addBody(Operation *loop);

  BodyConverter &body;
  Operation *op;
  OpBuilder builder;
  const unsigned count; // of inputs
  ScatterForm form;
};

} // namespace

void ScatterForm::read(DictionaryAttr fields) {
  SmallVector<int64_t> window = fieldNumbers(fields, "update_window_dims"),
                       inserted = fieldNumbers(fields, "inserted_window_dims"),
                       toOperand = fieldNumbers(fields, "scatter_dims_to_operand_dims"),
                       vectors = fieldNumbers(fields, "index_vector_dim"),
                       batching = fieldNumbers(fields, "input_batching_dims"),
                       indicesBatching = fieldNumbers(fields, "scatter_indices_batching_dims");
  auto rank = std::ssize(shape), updates = std::ssize(updateShape);
  vectorDim = vectors.empty() ? 0 : vectors.front();
  for (int64_t dim = 0; dim < updates; ++dim)
    if (!llvm::is_contained(window, dim))
      along.push_back(dim);
  sizes.assign(rank, 1);
  windowOf.assign(rank, -1);
  component.assign(rank, -1);
  batch.assign(rank, -1);
  size_t next = 0;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(inserted, dim) && !llvm::is_contained(batching, dim)) {
      windowOf[dim] = window[next++];
      sizes[dim] = updateShape[windowOf[dim]];
    }
  for (auto [k, dim] : llvm::enumerate(toOperand))
    component[dim] = static_cast<int64_t>(k);
  for (auto [dim, of] : llvm::zip(batching, indicesBatching))
    batch[dim] = of - (of > vectorDim);
}

FailureOr<RankedTensorType> ScatterLoop::staticType(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && type.hasStaticShape())
    return type;
  return unimplementedOp(op)
         << " with dynamic shapes and a function that combines several inputs or uses "
         << "values from outside";
}

LogicalResult ScatterLoop::readForm() {
  FailureOr<RankedTensorType> input = staticType(op->getOperand(0)),
                              indices = staticType(op->getOperand(count)),
                              updates = staticType(op->getOperand(count + 1));
  if (failed(input) || failed(indices) || failed(updates))
    return failure();
  form.shape.assign(input->getShape().begin(), input->getShape().end());
  form.indexShape.assign(indices->getShape().begin(), indices->getShape().end());
  form.updateShape.assign(updates->getShape().begin(), updates->getShape().end());
  form.read(op->getAttrOfType<DictionaryAttr>("scatter_dimension_numbers"));
  return success();
}

Value ScatterLoop::number(int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return make("constant", {}, type,
              builder.getNamedAttr("value", DenseElementsAttr::get(type, value)));
}

Value ScatterLoop::compare(Value x, StringRef direction, Value y) {
  return make("compare", {x, y}, scalarOf(builder.getI1Type()),
              builder.getNamedAttr("comparison_direction", builder.getStringAttr(direction)));
}

void ScatterLoop::end(ValueRange values) {
  OperationState state(op->getLoc(), "stablehlo.return");
  state.addOperands(values);
  builder.create(state);
}

Value ScatterLoop::converted(Value scalar, Type type) {
  return scalar.getType() == type ? scalar : make("convert", scalar, type);
}

/// Returns the position of the current element.
SmallVector<Value> ScatterLoop::positionInUpdates(Value turn) {
  SmallVector<Value> place(form.updateShape.size());
  Value rest = turn;
  for (size_t dim = place.size(); dim-- > 0;) {
    if (dim == 0) {
      place[dim] = rest;
      continue;
    }
    Value size = number(form.updateShape[dim]), next = make("divide", {rest, size}, turn.getType()),
          before = make("multiply", {next, size}, turn.getType());
    place[dim] = make("subtract", {rest, before}, turn.getType());
    rest = next;
  }
  return place;
}

static RankedTensorType onePlace(Type type) {
  auto ranked = cast<RankedTensorType>(type);
  return ranked.clone(SmallVector<int64_t>(ranked.getRank(), 1));
}

Value ScatterLoop::elementAt(Value tensor, ValueRange place) {
  RankedTensorType type = onePlace(tensor.getType());
  SmallVector<Value> operands{tensor};
  llvm::append_range(operands, place);
  Value cut =
      make("dynamic_slice", operands, type,
           builder.getNamedAttr("slice_sizes", builder.getDenseI64ArrayAttr(type.getShape())));
  return make("reshape", cut, scalarOf(type.getElementType()));
}

void ScatterLoop::addCondition(Operation *loop) {
  SmallVector<Location> locations(loop->getNumResults(), op->getLoc());
  Block *block = builder.createBlock(&loop->getRegion(0), {}, loop->getResultTypes(), locations);
  end(compare(block->getArgument(0), "LT", number(computeProduct(form.updateShape))));
}

/// Combines one element. If its window isn't completely in bounds, the input is unchanged.
void ScatterLoop::addBody(Operation *loop) {
  SmallVector<Location> locations(loop->getNumResults(), op->getLoc());
  Block *block = builder.createBlock(&loop->getRegion(1), {}, loop->getResultTypes(), locations);
  Value turn = block->getArgument(0), indices = op->getOperand(count), isInside;
  Type index = turn.getType(), flag = scalarOf(builder.getI1Type());
  SmallVector<Value> at = positionInUpdates(turn), place;
  for (size_t dim = 0; dim < form.shape.size(); ++dim) {
    Value start = number(0);
    if (form.component[dim] >= 0) {
      SmallVector<Value> vector =
          llvm::map_to_vector(form.along, [&](int64_t of) { return at[of]; });
      if (form.hasVectors())
        vector.insert(vector.begin() + form.vectorDim, number(form.component[dim]));
      start = converted(elementAt(indices, vector), index);
      Value last = number(form.shape[dim] - form.sizes[dim]);
      for (Value holds : {compare(start, "GE", number(0)), compare(start, "LE", last)})
        isInside = isInside ? make("and", {isInside, holds}, flag) : holds;
    } else if (form.batch[dim] >= 0) {
      start = at[form.along[form.batch[dim]]];
    }
    if (form.windowOf[dim] >= 0)
      start = make("add", {start, at[form.windowOf[dim]]}, index);
    place.push_back(start);
  }
  Block &source = op->getRegion(0).front();
  SmallVector<Value> found;
  IRMapping mapping;
  for (unsigned i = 0; i < count; ++i) {
    found.push_back(elementAt(block->getArgument(1 + i), place));
    Value update = elementAt(op->getOperand(count + 1 + i), at);
    mapping.map(source.getArgument(i), converted(found[i], source.getArgument(i).getType()));
    mapping.map(source.getArgument(count + i),
                converted(update, source.getArgument(count + i).getType()));
  }
  for (Operation &inner : source.without_terminator())
    builder.clone(inner, mapping);
  SmallVector<Value> next{make("add", {turn, number(1)}, index)};
  for (auto [i, value] : llvm::enumerate(source.back().getOperands())) {
    Value whole = block->getArgument(1 + static_cast<unsigned>(i));
    Value given = converted(mapping.lookupOrDefault(value), found[i].getType());
    if (isInside)
      given = make("select", {isInside, given, found[i]}, given.getType());
    SmallVector<Value> operands{whole, make("reshape", given, onePlace(whole.getType()))};
    llvm::append_range(operands, place);
    next.push_back(make("dynamic_update_slice", operands, whole.getType()));
  }
  end(next);
}

LogicalResult ScatterLoop::read() {
  if (failed(readForm()))
    return failure();
  SmallVector<Value> starts{number(0)};
  llvm::append_range(starts, op->getOperands().take_front(count));
  OperationState state(op->getLoc(), "stablehlo.while");
  state.addOperands(starts);
  state.addTypes(ValueRange(starts).getTypes());
  state.addRegion();
  state.addRegion();
  Operation *made[] = {starts.front().getDefiningOp(), builder.create(state)};
  {
    OpBuilder::InsertionGuard guard(builder);
    addCondition(made[1]);
    addBody(made[1]);
  }
  return readInPlaceOf(body, op, made, made[1]->getResults().drop_front());
}

LogicalResult hlo::readScatterLoop(BodyConverter &body, Operation *op) {
  return ScatterLoop(body, op).read();
}
