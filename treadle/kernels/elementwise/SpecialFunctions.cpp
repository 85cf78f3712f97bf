// Gamma, beta, Bessel and error functions, by Eigen as in TensorFlow.
#include "treadle/kernels/elementwise/CanonicalOperand.h"
#include "treadle/kernels/elementwise/Elementwise.h"

#include <unsupported/Eigen/SpecialFunctions>

#include <cmath>
#include <limits>

namespace treadle {
namespace {

// At the poles Eigen tests whether the order is even by converting it to an integer, which may
// overflow; from 2^53 on every order is even.
template <typename T> bool isAtEvenPole(T order, T at) {
  return order >= T(1LL << 53) && at <= T(0) && at == std::floor(at);
}
template <typename T> T zeta(T x, T q) {
  return isAtEvenPole(x, q) ? std::numeric_limits<T>::infinity() : Eigen::numext::zeta(x, q);
}
template <typename T> T polygamma(T n, T x) {
  return isAtEvenPole(n, x) ? std::numeric_limits<T>::infinity() : Eigen::numext::polygamma(n, x);
}

template <typename T> T lgammaOf(T x) { return Eigen::numext::lgamma(canonical(x)); }

// 16-bit floats are computed as floats.
#define TREADLE_UNARY_SPECIAL(Name, function)                                                      \
  struct Name {                                                                                    \
    static constexpr float cost = 30;                                                              \
    template <typename T> static T apply(T x) { return T(function(Computed<T>(x))); }              \
  };
#define TREADLE_BINARY_SPECIAL(Name, function)                                                     \
  struct Name {                                                                                    \
    static constexpr float cost = 60;                                                              \
    template <typename T> static T apply(T a, T b) {                                               \
      return T(function(Computed<T>(a), Computed<T>(b)));                                          \
    }                                                                                              \
  };
TREADLE_UNARY_SPECIAL(LgammaOp, lgammaOf)
TREADLE_UNARY_SPECIAL(DigammaOp, Eigen::numext::digamma)
TREADLE_UNARY_SPECIAL(NdtriOp, Eigen::numext::ndtri)
TREADLE_UNARY_SPECIAL(BesselI0Op, Eigen::numext::bessel_i0)
TREADLE_UNARY_SPECIAL(BesselI1Op, Eigen::numext::bessel_i1)
TREADLE_UNARY_SPECIAL(BesselI0eOp, Eigen::numext::bessel_i0e)
TREADLE_UNARY_SPECIAL(BesselI1eOp, Eigen::numext::bessel_i1e)
TREADLE_UNARY_SPECIAL(BesselJ0Op, Eigen::numext::bessel_j0)
TREADLE_UNARY_SPECIAL(BesselJ1Op, Eigen::numext::bessel_j1)
TREADLE_UNARY_SPECIAL(BesselK0Op, Eigen::numext::bessel_k0)
TREADLE_UNARY_SPECIAL(BesselK1Op, Eigen::numext::bessel_k1)
TREADLE_UNARY_SPECIAL(BesselK0eOp, Eigen::numext::bessel_k0e)
TREADLE_UNARY_SPECIAL(BesselK1eOp, Eigen::numext::bessel_k1e)
TREADLE_UNARY_SPECIAL(BesselY0Op, Eigen::numext::bessel_y0)
TREADLE_UNARY_SPECIAL(BesselY1Op, Eigen::numext::bessel_y1)
TREADLE_BINARY_SPECIAL(IgammaGradAOp, Eigen::numext::igamma_der_a)
TREADLE_BINARY_SPECIAL(RandomGammaGradOp, Eigen::numext::gamma_sample_der_alpha)
TREADLE_BINARY_SPECIAL(IgammaOp, Eigen::numext::igamma)
TREADLE_BINARY_SPECIAL(IgammacOp, Eigen::numext::igammac)
TREADLE_BINARY_SPECIAL(ZetaOp, zeta)
TREADLE_BINARY_SPECIAL(PolygammaOp, polygamma)
#undef TREADLE_UNARY_SPECIAL
#undef TREADLE_BINARY_SPECIAL

// erfinv by the inverse of the normal distribution: erf(x) = 2 * ndtr(x * sqrt(2)) - 1.
struct ErfinvOp {
  static constexpr float cost = 30;
  template <typename T> static T apply(T x) {
    using C = Computed<T>;
    return T(Eigen::numext::ndtri((C(x) + C(1)) / C(2)) * C(0.70710678118654752440));
  }
};

// --- Betainc: three operands of one shape, or scalars --------------------------------------------

template <typename T> struct BetaincKernel {
  static void run(OpContext &ctx) {
    std::array<Tensor, 3> in = {ctx.input(0), ctx.input(1), ctx.input(2)};
    Dims dims;
    for (const Tensor &t : in)
      if (!t.isScalar())
        dims = t.dims();
    for (const Tensor &t : in)
      if (!t.isScalar() && !std::ranges::equal(t.dims(), dims))
        return ctx.fail(invalidArgument(
            "operands must be scalars or of one shape, but have shapes ", dimsText(in[0].dims()),
            ", ", dimsText(in[1].dims()), " and ", dimsText(in[2].dims())));
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<T>, dims));
    auto at = [&](size_t k, int64_t i) { return in[k].data<T>()[in[k].isScalar() ? 0 : i]; };
    ctx.parallelFor(out->count(), 100, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        out->data<T>()[i] = Eigen::numext::betainc(at(0, i), at(1, i), at(2, i));
    });
  }
};

using WideFloats = TypeList<float, double>;
using BesselTypes = TypeList<float, double, Half>;

const KernelEntry specialFunctionTable[] = {
    {"Lgamma", bindUnary<LgammaOp, FloatTypes>},
    {"Digamma", bindUnary<DigammaOp, FloatTypes>},
    {"Ndtri", bindUnary<NdtriOp, WideFloats>},
    {"Erfinv", bindUnary<ErfinvOp, WideFloats>},
    {"BesselI0", bindUnary<BesselI0Op, BesselTypes>},
    {"BesselI1", bindUnary<BesselI1Op, BesselTypes>},
    {"BesselI0e", bindUnary<BesselI0eOp, FloatTypes>},
    {"BesselI1e", bindUnary<BesselI1eOp, FloatTypes>},
    {"BesselJ0", bindUnary<BesselJ0Op, BesselTypes>},
    {"BesselJ1", bindUnary<BesselJ1Op, BesselTypes>},
    {"BesselK0", bindUnary<BesselK0Op, BesselTypes>},
    {"BesselK1", bindUnary<BesselK1Op, BesselTypes>},
    {"BesselK0e", bindUnary<BesselK0eOp, BesselTypes>},
    {"BesselK1e", bindUnary<BesselK1eOp, BesselTypes>},
    {"BesselY0", bindUnary<BesselY0Op, BesselTypes>},
    {"BesselY1", bindUnary<BesselY1Op, BesselTypes>},
    {"Betainc", bindByType<BetaincKernel, WideFloats>},
    {"IgammaGradA", bindBinary<IgammaGradAOp, WideFloats>},
    {"RandomGammaGrad", bindBinary<RandomGammaGradOp, WideFloats>},
    {"Igamma", bindBinary<IgammaOp, FloatTypes>},
    {"Igammac", bindBinary<IgammacOp, FloatTypes>},
    {"Zeta", bindBinary<ZetaOp, WideFloats>},
    {"Polygamma", bindBinary<PolygammaOp, WideFloats>},
};

} // namespace

std::span<const KernelEntry> specialFunctionKernels() { return specialFunctionTable; }

} // namespace treadle
