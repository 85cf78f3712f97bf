// Plans against the definition of convolution in double, for random convolutions.
#include "treadle/kernels/windows/ConvolutionPlan.h"
#include "treadle/runtime/Execution.h"
#include "treadle/testing/KernelTest.h"

#include <cmath>
#include <random>

namespace treadle {
namespace {

class Random {
public:
  explicit Random(unsigned seed) : bits(seed) {}
  int64_t between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(bits);
  }
  bool chance(int64_t of) { return between(1, of) == 1; }
  std::vector<float> numbers(int64_t count) {
    std::vector<float> out(static_cast<size_t>(count));
    for (float &x : out)
      x = static_cast<float>(between(-8, 8)) / 4;
    return out;
  }

private:
  std::mt19937 bits;
};

int64_t volume(const Volume &v) { return v[0] * v[1] * v[2]; }

ConvolutionForm randomForm(Random &random) {
  ConvolutionForm form;
  PlacedConvolution &c = form.place;
  Window &w = c.window;
  auto rank = static_cast<size_t>(random.between(1, 3));
  w = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}};
  for (size_t d = 3 - rank; d < 3; ++d) {
    w.size[d] = random.between(1, 4);
    w.stride[d] = random.between(1, 3);
    w.dilation[d] = random.chance(4) ? 2 : 1;
    int64_t extent = (w.size[d] - 1) * w.dilation[d] + 1;
    w.padBefore[d] = random.between(0, extent - 1);
    w.in[d] = random.between(1, 14) + extent - w.padBefore[d] - 1;
    int64_t after = random.between(0, extent - 1);
    w.out[d] = std::max<int64_t>(w.in[d] + w.padBefore[d] + after - extent, 0) / w.stride[d] + 1;
  }
  c.batch = random.between(1, 3);
  form.groups = random.chance(3) ? random.between(2, 4) * 4 : 1;
  bool isDepthwise = form.groups > 1 && random.chance(2);
  c.inChannels = form.groups * (isDepthwise ? 1 : random.between(1, form.groups > 1 ? 4 : 40));
  c.outChannels = form.groups * (isDepthwise ? 1 : random.between(1, form.groups > 1 ? 4 : 70));
  form.wanted = static_cast<ConvolutionOperand>(random.between(0, 2));
  form.outermostFirst = random.chance(3);
  form.parts = static_cast<int>(random.between(1, 5));
  if (form.wanted == ConvolutionOperand::Result) {
    form.hasOffset = random.chance(2);
    form.adds = random.chance(3);
    using enum Activation;
    constexpr Activation all[] = {None, Relu, Relu6, LeakyRelu};
    form.activation = all[random.between(0, 3)];
    form.alpha = form.activation == LeakyRelu ? 0.25F : 0;
  }
  return form;
}

/// Visits all products of elements of input, filter and result.
template <typename Visit> void forEachProduct(const ConvolutionForm &form, Visit visit) {
  const PlacedConvolution &c = form.place;
  int64_t perGroup = c.outChannels / form.groups, depth = c.inChannels / form.groups;
  for (int64_t n = 0; n < c.batch; ++n)
    forEachTap(c.window, [&](int64_t o, int64_t i, int64_t k) {
      int64_t out = (n * volume(c.window.out) + o) * c.outChannels;
      int64_t in = (n * volume(c.window.in) + i) * c.inChannels;
      for (int64_t oc = 0; oc < c.outChannels; ++oc)
        for (int64_t ic = 0; ic < depth; ++ic) {
          int64_t filter = form.outermostFirst ? (oc * depth + ic) * volume(c.window.size) + k
                                               : (k * depth + ic) * c.outChannels + oc;
          visit(in + oc / perGroup * depth + ic, filter, out + oc);
        }
    });
}

double activated(const ConvolutionForm &form, double x) {
  switch (form.activation) {
  case Activation::Relu:
    return std::max(x, 0.0);
  case Activation::Relu6:
    return std::clamp(x, 0.0, 6.0);
  case Activation::LeakyRelu:
    return x > 0 ? x : x * form.alpha;
  default:
    return x;
  }
}

struct Numbers {
  std::vector<float> in, filter, out, offset, factor;
};

std::vector<float> byPlan(const ConvolutionPlan &plan, const ConvolutionForm &form,
                          const Numbers &given) {
  Execution ctx;
  if (form.wanted == ConvolutionOperand::FilterGradient) {
    std::vector<float> result(given.filter.size(), NAN);
    plan.runFilterGradient(ctx, given.in.data(), given.out.data(), result.data());
    return result;
  }
  bool isResult = form.wanted == ConvolutionOperand::Result;
  auto ordered =
      plan.order(ctx, given.filter.data(), given.factor.empty() ? nullptr : given.factor.data());
  EXPECT_TRUE(plan.canReadFilter(*ordered));
  EXPECT_TRUE(std::ranges::equal(factorOf(*ordered), given.factor));
  std::vector<float> result = given.out;
  if (!isResult || !form.adds)
    result.assign(isResult ? given.out.size() : given.in.size(), NAN);
  plan.run(ctx, isResult ? given.in.data() : given.out.data(), *ordered,
           form.hasOffset ? given.offset.data() : nullptr, result.data(), {});
  return result;
}

std::vector<double> asWritten(const ConvolutionForm &form, const Numbers &given) {
  std::vector<double> in(given.in.size()), filter(given.filter.size()), out(given.out.size());
  auto channels = static_cast<size_t>(form.place.outChannels);
  forEachProduct(form, [&](int64_t i, int64_t k, int64_t o) {
    auto at = [](const std::vector<float> &v, int64_t j) { return v[static_cast<size_t>(j)]; };
    double by = given.factor.empty() ? 1 : given.factor[static_cast<size_t>(o) % channels];
    in[static_cast<size_t>(i)] += at(given.out, o) * at(given.filter, k);
    filter[static_cast<size_t>(k)] += at(given.in, i) * at(given.out, o);
    out[static_cast<size_t>(o)] += at(given.in, i) * at(given.filter, k) * by;
  });
  if (form.wanted == ConvolutionOperand::InputGradient)
    return in;
  if (form.wanted == ConvolutionOperand::FilterGradient)
    return filter;
  for (size_t o = 0; o < out.size(); ++o)
    out[o] = activated(form, out[o] + (form.hasOffset ? given.offset[o % channels] : 0) +
                                 (form.adds ? given.out[o] : 0));
  return out;
}

void expectTheSumsOverWindows(const ConvolutionPlan &plan, const ConvolutionForm &form,
                              Random &random) {
  const PlacedConvolution &c = form.place;
  Numbers given;
  given.in = random.numbers(c.batch * volume(c.window.in) * c.inChannels);
  given.filter = random.numbers(volume(c.window.size) * c.inChannels / form.groups * c.outChannels);
  given.out = random.numbers(c.batch * volume(c.window.out) * c.outChannels);
  given.offset = random.numbers(c.outChannels);
  if (form.wanted == ConvolutionOperand::Result && random.chance(2))
    given.factor = random.numbers(c.outChannels);
  std::vector<float> found = byPlan(plan, form, given);
  std::vector<double> expected = asWritten(form, given);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << "element " << i;
}

TEST(ConvolutionPlan, EqualsTheDefinition) {
  int planned = 0, total = 1500;
  for (int seed = 0; seed < total; ++seed) {
    SCOPED_TRACE(seed);
    Random random(static_cast<unsigned>(seed));
    ConvolutionForm form = randomForm(random);
    auto plan = ConvolutionPlan::make(form);
    if (!plan)
      continue;
    ++planned;
    ASSERT_NO_FATAL_FAILURE(expectTheSumsOverWindows(*plan, form, random));
  }
  EXPECT_GT(planned, total / 2);
}

// More positions than are summed at a time: in one line, and in many.
TEST(ConvolutionPlan, GradientsOfFiltersOfLargeImages) {
  Random random(7);
  ConvolutionForm form;
  form.wanted = ConvolutionOperand::FilterGradient;
  form.parts = 2;
  for (int64_t stride : {1, 2})
    for (int64_t lines : {1, 19}) {
      Window w{{1, lines, 1201}, {1, lines, 0}, {1, 1, 3}, {1, 1, stride}, {1, 1, 1}, {0, 0, 1}};
      w.out[2] = 1200 / stride + 1;
      form.place = {w, 1, 5, 20};
      form.outermostFirst = lines == 1;
      auto plan = ConvolutionPlan::make(form);
      ASSERT_TRUE(plan);
      ASSERT_NO_FATAL_FAILURE(expectTheSumsOverWindows(*plan, form, random));
    }
}

// All calls give bitwise equal results.
TEST(ConvolutionPlan, SmallOnesAreMadeAtTheFirstCall) {
  ConvolutionForm form;
  form.place = {{{1, 5, 5}, {1, 5, 5}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}}, 1, 16, 16};
  ConvolutionPlans plans;
  auto plan = plans.find(form);
  EXPECT_TRUE(plan);
  EXPECT_EQ(plans.find(form), plan);
}

// Merged groups multiply by zeros outside their own channels.
TEST(ConvolutionPlan, MergedGroupsTakeOnlyFiniteNumbers) {
  ConvolutionForm form;
  form.place = {{{1, 8, 8}, {1, 8, 8}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}}, 1, 8, 8};
  form.groups = 4;
  auto plan = ConvolutionPlan::make(form);
  ASSERT_TRUE(plan);
  std::vector<float> image(8 * 8 * 8, 1);
  EXPECT_TRUE(plan->supportsElements(image.data()));
  for (float odd : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                    std::numeric_limits<float>::quiet_NaN()}) {
    image[511] = odd;
    EXPECT_FALSE(plan->supportsElements(image.data()));
    EXPECT_FALSE(plan->supportsAllElements());
  }
  form.groups = 1;
  EXPECT_TRUE(ConvolutionPlan::make(form)->supportsElements(image.data()));
}

TEST(ConvolutionPlan, EmptyConvolutionsHaveNone) {
  ConvolutionForm form;
  form.place = {{{1, 8, 8}, {1, 8, 8}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}}, 0, 16, 16};
  form.parts = 2;
  for (ConvolutionOperand wanted : {ConvolutionOperand::Result, ConvolutionOperand::InputGradient,
                                    ConvolutionOperand::FilterGradient}) {
    form.wanted = wanted;
    form.place.batch = 0;
    EXPECT_FALSE(ConvolutionPlan::make(form));
    form.place.batch = 1;
    form.place.window.in = {1, 0, 8};
    EXPECT_FALSE(ConvolutionPlan::make(form));
    form.place.window.in = {1, 8, 8};
    EXPECT_TRUE(ConvolutionPlan::make(form));
  }
}

TEST(ConvolutionPlan, ImplausibleSizesAreRejected) {
  ConvolutionForm form;
  int64_t huge = int64_t{1} << 40;
  form.place = {{{1, 1, huge}, {1, 1, huge}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}}, 1, 8, 8};
  EXPECT_FALSE(ConvolutionPlan::make(form));
  form.place.window.in[2] = form.place.window.out[2] = 4;
  form.place.window.padBefore[2] = huge;
  EXPECT_FALSE(ConvolutionPlan::make(form));
}

} // namespace
} // namespace treadle
