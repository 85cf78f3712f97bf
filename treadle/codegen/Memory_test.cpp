// Tests of the memory use of compiled loops: allocations, copies, and that all memory is freed,
// even after a bailout.
#include "treadle/testing/CodegenTesting.h"

namespace treadle::codegen {
namespace {

constexpr const char *anyShape = "tensor<*xf32>";

/// Large enough to show up in the process's live bytes.
Tensor large(float value) { return row(std::vector<float>(1 << 19, value)); }

std::string add(const std::string &name, const std::string &a, const std::string &b) {
  return op(name, "AddV2", "%" + a + ", %" + b, "T = f32",
            "(tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)");
}

/// A loop of `loopOf` that starts with x + x instead of x.
std::string beginningWithASum(std::string text) {
  std::string loop = "%w:4, %wc = While(%i, %n, %x, %y)";
  return text.replace(text.find(loop), loop.size(),
                      add("sum", "x", "x") + "%w:4, %wc = While(%i, %n, %sum, %y)");
}

class MemoryTest : public CodegenTest {
protected:
  /// Checks that a call left only the references that existed before.
  void expectAllFreed(const Tensor &x, const Tensor &y) {
    EXPECT_TRUE(x.isUnique());
    EXPECT_TRUE(y.isUnique());
    EXPECT_EQ(Tensor::liveBytes(), live);
  }

  int64_t live = 0;
};

TEST_F(MemoryTest, GrowingByOneAllocatesAndCopiesOnceAnIteration) {
  std::string body = constant("axis", "i32", "0") +
                     op("z", "ConcatV2", "%x, %y, %axis", "N = 2 : i64, T = f32, Tidx = i32",
                        "(tensor<*xf32>, tensor<*xf32>, tensor<i32>) -> (tensor<*xf32>)");
  build(beginningWithASum(loopOf(anyShape, body, "%z, %y")),
        {i32(0), i32(1), row({1, 2}), row({3})});
  ASSERT_TRUE(compiled);
  for (int n : {0, 1, 7, 100}) {
    auto results = call({i32(0), i32(n), row({1, 2}), row({3})});
    ASSERT_EQ(results.size(), 4u);
    EXPECT_EQ(results[2].count(), 2 + n);
    EXPECT_EQ(allocations, static_cast<uint64_t>(n + 1));
    EXPECT_EQ(copies, static_cast<uint64_t>(n));
  }
}

TEST_F(MemoryTest, ElementwiseInPlaceAllocatesOnce) {
  build(loopOf(anyShape, add("z", "x", "y"), "%z, %y"), {i32(0), i32(8), row({1, 2}), row({1, 1})});
  ASSERT_TRUE(compiled);
  Tensor x = row({1, 2}), y = row({1, 1});
  for (int n : {1, 2, 50}) {
    auto results = call({i32(0), i32(n), x, y});
    ASSERT_EQ(results.size(), 4u);
    EXPECT_EQ(floats(results[2]), (std::vector<float>{1.0f + n, 2.0f + n}));
    EXPECT_EQ(allocations, 1u);
    EXPECT_EQ(copies, 0u);
    EXPECT_EQ(reuses, static_cast<uint64_t>(n - 1));
  }
  call({i32(0), i32(0), x, y});
  EXPECT_EQ(allocations, 0u);
}

TEST_F(MemoryTest, ASwapOnlySwapsReferences) {
  build(loopOf(anyShape, "", "%y, %x"), {i32(0), i32(3), large(1), large(2)});
  ASSERT_TRUE(compiled);
  Tensor x = large(1), y = large(2);
  live = Tensor::liveBytes();
  for (int n : {0, 1, 6, 7}) {
    auto results = call({i32(0), i32(n), x, y});
    ASSERT_EQ(results.size(), 4u);
    EXPECT_TRUE(results[2].sharesElementsWith(n % 2 ? y : x));
    EXPECT_TRUE(results[3].sharesElementsWith(n % 2 ? x : y));
    EXPECT_EQ(allocations + copies + reuses, 0u);
    results.clear();
    expectAllFreed(x, y);
  }
}

/// x, y = x + y, and x or y, selected by an If.
std::string loopWithAlias() {
  auto branch = [](const std::string &name, const std::string &value) {
    return "tfg.func @" + name +
           R"((%a: tensor<*xf32> {tfg.name = "a"}, %b: tensor<*xf32> {tfg.name = "b"})
               -> (tensor<*xf32> {tfg.name = "r"}) { return(%)" +
           value + ") : tensor<*xf32> }\n";
  };
  std::string scalars = "(tensor<i32>, tensor<i32>) -> ";
  return branch("first", "a") + branch("second", "b") +
         loopOf(anyShape,
                constant("two", "i32", "2") + constant("zero", "i32", "0") +
                    op("half", "FloorMod", "%i, %two", "T = i32", scalars + "(tensor<i32>)") +
                    op("even", "Equal", "%half, %zero", "T = i32, incompatible_shape_error = true",
                       scalars + "(tensor<i1>)") +
                    op("chosen", "If", "%even, %x, %y",
                       "Tcond = i1, Tin = [f32, f32], Tout = [f32], output_shapes = [], "
                       "then_branch = #tf_type.func<@first, {}>, "
                       "else_branch = #tf_type.func<@second, {}>",
                       "(tensor<i1>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)") +
                    add("z", "x", "y"),
                "%z, %chosen");
}

TEST_F(MemoryTest, AnAliasInALoopIsFreedOnce) {
  build(loopWithAlias(), {i32(0), i32(3), large(1), large(2)});
  ASSERT_TRUE(compiled);
  Tensor x = large(1), y = large(2);
  live = Tensor::liveBytes();
  for (int n : {0, 1, 2, 9}) {
    auto results = call({i32(0), i32(n), x, y});
    ASSERT_EQ(results.size(), 4u);
    float a = 1, b = 2;
    for (int i = 0; i < n; ++i)
      std::tie(a, b) = std::pair(a + b, i % 2 == 0 ? a : b);
    EXPECT_EQ(results[2].data<float>()[0], a);
    EXPECT_EQ(results[3].data<float>()[0], b);
    EXPECT_EQ(allocations + reuses, static_cast<uint64_t>(n));
    EXPECT_EQ(copies, 0u);
    results.clear();
    expectAllFreed(x, y);
  }
}

TEST_F(MemoryTest, AllIsFreedWhereAnErrorStopsTheLoop) {
  std::string scalars = "(tensor<i32>, tensor<i32>) -> (tensor<i32>)";
  std::string body =
      constant("three", "i32", "3") + add("s", "x", "y") +
      op("d", "Sub", "%three, %i", "T = i32", scalars) +
      op("q", "FloorDiv", "%n, %d", "T = i32", scalars) +
      op("f", "Cast", "%q", "SrcT = i32, DstT = f32", "(tensor<i32>) -> (tensor<f32>)") +
      op("z", "AddV2", "%s, %f", "T = f32", "(tensor<*xf32>, tensor<f32>) -> (tensor<*xf32>)");
  build(loopOf(anyShape, body, "%z, %x"), {i32(0), i32(3), large(1), large(2)});
  ASSERT_TRUE(compiled);
  Tensor x = large(1), y = large(2);
  live = Tensor::liveBytes();
  ASSERT_EQ(call({i32(0), i32(3), x, y}).size(), 4u);
  expectAllFreed(x, y);
  EXPECT_TRUE(call({i32(0), i32(9), x, y}).empty()); // divides by 0 in the fourth iteration
  EXPECT_GT(allocations, 0u);
  expectAllFreed(x, y);
}

TEST_F(MemoryTest, AllIsFreedWhereAKernelFails) {
  // Concatenates columns of 2 and of 3 rows, which a kernel rejects.
  std::string body = constant("axis", "i32", "1") + add("s", "x", "x") +
                     op("z", "ConcatV2", "%s, %y, %axis", "N = 2 : i64, T = f32, Tidx = i32",
                        "(tensor<*xf32>, tensor<*xf32>, tensor<i32>) -> (tensor<*xf32>)");
  Tensor x = f32(std::vector<float>(1 << 20, 1), {2, 1 << 19}), y = f32({1, 2, 3}, {3, 1}),
         fits = f32({1, 2}, {2, 1});
  build(loopOf(anyShape, body, "%z, %y"), {i32(0), i32(3), x, y});
  ASSERT_TRUE(compiled);
  live = Tensor::liveBytes();
  EXPECT_TRUE(call({i32(0), i32(3), x, y}).empty());
  expectAllFreed(x, y);
  ASSERT_EQ(call({i32(0), i32(3), x, fits}).size(), 4u);
  expectAllFreed(x, fits);
}

TEST_F(MemoryTest, AllIsFreedWhereTheRunIsCancelled) {
  build(loopOf(anyShape, add("z", "x", "y"), "%z, %x"), {i32(0), i32(3), large(1), large(2)});
  ASSERT_TRUE(compiled);
  Tensor x = large(1), y = large(2);
  live = Tensor::liveBytes();
  for (int wait : {0, 1, 20}) {
    meanwhile = [wait](RunState &run) {
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      run.stop(cancelled("that's enough"));
    };
    EXPECT_TRUE(call({i32(0), i32(INT32_MAX), x, y}).empty());
    expectAllFreed(x, y);
  }
}

} // namespace
} // namespace treadle::codegen
