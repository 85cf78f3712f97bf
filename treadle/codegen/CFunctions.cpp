#include "treadle/codegen/CFunctions.h"

#include <cmath>
#include <cstring>

// Conversions of 16-bit floats from the compiler's runtime library.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
_Float16 __truncsfhf2(float);
_Float16 __truncdfhf2(double);
float __extendhfsf2(_Float16);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace treadle::codegen {

std::vector<RuntimeFunction> cFunctions() {
  std::vector<RuntimeFunction> found;
  auto add = [&]<typename Result, typename... Arguments>(const char *name,
                                                         Result (*function)(Arguments...)) {
    found.push_back({name, reinterpret_cast<void *>(function)});
  };
  add.operator()<void *, void *, const void *, size_t>("memcpy", std::memcpy);
  add.operator()<void *, void *, const void *, size_t>("memmove", std::memmove);
  add.operator()<void *, void *, int, size_t>("memset", std::memset);
  add.operator()<int, const void *, const void *, size_t>("memcmp", std::memcmp);
  add.operator()<int, const void *, const void *, size_t>("bcmp", std::memcmp);
#define TREADLE_UNARY(name)                                                                        \
  add.operator()<double, double>(#name, ::name);                                                   \
  add.operator()<float, float>(#name "f", ::name##f);
#define TREADLE_BINARY(name)                                                                       \
  add.operator()<double, double, double>(#name, ::name);                                           \
  add.operator()<float, float, float>(#name "f", ::name##f);
  TREADLE_UNARY(acos)
  TREADLE_UNARY(acosh)
  TREADLE_UNARY(asin)
  TREADLE_UNARY(asinh)
  TREADLE_UNARY(atan)
  TREADLE_UNARY(atanh)
  TREADLE_UNARY(cbrt)
  TREADLE_UNARY(ceil)
  TREADLE_UNARY(cos)
  TREADLE_UNARY(cosh)
  TREADLE_UNARY(erf)
  TREADLE_UNARY(erfc)
  TREADLE_UNARY(exp)
  TREADLE_UNARY(exp2)
  TREADLE_UNARY(expm1)
  TREADLE_UNARY(floor)
  TREADLE_UNARY(log)
  TREADLE_UNARY(log10)
  TREADLE_UNARY(log1p)
  TREADLE_UNARY(log2)
  TREADLE_UNARY(nearbyint)
  TREADLE_UNARY(rint)
  TREADLE_UNARY(round)
  TREADLE_UNARY(sin)
  TREADLE_UNARY(sinh)
  TREADLE_UNARY(sqrt)
  TREADLE_UNARY(tan)
  TREADLE_UNARY(tanh)
  TREADLE_UNARY(trunc)
  TREADLE_BINARY(atan2)
  TREADLE_BINARY(fmax)
  TREADLE_BINARY(fmin)
  TREADLE_BINARY(fmod)
  TREADLE_BINARY(hypot)
  TREADLE_BINARY(pow)
#undef TREADLE_UNARY
#undef TREADLE_BINARY
  add.operator()<double, double, double, double>("fma", ::fma);
  add.operator()<float, float, float, float>("fmaf", ::fmaf);
  add.operator()<double, double, int>("ldexp", ::ldexp);
  add.operator()<float, float, int>("ldexpf", ::ldexpf);
  add.operator()<void, double, double *, double *>("sincos", ::sincos);
  add.operator()<void, float, float *, float *>("sincosf", ::sincosf);
  add("__truncsfhf2", __truncsfhf2);
  add("__truncdfhf2", __truncdfhf2);
  add("__extendhfsf2", __extendhfsf2);
  return found;
}

} // namespace treadle::codegen
