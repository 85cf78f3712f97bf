// Converts tensors, which are values, to references to tensors in memory.
//
// The types of values change in place, one by one: a tensor is one reference in all control flow,
// so loops and conditionals are unchanged.
#include "treadle/codegen/Passes.h"
#include "treadle/codegen/Rc.h"
#include "treadle/lowering/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

class Bufferizer {
public:
  Bufferizer(func::FuncOp function, std::vector<Tensor> &constants)
      : function(function), constants(constants), b(function.getContext()) {}
  LogicalResult run();

private:
  LogicalResult rewrite(Operation *op);
  LogicalResult rewrite(linalg::GenericOp op);
  FailureOr<Value> output(linalg::GenericOp op, unsigned number, ValueRange models);
  SmallVector<Value> reusableInputs(linalg::GenericOp op, unsigned number,
                                    llvm::function_ref<bool(Value)> isReadElsewhere);
  Value scalarMemory(Type element);
  void rewrite(rc::KernelOp op);
  LogicalResult rewrite(arith::ConstantOp op);
  void rewrite(tensor::CastOp op);
  void rewrite(rc::SetOp op);
  void rewrite(rc::UpdateOp op);
  void rewrite(rc::WriteOp op);
  void readByIndex(Region &region);
  SmallVector<Value> sizesOf(tensor::EmptyOp empty, RankedTensorType type);
  void addExistenceCheck(Operation *op);

  Value alloc(TensorType type, ValueRange dims, ValueRange models = {}, bool copies = false);
  Value view(Value ref);
  void check(Value condition) { rc::CheckOp::create(b, loc, condition); }
  void checkSize(Value found, int64_t expected);
  void checkShape(Value ref, RankedTensorType type, RankedTensorType known);

  func::FuncOp function;
  std::vector<Tensor> &constants;
  OpBuilder b;
  Location loc = UnknownLoc::get(function.getContext());
};

Type referenceTo(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor ? rc::RefType::get(type.getContext(), tensor) : type;
}

TensorType tensorOf(Value ref) { return cast<rc::RefType>(ref.getType()).getTensor(); }

/// Returns an operand that is already a reference; the op's own accessor would cast it to a tensor.
Value referenceOf(Operation *op) { return op->getOperand(0); }

/// Booleans are bytes in memory.
Type storedAs(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : element;
}

Value fromStored(OpBuilder &b, Location loc, Value stored, Type element) {
  if (stored.getType() == element)
    return stored;
  Value zero = arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(0));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, stored, zero);
}

Value toStored(OpBuilder &b, Location loc, Value value) {
  Type type = storedAs(value.getType());
  return type == value.getType() ? value : Value(arith::ExtUIOp::create(b, loc, type, value));
}

Value Bufferizer::alloc(TensorType type, ValueRange dims, ValueRange models, bool copies) {
  auto made = rc::AllocOp::create(b, loc, referenceTo(type), b.getI1Type(), dims, models, copies);
  check(made.getOk());
  return made.getResult();
}

Value Bufferizer::view(Value ref) {
  auto type = cast<RankedTensorType>(tensorOf(ref));
  return rc::ViewOp::create(b, loc,
                            MemRefType::get(type.getShape(), storedAs(type.getElementType())), ref);
}

void Bufferizer::checkSize(Value found, int64_t expected) {
  Value wanted = arith::ConstantIndexOp::create(b, loc, expected);
  check(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, found, wanted));
}

/// Checks that a tensor has this type, except for what `known` guarantees.
void Bufferizer::checkShape(Value ref, RankedTensorType type, RankedTensorType known) {
  if (!known)
    checkSize(rc::RankOp::create(b, loc, b.getIndexType(), ref), type.getRank());
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (!type.isDynamicDim(i) && (!known || known.isDynamicDim(i)))
      checkSize(rc::DimOp::create(b, loc, b.getIndexType(), ref, i), type.getDimSize(i));
}

void Bufferizer::rewrite(rc::KernelOp op) {
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    types.push_back(referenceTo(type));
  types.push_back(b.getI1Type());
  auto made = rc::KernelOp::create(
      b, loc, types, op.getInputs(), op.getIndex(), op.getOp(),
      b.getDenseBoolArrayAttr(SmallVector<bool>(op.getInputs().size(), false)));
  check(made.getOutputs().back());
  for (auto [old, result] : llvm::zip(op.getOutputs(), made.getOutputs()))
    old.replaceAllUsesWith(result);
  op.erase();
}

void Bufferizer::rewrite(tensor::CastOp op) {
  Value ref = referenceOf(op);
  if (auto type = dyn_cast<RankedTensorType>(op.getType()))
    checkShape(ref, type, dyn_cast<RankedTensorType>(tensorOf(ref)));
  Value cast = rc::CastOp::create(b, loc, referenceTo(op.getType()), ref);
  op.getResult().replaceAllUsesWith(cast);
  op.erase();
}

/// Copies the list first if it has other references, then writes the element in place.
void Bufferizer::rewrite(rc::SetOp op) {
  Value list = op->getOperand(0), index = op->getOperand(1), element = op->getOperand(2);
  bool isScalar = !isa<rc::RefType>(element.getType());
  SmallVector<Value> dims;
  if (!isScalar)
    for (auto [i, size] : llvm::enumerate(tensorOf(element).getShape()))
      dims.push_back(ShapedType::isDynamic(size)
                         ? rc::DimOp::create(b, loc, b.getIndexType(), element, i).getResult()
                         : arith::ConstantIndexOp::create(b, loc, size).getResult());
  auto own =
      rc::OwnOp::create(b, loc, list.getType(), b.getI1Type(), list, index, dims, op.getGrows());
  check(own.getOk());
  if (isScalar)
    memref::StoreOp::create(b, loc, toStored(b, loc, element), view(own.getResult()), index);
  else
    rc::PutOp::create(b, loc, own.getResult(), index, element);
  op.getResult().replaceAllUsesWith(own.getResult());
  op.erase();
}

/// Copies the tensor first if it has other references, then writes the elements in place.
void Bufferizer::rewrite(rc::UpdateOp op) {
  Value tensor = referenceOf(op);
  auto own = rc::UniqueOp::create(b, loc, tensor.getType(), b.getI1Type(), tensor);
  check(own.getOk());
  Value memory = view(own.getResult());
  SmallVector<int64_t> strides = computeStrides(op.getSizes());
  for (auto [i, element] : llvm::enumerate(op.getElements())) {
    SmallVector<Value> place;
    for (auto [begin, within] :
         llvm::zip(op.getPlaces(), delinearize(static_cast<int64_t>(i), strides)))
      place.push_back(b.createOrFold<arith::AddIOp>(
          loc, begin, arith::ConstantIndexOp::create(b, loc, within)));
    memref::StoreOp::create(b, loc, toStored(b, loc, element), memory, place);
  }
  op.getResult().replaceAllUsesWith(own.getResult());
  op.erase();
}

/// Adds a result to an op over references that tells whether the first result exists, and checks
/// it.
void Bufferizer::addExistenceCheck(Operation *op) {
  OperationState state(loc, op->getName(), op->getOperands(),
                       {referenceTo(op->getResult(0).getType()), b.getI1Type()}, op->getAttrs());
  Operation *made = b.create(state);
  check(made->getResult(1));
  op->getResult(0).replaceAllUsesWith(made->getResult(0));
  op->erase();
}

/// Returns the initial value of a reduction, as stored in memory.
static FailureOr<TypedAttr> initialValueOf(linalg::FillOp fill) {
  TypedAttr value;
  if (!matchPattern(fill.getInputs()[0], m_Constant(&value)))
    return fill.emitOpError("initializes a reduction with a value that isn't constant");
  if (auto truth = dyn_cast<IntegerAttr>(value); truth && truth.getType().isInteger(1))
    return TypedAttr(IntegerAttr::get(storedAs(truth.getType()), truth.getValue().zext(8)));
  return value;
}

/// Allocates a scalar that is read immediately: on the stack, promoted to a register later.
Value Bufferizer::scalarMemory(Type element) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.getBody().front());
  return memref::AllocaOp::create(b, loc, MemRefType::get({}, storedAs(element)));
}

/// Returns the inputs whose buffers an output may reuse: those whose elements are each read before
/// they are written.
SmallVector<Value> Bufferizer::reusableInputs(linalg::GenericOp op, unsigned number,
                                              llvm::function_ref<bool(Value)> isReadElsewhere) {
  SmallVector<Value> models;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (op.getNumReductionLoops())
    return models;
  auto widthOf = [](TensorType type) {
    Type element = storedAs(type.getElementType());
    auto complex = dyn_cast<ComplexType>(element);
    return complex ? 2 * complex.getElementType().getIntOrFloatBitWidth()
                   : element.getIntOrFloatBitWidth();
  };
  auto type = cast<RankedTensorType>(op.getOutputs()[number].getType());
  AffineMap outputMap = maps[op.getInputs().size() + number];
  auto isReadInPlace = [&](Value ref) {
    return !isReadElsewhere(ref) && llvm::all_of(llvm::zip(op.getInputs(), maps), [&](auto read) {
      auto [input, map] = read;
      return input != ref || map == outputMap;
    });
  };
  for (Value input : op.getInputs())
    if (isReadInPlace(input) && !llvm::is_contained(models, input) &&
        widthOf(tensorOf(input)) == widthOf(type))
      models.push_back(input);
  return models;
}

/// Looks through casts of a tensor.
static Value stripCasts(Value value) {
  while (auto cast = value.getDefiningOp<tensor::CastOp>())
    value = cast->getOperand(0);
  return value;
}

/// Whether the op only defines the destination of another op; memory is allocated where the
/// destination is written. MLIR casts such a tensor if the inputs of the op determine more of its
/// shape than its own type does.
static bool isPlaceholder(Operation *op) {
  if (auto cast = dyn_cast_if_present<tensor::CastOp>(op))
    op = stripCasts(cast->getOperand(0)).getDefiningOp();
  return isa_and_present<tensor::EmptyOp, linalg::FillOp>(op);
}

/// Returns the dynamic sizes of a new tensor, and checks its static ones.
SmallVector<Value> Bufferizer::sizesOf(tensor::EmptyOp empty, RankedTensorType type) {
  SmallVector<Value> sizes;
  for (auto [i, size] : llvm::enumerate(empty.getMixedSizes())) {
    auto dim = static_cast<int64_t>(i);
    if (type.isDynamicDim(dim))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, loc, size));
    else if (auto value = dyn_cast<Value>(size))
      checkSize(value, type.getDimSize(dim));
  }
  return sizes;
}

/// Allocates the destination of an op. Reductions record their initial values.
FailureOr<Value> Bufferizer::output(linalg::GenericOp op, unsigned number, ValueRange models) {
  auto type = cast<RankedTensorType>(op.getOutputs()[number].getType());
  Value init = stripCasts(op.getOutputs()[number]);
  if (auto fill = init.getDefiningOp<linalg::FillOp>()) {
    FailureOr<TypedAttr> start = initialValueOf(fill);
    if (failed(start))
      return failure();
    auto before = op->getAttrOfType<ArrayAttr>(rc::startsAttr);
    SmallVector<Attribute> starts(before ? before.getValue() : ArrayRef<Attribute>());
    starts.push_back(*start);
    op->setAttr(rc::startsAttr, b.getArrayAttr(starts));
    init = stripCasts(fill.getOutputs()[0]);
  }
  auto empty = init.getDefiningOp<tensor::EmptyOp>();
  auto starts = op->getAttrOfType<ArrayAttr>(rc::startsAttr);
  if (!empty || (op.getNumReductionLoops() && (!starts || starts.size() <= number)))
    return op.emitOpError("has a destination that isn't a new tensor");
  bool isScalar =
      type.getRank() == 0 && op.getNumReductionLoops() &&
      llvm::all_of(op.getResult(number).getUsers(), [](Operation *user) {
        return isa<tensor::ExtractOp>(user) && !user->getParentOfType<linalg::GenericOp>();
      });
  if (isScalar)
    return scalarMemory(type.getElementType());
  bool copies = isa<BlockArgument>(op.getRegion().front().getTerminator()->getOperand(number));
  return alloc(type, sizesOf(empty, type), models, copies);
}

/// Converts reads by index of tensors that are defined outside the loops.
void Bufferizer::readByIndex(Region &region) {
  SmallVector<tensor::ExtractOp> extracts;
  region.walk([&](tensor::ExtractOp extract) { extracts.push_back(extract); });
  DenseMap<Value, Value> views;
  for (tensor::ExtractOp extract : extracts) {
    Value ref = referenceOf(extract);
    Value &elements = views[ref];
    if (!elements)
      elements = view(ref);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(extract);
    Value stored = memref::LoadOp::create(b, loc, elements, extract.getIndices());
    extract.replaceAllUsesWith(fromStored(b, loc, stored, tensorOf(ref).getElementType()));
    extract.erase();
  }
}

/// Copies the tensors that have other references first, then writes the elements in place.
void Bufferizer::rewrite(rc::WriteOp op) {
  SmallVector<Value> written, memory;
  const unsigned numTensors = op.getNumResults();
  for (Value tensor : op->getOperands().take_front(numTensors)) {
    auto own = rc::UniqueOp::create(b, loc, tensor.getType(), b.getI1Type(), tensor);
    check(own.getOk());
    written.push_back(own.getResult());
  }
  for (Value ref : written)
    memory.push_back(view(ref));
  readByIndex(op.getBody());
  auto made = rc::WriteOp::create(b, loc, TypeRange(), memory, op.getSizes(), op.getIsParallel());
  made.getBody().takeBody(op.getBody());
  Block &block = made.getBody().front();
  for (auto [argument, view] : llvm::zip(block.getArguments(), memory))
    argument.replaceAllUsesWith(view);
  block.eraseArguments(0, numTensors);
  made.getBody().walk([&](Operation *inner) {
    b.setInsertionPoint(inner);
    if (auto current = dyn_cast<rc::CurrentOp>(inner)) {
      Value stored = memref::LoadOp::create(b, loc, referenceOf(current), current.getPlaces());
      current.replaceAllUsesWith(fromStored(b, loc, stored, current.getType()));
      current.erase();
    } else if (auto store = dyn_cast<rc::StoreOp>(inner)) {
      memref::StoreOp::create(b, loc, toStored(b, loc, store.getElement()), referenceOf(store),
                              store.getPlaces());
      store.erase();
    }
  });
  op.replaceAllUsesWith(written);
  op.erase();
}

LogicalResult Bufferizer::rewrite(linalg::GenericOp op) {
  for (Value output : op.getOutputs())
    if (!isPlaceholder(output.getDefiningOp()))
      return op.emitOpError("has a destination that isn't a new tensor");
  SmallVector<Value> inputs(op.getInputs()), outputs;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  DenseSet<Value> readByPlace;
  op.getRegion().walk([&](tensor::ExtractOp extract) { readByPlace.insert(referenceOf(extract)); });
  auto isReadElsewhere = [&](Value ref) { return readByPlace.contains(ref); };
  for (unsigned i = 0; i < op.getOutputs().size(); ++i) {
    FailureOr<Value> made = output(op, i, reusableInputs(op, i, isReadElsewhere));
    if (failed(made))
      return failure();
    outputs.push_back(*made);
  }
  SmallVector<Value> inputViews, outputViews;
  for (Value input : inputs)
    inputViews.push_back(view(input));
  for (Value output : outputs)
    outputViews.push_back(isa<MemRefType>(output.getType()) ? output : view(output));
  readByIndex(op.getRegion());
  auto made = linalg::GenericOp::create(b, loc, TypeRange(), inputViews, outputViews, maps,
                                        op.getIteratorTypesArray());
  if (Attribute starts = op->getAttr(rc::startsAttr))
    made->setAttr(rc::startsAttr, starts);
  Block &block = op.getRegion().front();
  // Block arguments take the stored types; uses get values converted to the types of the ops.
  for (BlockArgument argument : block.getArguments()) {
    Type element = argument.getType(), stored = storedAs(element);
    if (stored == element)
      continue;
    b.setInsertionPointToStart(&block);
    argument.setType(stored);
    if (argument.use_empty())
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : argument.getUses())
      uses.push_back(&use);
    Value value = fromStored(b, loc, argument, element);
    for (OpOperand *use : uses)
      use->set(value);
  }
  Operation *end = block.getTerminator();
  b.setInsertionPoint(end);
  for (OpOperand &operand : end->getOpOperands())
    operand.set(toStored(b, loc, operand.get()));
  made.getRegion().takeBody(op.getRegion());
  for (auto [old, output] : llvm::zip(op.getResults(), outputs))
    old.replaceAllUsesWith(output);
  op.erase();
  return success();
}

/// Moves constants that folding created to the table.
LogicalResult Bufferizer::rewrite(arith::ConstantOp op) {
  Expected<AttrValue> value = convertAttribute(op.getValue());
  if (!value || !std::holds_alternative<Tensor>(*value))
    return op.emitOpError("isn't a tensor that the runtime supports");
  Value ref = rc::ConstantOp::create(b, loc, referenceTo(op.getType()),
                                     static_cast<int32_t>(constants.size()));
  constants.push_back(std::get<Tensor>(*value));
  op.getResult().replaceAllUsesWith(ref);
  return op.erase(), success();
}

/// Whether the op reads a tensor without memory, which didn't become a reference.
static bool readsPlaceholder(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  ValueRange read = generic ? ValueRange(generic.getInputs()) : ValueRange(op->getOperands());
  auto isTensor = [](Value value) { return isa<TensorType>(value.getType()); };
  bool elsewhere = false;
  if (isa<linalg::GenericOp, rc::WriteOp>(op))
    op->getRegion(0).walk(
        [&](tensor::ExtractOp extract) { elsewhere |= isTensor(referenceOf(extract)); });
  return elsewhere || llvm::any_of(read, isTensor);
}

LogicalResult Bufferizer::rewrite(Operation *op) {
  if (readsPlaceholder(op))
    return op->emitOpError("reads an uninitialized tensor");
  b.setInsertionPoint(op);
  if (auto constant = dyn_cast<arith::ConstantOp>(op);
      constant && isa<TensorType>(constant.getType()))
    return rewrite(constant);
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return rewrite(generic);
  if (auto kernel = dyn_cast<rc::KernelOp>(op))
    return rewrite(kernel), success();
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return rewrite(cast), success();
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!index)
      return op->emitOpError("asks for a dimension that isn't constant");
    Value size = rc::DimOp::create(b, loc, b.getIndexType(), referenceOf(dim), *index);
    dim.getResult().replaceAllUsesWith(size);
    return op->erase(), success();
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    Value from = referenceOf(extract);
    Type element = extract.getType();
    if (!isa<MemRefType>(from.getType()))
      from = view(from);
    Value stored = memref::LoadOp::create(b, loc, from, extract.getIndices());
    extract.getResult().replaceAllUsesWith(fromStored(b, loc, stored, element));
    return op->erase(), success();
  }
  if (auto elements = dyn_cast<tensor::FromElementsOp>(op)) {
    RankedTensorType type = elements.getType();
    Value ref = alloc(type, {}), memory = view(ref);
    SmallVector<int64_t> strides = computeStrides(type.getShape());
    for (auto [i, element] : llvm::enumerate(elements.getElements())) {
      SmallVector<Value> place;
      for (int64_t at : delinearize(static_cast<int64_t>(i), strides))
        place.push_back(arith::ConstantIndexOp::create(b, loc, at));
      memref::StoreOp::create(b, loc, toStored(b, loc, element), memory, place);
    }
    elements.getResult().replaceAllUsesWith(ref);
    return op->erase(), success();
  }
  if (auto set = dyn_cast<rc::SetOp>(op))
    return rewrite(set), success();
  if (auto update = dyn_cast<rc::UpdateOp>(op))
    return rewrite(update), success();
  if (auto write = dyn_cast<rc::WriteOp>(op))
    return rewrite(write), success();
  if (isa<rc::ReshapeOp, rc::ListOp, rc::RowOp, rc::PopOp, rc::StackOp>(op))
    return addExistenceCheck(op), success();
  if (auto select = dyn_cast<arith::SelectOp>(op); select && isa<TensorType>(select.getType())) {
    Value chosen =
        rc::SelectOp::create(b, loc, referenceTo(select.getType()), select.getCondition(),
                             select.getTrueValue(), select.getFalseValue());
    select.getResult().replaceAllUsesWith(chosen);
    return op->erase(), success();
  }
  for (Value result : op->getResults())
    result.setType(referenceTo(result.getType()));
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        argument.setType(referenceTo(argument.getType()));
  return success();
}

LogicalResult Bufferizer::run() {
  // Results are converted before their uses: the operands of a nested op are defined before it.
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getParentOfType<linalg::LinalgOp>() || op->getParentOfType<rc::WriteOp>() ||
        isPlaceholder(op))
      return;
    ops.push_back(op);
  });
  for (Operation *op : ops) {
    loc = op->getLoc();
    if (failed(rewrite(op)))
      return failure();
  }
  SmallVector<Type> arguments, results;
  for (Type type : function.getArgumentTypes())
    arguments.push_back(referenceTo(type));
  for (Type type : function.getResultTypes())
    results.push_back(referenceTo(type));
  function.setFunctionType(FunctionType::get(function.getContext(), arguments, results));
  auto eraseUnused = [](Operation *op) {
    if (isPlaceholder(op) && op->use_empty())
      op->erase();
  };
  function.walk<WalkOrder::PostOrder, ReverseIterator>(eraseUnused);
  return success();
}

} // namespace

LogicalResult bufferize(ModuleOp module, std::vector<Tensor> &constants) {
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    if (!function.isDeclaration() && failed(Bufferizer(function, constants).run()))
      return failure();
  return success();
}

} // namespace treadle::codegen
