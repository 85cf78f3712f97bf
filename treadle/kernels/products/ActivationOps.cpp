// The activations that epilogues know and TensorFlow has no op for, as ops of their own.
#include "treadle/kernels/Families.h"
#include "treadle/kernels/products/Epilogue.h"

#include <algorithm>

namespace treadle {
namespace {

template <typename T> struct ActivationKernel {
  static void run(OpContext &ctx) {
    const Tensor &x = ctx.input(0);
    const T *from = x.data<T>();
    int64_t count = x.count();
    Tensor *out = ctx.reuseInputOrAllocate(0, 0, x.dtype(), x.dims());
    if (!out)
      return;
    T *to = out->data<T>();
    constexpr double nsPerElement = 0.5;
    ctx.parallelFor(count, nsPerElement, [&](int64_t begin, int64_t end) {
      // Piece by piece, so that what was copied is near.
      constexpr int64_t piece = 4096;
      for (int64_t at = begin; at < end; at += piece) {
        int64_t n = std::min(piece, end - at);
        if (to != from)
          std::copy_n(from + at, n, to + at);
        activate(ctx.state<Activation>(), 0, to + at, n);
      }
    });
  }
};

/// Of an op whose name is the activation's behind a line.
Expected<BoundKernel> bindActivation(const BindContext &node) {
  Expected<BoundKernel> bound = bindByType<ActivationKernel, TypeList<float, double>>(node);
  if (bound)
    bound->state = std::make_shared<const Activation>(
        findActivation(node.op.substr(1)).value_or(Activation()));
  return bound;
}

const KernelEntry activationOpTable[] = {
    {"_GeluApproximate", bindActivation}, {"_GeluExact", bindActivation},
    {"_HardSigmoid", bindActivation},     {"_HardSwish", bindActivation},
    {"_Swish", bindActivation},
};

} // namespace

std::span<const KernelEntry> activationOpKernels() { return activationOpTable; }

} // namespace treadle
