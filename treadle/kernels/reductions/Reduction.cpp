// Reductions over axes. The dimensions are merged into groups that are alternately kept and
// reduced; the input is then read once, in order, one run of the innermost group at a time.
#include "treadle/kernels/elementwise/Elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace treadle {
namespace {

// --- axes --------------------------------------------------------------------------------------

/// The groups: adjacent dimensions merged, outermost first, every second one reduced.
struct DimGroups {
  static constexpr int maxRank = 254;
  int rank = 0;   // of the result
  int groups = 0; // at least 1
  bool isReduced[maxRank];
  int64_t size[maxRank];
  int64_t outStride[maxRank]; // of the result, per step of a group; 0 if reduced
  int64_t dims[maxRank];      // of the result
  int64_t reducedCount = 1;
  bool isWhole = true; // no dimension is reduced
};

// Marks the axes to reduce; false, with ctx failed, if one is out of range or repeated.
template <typename Index>
bool markAxes(OpContext &ctx, const Tensor &axes, int rank, bool *reduced) {
  for (Index axis : axes.values<Index>()) {
    int64_t at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank) {
      ctx.fail(invalidArgument("invalid reduction dimension ", axis, " for input with ", rank,
                               " dimension(s)"));
      return false;
    }
    if (reduced[at]) {
      ctx.fail(invalidArgument("invalid reduction arguments: dimension ", at, " is repeated"));
      return false;
    }
    reduced[at] = true;
  }
  return true;
}

bool findGroups(OpContext &ctx, bool keepDims, DimGroups &g) {
  const Tensor &in = ctx.input(0), &axes = ctx.input(1);
  bool reduced[DimGroups::maxRank];
  std::fill_n(reduced, in.rank(), false);
  if (axes.dtype() == DType::Int32 ? !markAxes<int32_t>(ctx, axes, in.rank(), reduced)
                                   : !markAxes<int64_t>(ctx, axes, in.rank(), reduced))
    return false;
  for (int d = 0; d < in.rank(); ++d) {
    int64_t size = in.dim(d);
    if (!reduced[d] || keepDims)
      g.dims[g.rank++] = reduced[d] ? 1 : size;
    if (reduced[d])
      g.reducedCount *= size;
    g.isWhole &= !reduced[d];
    if (size == 1)
      continue;
    if (g.groups && g.isReduced[g.groups - 1] == reduced[d]) {
      g.size[g.groups - 1] *= size;
    } else {
      g.isReduced[g.groups] = reduced[d];
      g.size[g.groups++] = size;
    }
  }
  if (g.groups == 0) {
    g.isReduced[0] = true;
    g.size[g.groups++] = 1;
  }
  int64_t stride = 1;
  for (int i = g.groups - 1; i >= 0; --i) {
    g.outStride[i] = g.isReduced[i] ? 0 : stride;
    if (!g.isReduced[i])
      stride *= g.size[i];
  }
  return true;
}

// --- loops -------------------------------------------------------------------------------------

/// The loops of one reduction for one dtype.
struct ReduceLoops {
  uint16_t size;            // bytes per element
  uint16_t accumulatorSize; // bytes per accumulator
  bool isIdentity;          // the reduction of one element is that element
  bool inPlace;             // accumulators are stored in the result
  void (*start)(void *accumulators, int64_t n);
  /// Reduces `n` elements into one accumulator.
  void (*row)(const void *in, int64_t n, void *accumulator);
  /// Reduces `n` elements into `n` accumulators.
  void (*rows)(const void *in, int64_t n, void *accumulators);
  /// Merges `n` accumulators with `n` others.
  void (*merge)(void *accumulators, const void *others, int64_t n);
  void (*finish)(const void *accumulators, void *out, int64_t n, int64_t count);
};

template <typename Op, typename T> struct Loops {
  using Acc = decltype(Op::start(T()));

  static Acc *accumulators(void *p) { return static_cast<Acc *>(p); }

  static void start(void *acc, int64_t n) { std::fill_n(accumulators(acc), n, Op::start(T())); }

  /// Several partial results are vectorized, and lose less precision than one. Thirty-two keep the
  /// adders busy; short rows use sixteen.
  static Acc fold(const T *x, int64_t n) { return n < 128 ? fold<16>(x, n) : fold<32>(x, n); }

  template <int lanes> static Acc fold(const T *x, int64_t n) {
    constexpr int64_t leaf = 128 * lanes;
    if (n < lanes) {
      Acc acc = Op::start(T());
      for (int64_t i = 0; i < n; ++i)
        acc = Op::merge(acc, Op::load(x[i]));
      return acc;
    }
    if (n > leaf) {
      int64_t half = n / 2 / lanes * lanes;
      return Op::merge(fold<lanes>(x, half), fold<lanes>(x + half, n - half));
    }
    Acc partial[lanes];
    for (int k = 0; k < lanes; ++k)
      partial[k] = Op::load(x[k]);
    int64_t i = lanes;
    for (; i + lanes <= n; i += lanes)
      for (int k = 0; k < lanes; ++k)
        partial[k] = Op::merge(partial[k], Op::load(x[i + k]));
    for (int k = 0; i < n; ++i, ++k)
      partial[k] = Op::merge(partial[k], Op::load(x[i]));
    for (int width = lanes / 2; width; width /= 2)
      for (int k = 0; k < width; ++k)
        partial[k] = Op::merge(partial[k], partial[k + width]);
    return partial[0];
  }

  static void row(const void *in, int64_t n, void *acc) {
    *accumulators(acc) = Op::merge(*accumulators(acc), fold(static_cast<const T *>(in), n));
  }

  static void rows(const void *in, int64_t n, void *accData) {
    const T *x = static_cast<const T *>(in);
    Acc *acc = accumulators(accData);
    TREADLE_VECTORISE
    for (int64_t i = 0; i < n; ++i)
      acc[i] = Op::merge(acc[i], Op::load(x[i]));
  }

  static void merge(void *accData, const void *otherData, int64_t n) {
    Acc *acc = accumulators(accData);
    const Acc *other = static_cast<const Acc *>(otherData);
    for (int64_t i = 0; i < n; ++i)
      acc[i] = Op::merge(acc[i], other[i]);
  }

  static void finish(const void *accData, void *outData, int64_t n, int64_t count) {
    const Acc *acc = static_cast<const Acc *>(accData);
    T *out = static_cast<T *>(outData);
    for (int64_t i = 0; i < n; ++i)
      out[i] = Op::template finish<T>(acc[i], count);
  }

  static constexpr ReduceLoops loops = {
      sizeof(T), sizeof(Acc), Op::isIdentity, std::is_same_v<Acc, T>, start, row,
      rows,      merge,       finish};
};

/// One pass over the input.
class ReductionPass {
public:
  ReductionPass(const ReduceLoops &loops, const DimGroups &g) : loops(loops), g(g) {
    int64_t kept = 1;
    for (int i = g.groups - 1; i >= 0; --i) {
      below[i] = kept;
      kept *= g.isReduced[i] ? 1 : g.size[i];
    }
  }

  /// Reduces steps [begin, end) of the group `level` from `in` on, and advances `in`. Many steps
  /// are halved recursively: the error of a sum grows with the square root of the number of
  /// sequential additions.
  void reduce(int level, const char *&in, char *acc, int64_t begin, int64_t end) const {
    constexpr int64_t leaf = 128;
    bool isInnermost = level == g.groups - 1;
    if (g.isReduced[level] && !isInnermost && end - begin > leaf)
      if (Accumulators other(loops, below[level]); other.at) {
        int64_t middle = begin + (end - begin) / 2;
        reduce(level, in, acc, begin, middle);
        reduce(level, in, other.at, middle, end);
        return loops.merge(acc, other.at, below[level]);
      }
    if (!isInnermost) {
      for (int64_t i = begin; i < end; ++i)
        reduce(level + 1, in, acc + i * g.outStride[level] * loops.accumulatorSize, 0,
               g.size[level + 1]);
      return;
    }
    int64_t n = end - begin;
    char *at = acc + begin * g.outStride[level] * loops.accumulatorSize;
    (g.isReduced[level] ? loops.row : loops.rows)(in, n, at);
    in += n * loops.size;
  }

private:
  /// Accumulators with the initial value; null if there isn't enough memory.
  struct Accumulators {
    Accumulators(const ReduceLoops &loops, int64_t n) {
      int64_t bytes = n * loops.accumulatorSize;
      if (bytes <= std::ssize(few)) {
        at = few;
      } else if (Expected<Tensor> made = Tensor::make(DType::UInt8, {bytes})) {
        many = std::move(*made);
        at = many.data<char>();
      }
      if (at)
        loops.start(at, n);
    }

    char *at = nullptr;

  private:
    alignas(16) char few[256];
    Tensor many;
  };

  const ReduceLoops &loops;
  const DimGroups &g;
  int64_t below[DimGroups::maxRank]; // number of accumulators per step of the group
};

struct ReduceState {
  const ReduceLoops *loops;
  bool keepDims;
};

void accumulate(OpContext &ctx, const ReduceLoops &loops, const DimGroups &g, const char *in,
                int64_t inCount, char *acc) {
  int64_t inner = g.size[0] ? inCount / g.size[0] : 0;
  ReductionPass pass(loops, g);
  // The steps of a kept outermost group are independent.
  if (!g.isReduced[0] && inCount > 1 << 16) {
    ctx.parallelFor(g.size[0], static_cast<double>(inner) * 0.3, [&](int64_t begin, int64_t end) {
      const char *at = in + begin * inner * loops.size;
      pass.reduce(0, at, acc, begin, end);
    });
  } else {
    pass.reduce(0, in, acc, 0, g.size[0]);
  }
}

void runReduce(OpContext &ctx) {
  const ReduceState &s = ctx.state<ReduceState>();
  const ReduceLoops &loops = *s.loops;
  DimGroups g;
  if (!findGroups(ctx, s.keepDims, g))
    return;
  if (g.isWhole && loops.isIdentity)
    return ctx.setOutput(0, ctx.takeInput(0));
  const Tensor &in = ctx.input(0);
  Tensor *out = TREADLE_OR_RETURN(
      ctx.allocateOutput(0, in.dtype(), Dims(g.dims, static_cast<size_t>(g.rank))));
  int64_t n = out->count();
  alignas(16) char one[16];
  char *acc = static_cast<char *>(out->raw());
  Tensor scratch;
  if (!loops.inPlace && n == 1) {
    acc = one;
  } else if (!loops.inPlace) {
    auto made =
        TREADLE_OR_RETURN(ctx.check(Tensor::make(DType::UInt8, {n * loops.accumulatorSize})));
    scratch = std::move(made);
    acc = static_cast<char *>(scratch.raw());
  }
  loops.start(acc, n);
  if (in.count())
    accumulate(ctx, loops, g, static_cast<const char *>(in.raw()), in.count(), acc);
  loops.finish(acc, out->raw(), n, g.reducedCount);
}

// --- the reductions ----------------------------------------------------------------------------

template <typename T> using Floaty = Computed<T>; // 16-bit floats accumulate in float

struct SumReduction {
  static constexpr bool isIdentity = true;
  template <typename T> static Floaty<T> start(T) { return Floaty<T>(0); }
  template <typename T> static Floaty<T> load(T x) { return Floaty<T>(x); }
  template <typename A> static A merge(A a, A b) {
    return static_cast<A>(Widened<A>(a) + Widened<A>(b));
  }
  template <typename T, typename A> static T finish(A a, int64_t) { return T(a); }
};

struct ProdReduction : SumReduction {
  template <typename T> static Floaty<T> start(T) { return Floaty<T>(1); }
  template <typename A> static A merge(A a, A b) {
    return static_cast<A>(Widened<A>(a) * Widened<A>(b));
  }
};

struct MeanReduction {
  static constexpr bool isIdentity = true;
  template <typename T> static auto start(T) {
    if constexpr (std::is_integral_v<T>)
      return uint64_t{0};
    else
      return Floaty<T>(0);
  }
  template <typename T> static auto load(T x) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<uint64_t>(x);
    else
      return Floaty<T>(x);
  }
  template <typename A> static A merge(A a, A b) { return a + b; }
  template <typename T, typename A> static T finish(A a, int64_t count) {
    if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      return count ? static_cast<T>(static_cast<Wide>(a) / static_cast<Wide>(count)) : T(0);
    } else if constexpr (isComplexType<T>) {
      return count ? a / static_cast<typename T::value_type>(count) : T(0);
    } else {
      return T(a / static_cast<A>(count));
    }
  }
};

// NaN if any element is NaN.
struct MaxReduction {
  static constexpr bool isIdentity = true;
  template <typename T> static Floaty<T> start(T) {
    using L = std::numeric_limits<Floaty<T>>;
    return L::has_infinity ? -L::infinity() : L::lowest();
  }
  template <typename T> static Floaty<T> load(T x) { return Floaty<T>(x); }
  template <typename A> static A merge(A a, A b) { return a > b || a != a ? a : b; }
  template <typename T, typename A> static T finish(A a, int64_t) { return T(a); }
};

struct MinReduction : MaxReduction {
  template <typename T> static Floaty<T> start(T) {
    using L = std::numeric_limits<Floaty<T>>;
    return L::has_infinity ? L::infinity() : L::max();
  }
  template <typename A> static A merge(A a, A b) { return a < b || a != a ? a : b; }
};

struct NormReduction : SumReduction {
  static constexpr bool isIdentity = false;
  template <typename T> static Floaty<T> load(T x) {
    if constexpr (isComplexType<T>)
      return T(std::norm(x));
    else
      return static_cast<Floaty<T>>(Widened<Wrapping<Floaty<T>>>(x) *
                                    Widened<Wrapping<Floaty<T>>>(x));
  }
  template <typename A> static A merge(A a, A b) {
    return static_cast<A>(Widened<Wrapping<A>>(a) + Widened<Wrapping<A>>(b));
  }
  template <typename T, typename A> static T finish(A a, int64_t) {
    if constexpr (std::is_integral_v<T>) // a wrapped-around sum may be negative
      return a < 0 ? T(0) : static_cast<T>(std::sqrt(static_cast<double>(a)));
    else
      return T(std::sqrt(a));
  }
};

struct AllReduction {
  static constexpr bool isIdentity = true;
  static bool start(bool) { return true; }
  static bool load(bool x) { return x; }
  static bool merge(bool a, bool b) { return a & b; }
  template <typename T> static bool finish(bool a, int64_t) { return a; }
};

struct AnyReduction : AllReduction {
  static bool start(bool) { return false; }
  static bool merge(bool a, bool b) { return a | b; }
};

template <typename Op, typename Types, bool wraps = false>
Expected<BoundKernel> bindReduction(const BindContext &node) {
  DType dtype = node.inputTypes[0], axes = node.inputTypes[1];
  if (axes != DType::Int32 && axes != DType::Int64)
    return unsupportedDType(node, axes);
  ReduceState state{nullptr, node.attrs.getOr<bool>("keep_dims", false)};
  visitType(dtype, Types(), [&]<typename T>() {
    state.loops = &Loops<Op, std::conditional_t<wraps, Wrapping<T>, T>>::loops;
  });
  if (!state.loops)
    return unsupportedDType(node, dtype);
  return boundWith(runReduce, state);
}

const KernelEntry reductionTable[] = {
    {"Sum", bindReduction<SumReduction, NumericTypes, true>},
    {"Prod", bindReduction<ProdReduction, NumericTypes, true>},
    {"Mean", bindReduction<MeanReduction, NumericTypes>},
    {"Max", bindReduction<MaxReduction, RealTypes>},
    {"Min", bindReduction<MinReduction, RealTypes>},
    {"EuclideanNorm", bindReduction<NormReduction, NumericTypes>},
    {"All", bindReduction<AllReduction, TypeList<bool>>},
    {"Any", bindReduction<AnyReduction, TypeList<bool>>},
};

} // namespace

std::span<const KernelEntry> reductionKernels() { return reductionTable; }

} // namespace treadle
