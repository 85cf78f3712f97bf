// Ops whose functions combine two elements: XLA's reductions, windows, scatters and sorts. A
// function of elementwise ops only is called with whole tensors, a logarithmic number of times; any
// other once per element with scalars.
#include "treadle/kernels/functions/TensorFunctions.h"
#include "treadle/kernels/arrays/Rearrange.h"
#include "treadle/kernels/functions/ElementFunction.h"

#include <algorithm>
#include <numeric>

namespace treadle {

using namespace rearrange;
namespace {

std::vector<int64_t> dimsOf(const Tensor &t) { return {t.dims().begin(), t.dims().end()}; }

int64_t product(Dims dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// --- reductions --------------------------------------------------------------------------------

struct ReduceState {
  ElementFunction function;
  std::vector<int64_t> dimensions;
};

/// Combines adjacent rows of each tensor ([n, ...]) in order, until one row is left.
bool reduceRows(OpContext &ctx, const ElementFunction &f, Tensors &rows) {
  size_t k = rows.size();
  while (rows[0].dim(0) > 1) {
    int64_t n = rows[0].dim(0), pairs = n / 2;
    Tensors args(2 * k);
    for (size_t i = 0; i < k; ++i)
      for (int side = 0; side < 2; ++side) {
        // The even rows (0, 2, 4, ...) and the odd rows (1, 3, 5, ...).
        auto half = ctx.check(along(rows[i], 0, side, pairs, 2));
        if (!half)
          return false;
        args[side * k + i] = std::move(*half);
      }
    std::vector<int64_t> dims = dimsOf(args[0]);
    auto combined = f.call(ctx, std::move(args), dims, k);
    if (!combined)
      return false;
    for (size_t i = 0; i < k; ++i) {
      if (n % 2) {
        auto last = ctx.check(along(rows[i], 0, n - 1, 1));
        auto joined = last ? ctx.check(stacked((*combined)[i], *last)) : std::nullopt;
        if (!joined)
          return false;
        rows[i] = std::move(*joined);
      } else {
        rows[i] = std::move((*combined)[i]);
      }
    }
  }
  return true;
}

void runReduce(OpContext &ctx) {
  const auto &self = ctx.state<ReduceState>();
  size_t k = ctx.numOutputs();
  const Tensor &first = ctx.input(0);
  std::vector<int64_t> order, kept;
  int64_t n = 1;
  for (int64_t d : self.dimensions) {
    if (d < 0 || d >= first.rank())
      return ctx.fail(invalidArgument("dimension ", d, " is not in [0, ", first.rank(), ")"));
    order.push_back(d);
    n *= first.dim(static_cast<int>(d));
  }
  for (int d = 0; d < first.rank(); ++d)
    if (std::ranges::find(self.dimensions, d) == self.dimensions.end()) {
      order.push_back(d);
      kept.push_back(first.dim(d));
    }
  Tensors rows, inits;
  std::vector<int64_t> rowDims{n, product(kept)};
  for (size_t i = 0; i < k; ++i) {
    const Tensor &x = ctx.input(static_cast<int>(i));
    if (!std::ranges::equal(x.dims(), first.dims()))
      return ctx.fail(invalidArgument("input ", i, " is ", tensorTypeText(x), ", and input 0 ",
                                      tensorTypeText(first), ", expected the same shape"));
    auto moved = TREADLE_OR_RETURN(ctx.check(permuted(x, order)));
    rows.push_back(moved.withDims(rowDims));
    inits.push_back(ctx.input(static_cast<int>(k + i)));
  }
  if (n > 0 && !reduceRows(ctx, self.function, rows))
    return;
  for (size_t i = 0; i < k && n == 0; ++i) {
    auto init = TREADLE_OR_RETURN(ctx.check(filled(inits[i], kept)));
    ctx.setOutput(static_cast<int>(i), std::move(init));
  }
  if (n == 0)
    return;
  Tensors args = std::move(inits);
  for (Tensor &row : rows)
    args.push_back(row.withDims(kept));
  if (auto results = self.function.call(ctx, std::move(args), kept, k))
    for (size_t i = 0; i < k; ++i)
      ctx.setOutput(static_cast<int>(i), std::move((*results)[i]));
}

// --- windows -----------------------------------------------------------------------------------

/// Combines the `size` elements at distance `step` from each position of `axis`: runs of 1, 2, 4,
/// ... elements are computed once and joined.
std::optional<Tensor> slide(OpContext &ctx, const ElementFunction &f, const Tensor &x, int axis,
                            int64_t size, int64_t step) {
  Tensor run = x, joined; // `run` covers `length` elements from each position
  int64_t length = 1, covered = 0;
  auto combine = [&](const Tensor &a, const Tensor &b, int64_t shift) -> std::optional<Tensor> {
    int64_t count = std::min(a.dim(axis), b.dim(axis) - shift);
    auto left = ctx.check(along(a, axis, 0, count));
    auto right = left ? ctx.check(along(b, axis, shift, count)) : std::nullopt;
    if (!right)
      return std::nullopt;
    std::vector<int64_t> dims = dimsOf(*left);
    auto result = f.call(ctx, {std::move(*left), std::move(*right)}, dims, 1);
    if (!result)
      return std::nullopt;
    return std::move((*result)[0]);
  };
  for (;;) {
    if (size & length) {
      if (covered == 0) {
        joined = run;
      } else {
        auto more = combine(joined, run, covered * step);
        if (!more)
          return std::nullopt;
        joined = std::move(*more);
      }
      covered += length;
    }
    if (covered == size)
      return joined;
    auto twice = combine(run, run, length * step);
    if (!twice)
      return std::nullopt;
    run = std::move(*twice);
    length *= 2;
  }
}

/// Combines the elements of a small window one after another, in row-major order: as few calls as
/// sliding windows, and the same rounding as in other implementations.
void reduceSmallWindow(OpContext &ctx, const Tensor &x, std::span<const int64_t> window,
                       std::span<const int64_t> stride, std::span<const int64_t> dilation,
                       int64_t places) {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < window.size(); ++i) {
    int64_t free = x.dim(static_cast<int>(i)) - (window[i] - 1) * dilation[i];
    dims.push_back(free > 0 ? (free - 1) / stride[i] + 1 : 0);
  }
  Tensor result = ctx.input(1);
  for (int64_t place = 0; place < places; ++place) {
    std::optional<Tensor> seen = x;
    int64_t rest = place;
    for (size_t i = window.size(); i-- > 0 && seen; rest /= window[i])
      seen = ctx.check(
          along(*seen, static_cast<int>(i), rest % window[i] * dilation[i], dims[i], stride[i]));
    if (!seen)
      return;
    auto more =
        ctx.state<ElementFunction>().call(ctx, {std::move(result), std::move(*seen)}, dims, 1);
    if (!more)
      return;
    result = std::move((*more)[0]);
  }
  ctx.setOutput(0, std::move(result));
}

void runReduceWindow(OpContext &ctx) {
  const auto &f = ctx.state<ElementFunction>();
  const Tensor &x = ctx.input(0), &init = ctx.input(1);
  auto rank = static_cast<size_t>(x.rank());
  std::vector<int64_t> window = numbers(ctx.input(2)), stride = numbers(ctx.input(3)),
                       baseDilation = numbers(ctx.input(4)), windowDilation = numbers(ctx.input(5)),
                       padding = numbers(ctx.input(6));
  if (window.size() != rank || stride.size() != rank || baseDilation.size() != rank ||
      windowDilation.size() != rank || padding.size() != 2 * rank)
    return ctx.fail(invalidArgument("the window's sizes, strides, dilations and padding don't have "
                                    "the rank of ",
                                    tensorTypeText(x)));
  std::vector<int64_t> low, high, interior;
  for (size_t i = 0; i < rank; ++i) {
    if (window[i] < 1 || stride[i] < 1 || baseDilation[i] < 1 || windowDilation[i] < 1)
      return ctx.fail(invalidArgument("the window has size ", window[i], ", stride ", stride[i],
                                      " and dilations ", baseDilation[i], ", ", windowDilation[i],
                                      " in dimension ", i, ", expected 1 or more"));
    low.push_back(padding[2 * i]);
    high.push_back(padding[2 * i + 1]);
    interior.push_back(baseDilation[i] - 1);
  }
  auto value = ctx.check(padded(x, init, low, high, interior));
  if (!value)
    return;
  constexpr int64_t fewPlaces = 16;
  int64_t places = 1;
  for (int64_t size : window)
    places = std::min(places, fewPlaces + 1) * std::min(size, fewPlaces + 1);
  if (places <= fewPlaces)
    return reduceSmallWindow(ctx, *value, window, stride, windowDilation, places);
  for (size_t i = 0; i < rank; ++i) {
    auto axis = static_cast<int>(i);
    int64_t places = value->dim(axis) - (window[i] - 1) * windowDilation[i];
    int64_t count = places > 0 ? (places - 1) / stride[i] + 1 : 0;
    std::optional<Tensor> slid = value;
    if (count > 0 && window[i] > 1)
      slid = slide(ctx, f, *value, axis, window[i], windowDilation[i]);
    if (!slid)
      return;
    value = ctx.check(along(*slid, axis, 0, count, stride[i]));
    if (!value)
      return;
  }
  std::vector<int64_t> dims = dimsOf(*value);
  if (auto results = f.call(ctx, {init, std::move(*value)}, dims, 1))
    ctx.setOutput(0, std::move((*results)[0]));
}

// --- binding -----------------------------------------------------------------------------------

Expected<BoundKernel> bindReduce(const NodeSpec &spec, FunctionLibrary *library) {
  if (spec.outputTypes.empty() || spec.inputs.size() != 2 * spec.outputTypes.size())
    return Unexpected(invalidArgument("the op has ", spec.inputs.size(), " inputs and ",
                                      spec.outputTypes.size(),
                                      " outputs, expected twice as many inputs as outputs"));
  return ElementFunction::of(spec, "reducer", spec.outputTypes, library)
      .map([&](ElementFunction f) {
        return boundWith(runReduce,
                         ReduceState{std::move(f), spec.attrs.getOr("dimensions_to_reduce",
                                                                    std::vector<int64_t>())});
      });
}

Expected<BoundKernel> bindReduceWindow(const NodeSpec &spec, FunctionLibrary *library) {
  return ElementFunction::of(spec, "computation", spec.outputTypes, library)
      .map([](ElementFunction f) { return boundWith(runReduceWindow, std::move(f)); });
}

constexpr FunctionKernelEntry table[] = {
    {"XlaReduce", bindReduce},
    {"XlaReduceWindow", bindReduceWindow},
    {"XlaScatter", bindXlaScatter},
    {"XlaSelectAndScatter", bindSelectAndScatter},
    {"XlaVariadicReduce", bindReduce},
    {"XlaVariadicReduceV2", bindReduce},
    {"XlaVariadicSort", bindVariadicSort},
};

} // namespace

std::span<const FunctionKernelEntry> tensorFunctionKernels() { return table; }

} // namespace treadle
