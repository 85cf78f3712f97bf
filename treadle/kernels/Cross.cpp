// The vector product of rows of three elements.
#include "treadle/kernels/Elementwise.h"
#include "treadle/kernels/Families.h"

namespace treadle {
namespace {

template <typename T> struct CrossKernel {
  // Small integers are computed as unsigned ones: they may wrap around.
  static T minus(T a, T b, T c, T d) {
    using U = Widened<Wrapping<T>>;
    return static_cast<T>(U(a) * U(b) - U(c) * U(d));
  }

  static void run(OpContext &ctx) {
    const Tensor a = ctx.input(0), b = ctx.input(1);
    if (!std::ranges::equal(a.dims(), b.dims()) || a.rank() < 1)
      return ctx.fail(invalidArgument("both inputs must have one shape, but they have ",
                                      dimsText(a.dims()), " and ", dimsText(b.dims())));
    if (a.dim(a.rank() - 1) != 3)
      return ctx.fail(failedPrecondition("the last dimension must be 3, but the inputs have shape ",
                                         dimsText(a.dims())));
    Tensor *out = ctx.allocateOutput(0, a.dtype(), a.dims());
    if (!out)
      return;
    const T *x = a.data<T>(), *y = b.data<T>();
    T *z = out->data<T>();
    for (int64_t i = 0; i < out->count(); i += 3, x += 3, y += 3, z += 3) {
      z[0] = minus(x[1], y[2], x[2], y[1]);
      z[1] = minus(x[2], y[0], x[0], y[2]);
      z[2] = minus(x[0], y[1], x[1], y[0]);
    }
  }
};

const KernelEntry table[] = {
    {"Cross", bindByType<CrossKernel, RealTypes>},
};

} // namespace

std::span<const KernelEntry> crossKernels() { return table; }

} // namespace treadle
