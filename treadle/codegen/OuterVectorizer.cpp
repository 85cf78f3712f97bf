#include "treadle/codegen/OuterVectorizer.h"
#include "treadle/codegen/Rc.h"
#include "treadle/codegen/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// The values that differ between the iterations that run together.
class Variation {
public:
  explicit Variation(scf::ForOp loop) : loop(loop) {
    varying.insert(loop.getInductionVar());
    size_t before;
    do {
      before = varying.size();
      loop.getBody()->walk<WalkOrder::PreOrder>([&](Operation *op) { visit(op); });
    } while (varying.size() != before);
  }

  bool contains(Value value) const { return varying.contains(value); }
  bool any(ValueRange values) const {
    return llvm::any_of(values, [&](Value value) { return contains(value); });
  }

  /// Whether all operations can work on vectors.
  bool isSupported() {
    auto result = loop.getBody()->walk([&](Operation *op) {
      return isSupported(op) ? WalkResult::advance() : WalkResult::interrupt();
    });
    return !result.wasInterrupted() && loop.getInitArgs().empty();
  }

private:
  void add(ValueRange values) { varying.insert_range(values); }

  void addWhere(ValueRange targets, ValueRange sources) {
    for (auto [target, source] : llvm::zip(targets, sources))
      if (contains(source))
        varying.insert(target);
  }

  void visit(Operation *op) {
    if (auto repeated = dyn_cast<scf::WhileOp>(op)) {
      scf::ConditionOp condition = repeated.getConditionOp();
      addWhere(repeated.getBeforeArguments(), repeated.getInits());
      addWhere(repeated.getBeforeArguments(), repeated.getYieldOp().getOperands());
      addWhere(repeated.getAfterArguments(), condition.getArgs());
      addWhere(repeated.getResults(), condition.getArgs());
      if (contains(condition.getCondition())) {
        add(repeated.getBeforeArguments());
        add(repeated.getAfterArguments());
        add(repeated.getResults());
      }
    } else if (auto counted = dyn_cast<scf::ForOp>(op)) {
      for (ValueRange sources : {ValueRange(counted.getInitArgs()), counted.getYieldedValues()}) {
        addWhere(counted.getRegionIterArgs(), sources);
        addWhere(counted.getResults(), sources);
      }
    } else if (!op->getNumRegions() && any(op->getOperands())) {
      add(op->getResults());
    }
  }

  /// Complex numbers are pairs of vectors; they are only loaded, stored, made and taken apart.
  static bool isVectorElement(Type type) {
    if (auto complex = dyn_cast<ComplexType>(type))
      return isVectorElement(complex.getElementType());
    return isa<IndexType, IntegerType, Float32Type, Float64Type>(type);
  }

  bool isSupported(Operation *op) const {
    for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
      for (Value value : values)
        if (contains(value) && !isVectorElement(value.getType()))
          return false;
    if (auto counted = dyn_cast<scf::ForOp>(op))
      return !contains(counted.getLowerBound()) && !contains(counted.getUpperBound()) &&
             !contains(counted.getStep());
    if (isa<scf::WhileOp, scf::ConditionOp, scf::YieldOp, rc::ParallelOp>(op))
      return true;
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return any(store.getIndices()) && isContiguous(store.getMemref()); // each has its own place
    if (!any(op->getOperands()))
      return !op->getNumRegions();
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return isContiguous(load.getMemref());
    if (isa<complex::CreateOp, complex::ReOp, complex::ImOp>(op))
      return true;
    if (isComplex(op->getResultTypes()) || isComplex(op->getOperandTypes()))
      return false;
    return !op->getNumRegions() && op->getNumResults() == 1 &&
           (OpTrait::hasElementwiseMappableTraits(op) ||
            isa<LLVM::FMulAddOp, UnrealizedConversionCastOp>(op));
  }

  static bool isComplex(TypeRange types) {
    return llvm::any_of(types, [](Type type) { return isa<ComplexType>(type); });
  }

  static bool isContiguous(Value memory) {
    auto type = cast<MemRefType>(memory.getType());
    return type.getLayout().isIdentity() && isVectorElement(type.getElementType());
  }

  scf::ForOp loop;
  llvm::DenseSet<Value> varying;
};

constexpr int64_t vectorBits = 256;

class OuterVectorizer {
public:
  OuterVectorizer(scf::ForOp loop, const Variation &variation, int64_t width)
      : loop(loop), variation(variation), width(width), b(loop), loc(loop.getLoc()) {}

  void run() {
    Value step = arith::ConstantIndexOp::create(b, loc, width), end = loop.getUpperBound();
    auto made = scf::ForOp::create(b, loc, loop.getLowerBound(), end, step);
    b.setInsertionPointToStart(made.getBody());
    first = made.getInductionVar();
    auto counted = llvm::to_vector(llvm::seq<int64_t>(0, width));
    Value offsets = arith::ConstantOp::create(
        b, loc, DenseIntElementsAttr::get(vectorOf(b.getIndexType()), counted));
    Value numbers = arith::AddIOp::create(b, loc, broadcast(first), offsets);
    vectors.map(loop.getInductionVar(), numbers);
    mask = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, numbers, broadcast(end));
    copy(*loop.getBody());
    loop.erase();
  }

private:
  VectorType vectorOf(Type element) { return VectorType::get(width, element); }
  Type typeOf(Value value) {
    return variation.contains(value) ? vectorOf(value.getType()) : value.getType();
  }
  Value broadcast(Value scalar) {
    return vector::BroadcastOp::create(b, loc, vectorOf(scalar.getType()), scalar);
  }
  Value uniform(Value value) { return vectors.lookupOrDefault(value); }
  Value vector(Value value) {
    Value made = uniform(value);
    return isa<VectorType>(made.getType()) ? made : broadcast(made);
  }
  /// The value as it is held: a vector if it differs between iterations.
  Value held(Value value, bool isVector) { return isVector ? vector(value) : uniform(value); }
  Value zeros(Type element) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorOf(computedIn(element))));
    return reinterpreted(b, loc, zero, vectorOf(element));
  }

  void copy(Block &block) {
    for (Operation &op : block.without_terminator())
      copy(op);
  }

  void copy(Operation &op) {
    if (isa<rc::ParallelOp>(op))
      return;
    llvm::SaveAndRestore here(loc, op.getLoc()); // for counting
    if (auto repeated = dyn_cast<scf::WhileOp>(op))
      return variation.contains(repeated.getConditionOp().getCondition()) ? copyDiverging(repeated)
                                                                          : copyUniform(repeated);
    if (auto counted = dyn_cast<scf::ForOp>(op))
      return copy(counted);
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return copy(store);
    if (!variation.any(op.getOperands())) {
      b.clone(op, vectors);
      return;
    }
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return copy(load);
    if (auto made = dyn_cast<complex::CreateOp>(op))
      return pairs.insert({made, {vector(made.getReal()), vector(made.getImaginary())}}), void();
    if (auto part = dyn_cast<complex::ReOp>(op))
      return vectors.map(part.getResult(), pairs.lookup(part.getComplex()).first);
    if (auto part = dyn_cast<complex::ImOp>(op))
      return vectors.map(part.getResult(), pairs.lookup(part.getComplex()).second);
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(vector(operand));
    if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op) &&
        variation.contains(op.getOperand(1)))
      operands[1] = withoutZeros(operands[1]);
    const bool isCall = isa<math::MathDialect>(op.getDialect()) && !isInstruction(op);
    vectors.map(op.getResult(0), isCall ? inRegisters(op, operands) : made(op, operands, width));
  }

  Value made(Operation &op, ValueRange operands, int64_t elements) {
    OperationState state(loc, op.getName(), operands,
                         VectorType::get(elements, op.getResult(0).getType()),
                         op.getAttrDictionary().getValue());
    return b.create(state)->getResult(0);
  }

  static bool isInstruction(Operation &op) {
    return isa<math::AbsFOp, math::AbsIOp, math::CopySignOp, math::SqrtOp, math::FloorOp,
               math::CeilOp, math::RoundEvenOp, math::TruncOp, math::FmaOp, math::CtPopOp>(op);
  }

  /// Functions with a vector variant are intrinsics, others are called for one element at a time.
  Value call(Operation &op, ValueRange operands, VectorType type) {
    constexpr StringRef intrinsics[] = {"sin",  "cos",  "tan",  "asin", "acos", "atan", "atan2",
                                        "sinh", "cosh", "tanh", "exp",  "log",  "powf"};
    StringRef name = op.getName().stripDialect();
    if (!llvm::is_contained(intrinsics, name))
      return made(op, operands, type.getNumElements());
    name.consume_back("f");
    OperationState state(loc, str("llvm.intr.", name), operands, type);
    return b.create(state)->getResult(0);
  }

  /// Calls a function for the elements of one register after the other, as vector functions take
  /// them.
  Value inRegisters(Operation &op, ArrayRef<Value> operands) {
    Type element = op.getResult(0).getType();
    const int64_t step = std::min<int64_t>(width, vectorBits / element.getIntOrFloatBitWidth());
    Value result;
    for (int64_t begin = 0; begin < width; begin += step) {
      SmallVector<Value> parts;
      auto places = llvm::to_vector(llvm::seq<int64_t>(begin, begin + step));
      for (Value operand : operands)
        parts.push_back(vector::ShuffleOp::create(b, loc, operand, operand, places));
      Value part = call(op, parts, VectorType::get(step, element));
      auto all = llvm::to_vector(llvm::seq<int64_t>(0, begin + step));
      result = result ? vector::ShuffleOp::create(b, loc, result, part, all).getResult() : part;
    }
    return result;
  }

  /// The divisors of iterations that have ended may be 0.
  Value withoutZeros(Value divisors) {
    auto type = cast<VectorType>(divisors.getType());
    Value ones = arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, b.getOneAttr(type.getElementType())));
    return arith::SelectOp::create(b, loc, mask, divisors, ones);
  }

  // --- memory ------------------------------------------------------------------------------------

  /// Whether the iterations access neighbours in memory.
  bool areNeighbours(ValueRange indices) {
    return !indices.empty() && indices.back() == loop.getInductionVar() &&
           !variation.any(indices.drop_back());
  }

  SmallVector<Value> firstOf(ValueRange indices) {
    SmallVector<Value> made;
    for (Value index : indices)
      made.push_back(index == loop.getInductionVar() ? first : uniform(index));
    return made;
  }

  /// Numbers of the elements in memory order.
  Value linear(Value memory, ValueRange indices) {
    Value at = zeros(b.getIndexType());
    for (auto [dim, index] : llvm::enumerate(indices)) {
      if (dim) {
        Value size = memref::DimOp::create(b, loc, memory, static_cast<int64_t>(dim));
        at = arith::MulIOp::create(b, loc, at, broadcast(size));
      }
      at = arith::AddIOp::create(b, loc, at, vector(index));
    }
    return at;
  }

  SmallVector<Value> origin(size_t rank) {
    return SmallVector<Value>(rank, arith::ConstantIndexOp::create(b, loc, 0));
  }

  /// Views complex numbers as a row of their real and imaginary parts in turns.
  Value partsIn(Value memory) {
    auto type = cast<MemRefType>(memory.getType());
    Type part = cast<ComplexType>(type.getElementType()).getElementType();
    return rc::ViewOp::create(b, loc, MemRefType::get({ShapedType::kDynamic}, part),
                              memory.getDefiningOp<rc::ViewOp>().getRef());
  }

  void copyComplex(memref::LoadOp load) {
    Value memory = uniform(load.getMemref()), parts = partsIn(memory);
    Type part = cast<ComplexType>(load.getType()).getElementType();
    Value at = linear(memory, load.getIndices()), none = zeros(part);
    at = arith::AddIOp::create(b, loc, at, at);
    auto gathered = [&](int64_t offset) -> Value {
      Value begin = arith::ConstantIndexOp::create(b, loc, offset);
      return vector::GatherOp::create(b, loc, vectorOf(part), parts, begin, at, mask, none);
    };
    pairs[load] = {gathered(0), gathered(1)};
  }

  void copyComplex(memref::StoreOp store) {
    Value memory = uniform(store.getMemref()), parts = partsIn(memory);
    Value at = linear(memory, store.getIndices());
    at = arith::AddIOp::create(b, loc, at, at);
    auto [re, im] = pairs.lookup(store.getValue());
    for (auto [offset, stored] : llvm::enumerate(std::array{re, im})) {
      Value begin = arith::ConstantIndexOp::create(b, loc, static_cast<int64_t>(offset));
      vector::ScatterOp::create(b, loc, Type(), parts, begin, at, mask, stored);
    }
  }

  void copy(memref::LoadOp load) {
    if (isa<ComplexType>(load.getType()))
      return copyComplex(load);
    Value memory = uniform(load.getMemref()), none = zeros(load.getType()), made;
    ValueRange indices = load.getIndices();
    VectorType type = vectorOf(load.getType());
    if (areNeighbours(indices))
      made = vector::MaskedLoadOp::create(b, loc, type, memory, firstOf(indices), mask, none);
    else
      made = vector::GatherOp::create(b, loc, type, memory, origin(indices.size()),
                                      linear(memory, indices), mask, none);
    vectors.map(load.getResult(), made);
  }

  void copy(memref::StoreOp store) {
    if (isa<ComplexType>(store.getValue().getType()))
      return copyComplex(store);
    Value memory = uniform(store.getMemref()), stored = vector(store.getValue());
    ValueRange indices = store.getIndices();
    if (areNeighbours(indices))
      vector::MaskedStoreOp::create(b, loc, memory, firstOf(indices), mask, stored);
    else
      vector::ScatterOp::create(b, loc, Type(), memory, origin(indices.size()),
                                linear(memory, indices), mask, stored);
  }

  // --- loops -------------------------------------------------------------------------------------

  void copy(scf::ForOp op) {
    SmallVector<Value> inits;
    for (auto [init, argument] : llvm::zip(op.getInitArgs(), op.getRegionIterArgs()))
      inits.push_back(held(init, variation.contains(argument)));
    auto made = scf::ForOp::create(b, loc, uniform(op.getLowerBound()), uniform(op.getUpperBound()),
                                   uniform(op.getStep()), inits);
    vectors.map(op.getInductionVar(), made.getInductionVar());
    vectors.map(op.getRegionIterArgs(), made.getRegionIterArgs());
    vectors.map(op.getResults(), made.getResults());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(made.getBody());
    copy(*op.getBody());
    if (op->getNumResults())
      yield(op.getYieldedValues(), op.getRegionIterArgs());
  }

  void yield(ValueRange values, ValueRange targets) {
    scf::YieldOp::create(b, loc, heldAs(values, targets));
  }

  SmallVector<Value> heldAs(ValueRange values, ValueRange targets) {
    SmallVector<Value> made;
    for (auto [value, target] : llvm::zip(values, targets))
      made.push_back(held(value, variation.contains(target)));
    return made;
  }

  Block *blockOf(Region &region, ValueRange values) {
    return b.createBlock(&region, {}, values.getTypes(), SmallVector<Location>(values.size(), loc));
  }

  /// Copies a loop that ends for all iterations together.
  void copyUniform(scf::WhileOp op) {
    SmallVector<Type> types;
    for (Value result : op.getResults())
      types.push_back(typeOf(result));
    auto made = scf::WhileOp::create(b, loc, types, heldAs(op.getInits(), op.getBeforeArguments()));
    OpBuilder::InsertionGuard guard(b);
    Block *before = blockOf(made.getBefore(), made.getInits());
    vectors.map(op.getBeforeArguments(), before->getArguments());
    copy(*op.getBeforeBody());
    scf::ConditionOp condition = op.getConditionOp();
    scf::ConditionOp::create(b, loc, uniform(condition.getCondition()),
                             heldAs(condition.getArgs(), op.getResults()));
    Block *after = blockOf(made.getAfter(), made.getResults());
    vectors.map(op.getAfterArguments(), after->getArguments());
    copy(*op.getAfterBody());
    yield(op.getYieldOp().getOperands(), op.getBeforeArguments());
    vectors.map(op.getResults(), made.getResults());
  }

  /// Copies a loop that ends for each iteration on its own. It carries the mask of those for which
  /// it hasn't ended; the variables of the others don't change any more. Values other than
  /// variables that the condition passes on are carried, too.
  void copyDiverging(scf::WhileOp op) {
    scf::ConditionOp condition = op.getConditionOp();
    const size_t numVariables = op.getInits().size();
    SmallVector<std::optional<unsigned>> variableOf; // by result
    SmallVector<Value> inits = {mask};
    for (Value init : op.getInits())
      inits.push_back(vector(init));
    SmallVector<size_t> passed; // results that aren't variables
    for (auto [i, value] : llvm::enumerate(condition.getArgs())) {
      auto argument = dyn_cast<BlockArgument>(value);
      const bool isVariable = argument && argument.getOwner() == op.getBeforeBody();
      variableOf.push_back(isVariable ? std::optional(argument.getArgNumber()) : std::nullopt);
      if (!isVariable) {
        passed.push_back(i);
        inits.push_back(zeros(value.getType()));
      }
    }
    SmallVector<Type> types(ValueRange(inits).getTypes());
    for (size_t i : passed)
      types.push_back(vectorOf(condition.getArgs()[i].getType()));
    auto made = scf::WhileOp::create(b, loc, types, inits);
    const Value outer = mask;
    {
      OpBuilder::InsertionGuard guard(b);
      Block *before = blockOf(made.getBefore(), made.getInits());
      mask = before->getArgument(0);
      vectors.map(op.getBeforeArguments(), before->getArguments().slice(1, numVariables));
      copy(*op.getBeforeBody());
      Value active = arith::AndIOp::create(b, loc, mask, vector(condition.getCondition()));
      Value any = vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, active);
      SmallVector<Value> forwarded = {active}, fresh;
      llvm::append_range(forwarded, before->getArguments().slice(1, numVariables));
      for (auto [k, i] : llvm::enumerate(passed)) {
        fresh.push_back(vector(condition.getArgs()[i]));
        Value last = before->getArgument(static_cast<unsigned>(1 + numVariables + k));
        forwarded.push_back(arith::SelectOp::create(b, loc, mask, fresh.back(), last));
      }
      forwarded.append(fresh);
      scf::ConditionOp::create(b, loc, any, forwarded);
    }
    {
      OpBuilder::InsertionGuard guard(b);
      Block *after = blockOf(made.getAfter(), made.getResults());
      mask = after->getArgument(0);
      mapResults(op.getAfterArguments(), after->getArguments(), variableOf,
                 1 + numVariables + passed.size());
      copy(*op.getAfterBody());
      SmallVector<Value> next = {mask};
      for (auto [i, value] : llvm::enumerate(op.getYieldOp().getOperands())) {
        Value before = after->getArgument(static_cast<unsigned>(1 + i));
        next.push_back(arith::SelectOp::create(b, loc, mask, vector(value), before));
      }
      llvm::append_range(next, after->getArguments().slice(1 + numVariables, passed.size()));
      scf::YieldOp::create(b, loc, next);
    }
    mask = outer;
    mapResults(op.getResults(), made.getResults(), variableOf, 1 + numVariables);
  }

  /// Maps the values that the condition passes on to the variables, and the others to the values
  /// from `others` on.
  void mapResults(ValueRange from, ValueRange to, ArrayRef<std::optional<unsigned>> variableOf,
                  size_t others) {
    for (auto [value, variable] : llvm::zip(from, variableOf))
      vectors.map(value, variable ? to[1 + *variable] : to[others++]);
  }

  scf::ForOp loop;
  const Variation &variation;
  const int64_t width;
  OpBuilder b;
  Location loc;
  Value first;       // index of the first of the iterations that run together
  Value mask;        // of the iterations that run
  IRMapping vectors; // values of the loop: vectors where they vary
  DenseMap<Value, std::pair<Value, Value>> pairs; // parts of complex numbers
};

/// Returns how many iterations to run together: several vectors of the widest value hide the
/// latency of instructions, but values that a loop holds should stay in registers.
int64_t widthFor(scf::ForOp loop, const Variation &variation) {
  constexpr size_t registers = 12, mostVectors = 8, fewValues = 24;
  int64_t widest = 32;
  size_t most = 1;
  loop.walk([&](scf::WhileOp repeated) {
    llvm::SetVector<Value> held;
    getUsedValuesDefinedAbove(repeated->getRegions(), held);
    held.insert_range(repeated.getBeforeArguments());
    held.remove_if(
        [&](Value value) { return !variation.contains(value) || !value.getType().isIntOrFloat(); });
    for (Value value : held)
      widest = std::max<int64_t>(widest, value.getType().getIntOrFloatBitWidth());
    most = std::max(most, held.size());
  });
  const size_t fewest = most <= fewValues ? 2 : 1;
  const auto vectors = llvm::bit_floor(std::clamp(registers / most, fewest, mostVectors));
  int64_t width = vectorBits / widest * static_cast<int64_t>(vectors);
  std::optional<int64_t> begin = getConstantIntValue(loop.getLowerBound()),
                         end = getConstantIntValue(loop.getUpperBound());
  if (begin && end)
    width = std::min<int64_t>(width, static_cast<int64_t>(llvm::PowerOf2Ceil(*end - *begin)));
  return width;
}

} // namespace

bool vectorizeOuter(scf::ForOp loop) {
  Variation variation(loop);
  if (!variation.isSupported())
    return false;
  const int64_t width = widthFor(loop, variation);
  if (width < 2)
    return false;
  OuterVectorizer(loop, variation, width).run();
  return true;
}

} // namespace treadle::codegen
