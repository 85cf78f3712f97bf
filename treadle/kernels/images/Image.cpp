// Reads the inputs of image kernels.
#include "treadle/kernels/images/Image.h"
#include "treadle/kernels/ElementCopy.h"

namespace treadle {

std::optional<ImageShape> readImageShape(OpContext &ctx, int i, const char *what) {
  const Tensor &t = ctx.input(i);
  if (t.rank() == 4)
    return ImageShape{t.dim(0), t.dim(1), t.dim(2), t.dim(3)};
  ctx.fail(invalidArgument(what, " must have shape [batch, height, width, channels], but has ",
                           dimsText(t.dims())));
  return std::nullopt;
}

std::optional<std::array<int64_t, 2>> readImageSize(OpContext &ctx, int i, const char *what) {
  const Tensor &t = ctx.input(i);
  if (t.rank() != 1 || t.count() != 2) {
    ctx.fail(invalidArgument(what, " must be a vector of height and width, but has shape ",
                             dimsText(t.dims())));
    return std::nullopt;
  }
  std::array<int64_t, 2> size = {indexAt(t, 0), indexAt(t, 1)};
  if (size[0] > 0 && size[1] > 0)
    return size;
  ctx.fail(
      invalidArgument(what, " must be positive, but is ", size[0], " by ", size[1], " pixels"));
  return std::nullopt;
}

std::optional<Tensor> asFloats(OpContext &ctx, const Tensor &t) {
  if (t.dtype() == DType::Float32)
    return t;
  auto out = ctx.check(Tensor::make(DType::Float32, t.dims()));
  if (out)
    visitType(t.dtype(), RealTypes(), [&]<typename T>() {
      std::transform(t.data<T>(), t.data<T>() + t.count(), out->template data<float>(),
                     [](T v) { return static_cast<float>(v); });
    });
  return out;
}

} // namespace treadle
