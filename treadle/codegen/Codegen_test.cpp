// Compiles and runs functions; checks values and memory use.
#include "treadle/testing/CodegenTesting.h"

#include <cmath>

namespace treadle::codegen {
namespace {

TEST_F(CodegenTest, ScalarsAreComputedInRegisters) {
  auto results = buildAndCall(
      R"(tfg.func @f(%x: tensor<f32> {tfg.name = "x"}) -> (tensor<f32> {tfg.name = "y"}) {)" +
          constant("half", "f32", "0.5") +
          op("product", "Mul", "%x, %half", "T = f32",
             "(tensor<f32>, tensor<f32>) -> (tensor<f32>)") +
          "return(%product) : tensor<f32> }",
      {scalar(3)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].scalarValue<float>(), 1.5f);
}

TEST_F(CodegenTest, ElementwiseOpsAreFusedAndOverwriteWhatNobodyNeeds) {
  std::string text =
      R"(tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"}, %y: tensor<*xf32> {tfg.name = "y"})
             -> (tensor<*xf32> {tfg.name = "z"}) {)" +
      op("sum", "AddV2", "%x, %y", "T = f32", "(tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)") +
      op("power", "Tanh", "%sum", "T = f32", "(tensor<*xf32>) -> (tensor<*xf32>)") +
      op("product", "Mul", "%power, %x", "T = f32",
         "(tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)") +
      "return(%product) : tensor<*xf32> }";
  std::vector<float> a, b, expected;
  for (int i = 0; i < 1003; ++i) {
    a.push_back(static_cast<float>(i) / 100 - 5);
    b.push_back(static_cast<float>(i % 7) / 3);
    expected.push_back(std::tanh(a.back() + b.back()) * a.back());
  }
  build(text, {row(a), row(b)});
  ASSERT_TRUE(compiled);
  std::vector<Tensor> owned;
  owned.push_back(row(a));
  owned.push_back(row(b));
  auto results = call(std::move(owned));
  ASSERT_EQ(results.size(), 1u);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(results[0].values<float>()[i], expected[i], 1e-6);
  EXPECT_EQ(allocations, 0u); // the caller no longer holds x
  EXPECT_EQ(reuses, 1u);
  Tensor x = row(a);
  results = call({x, row(b)});
  EXPECT_EQ(floats(x), a);
}

TEST_F(CodegenTest, RowsAreRepeatedWhereShapesSaySo) {
  std::string text =
      R"(tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"}, %y: tensor<*xf32> {tfg.name = "y"})
             -> (tensor<*xf32> {tfg.name = "z"}) {)" +
      op("sum", "Sub", "%x, %y", "T = f32", "(tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)") +
      "return(%sum) : tensor<*xf32> }";
  auto results = buildAndCall(text, {f32({1, 2, 3, 4, 5, 6}, {2, 3}), row({1, 2, 3})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{0, 0, 0, 3, 3, 3}));
  results = buildAndCall(text, {f32({1, 2}, {2, 1}), row({1, 2, 3})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{0, -1, -2, 1, 0, -1}));
  // The same class with other shapes, and shapes that don't fit, for which the code bails out.
  results = call({f32({7}, {1, 1}), row({1, 2})});
  EXPECT_TRUE(results.empty() || floats(results[0]) == (std::vector<float>{6, 5}));
  results = buildAndCall(text, {row({1, 2, 3}), row({1, 2, 3})});
  EXPECT_TRUE(call({row({1, 2, 3}), row({1, 2})}).empty());
}

TEST_F(CodegenTest, DivisionByZeroIsTheInterpretersBusiness) {
  std::string text =
      R"(tfg.func @f(%x: tensor<i32> {tfg.name = "x"}, %y: tensor<i32> {tfg.name = "y"})
             -> (tensor<i32> {tfg.name = "q"}, tensor<i32> {tfg.name = "r"}) {)" +
      op("q", "FloorDiv", "%x, %y", "T = i32", "(tensor<i32>, tensor<i32>) -> (tensor<i32>)") +
      op("r", "FloorMod", "%x, %y", "T = i32", "(tensor<i32>, tensor<i32>) -> (tensor<i32>)") +
      "return(%q, %r) : tensor<i32>, tensor<i32> }";
  build(text, {i32(7), i32(2)});
  ASSERT_TRUE(compiled);
  for (int x : {7, -7, 8, -8, 0})
    for (int y : {2, -2, 3, -3, 1}) {
      auto results = call({i32(x), i32(y)});
      ASSERT_EQ(results.size(), 2u);
      int quotient = static_cast<int>(std::floor(static_cast<double>(x) / y));
      EXPECT_EQ(results[0].scalarValue<int32_t>(), quotient) << x << " / " << y;
      EXPECT_EQ(results[1].scalarValue<int32_t>(), x - quotient * y) << x << " / " << y;
    }
  EXPECT_TRUE(call({i32(7), i32(0)}).empty());
}

TEST_F(CodegenTest, ScalarLoop) {
  std::string text = loopOf(
      "tensor<f32>",
      constant("half", "f32", "0.5") + constant("unit", "f32", "1.0") +
          op("m", "Mul", "%x, %half", "T = f32", "(tensor<f32>, tensor<f32>) -> (tensor<f32>)") +
          op("z", "AddV2", "%m, %unit", "T = f32", "(tensor<f32>, tensor<f32>) -> (tensor<f32>)"),
      "%z, %y");
  auto results = buildAndCall(text, {i32(0), i32(5), scalar(1), scalar(9)});
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[0].scalarValue<int32_t>(), 5);
  EXPECT_EQ(results[2].scalarValue<float>(), 1.96875f);
  EXPECT_EQ(results[3].scalarValue<float>(), 9);
}

TEST_F(CodegenTest, LoopInPlaceAllocatesOnce) {
  std::string type = "tensor<*xf32>";
  std::string text = loopOf(
      type,
      op("z", "AddV2", "%x, %y", "T = f32", "(tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)"),
      "%z, %y");
  build(text, {i32(0), i32(8), row({1, 2, 3}), row({1, 1, 1})});
  ASSERT_TRUE(compiled);
  Tensor x = row({1, 2, 3}), y = row({1, 1, 1});
  auto results = call({i32(0), i32(8), x, y});
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(floats(results[2]), (std::vector<float>{9, 10, 11}));
  EXPECT_EQ(floats(x), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(allocations, 1u);
  EXPECT_EQ(copies, 0u);
  EXPECT_EQ(reuses, 7u);
}

TEST_F(CodegenTest, AReductionMayLearnItsSizeFromWhatUsesIt) {
  // Only a shape in the body determines that there are three columns. The size of y, one element
  // for each column of the greatest elements, is known before the loop.
  std::string type = "tensor<*xf32>", both = "(tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)";
  std::string reduced = "(tensor<*xf32>, tensor<1xi32>) -> (tensor<*xf32>)";
  std::string attrs = "T = f32, Tidx = i32, keep_dims = false";
  std::string text = loopOf(
      type,
      "%a, %ac = Const name(\"a\") {dtype = i32, value = dense<0> : tensor<1xi32>} : () -> "
      "(tensor<1xi32>)\n"
      "%r, %rc = Const name(\"r\") {dtype = i32, value = dense<[1, 3]> : tensor<2xi32>} : () -> "
      "(tensor<2xi32>)\n" +
          op("sum", "AddV2", "%y, %x", "T = f32", both) +
          op("most", "Max", "%sum, %a", attrs, reduced) +
          op("row", "Reshape", "%most, %r", "T = f32, Tshape = i32",
             "(tensor<*xf32>, tensor<2xi32>) -> (tensor<*xf32>)") +
          op("less", "Sub", "%sum, %row", "T = f32", both) +
          op("total", "Sum", "%less, %a", attrs, reduced) +
          op("back", "AddV2", "%total, %most", "T = f32", both) +
          op("z", "AddV2", "%x, %back", "T = f32", both),
      "%z, %y");
  auto results = buildAndCall(
      text, {i32(0), i32(1), f32({1, 2, 3, 6, 5, 4}, {2, 3}), f32({0, 1, 0, 1, 0, 1}, {2, 3})});
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(floats(results[2]), (std::vector<float>{2, 5, 6, 7, 8, 7}));
  results = call({i32(0), i32(1), f32({1, 2, 6, 5}, {2, 2}), f32({0, 1, 1, 0}, {2, 2})});
  EXPECT_TRUE(results.empty());
}

TEST_F(CodegenTest, SwappedTensorsAreNotCopied) {
  auto results = buildAndCall(loopOf("tensor<*xf32>", "", "%y, %x"),
                              {i32(0), i32(3), row({1, 2}), row({3, 4})});
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(floats(results[2]), (std::vector<float>{3, 4}));
  EXPECT_EQ(floats(results[3]), (std::vector<float>{1, 2}));
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(copies, 0u);
}

TEST_F(CodegenTest, GrowingTensorTakesOneAllocationAnIteration) {
  std::string text =
      loopOf("tensor<*xf32>",
             constant("axis", "i32", "0") +
                 op("z", "ConcatV2", "%x, %y, %axis", "N = 2 : i64, T = f32, Tidx = i32",
                    "(tensor<*xf32>, tensor<*xf32>, tensor<i32>) -> (tensor<*xf32>)"),
             "%z, %y");
  auto results = buildAndCall(text, {i32(0), i32(4), row({1}), row({2, 3})});
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(floats(results[2]), (std::vector<float>{1, 2, 3, 2, 3, 2, 3, 2, 3}));
  EXPECT_EQ(allocations, 4u); // not counting the first one, which belongs to the caller
  EXPECT_EQ(copies, 4u);
}

TEST_F(CodegenTest, NothingIsLeakedWhereTheLoopIsLeft) {
  std::string body =
      constant("zero", "i32", "0") + constant("three", "i32", "3") +
      op("d", "Sub", "%three, %i", "T = i32", "(tensor<i32>, tensor<i32>) -> (tensor<i32>)") +
      op("q", "FloorDiv", "%n, %d", "T = i32", "(tensor<i32>, tensor<i32>) -> (tensor<i32>)") +
      op("s", "Cast", "%q", "SrcT = i32, DstT = f32", "(tensor<i32>) -> (tensor<f32>)") +
      op("z", "AddV2", "%x, %s", "T = f32", "(tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)");
  build(loopOf("tensor<*xf32>", body, "%z, %x"), {i32(0), i32(3), row({1, 2}), row({3, 4})});
  ASSERT_TRUE(compiled);
  int64_t live = Tensor::liveBytes();
  {
    auto results = call({i32(0), i32(3), row({1, 2}), row({3, 4})});
    ASSERT_EQ(results.size(), 4u);
    EXPECT_EQ(floats(results[2]), (std::vector<float>{6, 7})); // 1 + 1 + 1 + 3
  }
  EXPECT_TRUE(call({i32(0), i32(6), row({1, 2}), row({3, 4})}).empty());
  EXPECT_EQ(Tensor::liveBytes(), live);
}

TEST_F(CodegenTest, TheBranchesOfAConditionalHandBackWhatTheyWereGiven) {
  std::string branch = [](const char *name, const char *value) {
    return std::string("tfg.func @") + name +
           R"((%a: tensor<*xf32> {tfg.name = "a"}, %b: tensor<*xf32> {tfg.name = "b"})
               -> (tensor<*xf32> {tfg.name = "r"}) { return(%)" +
           value + ") : tensor<*xf32> }\n";
  }("first", "a");
  std::string other =
      R"(tfg.func @second(%a: tensor<*xf32> {tfg.name = "a"}, %b: tensor<*xf32> {tfg.name = "b"})
               -> (tensor<*xf32> {tfg.name = "r"}) { return(%b) : tensor<*xf32> }
)";
  std::string text =
      branch + other +
      R"(tfg.func @f(%p: tensor<i1> {tfg.name = "p"}, %x: tensor<*xf32> {tfg.name = "x"}, %y: tensor<*xf32> {tfg.name = "y"})
             -> (tensor<*xf32> {tfg.name = "z"}) {
           %i, %ic = If(%p, %x, %y) name("i") {Tcond = i1, Tin = [f32, f32], Tout = [f32],
             output_shapes = [], then_branch = #tf_type.func<@first, {}>,
             else_branch = #tf_type.func<@second, {}>}
             : (tensor<i1>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
           return(%i) : tensor<*xf32> })";
  Tensor yes = Tensor::scalar(DType::Bool, true), no = Tensor::scalar(DType::Bool, false);
  Tensor x = row({1, 2}), y = row({3, 4, 5});
  build(text, {yes, x, y});
  ASSERT_TRUE(compiled);
  auto results = call({yes, x, y});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].sharesElementsWith(x));
  results = call({no, x, y});
  EXPECT_TRUE(results[0].sharesElementsWith(y));
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(copies, 0u);
}

TEST_F(CodegenTest, WhatIsTooLargeIsNotCompiled) {
  std::string type = "(tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)";
  module = mlir::parseSourceString<mlir::ModuleOp>(
      R"(tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "z"}) {)" +
          op("sum", "AddV2", "%x, %x", "T = f32", type) +
          op("product", "Mul", "%sum, %x", "T = f32", type) + "return(%product) : tensor<*xf32> }",
      &context);
  ASSERT_TRUE(module);
  auto find = [&](llvm::StringRef name) { return module->lookupSymbol<tfg::FuncOp>(name); };
  auto translateWithin = [&](int64_t maxWeight) {
    TranslationOptions options;
    options.maxWeight = maxWeight;
    return translate(find("f"), {ArgumentClass{DType::Float32, true, {ArgumentClass::any}}}, find,
                     context, options);
  };
  EXPECT_TRUE(translateWithin(100));
  for (int64_t maxWeight : {2, 30}) { // two nodes, two loops
    auto program = translateWithin(maxWeight);
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().code, Code::Unimplemented);
    EXPECT_NE(program.error().message.find("function 'f' is too large"), std::string::npos)
        << program.error().message;
  }
}

TEST_F(CodegenTest, StatefulOpsAreNotCompiled) {
  module = mlir::parseSourceString<mlir::ModuleOp>(
      R"(tfg.func @f(%s: tensor<*xi32> {tfg.name = "s"}) -> (tensor<*xf32> {tfg.name = "r"}) {
           %r, %c = RandomUniform(%s) name("dice") {T = i32, dtype = f32, seed = 0 : i64, seed2 = 0 : i64}
             : (tensor<*xi32>) -> (tensor<*xf32>)
           return(%r) : tensor<*xf32> })",
      &context);
  ASSERT_TRUE(module);
  auto find = [&](llvm::StringRef name) { return module->lookupSymbol<tfg::FuncOp>(name); };
  Expected<TensorProgram> program = translate(
      find("f"), {ArgumentClass{DType::Int32, true, {ArgumentClass::any}}}, find, context);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, Code::Unimplemented);
  EXPECT_NE(program.error().message.find("'dice'"), std::string::npos) << program.error().message;
}

} // namespace
} // namespace treadle::codegen
