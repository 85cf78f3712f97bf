// XlaVariadicSort: rows sorted by a comparator. Runs of 1, 2, 4, ... elements are merged; where an
// element goes in a merge is found by bisection, for all elements of all runs at once, so that the
// comparator is called with whole tensors a logarithmic number of times. It is stable.
#include "treadle/runtime/ElementFunction.h"
#include "treadle/runtime/Rearrange.h"
#include "treadle/runtime/TensorFunctions.h"

#include <algorithm>
#include <numeric>

namespace treadle {

using namespace rearrange;

namespace {

/// `t` (one dimension) in another order.
Expected<Tensor> reordered(const Tensor &t, const std::vector<int64_t> &order) {
  Expected<Tensor> out = Tensor::make(t.dtype(), {std::ssize(order)});
  if (!out)
    return out;
  auto take = [&]<typename T>(T) {
    const T *from = t.data<T>();
    T *to = out->data<T>();
    for (size_t i = 0; i < order.size(); ++i)
      to[i] = from[order[i]];
  };
  switch (dtypeSize(t.dtype())) {
  case 1:
    take(uint8_t{});
    break;
  case 2:
    take(uint16_t{});
    break;
  case 4:
    take(uint32_t{});
    break;
  case 8:
    take(uint64_t{});
    break;
  default:
    struct Wide {
      uint64_t parts[2];
    };
    take(Wide{});
  }
  return out;
}

/// Sorts rows of `length` elements that lie one after another in each of `columns`.
class Sorter {
public:
  Sorter(OpContext &ctx, const ElementFunction &less, Tensors columns, int64_t length)
      : ctx(ctx), less(less), columns(std::move(columns)), length(length),
        total(this->columns[0].count()) {}

  std::optional<Tensors> run() {
    for (int64_t size = 1; size < length; size *= 2)
      if (!merge(size))
        return std::nullopt;
    return std::move(columns);
  }

private:
  /// One element's search in the run beside its own.
  struct Search {
    int64_t element, low, high;
    bool isLeft; // the element's run is the left one of the two
  };

  bool merge(int64_t size) {
    std::vector<Search> open;
    std::vector<int64_t> rank(total, 0);
    for (int64_t row = 0; row < total; row += length)
      for (int64_t left = row; left + size < row + length; left += 2 * size) {
        int64_t middle = left + size, end = std::min(middle + size, row + length);
        for (int64_t i = left; i < end; ++i) {
          bool isLeft = i < middle;
          open.push_back({i, isLeft ? middle : left, isLeft ? end : middle, isLeft});
        }
      }
    std::vector<Search> searches = open;
    if (!bisect(searches))
      return false;
    std::vector<int64_t> order(total);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = 0; i < searches.size(); ++i) {
      // Elements of the other run that come first move it up (or, from the right, down).
      const Search &s = searches[i];
      int64_t other = open[i].low;
      int64_t before = s.low - other;
      int64_t start = s.isLeft ? other - size : other; // of the merged run
      int64_t own = s.element - (s.isLeft ? start : start + size);
      order[start + own + before] = s.element;
    }
    for (Tensor &column : columns) {
      auto sorted = ctx.check(reordered(column, order));
      if (!sorted)
        return false;
      column = std::move(*sorted);
    }
    return true;
  }

  /// A left element goes before those of the right run that aren't less than it; a right one after
  /// those of the left run that it isn't less than.
  bool bisect(std::vector<Search> &searches) {
    std::vector<size_t> active(searches.size());
    std::iota(active.begin(), active.end(), 0);
    for (;;) {
      std::erase_if(active, [&](size_t i) { return searches[i].low >= searches[i].high; });
      if (active.empty())
        return true;
      std::vector<int64_t> first, second;
      for (size_t i : active) {
        const Search &s = searches[i];
        int64_t middle = s.low + (s.high - s.low) / 2;
        first.push_back(s.isLeft ? middle : s.element);
        second.push_back(s.isLeft ? s.element : middle);
      }
      Tensors args;
      for (const Tensor &column : columns)
        for (const std::vector<int64_t> *places : {&first, &second}) {
          auto taken = ctx.check(reordered(column, *places));
          if (!taken)
            return false;
          args.push_back(std::move(*taken));
        }
      auto count = std::ssize(active);
      auto answers = less.call(ctx, std::move(args), Dims(&count, 1), 1);
      if (!answers)
        return false;
      const bool *isLess = (*answers)[0].data<bool>();
      for (size_t k = 0; k < active.size(); ++k) {
        Search &s = searches[active[k]];
        int64_t middle = s.low + (s.high - s.low) / 2;
        (isLess[k] == s.isLeft ? s.low : s.high) = isLess[k] == s.isLeft ? middle + 1 : middle;
      }
    }
  }

  OpContext &ctx;
  const ElementFunction &less;
  Tensors columns;
  int64_t length, total;
};

void runSort(OpContext &ctx) {
  const auto &less = ctx.state<ElementFunction>();
  int numColumns = ctx.numOutputs();
  const Tensor &first = ctx.input(0);
  std::vector<int64_t> given = numbers(ctx.input(numColumns));
  int64_t axis = given.empty() ? -1 : given[0];
  if (axis < 0)
    axis += first.rank();
  if (axis < 0 || axis >= first.rank())
    return ctx.fail(invalidArgument("dimension ", axis, " is not in [0, ", first.rank(), ")"));
  // The axis last, so that rows lie together.
  std::vector<int64_t> order, back(first.rank());
  for (int64_t d = 0; d < first.rank(); ++d)
    if (d != axis)
      order.push_back(d);
  order.push_back(axis);
  for (size_t i = 0; i < order.size(); ++i)
    back[order[i]] = static_cast<int64_t>(i);
  Tensors columns;
  std::vector<int64_t> moved;
  for (int64_t d : order)
    moved.push_back(first.dim(static_cast<int>(d)));
  for (int i = 0; i < numColumns; ++i) {
    const Tensor &x = ctx.input(i);
    if (!std::ranges::equal(x.dims(), first.dims()))
      return ctx.fail(invalidArgument("input ", i, " is ", tensorTypeText(x), ", and input 0 ",
                                      tensorTypeText(first), ", expected the same shape"));
    auto column = ctx.check(permuted(x, order));
    if (!column)
      return;
    int64_t count = column->count();
    columns.push_back(column->withDims(Dims(&count, 1)));
  }
  auto sorted = Sorter(ctx, less, std::move(columns), moved.back()).run();
  for (int i = 0; sorted && i < numColumns; ++i) {
    auto column = ctx.check(permuted((*sorted)[i].withDims(moved), back));
    if (!column)
      return;
    ctx.setOutput(i, std::move(*column));
  }
}

} // namespace

Expected<BoundKernel> bindVariadicSort(const NodeSpec &spec, FunctionLibrary *library) {
  if (spec.outputTypes.empty() || spec.inputs.size() != spec.outputTypes.size() + 1)
    return Unexpected(invalidArgument("it has ", spec.inputs.size(), " inputs and ",
                                      spec.outputTypes.size(), " outputs, expected one more"));
  return ElementFunction::of(spec, "comparator", {ValueType{DType::Bool}}, library)
      .map([](ElementFunction f) { return boundWith(runSort, std::move(f)); });
}

} // namespace treadle
