// The index of the first extreme element along an axis: TensorFlow's ArgMax and ArgMin, which skip
// NaN, and PyTorch's _ArgMax and _ArgMin, which return the first NaN if there is one.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/elementwise/Elementwise.h"

#include <algorithm>
#include <limits>

namespace treadle {
namespace {

struct Greater {
  template <typename C> static bool beats(C a, C b) { return a > b; }
  template <typename C> static C worst() { return std::numeric_limits<C>::lowest(); }
  template <typename C> static C infinity() { return -std::numeric_limits<C>::infinity(); }
};
struct Smaller {
  template <typename C> static bool beats(C a, C b) { return a < b; }
  template <typename C> static C worst() { return std::numeric_limits<C>::max(); }
  template <typename C> static C infinity() { return std::numeric_limits<C>::infinity(); }
};

/// NaN never beats the best element so far. The search starts with the worst finite value.
template <typename Order> struct NaNSkipped {
  static constexpr bool findsNaN = false;
  template <typename T> static Computed<T> start() {
    return Computed<T>(Order::template worst<T>());
  }
  template <typename C> static bool beats(C a, C b) { return Order::beats(a, b); }
};

template <typename Order> struct NaNFirst {
  static constexpr bool findsNaN = true;
  template <typename T> static Computed<T> start() {
    using C = Computed<T>;
    return std::numeric_limits<C>::has_infinity ? Order::template infinity<C>()
                                                : Order::template worst<C>();
  }
  template <typename C> static bool beats(C a, C b) {
    return Order::beats(a, b) || (a != a && b == b);
  }
};

/// Returns the index of the first of `n` elements for which `holds`, or `n`. Tests vectors of
/// elements at once.
template <typename T, typename Predicate>
int64_t findFirst(const T *x, int64_t n, Predicate holds) {
  constexpr int64_t width = 32;
  int64_t i = 0;
  for (; i + width <= n; i += width) {
    int any = 0;
    for (int64_t k = 0; k < width; ++k)
      any |= holds(Computed<T>(x[i + k]));
    if (any)
      break;
  }
  while (i < n && !holds(Computed<T>(x[i])))
    ++i;
  return i;
}

template <typename T, typename Order, template <typename> typename Rule> struct ArgSearch {
  using C = Computed<T>;
  using Ruled = Rule<Order>;

  static int64_t inShortRow(const T *x, int64_t n) {
    C best = Ruled::template start<T>();
    int64_t at = 0;
    for (int64_t k = 0; k < n; ++k)
      if (C own(x[k]); Ruled::beats(own, best)) {
        best = own;
        at = k;
      }
    return at;
  }

  /// Returns the extreme element of a block, ignoring NaN, and whether the block has a NaN.
  static std::pair<C, bool> ofBlock(const T *x, int64_t n) {
    constexpr int lanes = 32;
    C best[lanes];
    int anyNaN = 0;
    std::fill_n(best, lanes, Ruled::template start<T>());
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes)
      for (int k = 0; k < lanes; ++k) {
        C own(x[i + k]);
        best[k] = Order::beats(own, best[k]) ? own : best[k];
        anyNaN |= own != own;
      }
    for (int k = 0; i < n; ++i, ++k) {
      C own(x[i]);
      best[k] = Order::beats(own, best[k]) ? own : best[k];
      anyNaN |= own != own;
    }
    for (int width = lanes / 2; width; width /= 2)
      for (int k = 0; k < width; ++k)
        best[k] = Order::beats(best[k + width], best[k]) ? best[k + width] : best[k];
    return {best[0], anyNaN != 0};
  }

  /// Finds the block with the extreme element, and then its index.
  static int64_t inRow(const T *x, int64_t n) {
    constexpr int64_t block = 512;
    if (n < 32)
      return inShortRow(x, n);
    C best = Ruled::template start<T>();
    int64_t at = -1;
    for (int64_t begin = 0; begin < n; begin += block) {
      int64_t size = std::min(block, n - begin);
      auto [most, anyNaN] = ofBlock(x + begin, size);
      if (Ruled::findsNaN && anyNaN)
        return begin + findFirst(x + begin, size, [](C own) { return own != own; });
      if (Order::beats(most, best)) {
        best = most;
        at = begin;
      }
    }
    return at < 0 ? 0 : at + findFirst(x + at, n - at, [&](C own) { return own == best; });
  }

  /// Searches `width` adjacent columns.
  template <typename Index>
  static void inColumns(const T *x, int64_t length, int64_t inner, int64_t width, int64_t *out) {
    C best[maxColumns];
    Index at[maxColumns] = {};
    std::fill_n(best, width, Ruled::template start<T>());
    for (int64_t k = 0; k < length; ++k, x += inner) {
      TREADLE_VECTORISE
      for (int64_t i = 0; i < width; ++i) {
        C own(x[i]);
        bool wins = Ruled::beats(own, best[i]);
        best[i] = wins ? own : best[i];
        at[i] = wins ? static_cast<Index>(k) : at[i];
      }
    }
    std::copy_n(at, width, out);
  }

  static constexpr int64_t maxColumns = 256;

  static void run(OpContext &ctx, const void *in, int64_t outer, int64_t length, int64_t inner,
                  int64_t *out) {
    const T *x = static_cast<const T *>(in);
    auto cost = static_cast<double>(length);
    if (inner == 1)
      return ctx.parallelFor(outer, 0.3 * cost, [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o)
          out[o] = inRow(x + o * length, length);
      });
    int64_t groups = (inner + maxColumns - 1) / maxColumns;
    auto search = length <= std::numeric_limits<int32_t>::max() && sizeof(C) <= 4
                      ? inColumns<int32_t>
                      : inColumns<int64_t>;
    ctx.parallelFor(outer * groups, 0.3 * cost * static_cast<double>(std::min(inner, maxColumns)),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t g = begin; g < end; ++g) {
                        int64_t o = g / groups, i = g % groups * maxColumns;
                        search(x + o * length * inner + i, length, inner,
                               std::min(maxColumns, inner - i), out + o * inner + i);
                      }
                    });
  }
};

using SearchFn = void (*)(OpContext &, const void *, int64_t, int64_t, int64_t, int64_t *);

struct ArgState {
  SearchFn search;
  DType out;
};

int64_t integerOf(const Tensor &t) {
  switch (t.dtype()) {
  case DType::Int16:
    return t.scalarValue<int16_t>();
  case DType::Int32:
    return t.scalarValue<int32_t>();
  default:
    return t.scalarValue<int64_t>();
  }
}

template <typename T> void narrow(const int64_t *from, int64_t n, void *to) {
  std::copy_n(from, n, static_cast<T *>(to));
}

void store(const int64_t *found, Tensor &out) {
  switch (out.dtype()) {
  case DType::Int16:
    return narrow<int16_t>(found, out.count(), out.raw());
  case DType::UInt16:
    return narrow<uint16_t>(found, out.count(), out.raw());
  case DType::Int32:
    return narrow<int32_t>(found, out.count(), out.raw());
  default:
    return narrow<int64_t>(found, out.count(), out.raw());
  }
}

void runArg(OpContext &ctx) {
  const ArgState &s = ctx.state<ArgState>();
  const Tensor &in = ctx.input(0), &dimension = ctx.input(1);
  if (dimension.count() != 1)
    return ctx.fail(
        invalidArgument("dimension must be a scalar, but has shape ", dimsText(dimension.dims())));
  int64_t said = integerOf(dimension), axis = said < 0 ? said + in.rank() : said;
  if (axis < 0 || axis >= in.rank())
    return ctx.fail(invalidArgument("expected dimension in the range [", -in.rank(), ", ",
                                    in.rank(), "), but got ", said));
  int64_t length = in.dim(static_cast<int>(axis));
  if (length == 0)
    return ctx.fail(
        invalidArgument("reduction axis ", said, " is empty in shape ", dimsText(in.dims())));
  std::vector<int64_t> dims(in.dims().begin(), in.dims().end());
  dims.erase(dims.begin() + axis);
  Tensor *out = ctx.allocateOutput(0, s.out, dims);
  if (!out || !out->count())
    return;
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < in.rank(); ++d)
    (d < axis ? outer : inner) *= d == axis ? 1 : in.dim(static_cast<int>(d));
  if (s.out == DType::Int64)
    return s.search(ctx, in.raw(), outer, length, inner, out->data<int64_t>());
  auto found = TREADLE_OR_RETURN(ctx.check(Tensor::make(DType::Int64, {out->count()})));
  s.search(ctx, in.raw(), outer, length, inner, found.data<int64_t>());
  store(found.data<int64_t>(), *out);
}

template <typename Order, template <typename> typename Rule>
Expected<BoundKernel> bindArg(const BindContext &node) {
  ArgState state{nullptr, node.outputTypes[0]};
  visitType(node.inputTypes[0], Join<RealTypes, TypeList<bool>>(),
            [&]<typename T>() { state.search = ArgSearch<T, Order, Rule>::run; });
  if (!state.search)
    return unsupportedDType(node, node.inputTypes[0]);
  return boundWith(runArg, state);
}

const KernelEntry reductionArgTable[] = {
    {"ArgMax", bindArg<Greater, NaNSkipped>},
    {"ArgMin", bindArg<Smaller, NaNSkipped>},
    {"_ArgMax", bindArg<Greater, NaNFirst>},
    {"_ArgMin", bindArg<Smaller, NaNFirst>},
};

} // namespace

std::span<const KernelEntry> reductionArgKernels() { return reductionArgTable; }

} // namespace treadle
