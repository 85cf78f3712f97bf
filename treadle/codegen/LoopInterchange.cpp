// Interchanges a loop over iterations with the loops over elements inside of it.
//
// A loop whose variables are tensors traverses all their elements in each iteration. Where the
// elements along some dimensions don't depend on each other, each of them (a lane) can run the
// whole loop on its own instead: its part of the variables stays in registers, and it stops when
// its own condition fails. `jax.vmap` of a loop is such a loop: it runs until the conditions of all
// lanes fail, and a `select` keeps the variables of lanes whose condition has failed.
//
// The loop becomes an `rc.write` over the lanes whose body is a loop over scalars.
#include "treadle/codegen/LaneBuilder.h"
#include "treadle/codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

class Interchange {
public:
  explicit Interchange(scf::WhileOp loop) : loop(loop), b(loop), loc(loop.getLoc()) {}

  /// Replaces the loop if its lanes are independent.
  bool run() {
    for (OpResult result : loop.getResults())
      if (!result.use_empty())
        used.push_back(result.getResultNumber());
    for (const SmallVector<int64_t> &sizes : candidates())
      if (replace(sizes))
        return true;
    return false;
  }

private:
  static constexpr int64_t fewestLanes = 8;

  /// Sizes of the axes to try: dimensions of the largest loop variable, more of them first.
  SmallVector<SmallVector<int64_t>> candidates() {
    RankedTensorType largest;
    for (auto [i, value] : llvm::enumerate(loop.getInits())) {
      RankedTensorType type = staticType(value);
      if (type && !LaneBuilder::isOnlyWritten(loop, static_cast<unsigned>(i)) &&
          (!largest || type.getNumElements() > largest.getNumElements()))
        largest = type;
    }
    SmallVector<SmallVector<int64_t>> result;
    if (!largest)
      return result;
    SmallVector<int64_t> dims(
        llvm::make_filter_range(largest.getShape(), [](int64_t size) { return size > 1; }));
    auto add = [&](ArrayRef<int64_t> sizes) {
      if (computeProduct(sizes) >= fewestLanes && !llvm::is_contained(result, sizes))
        result.emplace_back(sizes);
    };
    add(dims);
    // Short dimensions are better inside of a lane, unless all lanes can be numbered together.
    SmallVector<int64_t> longDims(
        llvm::make_filter_range(dims, [](int64_t size) { return size >= fewestLanes; }));
    for (size_t count = longDims.size(); count > 0; --count)
      add(ArrayRef(longDims).take_front(count));
    for (int64_t size : longDims)
      add(size);
    return result;
  }

  bool replace(ArrayRef<int64_t> sizes) {
    LaneBuilder lanes(b, loc, sizes);
    SmallVector<unsigned> ofLanes, others;
    for (unsigned result : used) {
      std::optional<LaneLayout> layout = lanes.guess(staticType(loop.getResult(result)));
      const bool hasLanes =
          layout && llvm::any_of(*layout, [](int axis) { return axis != insideLane; });
      (hasLanes ? ofLanes : others).push_back(result);
    }
    if (ofLanes.empty())
      return false;
    SmallVector<Value> counts, tensors;
    for (int64_t size : sizes)
      counts.push_back(arith::ConstantIndexOp::create(b, loc, size));
    SmallVector<Type> types;
    for (unsigned result : ofLanes) {
      tensors.push_back(loop.getInits()[result]);
      types.push_back(tensors.back().getType());
    }
    auto write = rc::WriteOp::create(b, loc, types, tensors, counts, /*isParallel=*/true);
    SmallVector<Type> arguments(types);
    arguments.append(sizes.size(), b.getIndexType());
    Block *body = b.createBlock(&write.getBody(), {}, arguments,
                                SmallVector<Location>(arguments.size(), loc));
    b.setInsertionPoint(loop);
    DenseMap<unsigned, Value> inMemory;
    for (auto [tensor, result] : llvm::zip(body->getArguments(), ofLanes))
      if (LaneBuilder::isOnlyWritten(loop, result))
        inMemory[result] = tensor;
    LaneLoop *made =
        lanes.build(loop, body, body->getArguments().take_back(sizes.size()), ofLanes, inMemory);
    SmallVector<Value> results;
    const bool isBuilt =
        made && storeResults(lanes, *made, ofLanes, body) && buildOthers(others, results);
    SmallVector<Value> written(write->getResults());
    if (!isBuilt || (sizes.size() > 1 && !flatten(write, sizes, written) && hasShort(sizes))) {
      write.erase();
      return false;
    }
    // A stopped run leaves the loops of lanes early.
    Value running = rc::RunningOp::create(b, loc, b.getI1Type());
    rc::CheckOp::create(b, loc, running);
    for (auto [result, value] : llvm::zip(ofLanes, written))
      loop.getResult(result).replaceAllUsesWith(value);
    for (auto [result, value] : llvm::zip(others, results))
      loop.getResult(result).replaceAllUsesWith(value);
    loop.erase();
    return true;
  }

  static bool hasShort(ArrayRef<int64_t> sizes) {
    return llvm::any_of(sizes, [](int64_t size) { return size < fewestLanes; });
  }

  /// Numbers the lanes along all axes together, if all tensors are accessed in this order.
  /// `results` becomes the results in their original shapes.
  bool flatten(rc::WriteOp write, ArrayRef<int64_t> sizes, SmallVectorImpl<Value> &results) {
    Block &body = write.getBody().front();
    ValueRange lanes = body.getArguments().take_back(sizes.size());
    SmallVector<Operation *> accesses;
    for (Value lane : lanes)
      for (Operation *user : lane.getUsers()) {
        auto isAccess = [&](ValueRange places) { return llvm::equal(places, lanes); };
        auto extract = dyn_cast<tensor::ExtractOp>(user);
        auto store = dyn_cast<rc::StoreOp>(user);
        if (!(extract && isAccess(extract.getIndices())) && !(store && isAccess(store.getPlaces())))
          return false;
        if (lane == lanes[0])
          accesses.push_back(user);
      }
    const int64_t count = computeProduct(sizes);
    const SmallVector<Type> types(write->getResultTypes());
    auto flat = [&](Value tensor) -> Value {
      auto type = RankedTensorType::get(count, getElementTypeOrSelf(tensor.getType()));
      return rc::ReshapeOp::create(b, loc, TypeRange(type), tensor, ValueRange()).getResult(0);
    };
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(write);
    DenseMap<Value, Value> flattened;
    for (OpOperand &tensor : write.getTensorsMutable())
      tensor.set(flat(tensor.get()));
    for (auto [argument, result, tensor] :
         llvm::zip(body.getArguments(), write->getResults(), write.getTensors())) {
      argument.setType(tensor.getType());
      result.setType(tensor.getType());
    }
    for (Operation *access : accesses) {
      if (isa<tensor::ExtractOp>(access)) {
        Value &made = flattened[access->getOperand(0)];
        if (!made)
          made = flat(access->getOperand(0));
        access->setOperand(0, made);
      }
      access->eraseOperands(2, sizes.size() - 1); // of the other axes
    }
    write.getSizesMutable().erase(1, sizes.size() - 1);
    write.getSizesMutable()[0].set(arith::ConstantIndexOp::create(b, loc, count));
    body.eraseArguments(body.getNumArguments() - sizes.size() + 1, sizes.size() - 1);
    b.setInsertionPointAfter(write);
    for (auto [result, type] : llvm::zip(results, types))
      result = rc::ReshapeOp::create(b, loc, TypeRange(type), result, ValueRange()).getResult(0);
    return true;
  }

  bool storeResults(LaneBuilder &lanes, LaneLoop &made, ArrayRef<unsigned> results, Block *body) {
    OpBuilder inside = OpBuilder::atBlockEnd(body);
    for (auto [tensor, result] : llvm::zip(body->getArguments(), results)) {
      LaneVariable &variable = made.variables[result];
      if (variable.isMemory)
        continue;
      if (!lanes.hasAllAxes(*variable.layout))
        return false; // lanes would write the same element
      for (auto [place, number] : variable.carried)
        rc::StoreOp::create(inside, loc, tensor, lanes.placesOf(*variable.layout, place),
                            lanes.resultOf(made, result, place));
    }
    return true;
  }

  /// Builds a loop for the results that are the same for all lanes.
  bool buildOthers(ArrayRef<unsigned> wanted, SmallVectorImpl<Value> &results) {
    if (wanted.empty())
      return true;
    Region temporary;
    Block &block = temporary.emplaceBlock();
    LaneBuilder uniform(b, loc, {});
    LaneLoop *made = uniform.build(loop, &block, ValueRange(), wanted, DenseMap<unsigned, Value>());
    if (!made || made->isGuarded)
      return false;
    OpBuilder inside(b.getContext());
    inside.setInsertionPointToEnd(&block);
    for (unsigned result : wanted) {
      SmallVector<Value> elements;
      for (auto [place, number] : made->variables[result].carried)
        elements.push_back(uniform.resultOf(*made, result, place));
      RankedTensorType type = staticType(loop.getResult(result));
      results.push_back(
          type ? tensor::FromElementsOp::create(inside, loc, type, elements).getResult()
               : elements.front());
    }
    loop->getBlock()->getOperations().splice(loop->getIterator(), block.getOperations());
    return true;
  }

  scf::WhileOp loop;
  OpBuilder b;
  Location loc;
  SmallVector<unsigned> used; // results
};

} // namespace

void interchangeLoops(ModuleOp module) {
  module.walk<WalkOrder::PreOrder>([&](scf::WhileOp loop) {
    if (loop->getParentOfType<rc::WriteOp>())
      return WalkResult::skip();
    return Interchange(loop).run() ? WalkResult::skip() : WalkResult::advance();
  });
}

} // namespace treadle::codegen
