// Tensor statistics for debuggers: numbers of NaN, infinite and other elements, and ranges.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace treadle {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
using DebuggedTypes = Join<RealTypes, TypeList<bool>>;

/// The number of elements of each kind. Values at or beyond a bound count as infinite.
struct ElementCounts {
  int64_t nans = 0, lows = 0, negative = 0, zeros = 0, positive = 0, highs = 0;

  void add(double x, double lower, double upper) {
    int64_t &kind = std::isnan(x) ? nans
                    : x <= lower  ? lows
                    : x >= upper  ? highs
                    : x < 0       ? negative
                    : x > 0       ? positive
                                  : zeros;
    ++kind;
  }
  bool isHealthy() const { return nans + lows + highs == 0; }
};

template <typename T>
ElementCounts countElementKinds(const Tensor &t, double lower = -infinity,
                                double upper = infinity) {
  ElementCounts census;
  for (T x : t.values<T>())
    census.add(static_cast<double>(x), lower, upper);
  return census;
}

template <typename T> struct CountNans {
  static void run(OpContext &ctx) {
    ctx.setOutput(0, Tensor::vector<int64_t>(DType::Int64,
                                             std::array{countElementKinds<T>(ctx.input(0)).nans}));
  }
};

// --- DebugNumericSummary -----------------------------------------------------------------------

struct Bounds {
  float lower, upper;
};

/// Returns the minimum, maximum, mean and variance of the finite elements.
template <typename T> std::array<double, 4> rangeOf(const Tensor &t) {
  double min = infinity, max = -infinity, sum = 0, count = 0, squares = 0;
  auto forEachFinite = [&](auto visit) {
    for (T element : t.values<T>())
      if (auto x = static_cast<double>(element); std::isfinite(x))
        visit(x);
  };
  forEachFinite([&](double x) {
    min = std::min(min, x);
    max = std::max(max, x);
    sum += x;
    ++count;
  });
  if (count == 0)
    return {min, max, nan, nan};
  double mean = sum / count;
  forEachFinite([&](double x) { squares += (x - mean) * (x - mean); });
  return {min, max, mean, squares / count};
}

template <typename T> struct Summarize {
  static void run(OpContext &ctx) {
    const Tensor &in = ctx.input(0);
    auto [lower, upper] = ctx.state<Bounds>();
    ElementCounts c = countElementKinds<T>(in, lower, upper);
    auto [min, max, mean, variance] = rangeOf<T>(in);
    std::vector<double> summary{1}; // the tensor has a value
    for (int64_t count : {in.count(), c.nans, c.lows, c.negative, c.zeros, c.positive, c.highs})
      summary.push_back(static_cast<double>(count));
    summary.insert(summary.end(), {min, max, mean, variance, static_cast<double>(in.dtype()),
                                   static_cast<double>(in.rank())});
    for (int64_t dim : in.dims())
      summary.push_back(static_cast<double>(dim));
    ctx.setOutput(0, Tensor::vector<double>(DType::Float64, summary));
  }
};

Expected<BoundKernel> bindSummarize(const BindContext &node) {
  auto bound = [&](const char *attr, double otherwise) {
    return node.attrs.getOr(attr, static_cast<float>(otherwise));
  };
  return bindByType<Summarize, DebuggedTypes>(node).map([&](const BoundKernel &kernel) {
    return boundWith(kernel.fn,
                     Bounds{bound("lower_bound", -infinity), bound("upper_bound", infinity)});
  });
}

// --- DebugNumericSummaryV2 ---------------------------------------------------------------------

/// Computes the debug output of a tensor with identifier `id`.
using SummaryFn = std::vector<double> (*)(const Tensor &, const ElementCounts &, double id);

double number(int64_t value) { return static_cast<double>(value); }

std::vector<double> health(const Tensor &, const ElementCounts &c, double id) {
  return {id, c.isHealthy() ? 0.0 : 1.0};
}
std::vector<double> concise(const Tensor &t, const ElementCounts &c, double id) {
  return {id, number(t.count()), number(c.lows), number(c.highs), number(c.nans)};
}
std::vector<double> full(const Tensor &t, const ElementCounts &c, double id) {
  return {id,
          -1, // device id
          static_cast<double>(t.dtype()),
          number(t.rank()),
          number(t.count()),
          number(c.lows),
          number(c.highs),
          number(c.nans),
          number(c.negative),
          number(c.zeros),
          number(c.positive)};
}
// Reports the last six dimensions.
std::vector<double> shape(const Tensor &t, const ElementCounts &, double id) {
  constexpr size_t room = 6;
  std::vector<double> told{id, static_cast<double>(t.dtype()), number(t.rank()), number(t.count())};
  for (int64_t dim : t.dims().last(std::min(t.dims().size(), room)))
    told.push_back(number(dim));
  told.resize(4 + room);
  return told;
}
std::vector<double> threeSlots(const Tensor &, const ElementCounts &c, double) {
  return {c.lows ? -infinity : 0, c.highs ? infinity : 0, c.nans ? nan : 0};
}

constexpr int64_t modeWithoutId = 8;
constexpr std::pair<int64_t, SummaryFn> modes[] = {
    {2, health}, {3, concise}, {4, full}, {5, shape}, {modeWithoutId, threeSlots}};

struct DebugSummaryState {
  SummaryFn tell;
  int64_t id;
  DType outDType;
};

template <typename T> struct DebugSummaryKernel {
  static void run(OpContext &ctx) {
    const auto &state = ctx.state<DebugSummaryState>();
    const Tensor &in = ctx.input(0);
    std::vector<double> told = state.tell(in, countElementKinds<T>(in), number(state.id));
    if (state.outDType == DType::Float64)
      return ctx.setOutput(0, Tensor::vector<double>(DType::Float64, told));
    std::vector<float> narrow(told.begin(), told.end());
    ctx.setOutput(0, Tensor::vector<float>(DType::Float32, narrow));
  }
};

Expected<BoundKernel> bindDebugSummary(const BindContext &node) {
  auto mode = node.attrs.getOr<int64_t>("tensor_debug_mode", -1);
  auto id = node.attrs.getOr<int64_t>("tensor_id", -1);
  DType out = node.outputTypes[0];
  if (int64_t largest = int64_t{1} << (out == DType::Float64 ? 53 : 24);
      id > largest && mode != modeWithoutId)
    return Unexpected(invalidArgument("tensor_id is ", id, ", expected at most ", largest,
                                      ", which ", dtypeName(out), " can hold"));
  auto entry = std::ranges::find(modes, mode, &std::pair<int64_t, SummaryFn>::first);
  if (entry == std::end(modes))
    return Unexpected(unimplemented("tensor_debug_mode ", mode, " has no kernel"));
  return bindByType<DebugSummaryKernel, DebuggedTypes>(node).map([&](const BoundKernel &kernel) {
    return boundWith(kernel.fn, DebugSummaryState{entry->second, id, out});
  });
}

const KernelEntry debugNumberTable[] = {
    {"DebugNanCount", bindByType<CountNans, DebuggedTypes>},
    {"DebugNumericSummary", bindSummarize},
    {"DebugNumericSummaryV2", bindDebugSummary},
};

} // namespace

std::span<const KernelEntry> debugNumberKernels() { return debugNumberTable; }

} // namespace treadle
