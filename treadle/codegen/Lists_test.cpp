// Tests of lists of tensors in compiled loops: contents and memory use.
#include "treadle/testing/CodegenTesting.h"

namespace treadle::codegen {
namespace {

constexpr const char *list = "tensor<!tf_type.variant>";
constexpr const char *any = "tensor<*xf32>";
constexpr const char *integer = "tensor<i32>";

std::string vector(const std::string &name, const std::string &values, int size) {
  std::string type = "tensor<" + std::to_string(size) + "xi32>";
  return "%" + name + ", %" + name + "_ctl = Const name(\"" + name +
         "\") {dtype = i32, value = dense<" + values + "> : " + type + "} : () -> (" + type + ")\n";
}

std::string reserve(const std::string &shape, const std::string &shapeType) {
  return op("empty", "TensorListReserve", "%" + shape + ", %n",
            "element_dtype = f32, shape_type = i32",
            "(" + shapeType + ", tensor<i32>) -> (" + list + ")");
}

std::string setItem(const std::string &result, const std::string &of, const std::string &index,
                    const std::string &item) {
  return op(result, "TensorListSetItem", "%" + of + ", %" + index + ", %" + item,
            "element_dtype = f32, resize_if_index_out_of_bounds = false",
            std::string("(") + list + ", " + integer + ", " + any + ") -> (" + list + ")");
}

std::string getItem(const std::string &result, const std::string &of, const std::string &index) {
  return op(result, "TensorListGetItem", "%" + of + ", %" + index + ", %open",
            "element_dtype = f32",
            std::string("(") + list + ", " + integer + ", " + integer + ") -> (" + any + ")");
}

std::string stack(const std::string &result, const std::string &of,
                  const std::string &shape = "open", const std::string &shapeType = integer) {
  return op(result, "TensorListStack", "%" + of + ", %" + shape,
            "element_dtype = f32, num_elements = -1 : i64",
            std::string("(") + list + ", " + shapeType + ") -> (" + any + ")");
}

std::string sum(const std::string &result, const std::string &a, const std::string &b) {
  return op(result, "AddV2", "%" + a + ", %" + b, "T = f32",
            std::string("(") + any + ", " + any + ") -> (" + any + ")");
}

/// f(n, x, m): `before` creates %empty; for (i = 0; i < n; ++i) `body` computes %set from %l, and
/// %y from %x; `after` gets %w#2 (the list) and %w#3, and computes %r.
std::string program(const std::string &before, const std::string &body, const std::string &after) {
  auto arguments = [](bool named) {
    std::string text;
    for (const auto &[name, type] :
         {std::pair("i", integer), {"n", integer}, {"l", list}, {"x", any}, {"m", integer}}) {
      text += text.empty() ? "" : ", ";
      text +=
          (named ? "%" + std::string(name) + ": " : "") + type + " {tfg.name = \"" + name + "\"}";
    }
    return text;
  };
  std::string types =
      std::string(integer) + ", " + integer + ", " + list + ", " + any + ", " + integer;
  return "tfg.func @cond(" + arguments(true) + ") -> (tensor<i1> {tfg.name = \"p\"}) {\n" +
         op("p", "Less", "%i, %n", "T = i32", "(tensor<i32>, tensor<i32>) -> (tensor<i1>)") +
         "return(%p) : tensor<i1> }\n" + "tfg.func @body(" + arguments(true) + ") -> (" +
         arguments(false) + ") {\n" + constant("one", "i32", "1") + constant("open", "i32", "-1") +
         op("next", "AddV2", "%i, %one", "T = i32", "(tensor<i32>, tensor<i32>) -> (tensor<i32>)") +
         body + "return(%next, %n, %set, %y, %m) : " + types + " }\n" +
         "tfg.func @f(%n: tensor<i32> {tfg.name = \"n\"}, %x: " + any +
         " {tfg.name = \"x\"}, %m: tensor<i32> {tfg.name = \"m\"}) -> (" + any +
         " {tfg.name = \"r\"}) {\n" + constant("zero", "i32", "0") + constant("open", "i32", "-1") +
         before +
         "%w:5, %wc = While(%zero, %n, %empty, %x, %m) name(\"w\") {T = [i32, i32, "
         "!tf_type.variant, f32, i32], cond = #tf_type.func<@cond, {}>, body = "
         "#tf_type.func<@body, {}>, output_shapes = [], parallel_iterations = 10 : i64} : (" +
         types + ") -> (" + types + ")\n" + after + "return(%r) : " + any + " }\n";
}

std::string keepX() {
  return op("y", "Identity", "%x", "T = f32", std::string("(") + any + ") -> (" + any + ")");
}

/// y = x + x
std::string doubleX() { return sum("y", "x", "x"); }

class ListsTest : public CodegenTest {
protected:
  void expectNoKernels() { EXPECT_EQ(numKernels, 0u); }
};

TEST_F(ListsTest, FillingAndStackingAllocatesOnceAndCopiesNothing) {
  // With and without a known element shape.
  for (bool isTold : {true, false}) {
    std::string before = isTold ? vector("shape", "2", 1) + reserve("shape", "tensor<1xi32>")
                                : reserve("open", integer);
    build(program(before, setItem("set", "l", "i", "x") + keepX(), stack("r", "w#2")),
          {i32(3), row({1, 2}), i32(0)});
    ASSERT_TRUE(compiled);
    expectNoKernels();
    for (int n : {1, 3, 100}) {
      auto results = call({i32(n), row({1, 2}), i32(0)});
      ASSERT_EQ(results.size(), 1u);
      EXPECT_EQ(results[0].dim(0), n);
      EXPECT_EQ(results[0].dim(1), 2);
      EXPECT_EQ(results[0].data<float>()[2 * n - 1], 2);
      EXPECT_EQ(allocations, 1u);
      EXPECT_EQ(copies, 0u);
    }
  }
}

TEST_F(ListsTest, ScalarsAreElements) {
  build(program(reserve("open", integer), setItem("set", "l", "i", "x") + doubleX(),
                stack("r", "w#2")),
        {i32(3), scalar(1), i32(0)});
  ASSERT_TRUE(compiled);
  expectNoKernels();
  auto results = call({i32(4), scalar(1), i32(0)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{1, 2, 4, 8}));
  EXPECT_EQ(allocations, 1u);
  EXPECT_EQ(copies, 0u);
}

TEST_F(ListsTest, ElementsThatWereNeverSetAreZeros) {
  build(
      program(reserve("open", integer), setItem("set", "l", "m", "x") + keepX(), stack("r", "w#2")),
      {i32(3), row({1, 2}), i32(1)});
  ASSERT_TRUE(compiled);
  auto results = call({i32(3), row({1, 2}), i32(1)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{0, 0, 1, 2, 0, 0}));
}

TEST_F(ListsTest, AListThatIsUsedAgainIsCopied) {
  // r = stack(list) + stack(list with another first element)
  std::string after = setItem("other", "w#2", "zero", "w#3") + stack("a", "w#2") +
                      stack("b", "other") + sum("r", "a", "b");
  build(program(reserve("open", integer), setItem("set", "l", "i", "x") + doubleX(), after),
        {i32(2), row({1, 2}), i32(0)});
  ASSERT_TRUE(compiled);
  auto results = call({i32(2), row({1, 2}), i32(0)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{1 + 4, 2 + 8, 2 + 2, 4 + 4}));
  EXPECT_EQ(copies, 1u);
}

TEST_F(ListsTest, ReadingAndWritingOneListIsInPlace) {
  // l[i] = l[m], with rows of x
  std::string before =
      op("empty", "TensorListFromTensor", "%x, %open", "element_dtype = f32, shape_type = i32",
         std::string("(") + any + ", " + integer + ") -> (" + list + ")");
  std::string body = getItem("row", "l", "m") + setItem("set", "l", "i", "row") + keepX();
  std::vector<Tensor> arguments = {i32(2), f32({1, 2, 3, 4, 5, 6}, {3, 2}), i32(2)};
  build(program(before, body, stack("r", "w#2")), arguments);
  ASSERT_TRUE(compiled);
  expectNoKernels();
  auto results = call(arguments);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{5, 6, 5, 6, 5, 6}));
  EXPECT_EQ(floats(arguments[1]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(copies, 3u); // all of x once, and one row in each iteration
}

TEST_F(ListsTest, RowsOfATensorAreReadWithoutACopy) {
  std::string before =
      op("empty", "TensorListFromTensor", "%x, %open", "element_dtype = f32, shape_type = i32",
         std::string("(") + any + ", " + integer + ") -> (" + list + ")");
  std::string body =
      getItem("row", "l", "i") +
      op("set", "Identity", "%l", "T = !tf_type.variant",
         std::string("(") + list + ") -> (" + list + ")") +
      op("y", "Softmax", "%row", "T = f32", std::string("(") + any + ") -> (" + any + ")");
  build(program(
            before, body,
            op("r", "Identity", "%w#3", "T = f32", std::string("(") + any + ") -> (" + any + ")")),
        {i32(2), f32(std::vector<float>(2048, 1), {2, 1024}), i32(0)});
  ASSERT_TRUE(compiled);
  auto results = call({i32(2), f32(std::vector<float>(2048, 1), {2, 1024}), i32(0)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].count(), 1024);
  EXPECT_EQ(results[0].data<float>()[5], 1.0f / 1024);
  EXPECT_EQ(copies, 0u);
}

TEST_F(ListsTest, PushingCopiesSeldom) {
  std::string before =
      constant("most", "i32", "-1") +
      op("empty", "EmptyTensorList", "%open, %most", "element_dtype = f32, shape_type = i32",
         "(tensor<i32>, tensor<i32>) -> (" + std::string(list) + ")");
  std::string push = op("set", "TensorListPushBack", "%l, %x", "element_dtype = f32",
                        std::string("(") + list + ", " + any + ") -> (" + list + ")");
  build(program(before, push + doubleX(), stack("r", "w#2")), {i32(3), row({1, 2}), i32(0)});
  ASSERT_TRUE(compiled);
  expectNoKernels();
  auto results = call({i32(100), row({0, 2}), i32(0)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].dim(0), 100);
  EXPECT_EQ(results[0].data<float>()[3 * 2 + 1], 16);
  EXPECT_EQ(copies, 5u); // of 4, 8, 16, 32 and 64 elements
}

TEST_F(ListsTest, PoppingIsInPlace) {
  // x + the elements of a list, starting from its end
  std::string before =
      op("empty", "TensorListFromTensor", "%x, %open", "element_dtype = f32, shape_type = i32",
         std::string("(") + any + ", " + integer + ") -> (" + list + ")");
  std::string body = "%set, %last, %set_ctl = TensorListPopBack(%l, %open) name(\"set\") "
                     "{element_dtype = f32} : (" +
                     std::string(list) + ", " + integer + ") -> (" + list + ", " + any + ")\n" +
                     sum("y", "x", "last");
  build(program(
            before, body,
            op("r", "Identity", "%w#3", "T = f32", std::string("(") + any + ") -> (" + any + ")")),
        {i32(3), row({1, 2, 4}), i32(0)});
  ASSERT_TRUE(compiled);
  expectNoKernels();
  auto results = call({i32(2), row({1, 2, 4}), i32(0)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{7, 8, 10}));
  EXPECT_TRUE(call({i32(4), row({1, 2, 4}), i32(0)}).empty()); // one more than it has
}

TEST_F(ListsTest, CodeLeavesWhereTheKernelFails) {
  build(
      program(reserve("open", integer), setItem("set", "l", "m", "x") + keepX(), stack("r", "w#2")),
      {i32(3), row({1, 2}), i32(1)});
  ASSERT_TRUE(compiled);
  Tensor x = row(std::vector<float>(1 << 19, 1));
  int64_t live = Tensor::liveBytes();
  EXPECT_EQ(call({i32(3), x, i32(2)}).size(), 1u);
  for (int index : {-1, 3})
    EXPECT_TRUE(call({i32(3), x, i32(index)}).empty());
  EXPECT_TRUE(call({i32(-1), x, i32(0)}).empty());
  EXPECT_TRUE(call({i32(0), x, i32(0)}).empty()); // there is no element that determines the shape
  EXPECT_EQ(Tensor::liveBytes(), live);
  EXPECT_TRUE(x.isUnique());
}

TEST_F(ListsTest, AnElementOfAnotherShapeIsTheKernelsBusiness) {
  std::string body =
      setItem("set", "l", "i", "x") + constant("axis", "i32", "0") +
      op("y", "ConcatV2", "%x, %x, %axis", "N = 2 : i64, T = f32, Tidx = i32",
         std::string("(") + any + ", " + any + ", " + integer + ") -> (" + any + ")");
  build(program(reserve("open", integer), body, stack("r", "w#2")), {i32(3), row({1, 2}), i32(0)});
  ASSERT_TRUE(compiled);
  EXPECT_EQ(call({i32(1), row({1, 2}), i32(0)}).size(), 1u);
  EXPECT_TRUE(call({i32(2), row({1, 2}), i32(0)}).empty());
}

// The dtype that a node states may differ from that of the list.
TEST_F(ListsTest, ElementsOfAnotherDTypeAreTheKernelsBusiness) {
  std::string integers = "tensor<*xi32>",
              body = setItem("set", "l", "i", "x") +
                     op("got", "TensorListGetItem", "%set, %i, %open", "element_dtype = i32",
                        std::string("(") + list + ", " + integer + ", " + integer + ") -> (" +
                            integers + ")") +
                     op("y", "Cast", "%got", "SrcT = i32, DstT = f32, Truncate = false",
                        "(" + integers + ") -> (" + any + ")");
  build(program(reserve("open", integer), body, stack("r", "w#2")), {i32(3), row({1, 2}), i32(0)});
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(call({i32(1), row({1, 2}), i32(0)}).empty());
}

TEST_F(ListsTest, WhatOnlyKernelsKnowLeavesTheListToThem) {
  // A list of zeros in each iteration, which is a handle from the beginning.
  std::string body = op("zeros", "ZerosLike", "%l", "T = !tf_type.variant",
                        std::string("(") + list + ") -> (" + list + ")") +
                     setItem("set", "zeros", "i", "x") + keepX();
  std::string before = vector("shape", "2", 1) + reserve("shape", "tensor<1xi32>");
  build(program(before, body, stack("r", "w#2")), {i32(3), row({1, 2}), i32(0)});
  ASSERT_TRUE(compiled);
  EXPECT_GT(numKernels, 0u);
  auto results = call({i32(2), row({1, 2}), i32(0)});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(floats(results[0]), (std::vector<float>{0, 0, 1, 2}));
}

} // namespace
} // namespace treadle::codegen
