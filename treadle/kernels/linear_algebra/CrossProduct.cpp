// Cross: products of three-dimensional vectors, along the last dimension.
#include "treadle/kernels/Element.h"

#include <algorithm>

namespace treadle {
namespace {

template <typename T> struct CrossKernel {
  static void run(OpContext &ctx) {
    const Tensor a = ctx.input(0), b = ctx.input(1);
    if (!std::ranges::equal(a.dims(), b.dims()) || a.rank() == 0)
      return ctx.fail(invalidArgument("a and b are ", tensorTypeText(a), " and ", tensorTypeText(b),
                                      ", expected one shape with a last dimension of 3"));
    if (a.dim(a.rank() - 1) != 3)
      return ctx.fail(failedPrecondition("a and b are ", tensorTypeText(a),
                                         ", expected a last dimension of 3"));
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<T>, a.dims()));
    const T *u = a.data<T>(), *v = b.data<T>();
    T *w = out->data<T>();
    for (int64_t i = 0; i < a.count(); i += 3)
      for (int k = 0; k < 3; ++k) {
        int next = (k + 1) % 3, last = (k + 2) % 3;
        w[i + k] = difference(u[i + next], v[i + last], u[i + last], v[i + next]);
      }
  }

  // Integers wrap around; small floats are rounded after each operation.
  static T difference(T a, T b, T c, T d) {
    if constexpr (std::is_integral_v<T>) {
      auto wide = [](T x) { return static_cast<uint64_t>(x); };
      return static_cast<T>(wide(a) * wide(b) - wide(c) * wide(d));
    } else {
      return T(T(a * b) - T(c * d));
    }
  }
};

const KernelEntry crossProductTable[] = {
    {"Cross", bindByType<CrossKernel, RealTypes>},
};

} // namespace

std::span<const KernelEntry> crossProductKernels() { return crossProductTable; }

} // namespace treadle
