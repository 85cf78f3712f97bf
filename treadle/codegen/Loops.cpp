// Lowers linalg ops to loops over elements.
#include "treadle/codegen/CompensatedSum.h"
#include "treadle/codegen/LoopCost.h"
#include "treadle/codegen/LoopNest.h"
#include "treadle/codegen/LoopOrder.h"
#include "treadle/codegen/OuterVectorizer.h"
#include "treadle/codegen/Passes.h"
#include "treadle/codegen/Rc.h"
#include "treadle/codegen/ReadFusion.h"
#include "treadle/codegen/Scalars.h"
#include "treadle/codegen/SharedLoops.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Whether loops are known to be too short for sharing; an iteration costs `cost` picoseconds.
bool isShort(Operation *op, int64_t cost) {
  std::optional<int64_t> steps = tripCountOf(op);
  return steps && *steps < minSharedWork / cost;
}

/// Lowers an op to a loop nest. A potentially long one becomes a function of its own over ranges of
/// its outermost loop, so that threads can share it.
class LoopBuilder {
public:
  explicit LoopBuilder(linalg::GenericOp op)
      : op(op), b(op), loc(op.getLoc()), isRow(isFlat(op)), narrow(unrolledWidth()),
        nestOf(b, op.getRegion().front(), op.getNumLoops()) {}

  void build(unsigned &numParts) {
    bool isReduction = op.getNumReductionLoops() > 0;
    if (op.getNumLoops() == 0) {
      see(op->getOperands());
      Value zero = number(0);
      loop(zero, number(1), [&](Value index) { body({index}); });
    } else if (!op.getNumParallelLoops()) {
      see(op->getOperands());
      reduce({}, {});
    } else if (isShort(op, costOf(op)) || (narrow && sharedLoop() + 1 == op.getNumLoops())) {
      see(op->getOperands());
      all(number(0), isReduction ? sizeOfLoop(sharedLoop()) : sizeOf(memory.back(), 0));
    } else {
      share(str("part", numParts++));
    }
    op.erase();
  }

private:
  Value number(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value sizeOf(Value view, int64_t dim) { return memref::DimOp::create(b, loc, view, dim); }

  /// Returns the trip count of the innermost loop if it is so small that unrolling is better; the
  /// loop around it is vectorized then, with the first elements of all rows, all second ones and so
  /// on. Returns 0 if the loop isn't unrolled.
  int64_t unrolledWidth() {
    constexpr int64_t most = 4, manyOps = 200, manyRows = 8;
    if (isRow || op.getNumLoops() < 2)
      return 0;
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    int64_t width = ranges.back(), rows = ranges[ranges.size() - 2];
    bool hasRows = ShapedType::isDynamic(rows) || rows >= manyRows;
    int64_t cost = costOf(op) / 100; // a math function takes about 20 instructions
    return hasRows && 1 < width && width <= most && width * cost <= manyOps ? width : 0;
  }

  /// Returns the loop whose ranges threads may share: the outermost parallel one.
  unsigned sharedLoop() {
    SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
    return llvm::find(types, utils::IteratorType::parallel) - types.begin();
  }

  /// Trip count of a loop: a dimension of the first operand that it indexes.
  Value sizeOfLoop(unsigned loop, ArrayRef<Value> views) {
    for (auto [view, map] : llvm::zip(views, op.getIndexingMapsArray()))
      for (auto [dim, expr] : llvm::enumerate(map.getResults()))
        if (auto at = dyn_cast<AffineDimExpr>(expr); at && at.getPosition() == loop)
          return sizeOf(view, static_cast<int64_t>(dim));
    llvm_unreachable("loops go along operands");
  }
  Value sizeOfLoop(unsigned loop) { return sizeOfLoop(loop, memory); }

  /// Operands accessed element by element are viewed as a single row, whatever their shape.
  void see(ValueRange views) {
    for (Value view : views)
      memory.push_back(isRow ? row(view) : view);
  }

  Value row(Value view) {
    auto type = cast<MemRefType>(view.getType());
    if (type.getRank() == 1)
      return view;
    auto flat = MemRefType::get({ShapedType::kDynamic}, type.getElementType());
    return rc::ViewOp::create(b, loc, flat, view.getDefiningOp<rc::ViewOp>().getRef());
  }

  /// Emits the loops as a function, and a call that runs it on this thread, or on several if it
  /// pays.
  void share(std::string name) {
    Value output = op->getOperands().back(), count, size;
    if (op.getNumReductionLoops()) {
      SmallVector<Value> views(op->getOperands());
      size = sizeOfLoop(sharedLoop(), views);
      count = size;
      for (unsigned i = 0; i < op.getNumLoops(); ++i)
        if (i != sharedLoop())
          count = arith::MulIOp::create(b, loc, count, sizeOfLoop(i, views));
    } else {
      count = sizeOf(row(output), 0);
      size = isRow ? count : sizeOf(output, 0);
    }
    shareLoops(b, loc,
               {std::move(name), op->getOperands(), op.getRegion(), size, count, costOf(op)},
               mapping, [&](ValueRange views, Value begin, Value end) {
                 see(views);
                 all(begin, end);
               });
  }

  void loop(Value begin, Value end, llvm::function_ref<void(Value)> fill) {
    nestOf.loop(begin, end, fill);
  }

  /// Emits all loops; the outermost one covers a range.
  void all(Value begin, Value end) {
    if (op.getNumReductionLoops())
      return reduce(begin, end);
    if (isRow)
      return loop(begin, end, [&](Value index) { body({index}); });
    nest({}, begin, end);
  }

  // --- reductions --------------------------------------------------------------------------------

  /// Range of a reduction loop: the requested one, or all of it.
  std::pair<Value, Value> rangeOf(unsigned loop) {
    if (block && loop == block->loop)
      return {block->begin, block->end};
    if (range.first && loop == sharedLoop())
      return range;
    return {number(0), sizeOfLoop(loop)};
  }

  /// Calls `fill` inside the loops that `takes` selects, from the outermost one inwards.
  void loops(unsigned next, SmallVector<Value> &indices, llvm::function_ref<bool(unsigned)> takes,
             llvm::function_ref<void()> fill) {
    while (next < op.getNumLoops() && !takes(next))
      ++next;
    if (next == op.getNumLoops())
      return fill();
    auto [begin, end] = rangeOf(next);
    loop(begin, end, [&](Value index) {
      indices[next] = index;
      loops(next + 1, indices, takes, fill);
    });
  }

  /// If the innermost loop is a reduction, its result is kept in a register until the reduction
  /// loops end. Otherwise results are kept in memory, and the innermost loop traverses them.
  void reduce(Value begin, Value end) {
    range = {begin, end};
    SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
    auto isParallel = [&](unsigned i) { return types[i] == utils::IteratorType::parallel; };
    SmallVector<Value> indices(op.getNumLoops());
    AffineMap outputMap = op.getIndexingMapsArray().back();
    ArrayRef<Value> outputs = ArrayRef(memory).drop_front(op.getNumDpsInputs());
    auto store = [&](ValueRange values) {
      for (auto [value, output] : llvm::zip(values, outputs))
        memref::StoreOp::create(b, loc, value, output, at(outputMap, indices));
    };
    unsigned last = op.getNumLoops() - 1;
    if (!isParallel(last)) {
      loops(0, indices, isParallel, [&] {
        if (narrow && op.getNumReductionLoops() == 1)
          rc::ParallelOp::create(b, loc);
        store(inRegister(0, indices, starts()));
      });
      return;
    }
    if (narrow && outputs.size() == 1) {
      auto isOuter = [&](unsigned i) { return i != last && isParallel(i); };
      loops(0, indices, isOuter, [&] {
        SmallVector<Value> sums(narrow, starts().front());
        for (auto [i, sum] : llvm::enumerate(reduceColumns(0, indices, std::move(sums)))) {
          indices[last] = number(static_cast<int64_t>(i));
          store(sum);
        }
      });
      return;
    }
    if (outputs.size() == 1 && reduceInBlocks(indices))
      return;
    // Blocks of results stay in the cache while the reduction loops add to them.
    auto [firstResult, lastResult] = rangeOf(last);
    overBlocks(firstResult, lastResult, blockOfResults, {}, [&](Value from, Value to, ValueRange) {
      block = {last, from, to};
      loops(0, indices, isParallel, [&] { store(starts()); });
      auto load = [&] {
        return llvm::map_to_vector(outputs, [&](Value output) -> Value {
          return memref::LoadOp::create(b, loc, output, at(outputMap, indices));
        });
      };
      accumulate(indices, load, store);
      block = std::nullopt;
      return SmallVector<Value>();
    });
  }

  /// Emits the loops of a reduction whose innermost loop is parallel; `load` and `store` access the
  /// results at the current indices. If there is little to compute, several steps of the reduction
  /// loop are merged between a load and a store.
  void accumulate(SmallVector<Value> &indices, llvm::function_ref<SmallVector<Value>()> load,
                  llvm::function_ref<void(ValueRange)> store) {
    constexpr int64_t most = 4, littleCost = 600;
    SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
    auto add = [&](ArrayRef<Value> steps, unsigned loop) {
      rc::ParallelOp::create(b, loc);
      SmallVector<Value> sums = load();
      for (Value step : steps) {
        indices[loop] = step;
        sums = merged(indices, sums);
      }
      store(sums);
    };
    unsigned last = op.getNumLoops() - 1;
    if (costOf(op) > littleCost || types[last - 1] != utils::IteratorType::reduction)
      return loops(0, indices, [](unsigned) { return true; }, [&] { add(indices[last], last); });
    auto [begin, end] = rangeOf(last - 1);
    auto rows = [&](Value from, Value to, int64_t count) {
      overBlocks(from, to, count, {}, [&](Value first, Value, ValueRange) {
        SmallVector<Value> steps = {first};
        while (std::ssize(steps) < count)
          steps.push_back(arith::AddIOp::create(b, loc, steps.back(), number(1)));
        loops(last, indices, [](unsigned) { return true; }, [&] { add(steps, last - 1); });
        return SmallVector<Value>();
      });
    };
    loops(
        0, indices, [&](unsigned i) { return i + 1 < last; },
        [&] {
          Value size = arith::SubIOp::create(b, loc, end, begin);
          Value rest = arith::RemUIOp::create(b, loc, size, number(most));
          Value whole = arith::SubIOp::create(b, loc, end, rest);
          rows(begin, whole, most);
          rows(whole, end, 1);
        });
  }

  SmallVector<Value> starts() {
    return llvm::map_to_vector(op->getAttrOfType<ArrayAttr>(rc::startsAttr), [&](Attribute start) {
      return arith::ConstantOp::create(b, loc, cast<TypedAttr>(start)).getResult();
    });
  }

  /// Results of the reduction loops for each step of the innermost loop, which is parallel.
  SmallVector<Value> reduceColumns(unsigned next, SmallVector<Value> &indices,
                                   SmallVector<Value> sums) {
    SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
    while (next < types.size() && types[next] == utils::IteratorType::parallel)
      ++next;
    if (next == types.size()) {
      for (auto [i, sum] : llvm::enumerate(sums)) {
        indices.back() = number(static_cast<int64_t>(i));
        sum = merged(indices, sum).front();
      }
      return sums;
    }
    auto [begin, end] = rangeOf(next);
    if (isLastOfSum(next))
      return inBlocks(begin, end, blockOfColumns, sums, [&](Value first, Value last) {
        SmallVector<Value> none(sums.size(), zeroLike(sums.front()));
        return columnsBetween(next, first, last, indices, none);
      });
    return columnsBetween(next, begin, end, indices, std::move(sums));
  }

  SmallVector<Value> columnsBetween(unsigned next, Value begin, Value end,
                                    SmallVector<Value> &indices, SmallVector<Value> sums) {
    return sumOf(begin, end, sums, [&](Value index, ValueRange before) {
      indices[next] = index;
      return reduceColumns(next + 1, indices, SmallVector<Value>(before));
    });
  }

  /// Results of the reduction loops from number `next` inwards.
  SmallVector<Value> inRegister(unsigned next, SmallVector<Value> &indices, ValueRange start) {
    SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
    while (next < types.size() && types[next] == utils::IteratorType::parallel)
      ++next;
    if (next == types.size())
      return merged(indices, start);
    if (next + 1 == types.size() && narrow) {
      SmallVector<Value> sums(start);
      for (int64_t i = 0; i < narrow; ++i) {
        indices[next] = number(i);
        sums = merged(indices, sums);
      }
      return sums;
    }
    auto [begin, end] = rangeOf(next);
    auto along = [&](Value first, Value last, ValueRange from) {
      return sumOf(first, last, from, [&](Value index, ValueRange sums) {
        indices[next] = index;
        if (next + 1 == types.size()) // the loop doesn't write to memory
          rc::ParallelOp::create(b, loc);
        return inRegister(next + 1, indices, sums);
      });
    };
    int64_t steps = addsFloats() ? stepsOfBlock(next) : 0;
    if (!steps)
      return along(begin, end, start);
    return inBlocks(begin, end, steps, start, [&](Value first, Value last) {
      Value zero = zeroLike(start.front());
      if (steps > 1)
        return along(first, last, zero);
      indices[next] = first;
      return inRegister(next + 1, indices, zero);
    });
  }

  // The rounding error of a float sum grows with the number of elements added one after the other.
  // Blocks are summed separately, and the block sums are added with compensation.

  /// Elements per block; in columns, the elements of a row are added to many sums side by side.
  static constexpr int64_t blockOfRow = 4096, blockOfColumns = 256, blockOfResults = 1024;

  /// Returns how many steps of a reduction loop add the elements of a block; 0 if all steps add no
  /// more than these.
  int64_t stepsOfBlock(unsigned loop) {
    SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    int64_t inStep = 1;
    for (unsigned i = loop + 1; i < types.size(); ++i)
      if (types[i] == utils::IteratorType::reduction)
        inStep =
            ShapedType::isDynamic(sizes[i]) ? blockOfRow : std::min(inStep * sizes[i], blockOfRow);
    if (!ShapedType::isDynamic(sizes[loop]) && sizes[loop] * inStep <= blockOfRow)
      return 0;
    return std::max<int64_t>(blockOfRow / std::max<int64_t>(inStep, 1), 1);
  }

  /// Whether floats are summed, and this is the innermost reduction loop.
  bool isLastOfSum(unsigned loop) {
    SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
    int64_t size = op.getStaticLoopRanges()[loop];
    return addsFloats() && (ShapedType::isDynamic(size) || size > blockOfColumns) &&
           llvm::all_of(ArrayRef(types).drop_front(loop + 1), [](utils::IteratorType type) {
             return type == utils::IteratorType::parallel;
           });
  }

  /// Calls `each(first, last)` for each block of a range.
  template <typename Each>
  SmallVector<Value> overBlocks(Value begin, Value end, int64_t block, ValueRange start,
                                const Each &each) {
    auto made = scf::ForOp::create(b, loc, begin, end, number(block), start);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(made.getBody());
    Value first = made.getInductionVar();
    Value next = arith::AddIOp::create(b, loc, first, number(block));
    SmallVector<Value> results = each(first, arith::MinSIOp::create(b, loc, next, end).getResult(),
                                      ValueRange(made.getRegionIterArgs()));
    if (!made->getNumResults())
      return {};
    scf::YieldOp::create(b, loc, results);
    return made.getResults();
  }

  /// Adds the value of `partial` for each block to the sums.
  SmallVector<Value> inBlocks(Value begin, Value end, int64_t block, ValueRange sumsBefore,
                              llvm::function_ref<SmallVector<Value>(Value, Value)> partial) {
    size_t sums = sumsBefore.size();
    SmallVector<Value> start(sumsBefore);
    start.append(sums, zeroLike(start.front()));
    auto each = [&](Value first, Value last, ValueRange before) {
      SmallVector<Value> next(before);
      for (auto [i, part] : llvm::enumerate(partial(first, last))) {
        CompensatedSum sum = compensatedSum(b, loc, {before[i], before[sums + i]}, part);
        next[i] = sum.sum;
        next[sums + i] = sum.lost;
      }
      return next;
    };
    SmallVector<Value> totals = overBlocks(begin, end, block, start, each), results;
    for (size_t i = 0; i < sums; ++i)
      results.push_back(roundedSum(b, loc, {totals[i], totals[sums + i]}));
    return results;
  }

  Value zeroLike(Value value) {
    return arith::ConstantOp::create(b, loc, b.getZeroAttr(value.getType()));
  }

  /// Reduces to results in memory: the blocks of the outermost reduction loop are summed in
  /// temporary memory. Returns false if it doesn't pay, or there are too many results.
  bool reduceInBlocks(SmallVector<Value> &indices) {
    constexpr int64_t maxResults = 8192;
    SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
    unsigned outer = llvm::find(types, utils::IteratorType::reduction) - types.begin();
    auto type = cast<MemRefType>(memory.back().getType());
    int64_t size = op.getStaticLoopRanges()[outer];
    if (!addsFloats() || (!ShapedType::isDynamic(size) && size <= blockOfColumns) ||
        !type.hasStaticShape() || type.getNumElements() > maxResults)
      return false;
    AffineMap map = op.getIndexingMapsArray().back();
    Value total = memory.back(), part = onStack(type), lost = onStack(type);
    auto isParallel = [&](unsigned i) { return types[i] == utils::IteratorType::parallel; };
    auto load = [&](Value from) -> Value {
      return memref::LoadOp::create(b, loc, from, at(map, indices));
    };
    auto store = [&](Value value, Value to) {
      memref::StoreOp::create(b, loc, value, to, at(map, indices));
    };
    auto forEachResult = [&](llvm::function_ref<void()> fill) {
      loops(0, indices, isParallel, fill);
    };
    auto [begin, end] = rangeOf(outer);
    forEachResult([&] {
      store(starts().front(), total);
      store(zeroLike(starts().front()), lost);
    });
    overBlocks(begin, end, blockOfColumns, {}, [&](Value first, Value last, ValueRange) {
      forEachResult([&] { store(zeroLike(starts().front()), part); });
      block = {outer, first, last};
      accumulate(
          indices, [&] { return SmallVector<Value>{load(part)}; },
          [&](ValueRange sums) { store(sums.front(), part); });
      block = std::nullopt;
      forEachResult([&] {
        CompensatedSum sum = compensatedSum(b, loc, {load(total), load(lost)}, load(part));
        store(sum.sum, total);
        store(sum.lost, lost);
      });
      return SmallVector<Value>();
    });
    forEachResult([&] { store(roundedSum(b, loc, {load(total), load(lost)}), total); });
    return true;
  }

  /// Allocates on the stack of the function that contains the loops.
  Value onStack(MemRefType like) {
    OpBuilder::InsertionGuard guard(b);
    auto function = b.getInsertionBlock()->getParent()->getParentOfType<func::FuncOp>();
    b.setInsertionPointToStart(&function.getBody().front());
    return memref::AllocaOp::create(b, loc,
                                    MemRefType::get(like.getShape(), like.getElementType()));
  }

  SmallVector<Value>
  sumOf(Value begin, Value end, ValueRange start,
        llvm::function_ref<SmallVector<Value>(Value index, ValueRange sums)> next) {
    auto made = scf::ForOp::create(b, loc, begin, end, number(1), start);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(made.getBody());
    scf::YieldOp::create(b, loc, next(made.getInductionVar(), made.getRegionIterArgs()));
    return made.getResults();
  }

  /// Merges partial results with the elements at these indices.
  SmallVector<Value> merged(ArrayRef<Value> indices, ValueRange sums) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    Block &block = op.getRegion().front();
    for (int64_t i = 0; i < op.getNumDpsInputs(); ++i)
      mapping.map(block.getArgument(i),
                  memref::LoadOp::create(b, loc, memory[i], at(maps[i], indices)));
    mapping.map(block.getArguments().take_back(sums.size()), sums);
    compute(indices);
    return llvm::map_to_vector(block.getTerminator()->getOperands(),
                               [&](Value value) { return mapping.lookupOrDefault(value); });
  }

  /// Returns the op that combines a partial result with an element.
  Operation *mergeOp() {
    return op.getRegion().front().getTerminator()->getOperand(0).getDefiningOp();
  }

  bool addsFloats() {
    Operation *merge = mergeOp();
    return op.getNumDpsInits() == 1 && isa_and_present<arith::AddFOp>(merge) &&
           llvm::is_contained(merge->getOperands(), op.getRegion().front().getArguments().back());
  }

  // --- the rest ----------------------------------------------------------------------------------

  /// Emits the remaining loops inside those of `indices`. The results are ordered like the
  /// dimensions.
  void nest(SmallVector<Value> indices, Value begin = {}, Value end = {}) {
    auto next = static_cast<unsigned>(indices.size());
    if (next == op.getNumLoops())
      return body(indices);
    if (narrow && next + 1 == op.getNumLoops()) {
      indices.emplace_back();
      for (int64_t i = 0; i < narrow; ++i) {
        indices.back() = number(i);
        body(indices);
      }
      return;
    }
    if (!begin) {
      begin = number(0);
      end = sizeOf(memory.back(), next);
    }
    auto inside = [&](Value index) {
      SmallVector<Value> more = indices;
      more.push_back(index);
      nest(more);
    };
    std::optional<int64_t> first = getConstantIntValue(begin);
    int64_t size = op.getStaticLoopRanges()[next];
    if (first != 0 || ShapedType::isDynamic(size))
      return loop(begin, end, inside);
    nestOf.split(next, size, inside);
  }

  SmallVector<Value> at(AffineMap map, ArrayRef<Value> indices) {
    SmallVector<Value> result;
    for (AffineExpr expr : map.getResults()) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        result.push_back(indices[dim.getPosition()]);
      else
        result.push_back(
            arith::ConstantIndexOp::create(b, loc, cast<AffineConstantExpr>(expr).getValue()));
    }
    return result;
  }

  void body(SmallVector<Value> indices) {
    // A part of a split loop with a single step isn't a loop.
    if (isa<BlockArgument>(narrow ? indices[indices.size() - 2] : indices.back()))
      rc::ParallelOp::create(b, loc);
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    auto place = [&](size_t i) { return isRow ? indices : at(maps[i], indices); };
    Block &block = op.getRegion().front();
    size_t numInputs = op.getNumDpsInputs();
    for (size_t i = 0; i < numInputs; ++i)
      mapping.map(block.getArgument(i), memref::LoadOp::create(b, loc, memory[i], place(i)));
    compute(indices);
    for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands()))
      memref::StoreOp::create(b, loc, mapping.lookupOrDefault(value), memory[numInputs + i],
                              place(numInputs + i));
  }

  /// Emits the op's computation for elements that are mapped already.
  void compute(ArrayRef<Value> indices) { nestOf.copyBody(indices, mapping); }

  linalg::GenericOp op;
  OpBuilder b;
  Location loc;
  const bool isRow;
  const int64_t narrow; // see unrolledWidth
  LoopNest nestOf;
  SmallVector<Value> memory;
  std::pair<Value, Value> range; // of the shared loop; none: all of it
  struct LoopBlock {
    unsigned loop;
    Value begin, end;
  };
  std::optional<LoopBlock> block; // of a reduction loop
  IRMapping mapping;              // values that the loops use from the code around them
};

/// Lowers an op that writes tensors to a loop nest.
class WriteBuilder {
public:
  explicit WriteBuilder(rc::WriteOp op)
      : op(op), b(op), loc(op.getLoc()), nestOf(b, op.getBody().front(), op.getSizes().size()),
        hasLoops(!op.getBody().getOps<scf::WhileOp>().empty()) {}

  void build(unsigned &numParts) {
    const int64_t cost = costOf(op.getBody().front());
    if (!mayShare() || isShort(op, cost)) {
      nest({});
    } else {
      ValueRange sizes = op.getSizes();
      Value count = sizes.front();
      for (Value size : sizes.drop_front())
        count = arith::MulIOp::create(b, loc, count, size);
      shareLoops(
          b, loc,
          {str("part", numParts++), op.getTensors(), op.getBody(), sizes.front(), count, cost},
          mapping, [&](ValueRange, Value begin, Value end) { loopFrom({}, begin, end); });
    }
    op.erase();
    // LLVM doesn't vectorize loops around others.
    if (hasLoops)
      for (scf::ForOp loop : innermost)
        vectorizeOuter(loop);
  }

private:
  /// Sizes of inner loops aren't passed to the function.
  bool mayShare() {
    return op.getIsParallel() && !op.getSizes().empty() &&
           llvm::all_of(op.getSizes().drop_front(),
                        [](Value size) { return getConstantIntValue(size).has_value(); });
  }

  /// Emits the loops inside of those of `indices`.
  void nest(SmallVector<Value> indices) {
    const size_t next = indices.size();
    if (next == op.getSizes().size())
      return body(indices);
    Value size = op.getSizes()[next];
    if (std::optional<int64_t> known = getConstantIntValue(size))
      return nestOf.split(next, *known, [&](Value index) { nestWith(indices, index); });
    loopFrom(indices, arith::ConstantIndexOp::create(b, loc, 0), size);
  }

  void loopFrom(const SmallVector<Value> &indices, Value begin, Value end) {
    nestOf.loop(begin, end, [&](Value index) { nestWith(indices, index); });
  }

  void nestWith(SmallVector<Value> indices, Value index) {
    indices.push_back(index);
    nest(std::move(indices));
  }

  void body(ArrayRef<Value> indices) {
    if (op.getIsParallel() && !indices.empty())
      if (auto index = dyn_cast<BlockArgument>(indices.back())) {
        rc::ParallelOp::create(b, loc);
        innermost.push_back(cast<scf::ForOp>(index.getOwner()->getParentOp()));
      }
    mapping.map(op.getBody().getArguments(), indices);
    nestOf.copyBody(indices, mapping);
  }

  rc::WriteOp op;
  OpBuilder b;
  Location loc;
  LoopNest nestOf;
  const bool hasLoops; // inside of the body
  SmallVector<scf::ForOp> innermost;
  IRMapping mapping; // values that the loops use from the code around them
};

} // namespace

LogicalResult lowerLoops(ModuleOp module) {
  SmallVector<rc::WriteOp> writes;
  module.walk([&](rc::WriteOp op) { writes.push_back(op); });
  unsigned numParts = 0;
  for (rc::WriteOp op : writes)
    WriteBuilder(op).build(numParts);
  SmallVector<linalg::GenericOp> ops;
  module.walk([&](linalg::GenericOp op) { ops.push_back(op); });
  for (linalg::GenericOp op : ops)
    LoopBuilder(withLoopForVectors(op)).build(numParts);
  return lowerControlFlow(module);
}

} // namespace treadle::codegen
