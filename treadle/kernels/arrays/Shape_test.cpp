// Shapes, fills, and identity ops.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using I32 = std::vector<int32_t>;
using I64 = std::vector<int64_t>;
using F32 = std::vector<float>;

AttrMap attrs(std::string_view name, AttrValue value) {
  AttrMap map;
  map.set(name, std::move(value));
  return map;
}

std::string shapeOf(const Tensor &t) { return t ? dimsText(t.dims()) : "nothing"; }

// --- identity ops ------------------------------------------------------------------------------

TEST(Pass, IdentitySharesTheTensor) {
  Tensor in = vec<float>({1, 2});
  EXPECT_TRUE(run1("Identity", {in}).sharesElementsWith(in));
  auto out = runAll("IdentityN", {in, scalar<int32_t>(3)}, {DType::Float32, DType::Int32});
  EXPECT_TRUE(out[0].sharesElementsWith(in));
  EXPECT_EQ(values<int32_t>(out[1]), I32{3});
}

TEST(Pass, DeepCopyDoesNotShare) {
  Tensor in = vec<float>({1, 2});
  Tensor out = run1("DeepCopy", {in});
  EXPECT_FALSE(out.sharesElementsWith(in));
  EXPECT_EQ(values<float>(out), (F32{1, 2}));
}

TEST(Pass, EnsureShapeChecks) {
  Tensor in = iota<float>({2, 3}, 0);
  EXPECT_EQ(shapeOf(run1("EnsureShape", {in}, {}, attrs("shape", PartialShape::ranked({-1, 3})))),
            "[2,3]");
  EXPECT_EQ(errorOf("EnsureShape", {in}, {}, attrs("shape", PartialShape::ranked({-1, 4}))),
            "InvalidArgumentError: input has shape [2,3], expected [?,4]");
}

TEST(Pass, PlaceholderMustBeFed) {
  auto out = runOp(builtinKernels(), "Placeholder", attrs("shape", PartialShape::ranked({2})), {},
                   {DType::Float32});
  ASSERT_FALSE(out);
  EXPECT_EQ(errorClass(out.error().code), "InvalidArgumentError");
  EXPECT_EQ(out.error().message,
            "placeholder 'Placeholder' has no value; feed a float32 of shape [2]");
}

TEST(Pass, DeviceIndexIsThatOfTheCpu) {
  auto index = [](std::vector<std::string> names) {
    auto out = runAll("DeviceIndex", {}, {DType::Int32}, attrs("device_names", std::move(names)));
    return values<int32_t>(out.at(0));
  };
  EXPECT_EQ(index({"GPU", "CPU"}), I32{1});
  EXPECT_EQ(index({"GPU", "TPU"}), I32{2});
}

// --- reading shapes ----------------------------------------------------------------------------

TEST(Shape, ReadsShapes) {
  Tensor in = iota<float>({2, 3}, 0);
  EXPECT_EQ(values<int32_t>(run1("Shape", {in}, DType::Int32)), (I32{2, 3}));
  EXPECT_EQ(values<int64_t>(run1("Shape", {in}, DType::Int64)), (I64{2, 3}));
  EXPECT_EQ(shapeOf(run1("Shape", {scalar<float>(1)}, DType::Int32)), "[0]");
  EXPECT_EQ(values<int32_t>(run1("Size", {in}, DType::Int32)), I32{6});
  EXPECT_EQ(values<int32_t>(run1("Rank", {in}, DType::Int32)), I32{2});
  auto out = runAll("ShapeN", {in, vec<float>({1})}, {DType::Int32, DType::Int32});
  EXPECT_EQ(values<int32_t>(out[1]), I32{1});
}

TEST(Shape, SizesThatDoNotFitInt32AreAnError) {
  Tensor wide = *Tensor::make(DType::Float32, {0, int64_t(1) << 31});
  EXPECT_EQ(errorClassOf("Shape", {wide}, {DType::Int32}), "InvalidArgumentError");
  EXPECT_EQ(values<int64_t>(run1("Shape", {wide}, DType::Int64)), (I64{0, int64_t(1) << 31}));
}

// --- changing shapes ---------------------------------------------------------------------------

TEST(Shape, ReshapeSharesAndWorksOutMinusOne) {
  Tensor in = iota<float>({2, 3}, 0);
  Tensor out = run1("Reshape", {in, vec<int32_t>({3, -1})});
  EXPECT_EQ(shapeOf(out), "[3,2]");
  EXPECT_TRUE(out.sharesElementsWith(in));
  EXPECT_EQ(shapeOf(run1("Reshape", {scalar<float>(1), vec<int64_t>({})})), "[]");
}

TEST(Shape, ReshapeOfEmptyTensorsLeavesZerosOut) {
  struct Case {
    I64 in, shape;
    std::string result;
  };
  for (const Case &c : std::vector<Case>{{{0, 2}, {-1, 0}, "[2,0]"},
                                         {{0, 2}, {-1, 4}, "[0,4]"},
                                         {{0}, {-1, 0, 0}, "[1,0,0]"},
                                         {{0, 5}, {0, -1}, "[0,5]"},
                                         {{0, 2, 3}, {3, -1}, "[3,0]"},
                                         {{0, 6}, {0, -1, 1000}, "[0,0,1000]"},
                                         {{0, 0, 6}, {0, -1}, "[0,6]"}})
    EXPECT_EQ(shapeOf(run1("Reshape", {iota<float>(c.in, 0), vec<int64_t>(c.shape)})), c.result);
}

TEST(Shape, ReshapeErrors) {
  Tensor in = iota<float>({2, 3}, 0);
  EXPECT_EQ(
      errorOf("Reshape", {in, vec<int32_t>({4})}),
      "InvalidArgumentError: cannot reshape input of shape [2,3] with 6 elements to shape [4]");
  for (const I64 &shape :
       {I64{-1, -1}, I64{-2, 3}, I64{4, -1}, I64{0, -1}, I64{int64_t(1) << 62, int64_t(1) << 62}})
    EXPECT_EQ(errorClassOf("Reshape", {in, vec<int64_t>(shape)}), "InvalidArgumentError")
        << dimsText(shape);
  EXPECT_EQ(errorClassOf("Reshape", {in, iota<int32_t>({1, 2}, 2)}), "InvalidArgumentError");
}

TEST(Shape, ExpandDims) {
  Tensor in = iota<float>({2, 3}, 0);
  auto expand = [&](int32_t axis) {
    return shapeOf(run1("ExpandDims", {in, scalar<int32_t>(axis)}));
  };
  EXPECT_EQ(expand(0), "[1,2,3]");
  EXPECT_EQ(expand(1), "[2,1,3]");
  EXPECT_EQ(expand(-1), "[2,3,1]");
  EXPECT_EQ(expand(-3), "[1,2,3]");
  EXPECT_EQ(errorOf("ExpandDims", {in, scalar<int32_t>(3)}),
            "InvalidArgumentError: axis is 3, expected one in [-3, 2] for an input of rank 2");
}

TEST(Shape, Squeeze) {
  Tensor in = iota<float>({1, 2, 1}, 0);
  auto squeeze = [&](I64 axes) { return attrs("squeeze_dims", std::move(axes)); };
  EXPECT_EQ(shapeOf(run1("Squeeze", {in})), "[2]");
  EXPECT_EQ(shapeOf(run1("Squeeze", {in}, {}, squeeze({0}))), "[2,1]");
  EXPECT_EQ(shapeOf(run1("Squeeze", {in}, {}, squeeze({-1}))), "[1,2]");
  EXPECT_EQ(errorOf("Squeeze", {in}, {}, squeeze({1})),
            "InvalidArgumentError: cannot squeeze dimension 1 of shape [1,2,1]: expected a size of "
            "1");
  EXPECT_EQ(errorClassOf("Squeeze", {in}, {}, squeeze({3})), "InvalidArgumentError");
}

// --- broadcasting shapes -----------------------------------------------------------------------

TEST(Shape, BroadcastGradientArgs) {
  struct Case {
    I32 a, b, reduceA, reduceB;
  };
  for (const Case &c : std::vector<Case>{{{2, 3}, {2, 3}, {}, {}},
                                         {{2, 3}, {3}, {}, {0}},
                                         {{}, {2, 3}, {0, 1}, {}},
                                         {{2, 1}, {1, 3}, {1}, {0}},
                                         {{1, 2}, {2}, {0}, {0}},
                                         {{1, 3}, {1, 1}, {0}, {0, 1}},
                                         {{1}, {1}, {}, {}},
                                         {{0}, {1}, {}, {0}}}) {
    auto out = runAll("BroadcastGradientArgs", {vec(c.a), vec(c.b)}, {DType::Int32, DType::Int32});
    EXPECT_EQ(values<int32_t>(out[0]), c.reduceA);
    EXPECT_EQ(values<int32_t>(out[1]), c.reduceB);
  }
  EXPECT_EQ(errorClassOf("BroadcastGradientArgs", {vec<int32_t>({2}), vec<int32_t>({3})},
                         {DType::Int32, DType::Int32}),
            "InvalidArgumentError");
}

TEST(Shape, BroadcastArgs) {
  EXPECT_EQ(values<int32_t>(run1("BroadcastArgs", {vec<int32_t>({2, 1}), vec<int32_t>({3})})),
            (I32{2, 3}));
  EXPECT_EQ(errorClassOf("BroadcastArgs", {vec<int32_t>({2}), vec<int32_t>({3})}),
            "InvalidArgumentError");
}

// --- fills -------------------------------------------------------------------------------------

TEST(Fill, Fill) {
  EXPECT_EQ(values<float>(run1("Fill", {vec<int32_t>({2, 2}), scalar<float>(7)}, DType::Float32)),
            (F32{7, 7, 7, 7}));
  EXPECT_EQ(shapeOf(run1("Fill", {vec<int32_t>({}), scalar<float>(7)}, DType::Float32)), "[]");
  Tensor text = run1("Fill", {vec<int64_t>({2}), scalar<std::string>("ab")}, DType::String);
  EXPECT_EQ(values<std::string>(text), (std::vector<std::string>{"ab", "ab"}));
  EXPECT_EQ(errorClassOf("Fill", {vec<int32_t>({-1}), scalar<float>(7)}, {DType::Float32}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("Fill", {vec<int32_t>({2}), vec<float>({7, 8})}, {DType::Float32}),
            "InvalidArgumentError");
}

TEST(Fill, ZerosAndOnesLike) {
  Tensor in = vec<float>({1, 2});
  EXPECT_EQ(values<float>(run1("ZerosLike", {in})), (F32{0, 0}));
  EXPECT_EQ(values<float>(run1("OnesLike", {in})), (F32{1, 1}));
  EXPECT_EQ(values<float>(in), (F32{1, 2}));
  EXPECT_EQ(values<std::string>(run1("ZerosLike", {vec<std::string>({"a"})})),
            std::vector<std::string>{""});
  EXPECT_EQ(errorClassOf("OnesLike", {vec<std::string>({"a"})}), "UnimplementedError");
}

template <typename T> Tensor range(T start, T limit, T delta) {
  return run1("Range", {scalar<T>(start), scalar<T>(limit), scalar<T>(delta)});
}

TEST(Fill, Range) {
  EXPECT_EQ(values<int32_t>(range<int32_t>(2, 9, 3)), (I32{2, 5, 8}));
  EXPECT_EQ(values<int32_t>(range<int32_t>(3, 0, -2)), (I32{3, 1}));
  EXPECT_EQ(values<int32_t>(range<int32_t>(3, 3, 1)), I32{});
  EXPECT_EQ(values<float>(range<float>(0, 1, 0.25f)), (F32{0, 0.25f, 0.5f, 0.75f}));
  EXPECT_EQ(values<int8_t>(range<int8_t>(-128, 127, 100)), (std::vector<int8_t>{-128, -28, 72}));
  EXPECT_EQ(values<int64_t>(range<int64_t>(INT64_MAX - 1, INT64_MAX, 5)), I64{INT64_MAX - 1});
}

TEST(Fill, RangeErrors) {
  auto error = [](float start, float limit, float delta) {
    return errorOf("Range", {scalar(start), scalar(limit), scalar(delta)});
  };
  EXPECT_EQ(error(0, 1, 0), "InvalidArgumentError: delta must not be 0");
  EXPECT_EQ(error(1, 0, 1),
            "InvalidArgumentError: a range with a positive delta needs start <= limit");
  EXPECT_EQ(error(0, 1, -1),
            "InvalidArgumentError: a range with a negative delta needs start >= limit");
  EXPECT_NE(error(0, INFINITY, 1), "");
  EXPECT_NE(error(0, NAN, 1), "");
}

TEST(Fill, LinSpace) {
  auto space = [](float start, float stop, int32_t num) {
    return values<float>(run1("LinSpace", {scalar(start), scalar(stop), scalar(num)}));
  };
  EXPECT_EQ(space(1, 3, 5), (F32{1, 1.5, 2, 2.5, 3}));
  EXPECT_EQ(space(1, 3, 1), F32{1});
  EXPECT_EQ(errorOf("LinSpace", {scalar(1.f), scalar(2.f), scalar<int32_t>(0)}),
            "InvalidArgumentError: num is 0, expected more than 0");
}

TEST(Fill, OneHot) {
  auto oneHot = [](Tensor indices, int64_t axis) {
    return run1("OneHot", {std::move(indices), scalar<int32_t>(3), scalar(5.f), scalar(1.f)},
                DType::Float32, attrs("axis", axis));
  };
  Tensor rows = oneHot(vec<int64_t>({0, 2, -1}), -1);
  EXPECT_EQ(shapeOf(rows), "[3,3]");
  EXPECT_EQ(values<float>(rows), (F32{5, 1, 1, 1, 1, 5, 1, 1, 1}));
  EXPECT_EQ(values<float>(oneHot(vec<int64_t>({0, 2}), 0)), (F32{5, 1, 1, 1, 1, 5}));
  EXPECT_EQ(values<float>(oneHot(scalar<int32_t>(1), -1)), (F32{1, 5, 1}));
}

TEST(ListToArray, HasAsManyOutputsAsInputs) {
  EXPECT_EQ(errorClassOf("_ListToArray", {scalar<int32_t>(3), scalar<int32_t>(4)}, {DType::Int32}),
            "InvalidArgumentError");
}

} // namespace
} // namespace treadle
