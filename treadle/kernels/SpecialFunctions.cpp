// Gamma, beta, Bessel and error functions: Eigen's, which TensorFlow's results come from too.
#include "treadle/kernels/Elementwise.h"
#include "treadle/kernels/Families.h"

#include <unsupported/Eigen/SpecialFunctions>

namespace treadle {
namespace {

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
TREADLE_UNARY_SPECIAL(LgammaOp, Eigen::numext::lgamma)
TREADLE_UNARY_SPECIAL(DigammaOp, Eigen::numext::digamma)
TREADLE_UNARY_SPECIAL(NdtriOp, Eigen::numext::ndtri)
TREADLE_UNARY_SPECIAL(BesselI0Op, Eigen::numext::bessel_i0)
TREADLE_UNARY_SPECIAL(BesselI1Op, Eigen::numext::bessel_i1)
TREADLE_UNARY_SPECIAL(BesselI0eOp, Eigen::numext::bessel_i0e)
TREADLE_UNARY_SPECIAL(BesselI1eOp, Eigen::numext::bessel_i1e)
TREADLE_BINARY_SPECIAL(IgammaOp, Eigen::numext::igamma)
TREADLE_BINARY_SPECIAL(IgammacOp, Eigen::numext::igammac)
TREADLE_BINARY_SPECIAL(ZetaOp, Eigen::numext::zeta)
TREADLE_BINARY_SPECIAL(PolygammaOp, Eigen::numext::polygamma)
#undef TREADLE_UNARY_SPECIAL
#undef TREADLE_BINARY_SPECIAL

// The inverse of erf by that of the normal distribution: erf(x) = 2 * ndtr(x * sqrt(2)) - 1.
struct ErfinvOp {
  static constexpr float cost = 30;
  template <typename T> static T apply(T x) {
    using C = Computed<T>;
    return T(Eigen::numext::ndtri((C(x) + C(1)) / C(2)) * C(0.70710678118654752440));
  }
};

using WideFloats = TypeList<float, double>;

const KernelEntry table[] = {
    {"Lgamma", bindUnary<LgammaOp, FloatTypes>},
    {"Digamma", bindUnary<DigammaOp, FloatTypes>},
    {"Ndtri", bindUnary<NdtriOp, WideFloats>},
    {"Erfinv", bindUnary<ErfinvOp, WideFloats>},
    {"BesselI0", bindUnary<BesselI0Op, WideFloats>},
    {"BesselI1", bindUnary<BesselI1Op, WideFloats>},
    {"BesselI0e", bindUnary<BesselI0eOp, FloatTypes>},
    {"BesselI1e", bindUnary<BesselI1eOp, FloatTypes>},
    {"Igamma", bindBinary<IgammaOp, FloatTypes>},
    {"Igammac", bindBinary<IgammacOp, FloatTypes>},
    {"Zeta", bindBinary<ZetaOp, WideFloats>},
    {"Polygamma", bindBinary<PolygammaOp, WideFloats>},
};

} // namespace

std::span<const KernelEntry> specialFunctionKernels() { return table; }

} // namespace treadle
