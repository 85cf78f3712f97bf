// Multinomial: samples classes from logits.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/random/RandomNumbers.h"
#include "treadle/kernels/random/RandomStream.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace treadle {
namespace {

struct MultinomialState {
  DType dtype;
  NodeStream stream;
};

// Computes prefix sums of the classes' weights; non-finite logits have weight zero.
template <typename T> void sumWeights(const T *logits, std::vector<double> &sums) {
  T greatest = std::numeric_limits<T>::lowest();
  for (size_t i = 0; i < sums.size(); ++i)
    if (Eigen::numext::isfinite(logits[i]))
      greatest = std::max(greatest, logits[i]);
  double total = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (Eigen::numext::isfinite(logits[i]))
      total += std::exp(static_cast<double>(logits[i]) - static_cast<double>(greatest));
    sums[i] = total;
  }
}

template <typename T> void drawClasses(const Tensor &logits, Philox stream, Tensor &out) {
  PhiloxNumbers numbers(stream);
  std::vector<double> sums(static_cast<size_t>(logits.dim(1)));
  int64_t samples = out.dim(1);
  for (int64_t row = 0; row < logits.dim(0); ++row) {
    sumWeights(logits.data<T>() + row * logits.dim(1), sums);
    for (int64_t i = row * samples; i < (row + 1) * samples; ++i) {
      uint32_t high = numbers.next(), low = numbers.next();
      double sought = uniformDouble(high, low) * sums.back();
      int64_t drawn = std::ranges::upper_bound(sums, sought) - sums.begin();
      if (out.dtype() == DType::Int32)
        out.data<int32_t>()[i] = static_cast<int32_t>(drawn);
      else
        out.data<int64_t>()[i] = drawn;
    }
  }
}

bool checkInputs(OpContext &ctx, const Tensor &logits, const Tensor &samples) {
  if (logits.rank() != 2 || logits.dim(1) < 1)
    ctx.fail(invalidArgument("logits must be a matrix with at least one class, but have shape ",
                             dimsText(logits.dims())));
  else if (!samples.isScalar() || samples.scalarValue<int32_t>() < 0)
    ctx.fail(invalidArgument("num_samples must be a non-negative scalar, but is ",
                             samples.isScalar() ? std::to_string(samples.scalarValue<int32_t>())
                                                : tensorTypeText(samples)));
  return !ctx.hasFailed();
}

template <typename T> struct MultinomialKernel {
  static void run(OpContext &ctx) {
    const auto &s = ctx.state<MultinomialState>();
    const Tensor logits = ctx.input(0), number = ctx.input(1);
    Philox stream;
    bool isStateless = ctx.numInputs() > 2;
    if ((isStateless && !readSeed(ctx, 2, stream)) || !checkInputs(ctx, logits, number))
      return;
    int64_t samples = number.scalarValue<int32_t>();
    Tensor *out = ctx.allocateOutput(0, s.dtype, {logits.dim(0), samples});
    if (!out || !out->count())
      return;
    if (!isStateless) // each row reserves a multiple of four two-word numbers
      stream =
          s.stream.reserve(ctx, static_cast<uint64_t>(logits.dim(0) * ((samples + 3) / 4 * 4) * 2) *
                                    blocksPerElement);
    drawClasses<T>(logits, stream, *out);
  }
};

Expected<BoundKernel> bindMultinomial(const BindContext &node) {
  return bindByType<MultinomialKernel, FloatTypes>(node).map([&](BoundKernel bound) {
    return boundWith(bound.fn, MultinomialState{node.outputTypes[0], NodeStream::of(node)});
  });
}

const KernelEntry multinomialTable[] = {
    {"Multinomial", bindMultinomial},
    {"StatelessMultinomial", bindMultinomial},
};

} // namespace

std::span<const KernelEntry> multinomialKernels() { return multinomialTable; }

} // namespace treadle
