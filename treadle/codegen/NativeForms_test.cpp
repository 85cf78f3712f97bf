// Compares natively compiled ops with their kernels, for all shapes.
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/Translator.h"
#include "treadle/ops/OpTable.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/testing/CodegenTesting.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace treadle::codegen {
namespace {

TEST(NativeOps, AreThoseThatAreCompiled) {
  int native = 0;
  for (const OpDef &op : allOps())
    if (op.facts().native != NativeForm::None) {
      ++native;
      EXPECT_TRUE(isElementwise(op.name()) || findLowering(op.name())) << op.name();
    }
  EXPECT_GT(native, 80);
}

TEST(NativeOps, EveryElementwiseFormIsKnown) {
  for (const OpDef &op : allOps())
    EXPECT_EQ(isElementwise(op.name()), !op.elementwise().empty())
        << op.name() << ": " << op.elementwise();
}

std::string attrsOf(const std::string &type, bool keepDims) {
  return "T = " + type + ", Tidx = i32, keep_dims = " + (keepDims ? "true" : "false");
}

/// `axes`: the text of a constant, such as "[0, 2]".
std::string reductionOf(const std::string &name, const std::string &type, const std::string &axes,
                        int numAxes, bool keepDims) {
  std::string tensor = "tensor<*x" + type + ">";
  std::string axesType = "tensor<" + std::to_string(numAxes) + "xi32>";
  std::string attrs =
      name == "All" || name == "Any" ? attrsOf("i1", keepDims).substr(8) : attrsOf(type, keepDims);
  return "tfg.func @f(%x: " + tensor + " {tfg.name = \"x\"}) -> (" + tensor +
         " {tfg.name = \"y\"}) {\n" + "%a, %ac = Const name(\"a\") {dtype = i32, value = dense<" +
         axes + "> : " + axesType + "} : () -> (" + axesType + ")\n" +
         op("y", name, "%x, %a", attrs, "(" + tensor + ", " + axesType + ") -> (" + tensor + ")") +
         "return(%y) : " + tensor + " }";
}

double start(const std::string &name) {
  if (name == "Prod")
    return 1;
  return name == "Max" ? -INFINITY : name == "Min" ? INFINITY : 0;
}

double merged(const std::string &name, double a, double b) {
  if (name == "Prod")
    return a * b;
  if (std::isnan(a) || std::isnan(b))
    return NAN;
  return name == "Max" ? std::max(a, b) : name == "Min" ? std::min(a, b) : a + b;
}

/// Reduces one element after the other, in double precision.
std::vector<double> reduceByHand(const std::string &name, const Tensor &x,
                                 const std::vector<bool> &isReduced) {
  std::vector<int64_t> strides(x.rank());
  int64_t outCount = 1;
  double count = 1;
  for (int d = x.rank() - 1; d >= 0; --d) {
    strides[d] = isReduced[d] ? 0 : outCount;
    if (isReduced[d])
      count *= static_cast<double>(x.dim(d));
    else
      outCount *= x.dim(d);
  }
  std::vector<double> out(outCount, start(name));
  for (int64_t i = 0; i < x.count(); ++i) {
    int64_t rest = i, at = 0;
    for (int d = x.rank() - 1; d >= 0; --d) {
      at += rest % x.dim(d) * strides[d];
      rest /= x.dim(d);
    }
    out[at] = merged(name, out[at], x.data<float>()[i]);
  }
  if (name == "Mean")
    for (double &value : out)
      value /= count;
  return out;
}

Tensor numbers(std::vector<int64_t> dims, float scale = 1) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(scale * (static_cast<float>(i * 7919 % 1013) / 500 - 1));
  return f32(std::move(values), std::move(dims));
}

class ReductionTest : public CodegenTest, public testing::WithParamInterface<const char *> {
protected:
  void expectByHand(const Tensor &x, const std::string &axes, const std::vector<bool> &isReduced) {
    std::string name = GetParam();
    int numAxes = static_cast<int>(std::ranges::count(isReduced, true));
    for (bool keepDims : {false, true}) {
      auto results = buildAndCall(reductionOf(name, "f32", axes, numAxes, keepDims), {x});
      ASSERT_EQ(results.size(), 1u);
      EXPECT_EQ(numKernels, 0u) << name << " is left to its kernel";
      std::vector<int64_t> dims;
      for (int d = 0; d < x.rank(); ++d)
        if (keepDims || !isReduced[d])
          dims.push_back(isReduced[d] ? 1 : x.dim(d));
      EXPECT_TRUE(std::ranges::equal(results[0].dims(), dims)) << name << " over " << axes;
      std::vector<double> expected = reduceByHand(name, x, isReduced);
      std::vector<float> found = floats(results[0]);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i)
        if (std::isnan(expected[i]))
          EXPECT_TRUE(std::isnan(found[i])) << name << " over " << axes << ", " << i;
        else if (std::isinf(expected[i]))
          EXPECT_EQ(found[i], expected[i]) << name << " over " << axes << ", " << i;
        else
          EXPECT_NEAR(found[i], expected[i], 1e-5 * std::max(1.0, std::fabs(expected[i])))
              << name << " over " << axes << ", " << i;
    }
  }
};

TEST_P(ReductionTest, AlongEveryAxis) {
  Tensor x = numbers({4, 3, 37}, 0.9f);
  expectByHand(x, "0", {true, false, false});
  expectByHand(x, "1", {false, true, false});
  expectByHand(x, "-1", {false, false, true});
  expectByHand(x, "[0, 2]", {true, false, true});
  expectByHand(x, "[0, 1]", {true, true, false});
  expectByHand(x, "[2, 1]", {false, true, true});
  expectByHand(x, "[0, 1, 2]", {true, true, true});
}

TEST_P(ReductionTest, OfNothing) {
  expectByHand(f32({}, {0, 3}), "0", {true, false});
  expectByHand(f32({}, {3, 0}), "1", {false, true});
  expectByHand(f32({}, {3, 0}), "0", {true, false});
  expectByHand(f32({}, {0}), "0", {true});
}

TEST_P(ReductionTest, KeepsWhatIsNoNumber) {
  Tensor x = f32({1, NAN, 3, 4, 5, INFINITY, 7, 8, -INFINITY, -1}, {2, 5});
  expectByHand(x, "1", {false, true});
  expectByHand(x, "0", {true, false});
  expectByHand(x, "[0, 1]", {true, true});
}

TEST_P(ReductionTest, OfTensorsThatThreadsShare) {
  ThreadPool pool(2);
  threads = &pool;
  std::string name = GetParam();
  if (name == "Prod")
    return; // the product of so many numbers is 0
  expectByHand(numbers({2000, 300}), "1", {false, true});
  expectByHand(numbers({2000, 300}), "0", {true, false});
  expectByHand(numbers({700'000}), "0", {true});
}

INSTANTIATE_TEST_SUITE_P(Ops, ReductionTest, testing::Values("Sum", "Mean", "Prod", "Max", "Min"),
                         [](const auto &info) { return std::string(info.param); });

TEST_F(CodegenTest, SumsOfManyNumbersLoseLittle) {
  std::vector<float> values(3'000'000, 0.1f);
  auto results = buildAndCall(reductionOf("Sum", "f32", "0", 1, false), {row(values)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_NEAR(results[0].scalarValue<float>(), 300'000, 3);
}

TEST_F(CodegenTest, ReductionsOfBooleansAndIntegers) {
  Tensor truths = *Tensor::make(DType::Bool, {2, 2});
  std::ranges::copy(std::vector<bool>{true, true, false, true}, truths.data<bool>());
  auto results = buildAndCall(reductionOf("All", "i1", "1", 1, false), {truths});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].data<bool>()[0]);
  EXPECT_FALSE(results[0].data<bool>()[1]);
  results = buildAndCall(reductionOf("Any", "i1", "[0, 1]", 2, false), {truths});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].scalarValue<bool>());

  Tensor integers = *Tensor::make(DType::Int32, {3, 2});
  std::ranges::copy(std::vector<int>{INT32_MAX, 5, 1, -7, 2, 3}, integers.data<int32_t>());
  results = buildAndCall(reductionOf("Sum", "i32", "0", 1, false), {integers});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].data<int32_t>()[0], INT32_MIN + 2); // wraps around
  EXPECT_EQ(results[0].data<int32_t>()[1], 1);
  results = buildAndCall(reductionOf("Min", "i32", "[0, 1]", 2, false), {integers});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].scalarValue<int32_t>(), -7);
}

TEST_F(CodegenTest, ReductionsAreFusedWithWhatTheyReduce) {
  std::string text =
      R"(tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {)" +
      std::string(
          "%a, %ac = Const name(\"a\") {dtype = i32, value = dense<1> : tensor<1xi32>} : () "
          "-> (tensor<1xi32>)\n") +
      op("squares", "Square", "%x", "T = f32", "(tensor<*xf32>) -> (tensor<*xf32>)") +
      op("y", "Sum", "%squares, %a", attrsOf("f32", false),
         "(tensor<*xf32>, tensor<1xi32>) -> (tensor<*xf32>)") +
      "return(%y) : tensor<*xf32> }";
  Tensor x = f32({1, 2, 3, 4, 5, 6}, {2, 3});
  auto results = buildAndCall(text, {x});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{14, 77}));
  EXPECT_EQ(allocations, 1u);
  EXPECT_EQ(floats(x), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(CodegenTest, AReductionStartsWhereItsElementsAloneTellTheResult) {
  // A product of zeros is 0 for any initial value; an empty product is the initial value.
  for (std::string axes : {"0", "1"}) {
    std::string text =
        R"(tfg.func @f(%x: tensor<*xi32> {tfg.name = "x"}) -> (tensor<*xi32> {tfg.name = "y"}) {)"
        "%a, %ac = Const name(\"a\") {dtype = i32, value = dense<" +
        axes + "> : tensor<1xi32>} : () -> (tensor<1xi32>)\n" +
        op("zeros", "ZerosLike", "%x", "T = i32", "(tensor<*xi32>) -> (tensor<*xi32>)") +
        op("y", "Prod", "%zeros, %a", attrsOf("i32", false),
           "(tensor<*xi32>, tensor<1xi32>) -> (tensor<*xi32>)") +
        "return(%y) : tensor<*xi32> }";
    for (int64_t size : {0, 2}) {
      auto dims = axes == "0" ? std::vector<int64_t>{size, 3} : std::vector<int64_t>{3, size};
      auto results = buildAndCall(text, {*Tensor::make(DType::Int32, dims)});
      ASSERT_EQ(results.size(), 1u);
      EXPECT_TRUE(
          std::ranges::equal(results[0].values<int32_t>(), std::vector<int32_t>(3, size ? 0 : 1)));
    }
  }
}

std::string argumentOf(const std::string &name, const std::string &axis) {
  return R"(tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xi64> {tfg.name = "y"}) {)" +
         constant("a", "i32", axis) +
         op("y", name, "%x, %a", "T = f32, Tidx = i32, output_type = i64",
            "(tensor<*xf32>, tensor<i32>) -> (tensor<*xi64>)") +
         "return(%y) : tensor<*xi64> }";
}

TEST_F(CodegenTest, TheFirstExtremeElementIsFound) {
  Tensor x = f32({1, 5, 5, NAN, 7, 7, -INFINITY, -1, -INFINITY}, {3, 3});
  auto found = [&](const char *op, const char *axis) {
    auto results = buildAndCall(argumentOf(op, axis), {x});
    EXPECT_EQ(results.size(), 1u);
    EXPECT_EQ(numKernels, 0u);
    auto values = results.at(0).values<int64_t>();
    return std::vector<int64_t>(values.begin(), values.end());
  };
  EXPECT_EQ(found("ArgMax", "1"), (std::vector<int64_t>{1, 1, 1}));
  EXPECT_EQ(found("ArgMin", "1"), (std::vector<int64_t>{0, 1, 0}));
  EXPECT_EQ(found("ArgMax", "0"), (std::vector<int64_t>{0, 1, 1}));
  x = row({NAN, -INFINITY, -std::numeric_limits<float>::max()});
  EXPECT_EQ(found("ArgMax", "0"), (std::vector<int64_t>{0}));
  EXPECT_TRUE(call({row({})}).empty()); // an error, which the interpreter reports
}

/// Computes the greatest elements of a matrix along a dimension and their first positions, using a
/// reducer over pairs of value and index.
std::string greatestWithPlaces(int dim) {
  auto arguments = [](const std::string &suffix) {
    return "%v" + suffix + ": tensor<f32> {tfg.name = \"v" + suffix + "\"}, %p" + suffix +
           ": tensor<i32> {tfg.name = \"p" + suffix + "\"}";
  };
  std::string both = "(tensor<f32>, tensor<f32>) -> (tensor<i1>)",
              pick = "(tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>)",
              place = "(tensor<i1>, tensor<i32>, tensor<i32>) -> (tensor<i32>)",
              types = "(tensor<3x4xf32>, tensor<3x4xi32>, tensor<f32>, tensor<i32>) -> "
                      "(tensor<*xf32>, tensor<*xi32>)";
  return "tfg.func @f(%x: tensor<3x4xf32> {tfg.name = \"x\"}, %i: tensor<3x4xi32> "
         "{tfg.name = \"i\"}) -> (tensor<*xf32> {tfg.name = \"y\"}, tensor<*xi32> "
         "{tfg.name = \"j\"}) {\n" +
         constant("least", "f32", "0xFF800000") + constant("none", "i32", "0") +
         "%y:2, %c = XlaVariadicReduceV2(%x, %i, %least, %none) name(\"y\") {T = [f32, i32], "
         "dimensions_to_reduce = [" +
         std::to_string(dim) + " : i64], reducer = #tf_type.func<@greater, {}>} : " + types +
         "\nreturn(%y#0, %y#1) : tensor<*xf32>, tensor<*xi32> }\ntfg.func @greater(" +
         arguments("0") + ", " + arguments("1") +
         ") -> (tensor<f32> {tfg.name = \"v\"}, tensor<i32> {tfg.name = \"p\"}) {\n" +
         op("wins", "GreaterEqual", "%v0, %v1", "T = f32", both) +
         op("v", "SelectV2", "%wins, %v0, %v1", "T = f32", pick) +
         op("p", "SelectV2", "%wins, %p0, %p1", "T = i32", place) +
         "return(%v, %p) : tensor<f32>, tensor<i32> }\n";
}

TEST_F(CodegenTest, TensorsAreReducedTogetherByAFunction) {
  Tensor x = f32({1, 5, 2, 0, 7, 5, 9, -1, 7, -2, 9, 3}, {3, 4});
  Tensor places = *Tensor::make(DType::Int32, {3, 4});
  std::iota(places.data<int32_t>(), places.data<int32_t>() + 12, 0);
  auto found = [&](int dim) {
    auto results = buildAndCall(greatestWithPlaces(dim), {x, places});
    EXPECT_EQ(results.size(), 2u);
    EXPECT_EQ(numKernels, 0u);
    auto at = results[1].values<int32_t>();
    return std::pair(floats(results[0]), std::vector<int32_t>(at.begin(), at.end()));
  };
  EXPECT_EQ(found(1), std::pair(std::vector<float>{5, 9, 9}, std::vector<int32_t>{1, 6, 10}));
  EXPECT_EQ(found(0), std::pair(std::vector<float>{7, 5, 9, 3}, std::vector<int32_t>{4, 1, 6, 11}));
}

/// Evaluates an einsum of two inputs element by element. A letter is a size.
std::vector<float> einsum(const std::string &left, const std::string &right, const std::string &out,
                          const std::map<char, int64_t> &sizes, const Tensor &x, const Tensor &y) {
  auto placeOf = [&](const std::string &letters, const std::map<char, int64_t> &at) {
    int64_t place = 0;
    for (char letter : letters)
      place = place * sizes.at(letter) + at.at(letter);
    return place;
  };
  int64_t steps = 1, count = 1;
  for (auto [letter, size] : sizes)
    steps *= size;
  for (char letter : out)
    count *= sizes.at(letter);
  std::vector<float> result(count);
  for (int64_t step = 0; step < steps; ++step) {
    std::map<char, int64_t> at;
    int64_t rest = step;
    for (auto [letter, size] : sizes) {
      at[letter] = rest % size;
      rest /= size;
    }
    result[placeOf(out, at)] +=
        x.data<float>()[placeOf(left, at)] * y.data<float>()[placeOf(right, at)];
  }
  return result;
}

class ProductTest : public CodegenTest, public testing::WithParamInterface<const char *> {};

TEST_P(ProductTest, IsCompiledWhereItIsNotLarge) {
  std::string equation = GetParam(), left = equation.substr(0, equation.find(',')),
              right = equation.substr(left.size() + 1, equation.find('-') - left.size() - 1),
              out = equation.substr(equation.find('>') + 1);
  for (std::array<int64_t, 3> of : {std::array<int64_t, 3>{2, 3, 2}, {5, 19, 17}, {1, 4, 33}}) {
    std::map<char, int64_t> sizes;
    for (char letter : left + right)
      sizes[letter] = of[letter - 'a'];
    auto make = [&](const std::string &letters) {
      std::vector<int64_t> dims;
      for (char letter : letters)
        dims.push_back(sizes.at(letter));
      Tensor made = *Tensor::make(DType::Float32, dims);
      for (int64_t i = 0; i < made.count(); ++i)
        made.data<float>()[i] = static_cast<float>(i * 7 % 5 - 2); // sums are exact
      return made;
    };
    Tensor x = make(left), y = make(right);
    auto typeOf = [](const Tensor &tensor) {
      std::string text = "tensor<";
      for (int64_t dim : tensor.dims())
        text += std::to_string(dim) + "x";
      return text + "f32>";
    };
    std::string types = "(" + typeOf(x) + ", " + typeOf(y) + ") -> (tensor<*xf32>)";
    auto results = buildAndCall(
        "tfg.func @f(%x: " + typeOf(x) + " {tfg.name = \"x\"}, %y: " + typeOf(y) +
            " {tfg.name = \"y\"}) -> (tensor<*xf32> {tfg.name = \"z\"}) {" +
            op("z", "Einsum", "%x, %y", "T = f32, equation = \"" + equation + "\"", types) +
            "return(%z) : tensor<*xf32> }",
        {x, y});
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(numKernels, 0u);
    EXPECT_EQ(floats(results[0]), einsum(left, right, out, sizes, x, y));
  }
}

INSTANTIATE_TEST_SUITE_P(Equations, ProductTest,
                         testing::Values("a,a->", "ab,b->a", "a,ab->b", "ab,bc->ac", "ba,bc->ac",
                                         "ab,cb->ac", "ba,cb->ca", "ab,ab->", "ab,ab->b"));

TEST_F(CodegenTest, AComparisonThatToleratesOtherShapesIsCompiledForThoseThatFit) {
  std::string text =
      R"(tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"}, %y: tensor<*xf32> {tfg.name = "y"})
             -> (tensor<*xi1> {tfg.name = "z"}) {)" +
      op("z", "NotEqual", "%x, %y", "T = f32, incompatible_shape_error = false",
         "(tensor<*xf32>, tensor<*xf32>) -> (tensor<*xi1>)") +
      "return(%z) : tensor<*xi1> }";
  for (const Tensor &other : {scalar(2), row({1, 5, 2})}) {
    auto results = buildAndCall(text, {row({1, 2, 2}), other});
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(numKernels, 0u);
    EXPECT_EQ(results[0].data<bool>()[0], other.isScalar());
    EXPECT_EQ(results[0].data<bool>()[2], false);
  }
  EXPECT_TRUE(call({row({1, 2, 2}), row({1, 2})}).empty()); // the scalar true, which only the
                                                            // interpreter returns
}

TEST_F(CodegenTest, TensorsAreDividedByOneNumber) {
  std::string text =
      R"(tfg.func @f(%x: tensor<*xi32> {tfg.name = "x"}, %d: tensor<i32> {tfg.name = "d"})
             -> (tensor<*xi32> {tfg.name = "y"}) {
           %shape, %sc = Const name("shape") {dtype = i32, value = dense<20> : tensor<1xi32>}
             : () -> (tensor<1xi32>)
           )" +
      op("all", "BroadcastTo", "%d, %shape", "T = i32, Tidx = i32",
         "(tensor<i32>, tensor<1xi32>) -> (tensor<*xi32>)") +
      op("y", "FloorDiv", "%x, %all", "T = i32",
         "(tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>)") +
      "return(%y) : tensor<*xi32> }";
  Tensor x = *Tensor::make(DType::Int32, {20});
  std::iota(x.data<int32_t>(), x.data<int32_t>() + 20, -10);
  build(text, {x, i32(3)});
  ASSERT_TRUE(compiled);
  EXPECT_EQ(numKernels, 0u);
  auto results = call({x, i32(3)});
  ASSERT_EQ(results.size(), 1u);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(results[0].data<int32_t>()[i], std::floor((i - 10) / 3.0)) << i;
  EXPECT_TRUE(call({x, i32(0)}).empty()); // an error, which the interpreter reports
}

TEST_F(CodegenTest, TransposedRowsAreReadWhereTheyLie) {
  std::string text =
      R"(tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {)" +
      std::string("%p, %pc = Const name(\"p\") {dtype = i32, value = dense<[1, 0, 2]> : "
                  "tensor<3xi32>} : () -> (tensor<3xi32>)\n") +
      op("t", "Transpose", "%x, %p", "T = f32, Tperm = i32",
         "(tensor<*xf32>, tensor<3xi32>) -> (tensor<*xf32>)") +
      op("y", "Neg", "%t", "T = f32", "(tensor<*xf32>) -> (tensor<*xf32>)") +
      "return(%y) : tensor<*xf32> }";
  auto results = buildAndCall(text, {f32({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 3, 2})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(numKernels, 0u);
  EXPECT_EQ(floats(results[0]),
            (std::vector<float>{-1, -2, -7, -8, -3, -4, -9, -10, -5, -6, -11, -12}));
  EXPECT_EQ(allocations, 1u);
  results = buildAndCall(text, {f32({1, 2, 3, 4}, {1, 2, 2})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{-1, -2, -3, -4}));
}

TEST_F(CodegenTest, RowsAreGatheredIfTheyAreThere) {
  std::string text =
      R"(tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"}, %i: tensor<i32> {tfg.name = "i"})
             -> (tensor<*xf32> {tfg.name = "y"}) {)" +
      constant("axis", "i32", "0") +
      op("y", "GatherV2", "%x, %i, %axis",
         "Taxis = i32, Tindices = i32, Tparams = f32, batch_dims = 0 : i64",
         "(tensor<*xf32>, tensor<i32>, tensor<i32>) -> (tensor<*xf32>)") +
      "return(%y) : tensor<*xf32> }";
  Tensor x = f32({1, 2, 3, 4, 5, 6}, {3, 2});
  build(text, {x, i32(1)});
  ASSERT_TRUE(compiled);
  EXPECT_EQ(numKernels, 0u);
  for (int i : {0, 1, 2}) {
    auto results = call({x, i32(i)});
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(floats(results[0]), (std::vector<float>{2.0f * i + 1, 2.0f * i + 2}));
  }
  for (int i : {-1, 3, INT32_MIN})
    EXPECT_TRUE(call({x, i32(i)}).empty()) << i;
  auto results = buildAndCall(text, {row({7, 8}), i32(1)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].scalarValue<float>(), 8);
}

TEST_F(CodegenTest, ScalarsBecomeVectorsAndBack) {
  std::string text =
      R"(tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {
           %u:3, %uc = Unpack(%x) name("u") {T = f32, axis = 0 : i64, num = 3 : i64}
             : (tensor<*xf32>) -> (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>)
           %y, %yc = Pack(%u#2, %u#0, %u#1) name("y") {N = 3 : i64, T = f32, axis = 0 : i64}
             : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
           return(%y) : tensor<*xf32> })";
  auto results = buildAndCall(text, {row({1, 2, 3})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(numKernels, 0u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{3, 1, 2}));
  EXPECT_TRUE(call({row({1, 2})}).empty());
}

TEST_F(CodegenTest, OneIsHot) {
  std::string text =
      R"(tfg.func @f(%i: tensor<*xi32> {tfg.name = "i"}, %d: tensor<i32> {tfg.name = "d"})
             -> (tensor<*xf32> {tfg.name = "y"}) {)" +
      constant("on", "f32", "2.0") + constant("off", "f32", "-1.0") +
      op("y", "OneHot", "%i, %d, %on, %off", "T = f32, TI = i32, axis = -1 : i64",
         "(tensor<*xi32>, tensor<i32>, tensor<f32>, tensor<f32>) -> (tensor<*xf32>)") +
      "return(%y) : tensor<*xf32> }";
  Tensor indices = *Tensor::make(DType::Int32, {3});
  std::ranges::copy(std::vector<int>{1, -1, 0}, indices.data<int32_t>());
  auto results = buildAndCall(text, {indices, i32(2)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(numKernels, 0u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{-1, 2, -1, -1, 2, -1}));
  EXPECT_TRUE(call({indices, i32(-2)}).empty());
  results = buildAndCall(text, {i32(1), i32(3)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{-1, 2, -1}));
}

TEST_F(CodegenTest, TheFewLargestAreFoundAsByTheKernel) {
  auto topK = [](const std::string &shape, int k) {
    std::string x = "tensor<" + shape + "xf32>", y = "tensor<*xf32>", where = "tensor<*xi32>";
    return "tfg.func @f(%x: " + x + " {tfg.name = \"x\"}) -> (" + y + " {tfg.name = \"y\"}, " +
           where + " {tfg.name = \"w\"}) {\n" + constant("k", "i32", std::to_string(k)) +
           "%t:2, %tc = TopKV2(%x, %k) name(\"t\") {T = f32, Tk = i32, index_type = i32, sorted = "
           "true} : (" +
           x + ", tensor<i32>) -> (" + y + ", " + where + ")\nreturn(%t#0, %t#1) : " + y + ", " +
           where + " }";
  };
  Tensor rows = *Tensor::make(DType::Float32, {5, 40});
  for (int64_t i = 0; i < rows.count(); ++i)
    rows.data<float>()[i] = i % 11 == 3 ? NAN : static_cast<float>(i * 37 % 23);
  for (int k : {1, 2, 5, 8, 9}) {
    std::vector<Tensor> found = buildAndCall(topK("5x40", k), {rows});
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(numKernels, k > 8 ? 1u : 0u);
    for (int64_t row = 0; row < 5; ++row) {
      const float *x = rows.data<float>() + row * 40;
      std::vector<int32_t> order(40);
      std::iota(order.begin(), order.end(), 0);
      std::ranges::sort(order, [&](int32_t a, int32_t b) {
        bool isNumber = !std::isnan(x[a]), isOther = !std::isnan(x[b]);
        if (isNumber != isOther)
          return isNumber;
        return x[a] > x[b] || (!(x[b] > x[a]) && a < b);
      });
      for (int64_t i = 0; i < k; ++i) {
        EXPECT_EQ(found[1].data<int32_t>()[row * k + i], order[i]) << row << ", " << i;
        EXPECT_EQ(found[0].data<float>()[row * k + i], x[order[i]]);
      }
    }
  }
}

TEST_F(CodegenTest, AVectorOfConditionsChoosesRows) {
  std::string text =
      R"(tfg.func @f(%c: tensor<*xi1> {tfg.name = "c"}, %x: tensor<*xf32> {tfg.name = "x"},
                     %y: tensor<*xf32> {tfg.name = "y"}) -> (tensor<*xf32> {tfg.name = "z"}) {)" +
      op("z", "Select", "%c, %x, %y", "T = f32",
         "(tensor<*xi1>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)") +
      "return(%z) : tensor<*xf32> }";
  Tensor conditions = *Tensor::make(DType::Bool, {2});
  std::ranges::copy(std::vector<bool>{false, true}, conditions.data<bool>());
  auto results =
      buildAndCall(text, {conditions, f32({1, 2, 3, 4}, {2, 2}), f32({5, 6, 7, 8}, {2, 2})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(numKernels, 0u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{5, 6, 3, 4}));
  EXPECT_TRUE(
      call({conditions, f32({1, 2, 3, 4, 5, 6}, {3, 2}), f32({1, 2, 3, 4, 5, 6}, {3, 2})}).empty());
}

// --- gathers and scatters ------------------------------------------------------------------------

class PlacesTest : public CodegenTest {
protected:
  /// 20 index vectors of length one, with repetitions, over 40 elements.
  Tensor places(int32_t last = 7) {
    std::vector<int32_t> indices(20);
    for (size_t i = 0; i < indices.size(); ++i)
      indices[i] = static_cast<int32_t>(i * 7 % 13);
    indices.back() = last;
    return tensorOf(DType::Int32, {20, 1}, indices);
  }
  template <typename T>
  Tensor tensorOf(DType dtype, std::vector<int64_t> dims, const std::vector<T> &values) {
    Tensor made = *Tensor::make(dtype, dims);
    std::ranges::copy(values, made.data<T>());
    return made;
  }
  Tensor counting(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 1.0f);
    return tensorOf(DType::Float32, {count}, values);
  }
  static std::string scatter(const std::string &name) {
    return "tfg.func @f(%x: tensor<40xf32> {tfg.name = \"x\"}, %i: tensor<20x1xi32> {tfg.name = "
           "\"i\"}, %u: tensor<20xf32> {tfg.name = \"u\"}) -> (tensor<40xf32> {tfg.name = "
           "\"y\"}) {\n" +
           op("y", name, "%x, %i, %u", "T = f32, Tindices = i32",
              "(tensor<40xf32>, tensor<20x1xi32>, tensor<20xf32>) -> (tensor<40xf32>)") +
           "return(%y) : tensor<40xf32> }";
  }
};

TEST_F(PlacesTest, TensorFlowsScattersWriteInOrder) {
  for (std::string name : {"TensorScatterAdd", "TensorScatterSub", "TensorScatterUpdate"}) {
    Tensor x = counting(40), i = places(), u = counting(20);
    std::vector<float> expected = floats(x);
    for (int64_t k = 0; k < 20; ++k) {
      float &element = expected[static_cast<size_t>(i.data<int32_t>()[k])];
      float update = u.data<float>()[k];
      element = name == "TensorScatterAdd"   ? element + update
                : name == "TensorScatterSub" ? element - update
                                             : update;
    }
    std::vector<Tensor> results = buildAndCall(scatter(name), {x, i, u});
    ASSERT_EQ(results.size(), 1U) << name;
    EXPECT_EQ(numKernels, 0U) << name;
    EXPECT_EQ(floats(results[0]), expected) << name;
    EXPECT_EQ(floats(x), floats(counting(40))) << name; // x is used again
  }
}

TEST_F(PlacesTest, AnIndexOutsideIsTheInterpretersError) {
  for (int32_t outside : {-1, 40}) {
    EXPECT_TRUE(
        buildAndCall(scatter("TensorScatterAdd"), {counting(40), places(outside), counting(20)})
            .empty())
        << outside;
  }
}

TEST_F(PlacesTest, ScatterNdAndGatherNdAreLoops) {
  std::string text =
      "tfg.func @f(%i: tensor<20x1xi32> {tfg.name = \"i\"}, %u: tensor<20xf32> {tfg.name = "
      "\"u\"}) -> (tensor<20xf32> {tfg.name = \"y\"}) {\n"
      "%s, %sc = Const name(\"s\") {dtype = i32, value = dense<40> : tensor<1xi32>} : () -> "
      "(tensor<1xi32>)\n" +
      op("x", "ScatterNd", "%i, %u, %s", "T = f32, Tindices = i32",
         "(tensor<20x1xi32>, tensor<20xf32>, tensor<1xi32>) -> (tensor<40xf32>)") +
      op("y", "GatherNd", "%x, %i", "Tparams = f32, Tindices = i32",
         "(tensor<40xf32>, tensor<20x1xi32>) -> (tensor<20xf32>)") +
      "return(%y) : tensor<20xf32> }";
  Tensor i = places(), u = counting(20);
  std::vector<float> sums(40), expected;
  for (int64_t k = 0; k < 20; ++k)
    sums[static_cast<size_t>(i.data<int32_t>()[k])] += u.data<float>()[k];
  for (int64_t k = 0; k < 20; ++k)
    expected.push_back(sums[static_cast<size_t>(i.data<int32_t>()[k])]);
  std::vector<Tensor> results = buildAndCall(text, {i, u});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(numKernels, 0U);
  EXPECT_EQ(floats(results[0]), expected);
}

} // namespace
} // namespace treadle::codegen
