// Reductions by functions that find the position of an extreme.
#include "treadle/testing/CodegenTesting.h"

#include <array>
#include <cmath>

namespace treadle::codegen {
namespace {

/// Reduces rows of pairs of a number and its position. `y` is the number of the result that is
/// returned.
std::string reduction(const std::string &comparison, float start, const std::string &y = "1") {
  std::string type = y == "1" ? "i32" : "f32",
              args = "%a: tensor<*xf32> {tfg.name = \"a\"}, %i: tensor<*xi32> {tfg.name = \"i\"}, "
                     "%b: tensor<*xf32> {tfg.name = \"b\"}, %j: tensor<*xi32> {tfg.name = \"j\"}",
              floats = "(tensor<*xf32>, tensor<*xf32>) -> (tensor<*xi1>)",
              truths = "(tensor<*xi1>, tensor<*xi1>) -> (tensor<*xi1>)";
  return "tfg.func @f(%x: tensor<4x19xf32> {tfg.name = \"x\"}, %p: tensor<4x19xi32> {tfg.name = "
         "\"p\"}) -> (tensor<4x" +
         type + "> {tfg.name = \"y\"}) {\n" + constant("v", "f32", std::to_string(start)) +
         constant("z", "i32", "5") +
         "%r:2, %rc = XlaVariadicReduceV2(%x, %p, %v, %z) name(\"r\") {T = [f32, i32], "
         "dimensions_to_reduce = [1], reducer = #tf_type.func<@reducer, {}>} : (tensor<4x19xf32>, "
         "tensor<4x19xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)\n"
         "return(%r#" +
         y + ") : tensor<4x" + type + "> }\n" + "tfg.func @reducer(" + args +
         ") -> (tensor<*xf32> {tfg.name = \"value\"}, tensor<*xi32> {tfg.name = \"position\"}) "
         "{\n" +
         op("more", comparison, "%a, %b", "T = f32", floats) +
         op("nan", "NotEqual", "%a, %a", "T = f32", floats) +
         op("wins", "LogicalOr", "%more, %nan", "", truths) +
         op("same", "Equal", "%a, %b", "T = f32", floats) +
         op("first", "Less", "%i, %j", "T = i32",
            "(tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi1>)") +
         op("tie", "LogicalAnd", "%same, %first", "", truths) +
         op("picks", "LogicalOr", "%wins, %tie", "", truths) +
         op("value", "SelectV2", "%wins, %a, %b", "T = f32",
            "(tensor<*xi1>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)") +
         op("position", "SelectV2", "%picks, %i, %j", "T = i32",
            "(tensor<*xi1>, tensor<*xi32>, tensor<*xi32>) -> (tensor<*xi32>)") +
         "return(%value, %position) : tensor<*xf32>, tensor<*xi32> }";
}

class ReducersTest : public CodegenTest {
protected:
  ReducersTest() {
    std::vector<float> numbers;
    for (int i = 0; i < 4 * 19; ++i)
      numbers.push_back(static_cast<float>(i * 7 % 5));
    numbers[19 + 11] = numbers[19 + 4] = NAN;
    std::fill_n(numbers.begin() + 38, 19, -INFINITY);
    numbers[57 + 3] = INFINITY;
    x = f32(numbers, {4, 19});
    places = *Tensor::make(DType::Int32, {4, 19});
    for (int i = 0; i < 4 * 19; ++i)
      places.data<int32_t>()[i] = 30 + i % 19;
  }

  /// The position of each row, found one element after the other.
  std::vector<int32_t> expected(bool isGreatest, float start) const {
    std::vector<int32_t> found;
    for (int r = 0; r < 4; ++r) {
      float best = start;
      int32_t at = 5;
      for (int i = 0; i < 19; ++i) {
        float own = x.data<float>()[r * 19 + i];
        int32_t place = places.data<int32_t>()[r * 19 + i];
        bool stays = (isGreatest ? best > own : best < own) || best != best;
        at = stays || (best == own && at < place) ? at : place;
        best = stays ? best : own;
      }
      found.push_back(at);
    }
    return found;
  }

  Tensor x, places;
};

TEST_F(ReducersTest, ThePositionOfAnExtremeIsTheFirst) {
  for (float start : {-100.F, 2.F, 4.F, 100.F})
    for (bool isGreatest : {true, false}) {
      std::vector<Tensor> found =
          buildAndCall(reduction(isGreatest ? "Greater" : "Less", start), {x, places});
      ASSERT_EQ(found.size(), 1U);
      auto positions = found[0].values<int32_t>();
      EXPECT_EQ(std::vector(positions.begin(), positions.end()), expected(isGreatest, start))
          << start << isGreatest;
    }
}

TEST_F(ReducersTest, ItsValueIsFoundOneAfterTheOther) {
  std::vector<Tensor> found = buildAndCall(reduction("Greater", -100, "0"), {x, places});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].data<float>()[0], 4);
  EXPECT_TRUE(std::isnan(found[0].data<float>()[1]));
  EXPECT_EQ(found[0].data<float>()[2], -100);
}

} // namespace
} // namespace treadle::codegen
