// Fused ops give the same results as their parts, one after the other.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;
using Names = std::vector<std::string>;

void expectAs(const Tensor &got, const Tensor &want, double tolerance) {
  Floats wanted = values<float>(want);
  expectNear<float>(got, {wanted.begin(), wanted.end()}, tolerance);
}

AttrMap fused(Names ops) {
  AttrMap attrs;
  attrs.set("fused_ops", std::move(ops));
  attrs.set("strides", Longs{1, 1, 1, 1});
  attrs.set("padding", std::string("SAME"));
  attrs.set("epsilon", 0.5f);
  attrs.set("leakyrelu_alpha", 0.25f);
  return attrs;
}

Tensor scattered(std::vector<int64_t> dims) {
  Tensor t = iota<float>(dims, 0);
  for (int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = static_cast<float>((i * 37 + 11) % 19 - 9) / 8;
  return t;
}

const Tensor left = scattered({40, 5}), right = scattered({5, 70}), bias = scattered({70});

TEST(FusedMatMul, ActivationsFollowTheBias) {
  Tensor sum = run1("BiasAdd", {run1("MatMul", {left, right}), bias});
  for (const char *name : {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid"})
    expectAs(run1("_FusedMatMul", {left, right, bias}, DType::Float32, fused({"BiasAdd", name})),
             run1(name, {sum}), 1e-6);
  AttrMap alpha;
  alpha.set("alpha", 0.25f);
  expectAs(
      run1("_FusedMatMul", {left, right, bias}, DType::Float32, fused({"BiasAdd", "LeakyRelu"})),
      run1("LeakyRelu", {sum}, DType::Float32, alpha), 1e-6);
}

TEST(FusedMatMul, GeluIsExactOrNot) {
  Tensor a = tensor<float>({1, 1}, {1}), b = tensor<float>({1, 4}, {0, 1, -2, -9});
  Tensor none = tensor<float>({4}, {0, 0, 0, 0});
  expectNear<float>(
      run1("_FusedMatMul", {a, b, none}, DType::Float32, fused({"BiasAdd", "GeluExact"})),
      {0, 0.84134475f, -0.04550026f, 0}, 1e-6);
  expectNear<float>(
      run1("_FusedMatMul", {a, b, none}, DType::Float32, fused({"BiasAdd", "GeluApproximate"})),
      {0, 0.841192f, -0.04540229f, 0}, 1e-6);
}

// Fused activations give the same results as their parts, as ops and in epilogues, NaN included.
TEST(FusedMatMul, FusedActivations) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  Tensor x = vec<float>({-100, -88, -20, -4, -3, -1, -0.5f, 0, 0.5f, 1, 3, 20, 100});
  Tensor three =
      run1("Fill", {vec<int32_t>({13}), Tensor::scalar(DType::Float32, 3.0f)}, DType::Float32);
  Tensor six =
      run1("Fill", {vec<int32_t>({13}), Tensor::scalar(DType::Float32, 6.0f)}, DType::Float32);
  Tensor hard = run1("RealDiv", {run1("Relu6", {run1("AddV2", {x, three})}), six});
  expectAs(run1("_Swish", {x}), run1("Mul", {x, run1("Sigmoid", {x})}), 1e-6);
  expectAs(run1("_HardSigmoid", {x}), hard, 1e-6);
  expectAs(run1("_HardSwish", {x}), run1("Mul", {x, hard}), 1e-5);
  Tensor row = scattered({1, 13}), one = tensor<float>({1, 1}, {1});
  for (const char *name : {"Swish", "HardSwish", "HardSigmoid", "GeluExact", "GeluApproximate"}) {
    Tensor as = run1(std::string("_") + name, {row});
    expectAs(run1("_FusedMatMul", {one, row}, DType::Float32, fused({name})), as, 1e-6);
    Tensor special = run1(std::string("_") + name, {vec<float>({nan, inf})});
    EXPECT_TRUE(std::isnan(special.data<float>()[0])) << name;
    EXPECT_EQ(special.data<float>()[1], std::string(name) == "HardSigmoid" ? 1 : inf) << name;
  }
  EXPECT_TRUE(std::isnan(run1("_Swish", {vec<float>({-inf})}).data<float>()[0])) << "-inf * 0";
}

// Compares with the numerical gradient of the op.
TEST(FusedMatMul, GradientsOfActivationsAreTheirSlopes) {
  constexpr double step = 1e-5;
  Tensor x = tensor<double>({9}, {-20, -4, -1.5, -0.5, 0, 0.25, 1, 3, 20});
  Tensor gradient = tensor<double>({9}, {1, -2, 3, 1, 2, -1, 1, 2, -3});
  auto moved = [&](double by) {
    return run1("AddV2", {x, Tensor::scalar(DType::Float64, by)}, DType::Float64);
  };
  for (std::string name : {"_Swish", "_GeluExact", "_GeluApproximate"}) {
    Tensor above = run1(name, {moved(step)}, DType::Float64);
    Tensor below = run1(name, {moved(-step)}, DType::Float64);
    Tensor got = run1(name + "Grad", {gradient, x}, DType::Float64);
    for (int64_t i = 0; i < x.count(); ++i) {
      double slope = (above.data<double>()[i] - below.data<double>()[i]) / (2 * step);
      EXPECT_NEAR(got.data<double>()[i], gradient.data<double>()[i] * slope, 1e-8) << name << i;
    }
    EXPECT_EQ(errorClassOf(name + "Grad", {moved(0), vec<double>({1})}, {DType::Float64}),
              "InvalidArgumentError");
  }
}

TEST(FusedMatMul, NothingToSumIsTheBias) {
  Tensor a = tensor<float>({2, 0}, {}), b = tensor<float>({0, 2}, {});
  EXPECT_EQ(values<float>(run1("_FusedMatMul", {a, b, vec<float>({-1, 2})}, DType::Float32,
                               fused({"BiasAdd", "Relu"}))),
            (Floats{0, 2, 0, 2}));
}

TEST(FusedConvolution, BatchNormIsAFactorAndAnOffset) {
  Tensor x = scattered({2, 9, 17, 3}), filter = scattered({3, 3, 3, 70});
  Tensor scale = scattered({70}), offset = iota<float>({70}, -9), mean = iota<float>({70}, 2);
  Tensor variance = iota<float>({70}, 1);
  AttrMap attrs = fused({});
  attrs.set("is_training", false);
  Tensor convolved = run1("Conv2D", {x, filter}, DType::Float32, attrs);
  auto f32 = DType::Float32;
  auto normal = runAll("FusedBatchNormV3", {convolved, scale, offset, mean, variance},
                       {f32, f32, f32, f32, f32, f32}, attrs);
  expectAs(run1("_FusedConv2D", {x, filter, scale, offset, mean, variance}, f32,
                fused({"FusedBatchNorm", "Relu"})),
           run1("Relu", {normal[0]}), 1e-4);
}

// Large enough for a plan, and for several parts of the activation.
TEST(FusedConvolution, ActivationsFollowPlans) {
  AttrMap plain = fused({});
  for (const auto &[image, filter] :
       {std::pair{scattered({1, 60, 60, 16}), scattered({1, 1, 16, 96})},
        std::pair{scattered({1, 4, 4, 96}), scattered({3, 3, 96, 96})}}) {
    Tensor result = run1("Conv2D", {image, filter}, DType::Float32, plain);
    for (const char *name : {"Swish", "HardSwish", "HardSigmoid", "GeluExact", "GeluApproximate"})
      expectAs(run1("_FusedConv2D", {image, filter}, DType::Float32, fused({name})),
               run1(std::string("_") + name, {result}), 2e-5);
  }
}

// A factor and an offset without a convolution: one number per channel, or any shape that
// broadcasts.
TEST(FusedScale, EqualsItsParts) {
  Tensor x = scattered({3, 5, 7});
  for (const std::vector<int64_t> &dims :
       {std::vector<int64_t>{7}, {1, 1, 7}, {3, 5, 7}, {3, 1, 1}, {}})
    for (const std::vector<int64_t> &other : {std::vector<int64_t>{7}, {2, 3, 5, 7}}) {
      Tensor factor = scattered(dims), offset = scattered(other);
      expectAs(
          run1("_FusedScale", {x, factor, offset}, DType::Float32, fused({"Mul", "Add", "Relu"})),
          run1("Relu", {run1("AddV2", {run1("Mul", {x, factor}), offset})}), 1e-6);
    }
  EXPECT_NE(errorOf("_FusedScale", {x}, {DType::Float32}, fused({"Mul"})).find("need 2"),
            std::string::npos);
}

// Few positions, so that threads divide the columns, and many; also channels first.
TEST(FusedConvolution, TheAddendComesBeforeTheActivation) {
  for (int64_t size : {3, 20})
    for (const char *format : {"NHWC", "NCHW"}) {
      bool first = format[1] == 'C';
      Tensor x = scattered(first ? Longs{1, 3, size, size} : Longs{1, size, size, 3});
      Tensor y = scattered(first ? Longs{1, 70, size, size} : Longs{1, size, size, 70});
      Tensor filter = scattered({3, 3, 3, 70});
      AttrMap attrs = fused({"BiasAdd", "Add", "Relu"});
      attrs.set("data_format", std::string(format));
      Tensor sum = run1("BiasAdd", {run1("Conv2D", {x, filter}, DType::Float32, attrs), bias},
                        DType::Float32, attrs);
      expectAs(run1("_FusedConv2D", {x, filter, bias, y}, DType::Float32, attrs),
               run1("Relu", {run1("AddV2", {sum, y})}), 1e-5);
    }
}

TEST(FusedConvolution, Depthwise) {
  Tensor x = scattered({1, 5, 6, 70}), filter = scattered({3, 3, 70, 1});
  AttrMap attrs = fused({"BiasAdd", "Relu6"});
  Tensor sum =
      run1("BiasAdd", {run1("DepthwiseConv2dNative", {x, filter}, DType::Float32, attrs), bias});
  expectAs(run1("_FusedDepthwiseConv2dNative", {x, filter, bias}, DType::Float32, attrs),
           run1("Relu6", {sum}), 1e-6);
}

TEST(FusedConvolution, EachActivationAndSummandWithManyChannels) {
  Tensor x = scattered({2, 6, 7, 40}), bias = scattered({40}), y = scattered({2, 6, 7, 40});
  AttrMap attrs = fused({"BiasAdd"}), alpha;
  alpha.set("alpha", 0.25f);
  for (std::string op : {"Conv2D", "DepthwiseConv2dNative"}) {
    Tensor filter = scattered(op == "Conv2D" ? std::vector<int64_t>{3, 3, 40, 40}
                                             : std::vector<int64_t>{3, 3, 40, 1});
    Tensor sum = run1("BiasAdd", {run1(op, {x, filter}, DType::Float32, attrs), bias});
    Tensor withSummand = run1("AddV2", {sum, y});
    for (std::string name : {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu"}) {
      auto apply = [&](const Tensor &to) {
        return run1(name, {to}, DType::Float32, name == "LeakyRelu" ? alpha : AttrMap());
      };
      expectAs(run1("_Fused" + op, {x, filter, bias}, DType::Float32, fused({"BiasAdd", name})),
               apply(sum), 1e-4);
      expectAs(run1("_Fused" + op, {x, filter, bias, y}, DType::Float32,
                    fused({"BiasAdd", "Add", name})),
               apply(withSummand), 1e-4);
    }
  }
}

TEST(FusedBatchNorm, SummandAndActivation) {
  Tensor x = tensor<float>({1, 1, 2, 2}, {1, 2, 3, 4}),
         y = tensor<float>({1, 1, 2, 2}, {0, 1, 0, -9});
  Tensor one = vec<float>({1, 1}), none = vec<float>({0, 0});
  AttrMap attrs;
  attrs.set("is_training", false);
  attrs.set("epsilon", 0.0f);
  attrs.set("num_side_inputs", int64_t(1));
  attrs.set("activation_mode", std::string("Relu"));
  auto f32 = DType::Float32;
  auto out = runAll("_FusedBatchNormEx", {x, one, none, vec<float>({2, 0}), one, y},
                    {f32, f32, f32, f32, f32, f32}, attrs);
  ASSERT_EQ(out.size(), 6u);
  EXPECT_EQ(values<float>(out[0]), (Floats{0, 3, 1, 0}));
}

TEST(LayerNorm, RowsByThemselves) {
  AttrMap attrs;
  attrs.set("epsilon", 0.0f);
  Tensor x = tensor<float>({2, 1, 2}, {1, 3, -10, 10});
  expectNear<float>(
      run1("_MklLayerNorm", {x, vec<float>({1, 2}), vec<float>({0, 5})}, DType::Float32, attrs),
      {-1, 7, -1, 7}, 1e-6);
  EXPECT_EQ(errorOf("_MklLayerNorm", {x, vec<float>({1}), vec<float>({0, 5})}),
            "InvalidArgumentError: input 1 must be a vector of 2 elements, one per column of "
            "[2,1,2], but has shape [1]");
}

TEST(FusedOps, ErrorsNameWhatIsExpected) {
  EXPECT_EQ(
      errorOf("_FusedMatMul", {left, right, vec<float>({1})}, {}, fused({"BiasAdd"})),
      "InvalidArgumentError: input 2 must be a vector of 70 elements, one per channel, but has "
      "shape [1]");
  EXPECT_EQ(errorOf("_FusedMatMul", {left, right, bias}, {}, fused({"Relu", "BiasAdd"})),
            "UnimplementedError: op '_FusedMatMul' does not support fused_ops = [Relu, BiasAdd]; "
            "supported are BiasAdd or FusedBatchNorm, then Mul and Add, then an activation");
  EXPECT_EQ(errorOf("_FusedMatMul", {left, right}, {}, fused({"BiasAdd"})),
            "InvalidArgumentError: has 2 inputs, but its fused_ops need 3");
}

} // namespace
} // namespace treadle
