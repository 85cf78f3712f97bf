#include "treadle/kernels/KernelTest.h"

#include <cmath>
#include <numbers>

namespace treadle {
namespace {

TEST(SpecialFunctions, KnownValues) {
  expectNear<double>(run1("Lgamma", {vec<double>({1, 5, 0.5})}),
                     {0, std::log(24), std::log(std::numbers::pi) / 2}, 1e-12);
  expectNear<double>(run1("Digamma", {vec<double>({1})}), {-std::numbers::egamma}, 1e-12);
  expectNear<double>(run1("Ndtri", {vec<double>({0.5})}), {0}, 1e-12);
  expectNear<double>(run1("Erfinv", {vec<double>({std::erf(0.3), 0})}), {0.3, 0}, 1e-9);
  expectNear<double>(run1("BesselI0e", {vec<double>({0})}), {1}, 1e-12);
  expectNear<double>(run1("Zeta", {vec<double>({2}), vec<double>({1})}),
                     {std::numbers::pi * std::numbers::pi / 6}, 1e-12);
}

TEST(SpecialFunctions, IncompleteGammasAddUpToOne) {
  Tensor a = vec<float>({0.5, 2, 3}), x = scalar<float>(1.5);
  Tensor sum = run1("AddV2", {run1("Igamma", {a, x}), run1("Igammac", {a, x})});
  expectNear<float>(sum, {1, 1, 1}, 1e-6);
}

} // namespace
} // namespace treadle
