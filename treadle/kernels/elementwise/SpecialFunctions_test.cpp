#include "treadle/testing/KernelTest.h"

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

TEST(SpecialFunctions, PolesOfOrdersThatNoIntegerHolds) {
  for (const char *op : {"Zeta", "Polygamma"})
    for (double order : {1e30, HUGE_VAL})
      EXPECT_EQ(values<double>(run1(op, {vec<double>({order}), vec<double>({-1})})),
                std::vector<double>{HUGE_VAL})
          << op;
}

TEST(SpecialFunctions, IncompleteGammasAddUpToOne) {
  Tensor a = vec<float>({0.5, 2, 3}), x = scalar<float>(1.5);
  Tensor sum = run1("AddV2", {run1("Igamma", {a, x}), run1("Igammac", {a, x})});
  expectNear<float>(sum, {1, 1, 1}, 1e-6);
}

struct Known {
  const char *op;
  std::vector<double> values;
};

class ValuesOfTensorFlow : public testing::TestWithParam<Known> {};

// One argument for each interval of the approximations.
TEST_P(ValuesOfTensorFlow, AgreeToTheLastPlaces) {
  Tensor y = run1(GetParam().op, {vec<double>({.5, 1.75, 5, 9, 20, 40, 70})});
  for (size_t i = 0; i < GetParam().values.size(); ++i)
    EXPECT_NEAR(y.data<double>()[i] / GetParam().values[i], 1, 1e-12) << "element " << i;
}

INSTANTIATE_TEST_SUITE_P(
    Ops, ValuesOfTensorFlow,
    testing::Values(
        Known{"Dawsn",
              {0.4244363835020223, 0.35943642067174286, 0.10213407442427684, 0.055905046724350455,
               0.025031367926403675, 0.012503909917843973, 0.007143586229066141}},
        Known{"Expint",
              {0.45421990486317354, 4.083653659076957, 40.18527535580318, 1037.8782907170896,
               25615652.664056588, 6039718263611242.0, 3.6463527595797357e+28}},
        Known{"FresnelCos",
              {0.4923442258714464, 0.32193504614953783, 0.5636311887040122, 0.5353661274681198,
               0.49998733497234443, 0.4999984168574456, 0.49999970460298065}},
        Known{"FresnelSin",
              {0.06473243285999929, 0.49938467459067465, 0.4991913819171169, 0.4998610456296846,
               0.4840845359259539, 0.4920422537902731, 0.4954527159692282}},
        Known{"Spence",
              {0.5822405264650135, -0.6427612688399793, -2.3699397969983655, -3.6856760007574065,
               -5.927839724376521, -8.330297527721036, -10.594322433841809}},
        Known{"BesselJ0",
              {0.938469807240813, 0.36903253018515075, -0.1775967713143383, -0.0903336111828759,
               0.16702466434058325, 0.0073668905842369506, 0.09490872648301352}},
        Known{"BesselY1",
              {-1.4714723926702433, -0.25397298594624573, 0.14786314339122691, 0.10431457519671593,
               -0.16551161436252124, -0.005793505821549509, -0.09484465262571631}},
        Known{"BesselK1e",
              {2.7310097082117863, 1.1248950768625279, 0.6002738587883125, 0.43462524534743463,
               0.2854254969407265, 0.20000996725443349, 0.15059865101137912}}));

TEST(SpecialFunctions, BetaAndDerivativesOfGamma) {
  expectNear<double>(
      run1("Betainc", {scalar<double>(2), vec<double>({.5, 3}), vec<double>({.3, .9})}),
      {0.03784096948581311, 0.9963}, 1e-12);
  EXPECT_EQ(errorClassOf("Betainc", {vec<double>({1}), vec<double>({.5, 3}), scalar<double>(.9)}),
            "InvalidArgumentError");
  Tensor a = vec<double>({.5, 3}), x = vec<double>({.3, 2});
  expectNear<double>(run1("RandomGammaGrad", {a, x}), {1.0098019459488548, 0.856571422097807},
                     1e-12);
  expectNear<double>(run1("IgammaGradA", {a, x}), {-0.7705703513753518, -0.23184867204398962},
                     1e-12);
}

} // namespace
} // namespace treadle
