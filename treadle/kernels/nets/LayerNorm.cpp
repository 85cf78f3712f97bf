// Normalisation over the last dimension.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/Families.h"

#include <cmath>

namespace treadle {
namespace {

// y = (x - mean) / sqrt(variance + epsilon) * scale + offset, row by row; sums in double.
template <typename T> struct LayerNormKernel {
  using Row = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;
  using Out = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;

  static void normalise(const T *x, const T *scale, const T *offset, float epsilon, int64_t n,
                        T *out) {
    Row row(x, n);
    double mean = row.template cast<double>().mean();
    double variance = (row.template cast<double>() - mean).square().mean();
    auto factor = static_cast<T>(1 / std::sqrt(variance + epsilon));
    Out(out, n) = (row - static_cast<T>(mean)) * factor * Row(scale, n) + Row(offset, n);
  }

  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0), scale = ctx.input(1), offset = ctx.input(2);
    int64_t n = in.rank() > 0 ? in.dim(in.rank() - 1) : 0;
    if (in.rank() == 0)
      return ctx.fail(invalidArgument("the input must have rank 1 or more, but is a scalar"));
    for (int i = 1; i < 3; ++i)
      if (ctx.input(i).rank() != 1 || ctx.input(i).dim(0) != n)
        return ctx.fail(invalidArgument("input ", i, " must be a vector of ", n,
                                        " elements, one a column of ", dimsText(in.dims()),
                                        ", but has shape ", dimsText(ctx.input(i).dims())));
    Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
    if (!out || !out->count())
      return;
    float epsilon = ctx.state<float>();
    ctx.parallelFor(in.count() / n, 2.0 * static_cast<double>(n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        normalise(in.data<T>() + i * n, scale.data<T>(), offset.data<T>(), epsilon, n,
                  out->template data<T>() + i * n);
    });
  }
};

Expected<BoundKernel> bindLayerNorm(const BindContext &node) {
  Expected<BoundKernel> bound = bindByType<LayerNormKernel, TypeList<float>>(node);
  if (bound)
    bound->state = std::make_shared<const float>(node.attrs.getOr("epsilon", 0.001f));
  return bound;
}

const KernelEntry layerNormTable[] = {{"_MklLayerNorm", bindLayerNorm}};

} // namespace

std::span<const KernelEntry> layerNormKernels() { return layerNormTable; }

} // namespace treadle
