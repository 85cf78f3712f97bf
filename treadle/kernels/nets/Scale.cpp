// _FusedScale: the epilogue of a convolution, without a convolution.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/products/Epilogue.h"

#include <algorithm>

namespace treadle {
namespace {

template <typename T> struct ScaleKernel {
  /// Works on a few rows of channels at a time, so that copied data is still in the cache.
  static void apply(OpContext &ctx, const Epilogue &epilogue, int64_t rows, int64_t channels,
                    const T *from, T *to) {
    constexpr double nsPerElement = 0.2;
    ctx.parallelFor(rows, nsPerElement * static_cast<double>(channels),
                    [&](int64_t begin, int64_t end) {
                      constexpr int64_t elementsNear = 4096;
                      int64_t some = std::max<int64_t>(elementsNear / channels, 1);
                      for (int64_t row = begin; row < end; row += some) {
                        int64_t count = std::min(some, end - row);
                        if (to != from)
                          std::copy_n(from + row * channels, count * channels, to + row * channels);
                        epilogue.apply(to, row, count, 0, channels);
                      }
                    });
  }

  static void run(OpContext &ctx) {
    const DimVector dims(ctx.input(0).dims());
    int rank = ctx.input(0).rank();
    int64_t channels = rank ? ctx.input(0).dim(rank - 1) : 1, count = ctx.input(0).count();
    auto epilogue = TREADLE_OR_RETURN(
        Epilogue::of(ctx, ctx.state<EpilogueSpec>(), 1, {dtypeOf<T>, Dims(dims), channels}));
    const T *from = ctx.input(0).data<T>();
    Tensor *out = TREADLE_OR_RETURN(ctx.reuseInputOrAllocate(0, 0, dtypeOf<T>, Dims(dims)));
    if (count)
      apply(ctx, epilogue, count / channels, channels, from, out->data<T>());
    epilogue.finish(ctx, *out);
  }
};

Expected<BoundKernel> bindScale(const BindContext &node) {
  EpilogueSpec spec = TREADLE_TRY(EpilogueSpec::of(node));
  return withState(bindByType<ScaleKernel, TypeList<float, double>>(node), std::move(spec));
}

const KernelEntry scaleTable[] = {{"_FusedScale", bindScale}};

} // namespace

std::span<const KernelEntry> scaleKernels() { return scaleTable; }

} // namespace treadle
