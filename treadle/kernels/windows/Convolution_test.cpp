#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;
using Longs = std::vector<int64_t>;

AttrMap window(Longs strides, std::string padding, Longs size = {}) {
  AttrMap attrs;
  attrs.set("strides", std::move(strides));
  attrs.set("padding", std::move(padding));
  if (!size.empty())
    attrs.set("ksize", std::move(size));
  return attrs;
}

const Tensor image = iota<float>({1, 3, 3, 1}, 1); // 1 to 9
const Tensor ones = tensor<float>({2, 2, 1, 1}, {1, 1, 1, 1});

TEST(Convolution, ValidAndSame) {
  Tensor valid = run1("Conv2D", {image, ones}, DType::Float32, window({1, 1, 1, 1}, "VALID"));
  EXPECT_EQ(dimsText(valid.dims()), "[1,2,2,1]");
  EXPECT_EQ(values<float>(valid), (Floats{12, 16, 24, 28}));
  // SAME puts the odd row and column of padding at the end.
  EXPECT_EQ(
      values<float>(run1("Conv2D", {image, ones}, DType::Float32, window({1, 2, 2, 1}, "SAME"))),
      (Floats{12, 9, 15, 9}));
}

TEST(Convolution, ChannelsFirstGivesTheSameMoved) {
  AttrMap attrs = window({1, 1, 1, 1}, "VALID");
  attrs.set("data_format", std::string("NCHW"));
  Tensor x = tensor<float>({1, 2, 1, 2}, {1, 2, 10, 20});
  Tensor filter = tensor<float>({1, 1, 2, 2}, {1, 3, 2, 4}); // [in, out]
  EXPECT_EQ(values<float>(run1("Conv2D", {x, filter}, DType::Float32, attrs)),
            (Floats{21, 42, 43, 86}));
}

TEST(Convolution, GroupsSeeTheirOwnChannels) {
  Tensor x = tensor<float>({1, 1, 1, 4}, {1, 2, 3, 4});
  Tensor filter = tensor<float>({1, 1, 2, 2}, {1, 10, 1, 10});
  EXPECT_EQ(
      values<float>(run1("Conv2D", {x, filter}, DType::Float32, window({1, 1, 1, 1}, "VALID"))),
      (Floats{3, 70}));
}

TEST(Convolution, DepthwiseWithAMultiplier) {
  Tensor x = tensor<float>({1, 1, 1, 2}, {1, 2}),
         filter = tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values<float>(run1("DepthwiseConv2dNative", {x, filter}, DType::Float32,
                               window({1, 1, 1, 1}, "VALID"))),
            (Floats{1, 2, 6, 8}));
}

// Converts [rows, columns, in, out] to [out, in, rows, columns].
Tensor outermostFirst(const Tensor &filter) {
  return run1("Transpose", {filter, vec<int32_t>({3, 2, 0, 1})}, filter.dtype());
}

// Floats use a plan from the second call with the same size on, and before that the same code as
// doubles.
template <typename T> void compareFilterFormats() {
  DType dtype = dtypeOf<T>;
  AttrMap plain = window({1, 1, 2, 1}, "SAME"), turned = plain;
  turned.set("filter_format", std::string("OIHW"));
  Tensor x = iota<T>({2, 5, 6, 3}, -40), filter = iota<T>({3, 2, 3, 4}, -30);
  Tensor y = run1("Conv2D", {x, filter}, dtype, plain);
  EXPECT_EQ(values<T>(run1("Conv2D", {x, outermostFirst(filter)}, dtype, turned)), values<T>(y));
  Tensor sizes = vec<int32_t>({2, 5, 6, 3});
  EXPECT_EQ(
      values<T>(run1("Conv2DBackpropInput", {sizes, outermostFirst(filter), y}, dtype, turned)),
      values<T>(run1("Conv2DBackpropInput", {sizes, filter, y}, dtype, plain)));
  Tensor gradient = run1("Conv2DBackpropFilter", {x, vec<int32_t>({3, 2, 3, 4}), y}, dtype, plain);
  Tensor found = run1("Conv2DBackpropFilter", {x, vec<int32_t>({4, 3, 3, 2}), y}, dtype, turned);
  EXPECT_EQ(dimsText(found.dims()), "[4,3,3,2]");
  EXPECT_EQ(values<T>(found), values<T>(outermostFirst(gradient)));
}

TEST(Convolution, FiltersMayHaveTheirOutputsFirst) {
  compareFilterFormats<float>();
  compareFilterFormats<double>();
}

// <conv(x, f), g> is linear in x and in f: with both gradients it must give the same number.
TEST(Convolution, GradientsAreAdjoint) {
  AttrMap attrs = window({1, 2, 1, 1}, "SAME");
  Tensor x = iota<double>({2, 4, 3, 2}, -7), f = iota<double>({2, 3, 2, 3}, 3);
  Tensor y = run1("Conv2D", {x, f}, DType::Float64, attrs);
  Tensor g = *Tensor::make(DType::Float64, y.dims());
  for (int64_t i = 0; i < g.count(); ++i)
    g.data<double>()[i] = static_cast<double>(i * i % 7);
  auto dot = [](const Tensor &a, const Tensor &b) {
    double sum = 0;
    for (int64_t i = 0; i < a.count(); ++i)
      sum += a.data<double>()[i] * b.data<double>()[i];
    return sum;
  };
  Tensor dx =
      run1("Conv2DBackpropInput", {vec<int32_t>({2, 4, 3, 2}), f, g}, DType::Float64, attrs);
  Tensor df =
      run1("Conv2DBackpropFilter", {x, vec<int32_t>({2, 3, 2, 3}), g}, DType::Float64, attrs);
  EXPECT_DOUBLE_EQ(dot(dx, x), dot(y, g));
  EXPECT_DOUBLE_EQ(dot(df, f), dot(y, g));
}

TEST(Convolution, WrongShapes) {
  AttrMap attrs = window({1, 1, 1, 1}, "VALID");
  EXPECT_EQ(errorClassOf("Conv2D", {vec<float>({1}), ones}, {}, attrs), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("Conv2D", {image, tensor<float>({2, 2, 2, 1}, Floats(8))}, {}, attrs),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("Conv2D", {image, tensor<float>({9, 1, 1, 1}, Floats(9))}, {}, attrs),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("Conv2DBackpropInput", {vec<int32_t>({1, -3, 3, 1}), ones, image},
                         {DType::Float32}, attrs),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("Conv2D", {image, ones}, {}, window({1, 1, 1, 2}, "VALID")),
            "UnimplementedError");
}

TEST(Pooling, MaximaAndMeans) {
  EXPECT_EQ(values<float>(run1("MaxPool", {image}, DType::Float32,
                               window({1, 1, 1, 1}, "VALID", {1, 2, 2, 1}))),
            (Floats{5, 6, 8, 9}));
  // Padding isn't counted.
  EXPECT_EQ(values<float>(run1("AvgPool", {image}, DType::Float32,
                               window({1, 2, 2, 1}, "SAME", {1, 2, 2, 1}))),
            (Floats{3, 4.5, 7.5, 9}));
  Tensor size = vec<int32_t>({1, 3, 3, 1});
  EXPECT_EQ(
      values<float>(run1("MaxPoolV2", {image, size, size}, DType::Float32, window({}, "VALID"))),
      (Floats{9}));
  // Positions far outside are skipped.
  Tensor huge = vec<int32_t>({1, 2'000'000'000, 2'000'000'000, 1});
  EXPECT_EQ(
      values<float>(run1("MaxPoolV2", {image, huge, size}, DType::Float32, window({}, "SAME"))),
      (Floats{9}));
}

TEST(Pooling, AlongChannels) {
  Tensor x = tensor<float>({1, 1, 1, 4}, {1, 5, 3, 2});
  EXPECT_EQ(values<float>(
                run1("MaxPool", {x}, DType::Float32, window({1, 1, 1, 2}, "VALID", {1, 1, 1, 2}))),
            (Floats{5, 3}));
  AttrMap pairs = window({1, 1, 1, 2}, "VALID", {1, 1, 1, 2});
  EXPECT_EQ(values<float>(run1("AvgPool", {x}, DType::Float32, pairs)), (Floats{3, 2.5}));
  Tensor g = tensor<float>({1, 1, 1, 2}, {2, 4});
  EXPECT_EQ(
      values<float>(run1("AvgPoolGrad", {vec<int32_t>({1, 1, 1, 4}), g}, DType::Float32, pairs)),
      (Floats{1, 1, 2, 2}));
  EXPECT_EQ(errorClassOf("MaxPool", {x}, {}, window({1, 1, 1, 1}, "VALID", {1, 1, 1, 2})),
            "UnimplementedError");
}

TEST(Pooling, GradientsFlowToTheSelectedElements) {
  AttrMap attrs = window({1, 1, 1, 1}, "VALID", {1, 2, 2, 1});
  Tensor y = run1("MaxPool", {image}, DType::Float32, attrs);
  Tensor g = tensor<float>({1, 2, 2, 1}, {1, 2, 4, 8});
  EXPECT_EQ(values<float>(run1("MaxPoolGrad", {image, y, g}, DType::Float32, attrs)),
            (Floats{0, 0, 0, 0, 1, 2, 0, 4, 8}));
  EXPECT_EQ(
      values<float>(run1("AvgPoolGrad", {vec<int32_t>({1, 3, 3, 1}), g}, DType::Float32, attrs)),
      (Floats{0.25, 0.75, 0.5, 1.25, 3.75, 2.5, 1, 3, 2}));
  EXPECT_EQ(errorClassOf("MaxPoolGrad", {image, y, image}, {}, attrs), "InvalidArgumentError");
}

TEST(Pooling, WindowThatIsNotStated) {
  AttrMap attrs = window({1, 1, 1, 1}, "VALID", {});
  for (const char *op : {"AvgPool", "MaxPool"})
    EXPECT_EQ(errorClassOf(op, {image}, {DType::Float32}, attrs), "InvalidArgumentError");
}

TEST(Pooling, SumsOfIntegersWrapAround) {
  AttrMap attrs = window({1, 1, 1, 1}, "VALID", {1, 1, 2, 1});
  Tensor image = tensor<int32_t>({1, 1, 3, 1}, {0, 1, 0}),
         y = tensor<int32_t>({1, 1, 2, 1}, {1, 1}),
         most = tensor<int32_t>({1, 1, 2, 1}, {INT32_MAX, INT32_MAX}),
         where = tensor<int64_t>({1, 1, 2, 1}, {1, 1});
  std::vector<int32_t> sums = {0, -2, 0};
  EXPECT_EQ(values<int32_t>(run1("MaxPoolGrad", {image, y, most}, DType::Int32, attrs)), sums);
  EXPECT_EQ(
      values<int32_t>(run1("MaxPoolGradWithArgmax", {image, most, where}, DType::Int32, attrs)),
      sums);
}

TEST(Pooling, ArgmaxIsTheFirstOfEquals) {
  AttrMap attrs = window({1, 2, 2, 1}, "VALID", {1, 2, 2, 1});
  auto out = runAll("MaxPoolWithArgmax", {tensor<float>({1, 2, 2, 1}, {1, 7, 7, 0})},
                    {DType::Float32, DType::Int64}, attrs);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<float>(out[0]), (Floats{7}));
  EXPECT_EQ(values<int64_t>(out[1]), (Longs{1}));
}

// TensorFlow's pools ignore NaN. PyTorch's take the last NaN, and their indices don't count
// channels.
TEST(Pooling, PyTorchPoolsSelectNaN) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), low = -INFINITY;
  Tensor x = tensor<float>({1, 1, 4, 2}, {1, low, nan, low, nan, low, 7, low});
  AttrMap attrs = window({1, 1, 2, 1}, "EXPLICIT", {1, 1, 2, 1});
  attrs.set("explicit_paddings", std::vector<int64_t>{0, 0, 0, 0, 1, 1, 0, 0});
  attrs.set("dilations", std::vector<int64_t>{1, 1, 1, 1});
  Floats most = values<float>(run1("_MaxPool", {x}, DType::Float32, attrs));
  ASSERT_EQ(most.size(), 6U);
  EXPECT_EQ(most[0], 1);
  EXPECT_TRUE(std::isnan(most[2]));
  EXPECT_EQ(most[4], 7);
  auto out = runAll("_MaxPoolWithPlaces", {x}, {DType::Float32, DType::Int64}, attrs);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_TRUE(std::isnan(values<float>(out[0])[2]));
  EXPECT_EQ(values<int64_t>(out[1]), (Longs{0, 0, 2, 1, 3, 3}));
}

TEST(Pooling, PyTorchPoolsSupportDilation) {
  Tensor x = tensor<float>({1, 1, 1, 5, 1}, {1, 9, 3, 8, 2});
  AttrMap attrs = window({1, 1, 1, 1, 1}, "EXPLICIT", {1, 1, 1, 3, 1});
  attrs.set("explicit_paddings", std::vector<int64_t>{0, 0, 0, 0, 0, 0, 2, 2, 0, 0});
  attrs.set("dilations", std::vector<int64_t>{1, 1, 1, 2, 1});
  EXPECT_EQ(values<float>(run1("_MaxPool", {x}, DType::Float32, attrs)), (Floats{3, 9, 3, 9, 3}));
  auto out = runAll("_MaxPoolWithPlaces", {x}, {DType::Float32, DType::Int64}, attrs);
  EXPECT_EQ(values<int64_t>(out[1]), (Longs{2, 1, 2, 1, 2}));
}

// Channels that fill a register and some more, overlapping windows, and equal numbers.
TEST(Pooling, IndicesOfMaximaWithManyChannels) {
  AttrMap attrs = window({1, 2, 2, 1}, "SAME", {1, 3, 3, 1});
  attrs.set("include_batch_in_index", true);
  constexpr int64_t images = 2, size = 7, channels = 19;
  Tensor x = *Tensor::make(DType::Float32, {images, size, size, channels});
  for (int64_t i = 0; i < x.count(); ++i)
    x.data<float>()[i] = static_cast<float>(i * 37 % 11);
  auto out = runAll("MaxPoolWithArgmax", {x}, {DType::Float32, DType::Int64}, attrs);
  ASSERT_EQ(out.size(), 2u);
  Tensor most = run1("MaxPool", {x}, DType::Float32, attrs);
  EXPECT_EQ(values<float>(out[0]), values<float>(most));
  constexpr int64_t results = 4, each = results * results * channels;
  for (int64_t o = 0; o < most.count(); ++o) {
    int64_t place = out[1].data<int64_t>()[o];
    EXPECT_EQ(x.data<float>()[place], most.data<float>()[o]) << o;
    EXPECT_EQ(place % channels, o % channels) << o;
    EXPECT_EQ(place / (size * size * channels), o / each) << o;
    int64_t row = place / channels / size % size, outRow = o % each / channels / results;
    EXPECT_LE(std::abs(row - 2 * outRow), 1) << o;
  }
}

TEST(Pooling, GradientsOfGradientsAreTakenAtTheMaxima) {
  AttrMap attrs = window({1, 2, 2, 1}, "VALID", {1, 2, 2, 1});
  Tensor images = tensor<float>({2, 2, 2, 1}, {1, 7, 7, 0, 5, 4, 3, 2});
  Tensor g = tensor<float>({2, 2, 2, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
  auto taken = [&](std::vector<int64_t> places) {
    return run1("MaxPoolGradGradWithArgmax", {images, g, tensor<int64_t>({2, 1, 1, 1}, places)},
                DType::Float32, attrs);
  };
  EXPECT_EQ(values<float>(taken({1, 0})), (Floats{2, 5}));
  EXPECT_EQ(dimsText(taken({1, 0}).dims()), "[2,1,1,1]");
  attrs.set("include_batch_in_index", true);
  EXPECT_EQ(values<float>(taken({1, 7})), (Floats{2, 8}));
  EXPECT_EQ(errorClassOf("MaxPoolGradGradWithArgmax",
                         {images, g, tensor<int64_t>({2, 1, 1, 1}, {1, 8})}, {DType::Float32},
                         attrs),
            "InvalidArgumentError");
}

// --- against the definition ----------------------------------------------------------------------

struct Case {
  int64_t batch, rows, columns, in, out, window, stride, dilation;
  const char *padding;
};

/// Convolves images by the definition, with a callback for each product.
template <typename Visit> void forEachProduct(const Case &c, Visit visit) {
  int64_t reach = (c.window - 1) * c.dilation + 1;
  bool isSame = std::string_view(c.padding) == "SAME";
  auto outSize = [&](int64_t in) {
    return isSame ? (in + c.stride - 1) / c.stride : (in - reach) / c.stride + 1;
  };
  auto before = [&](int64_t in) {
    return isSame ? std::max<int64_t>(0, (outSize(in) - 1) * c.stride + reach - in) / 2 : 0;
  };
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t y = 0; y < outSize(c.rows); ++y)
      for (int64_t x = 0; x < outSize(c.columns); ++x)
        for (int64_t i = 0; i < c.window; ++i)
          for (int64_t j = 0; j < c.window; ++j) {
            int64_t row = y * c.stride - before(c.rows) + i * c.dilation;
            int64_t column = x * c.stride - before(c.columns) + j * c.dilation;
            if (row < 0 || row >= c.rows || column < 0 || column >= c.columns)
              continue;
            visit((n * outSize(c.rows) + y) * outSize(c.columns) + x,
                  (n * c.rows + row) * c.columns + column, i * c.window + j);
          }
}

// Small integers, so that sums are exact in any order.
Tensor smallIntegers(std::vector<int64_t> dims, int64_t seed) {
  Tensor t = *Tensor::make(DType::Float32, dims);
  for (int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = static_cast<float>((i * 7 + seed) % 11 - 5);
  return t;
}

Tensor sizesOf(const Tensor &t) {
  Ints sizes(t.dims().begin(), t.dims().end());
  return tensor<int32_t>({static_cast<int64_t>(sizes.size())}, sizes);
}

class ConvolutionCases : public testing::TestWithParam<Case> {};

TEST_P(ConvolutionCases, AreSumsOfProducts) {
  const Case &c = GetParam();
  AttrMap attrs = window({1, c.stride, c.stride, 1}, c.padding);
  attrs.set("dilations", Longs{1, c.dilation, c.dilation, 1});
  Tensor image = smallIntegers({c.batch, c.rows, c.columns, c.in}, 1);
  Tensor filter = smallIntegers({c.window, c.window, c.in, c.out}, 2);
  Tensor result = run1("Conv2D", {image, filter}, DType::Float32, attrs);
  Tensor gradient = smallIntegers({result.dims().begin(), result.dims().end()}, 3);
  Floats out(result.count()), images(image.count()), filters(filter.count());
  forEachProduct(c, [&](int64_t o, int64_t i, int64_t k) {
    for (int64_t ci = 0; ci < c.in; ++ci)
      for (int64_t co = 0; co < c.out; ++co) {
        int64_t x = i * c.in + ci, w = (k * c.in + ci) * c.out + co, y = o * c.out + co;
        out[y] += image.data<float>()[x] * filter.data<float>()[w];
        images[x] += gradient.data<float>()[y] * filter.data<float>()[w];
        filters[w] += gradient.data<float>()[y] * image.data<float>()[x];
      }
  });
  EXPECT_EQ(values<float>(result), out);
  EXPECT_EQ(values<float>(run1("Conv2DBackpropInput", {sizesOf(image), filter, gradient},
                               DType::Float32, attrs)),
            images);
  EXPECT_EQ(values<float>(run1("Conv2DBackpropFilter", {image, sizesOf(filter), gradient},
                               DType::Float32, attrs)),
            filters);
}

TEST_P(ConvolutionCases, DepthwiseToo) {
  const Case &c = GetParam();
  AttrMap attrs = window({1, c.stride, c.stride, 1}, c.padding);
  attrs.set("dilations", Longs{1, c.dilation, c.dilation, 1});
  Tensor image = smallIntegers({c.batch, c.rows, c.columns, c.in}, 1);
  Tensor filter = smallIntegers({c.window, c.window, c.in, 1}, 2);
  Tensor result = run1("DepthwiseConv2dNative", {image, filter}, DType::Float32, attrs);
  Floats out(result.count());
  forEachProduct(c, [&](int64_t o, int64_t i, int64_t k) {
    for (int64_t ci = 0; ci < c.in; ++ci)
      out[o * c.in + ci] +=
          image.data<float>()[i * c.in + ci] * filter.data<float>()[k * c.in + ci];
  });
  EXPECT_EQ(values<float>(result), out);
}

INSTANTIATE_TEST_SUITE_P(
    Convolution, ConvolutionCases,
    testing::Values(
        Case{1, 5, 6, 3, 4, 3, 1, 1, "SAME"}, Case{2, 9, 7, 40, 5, 3, 2, 1, "SAME"},
        Case{1, 9, 9, 2, 70, 3, 1, 2, "SAME"}, Case{2, 8, 9, 33, 3, 2, 2, 3, "VALID"},
        Case{3, 19, 11, 6, 130, 1, 1, 1, "VALID"}, Case{1, 4, 4, 8, 8, 1, 2, 1, "SAME"},
        Case{1, 2, 2, 64, 3, 5, 1, 1, "SAME"}, Case{2, 30, 20, 3, 9, 5, 1, 1, "SAME"},
        Case{1, 12, 13, 40, 20, 5, 1, 1, "SAME"}, Case{2, 11, 9, 35, 18, 7, 1, 1, "SAME"},
        Case{1, 13, 10, 17, 9, 7, 2, 1, "VALID"}, Case{1, 14, 14, 20, 40, 5, 2, 1, "SAME"},
        Case{1, 7, 7, 512, 4, 3, 1, 1, "SAME"}, Case{1, 20, 20, 300, 130, 3, 1, 1, "SAME"},
        Case{1, 4, 4, 40, 300, 3, 1, 1, "SAME"}));

} // namespace
} // namespace treadle
