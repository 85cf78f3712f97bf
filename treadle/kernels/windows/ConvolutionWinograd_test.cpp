// Convolutions with fewer products against the ordinary ones.
#include "treadle/kernels/KernelTest.h"
#include "treadle/kernels/windows/ConvolutionByMatrix.h"
#include "treadle/runtime/Execution.h"

#include <limits>

namespace treadle {
namespace {

// Small integers: sums are exact in any order, and so are halves and quarters of them.
Tensor smallIntegers(std::vector<int64_t> dims, int64_t seed) {
  Tensor t = *Tensor::make(DType::Float32, dims);
  for (int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = static_cast<float>((i * 7 + seed) % 11 - 5);
  return t;
}

struct Case {
  int64_t batch, rows, columns, in, out;
  bool isSame;
};

PlacedConvolution placed(const Case &c) {
  int64_t margin = c.isSame ? 1 : 0;
  Window w{{1, c.rows, c.columns},
           {1, c.rows - 2 + 2 * margin, c.columns - 2 + 2 * margin},
           {1, 3, 3},
           {1, 1, 1},
           {1, 1, 1},
           {0, margin, margin}};
  return {w, c.batch, c.in, c.out};
}

class WinogradCases : public testing::TestWithParam<Case> {};

TEST_P(WinogradCases, GiveWhatProductsOfWindowsGive) {
  const Case &c = GetParam();
  PlacedConvolution place = placed(c);
  Tensor image = smallIntegers({c.batch, c.rows, c.columns, c.in}, 1);
  Tensor filter = smallIntegers({3, 3, c.in, c.out}, 2);
  AttrMap attrs;
  attrs.set("strides", std::vector<int64_t>{1, 1, 1, 1});
  attrs.set("padding", std::string(c.isSame ? "SAME" : "VALID"));
  Tensor expected = run1("Conv2D", {image, filter}, DType::Float32, attrs);
  Execution ctx;
  auto packed = packForWinograd(ctx, filter.data<float>(), c.in, c.out);
  ASSERT_TRUE(packed);
  Tensor out = smallIntegers({expected.dims().begin(), expected.dims().end()}, 3);
  ASSERT_TRUE(
      convolveWinograd(ctx, place, image.data<float>(), *packed, out.data<float>(), nullptr));
  EXPECT_EQ(values<float>(out), values<float>(expected));

  // One number that is none, or none that is finite, can't be told from its neighbours'.
  for (float odd :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    image.data<float>()[image.count() / 2] = odd;
    EXPECT_FALSE(
        convolveWinograd(ctx, place, image.data<float>(), *packed, out.data<float>(), nullptr));
  }
}

INSTANTIATE_TEST_SUITE_P(Convolution, WinogradCases,
                         testing::Values(Case{1, 14, 14, 64, 64, true},
                                         Case{2, 13, 17, 33, 40, true},
                                         Case{1, 15, 14, 32, 130, false},
                                         Case{3, 9, 60, 40, 32, false}, Case{1, 4, 3, 1, 1, true},
                                         Case{1, 3, 3, 2, 5, false},
                                         Case{1, 12, 130, 32, 96, true}));

TEST(Winograd, IsForSquareWindowsOfManyChannelsAndPoints) {
  auto suits = [](const Case &c, auto change) {
    PlacedConvolution place = placed(c);
    change(place.window);
    return suitsWinograd(place);
  };
  auto nothing = [](Window &) {};
  EXPECT_TRUE(suits({1, 14, 14, 64, 64, true}, nothing));
  EXPECT_FALSE(suits({1, 14, 14, 16, 64, true}, nothing));
  EXPECT_FALSE(suits({1, 14, 14, 64, 16, true}, nothing));
  EXPECT_FALSE(suits({1, 7, 7, 64, 64, true}, nothing));
  EXPECT_FALSE(suits({1, 14, 14, 64, 64, true}, [](Window &w) { w.stride[1] = 2; }));
  EXPECT_FALSE(suits({1, 14, 14, 64, 64, true}, [](Window &w) { w.dilation[2] = 2; }));
  EXPECT_FALSE(suits({1, 14, 14, 64, 64, true}, [](Window &w) { w.size[2] = 5; }));
}

} // namespace
} // namespace treadle
