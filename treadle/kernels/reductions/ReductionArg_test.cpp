#include "treadle/testing/KernelTest.h"

#include <limits>

namespace treadle {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
using Places = std::vector<int64_t>;

template <typename T>
Places placesIn(const std::string &op, const std::vector<T> &x, const std::vector<int64_t> &dims,
                int32_t axis) {
  return values<int64_t>(run1(op, {tensor<T>(dims, x), scalar<int32_t>(axis)}, DType::Int64));
}

Places placesIn(const std::string &op, const std::vector<float> &x) {
  return placesIn(op, x, {std::ssize(x)}, 0);
}

TEST(ReductionArg, TensorFlowSkipsNaN) {
  EXPECT_EQ(placesIn("ArgMax", {nan, 1, 3, 3}), Places{2});
  EXPECT_EQ(placesIn("ArgMin", {nan, 3, 1, 1}), Places{2});
  EXPECT_EQ(placesIn("ArgMax", {nan, -infinity, -infinity}), Places{0});
}

TEST(ReductionArg, PyTorchOpsFindTheFirstNaN) {
  EXPECT_EQ(placesIn("_ArgMax", {infinity, nan, 3, nan}), Places{1});
  EXPECT_EQ(placesIn("_ArgMin", {-infinity, 3, nan, nan}), Places{2});
  EXPECT_EQ(placesIn("_ArgMax", {-infinity, std::numeric_limits<float>::lowest()}), Places{1});
  EXPECT_EQ(placesIn("_ArgMin", {infinity, infinity}), Places{0});
  EXPECT_EQ(placesIn("_ArgMax", {-0.0F, 0.0F}), Places{0});
}

// Long rows are searched in blocks, adjacent columns together.
TEST(ReductionArg, LongRowsAndManyColumns) {
  constexpr int64_t rows = 700, columns = 300;
  std::vector<float> x(rows * columns);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i * 7919 % 997);
  x[650 * columns + 290] = x[20 * columns + 290] = 2000;
  x[3 * columns + 299] = 3000;
  x[600 * columns + 299] = x[601 * columns + 299] = nan;
  std::vector<float> turned(x.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      turned[j * rows + i] = x[i * columns + j];
  for (std::string op : {"ArgMax", "ArgMin", "_ArgMax", "_ArgMin"}) {
    Places down = placesIn(op, x, {rows, columns}, 0);
    EXPECT_EQ(down, placesIn(op, turned, {columns, rows}, 1)) << op;
    EXPECT_EQ(down, placesIn(op, turned, {columns, rows}, -1)) << op;
    bool isMax = op.ends_with("Max"), findsNaN = op[0] == '_';
    if (isMax)
      EXPECT_EQ(down[290], 20);
    EXPECT_EQ(down[299] == 600, findsNaN);
    if (isMax && !findsNaN)
      EXPECT_EQ(down[299], 3);
  }
}

TEST(ReductionArg, SmallestAndLargestIntegers) {
  using L = std::numeric_limits<int64_t>;
  std::vector<int64_t> x(100, L::min());
  EXPECT_EQ(placesIn("_ArgMax", x, {100}, 0), Places{0});
  x[70] = L::min() + 1;
  EXPECT_EQ(placesIn("_ArgMax", x, {100}, 0), Places{70});
  EXPECT_EQ(placesIn("_ArgMin", std::vector<uint8_t>(40, 255), {2, 20}, 1), (Places{0, 0}));
}

TEST(ReductionArg, EmptyTensorsAndWrongAxes) {
  EXPECT_EQ(placesIn<float>("_ArgMax", {}, {3, 0}, 0), Places{});
  for (const std::vector<int64_t> &dims : {std::vector<int64_t>{0}, std::vector<int64_t>{2, 0}})
    EXPECT_EQ(
        errorClassOf("_ArgMax", {tensor<float>(dims, {}), scalar<int32_t>(-1)}, {DType::Int64}),
        "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("_ArgMin", {vec<float>({1}), scalar<int32_t>(1)}, {DType::Int64}),
            "InvalidArgumentError");
}

} // namespace
} // namespace treadle
