// Square roots, logarithms and exponentials of matrices.
#include "treadle/kernels/linear_algebra/LinearAlgebra.h"

#include <Eigen/LU>
// If a matrix has no real root the result is NaN, as in TensorFlow; Eigen would fail an assertion.
#include <Eigen/Core>
#undef eigen_assert
#define eigen_assert(condition)
#include <unsupported/Eigen/MatrixFunctions>

namespace treadle {
namespace {

// --- functions of a matrix -----------------------------------------------------------------------

struct SquareRoot {
  template <typename M> [[gnu::noinline]] static M apply(const M &matrix) { return matrix.sqrt(); }
};
struct Logarithm {
  // A singular matrix has none, and the algorithm would not terminate.
  template <typename M> [[gnu::noinline]] static M apply(const M &matrix) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    if ((Eigen::PartialPivLU<M>(matrix).matrixLU().diagonal().array() == 0.0).any())
      return M::Constant(matrix.rows(), matrix.cols(), typename M::Scalar(nan, nan));
    return matrix.log();
  }
};
struct Exponential {
  template <typename M> [[gnu::noinline]] static M apply(const M &matrix) { return matrix.exp(); }
};

template <typename Function> struct FunctionOf {
  template <typename T> struct Kernel {
    static void run(OpContext &ctx) {
      const Tensor in = ctx.input(0);
      Matrices m;
      if (!m.readSquare(ctx, in))
        return;
      Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
      for (int64_t i = 0; out && i < m.batch && m.rows; ++i) {
        WideMatrix<T> matrix = widened<T>(m, in, i);
        if (!matrix.allFinite()) // the algorithms may not terminate
          matrix.setConstant(std::numeric_limits<double>::quiet_NaN());
        else
          matrix = Function::apply(matrix);
        matrixAt<T>(*out, i, m.rows, m.rows) = matrix.template cast<T>();
      }
    }
  };
};

const KernelEntry matrixFunctionTable[] = {
    {"MatrixSquareRoot", bindByType<FunctionOf<SquareRoot>::Kernel, MatrixTypes>},
    {"MatrixLogarithm", bindByType<FunctionOf<Logarithm>::Kernel, ComplexTypes>},
    {"MatrixExponential", bindByType<FunctionOf<Exponential>::Kernel, MatrixTypes>},
};

} // namespace

std::span<const KernelEntry> matrixFunctionKernels() { return matrixFunctionTable; }

} // namespace treadle
