// Concat, split, slices, gathers, tiles and pads.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using I32 = std::vector<int32_t>;
using I64 = std::vector<int64_t>;

AttrMap attrs(std::string_view name, AttrValue value) {
  AttrMap map;
  map.set(name, std::move(value));
  return map;
}

std::string shapeOf(const Tensor &t) { return t ? dimsText(t.dims()) : "nothing"; }

// --- concat ------------------------------------------------------------------------------------

TEST(Concat, JoinsAlongEveryAxis) {
  Tensor a = iota<int32_t>({2, 2}, 0), b = iota<int32_t>({2, 2}, 10);
  EXPECT_EQ(values<int32_t>(run1("ConcatV2", {a, b, scalar<int32_t>(0)})),
            (I32{0, 1, 2, 3, 10, 11, 12, 13}));
  EXPECT_EQ(values<int32_t>(run1("ConcatV2", {a, b, scalar<int64_t>(-1)})),
            (I32{0, 1, 10, 11, 2, 3, 12, 13}));
  EXPECT_EQ(values<int32_t>(run1("Concat", {scalar<int32_t>(1), a, b}, DType::Int32)),
            (I32{0, 1, 10, 11, 2, 3, 12, 13}));
}

TEST(Concat, EmptyPartsAndStrings) {
  Tensor none = iota<int32_t>({0}, 0), two = vec<int32_t>({1, 2});
  EXPECT_EQ(values<int32_t>(run1("ConcatV2", {none, two, none, scalar<int32_t>(0)})), (I32{1, 2}));
  EXPECT_EQ(shapeOf(run1("ConcatV2", {none, none, scalar<int32_t>(0)})), "[0]");
  EXPECT_EQ(values<std::string>(run1("ConcatV2", {vec<std::string>({"a"}), vec<std::string>({"b"}),
                                                  scalar<int32_t>(0)})),
            (std::vector<std::string>{"a", "b"}));
}

TEST(Concat, Errors) {
  Tensor a = iota<int32_t>({2, 2}, 0);
  EXPECT_EQ(
      errorOf("ConcatV2", {a, iota<int32_t>({2, 3}, 0), scalar<int32_t>(0)}),
      "InvalidArgumentError: input 1 has shape [2,3], but input 0 has [2,2]; only dimension 0 "
      "may differ");
  EXPECT_EQ(errorClassOf("ConcatV2", {a, vec<int32_t>({1}), scalar<int32_t>(0)}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("ConcatV2", {a, a, scalar<int32_t>(2)}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("ConcatV2", {scalar<int32_t>(1), scalar<int32_t>(1), scalar<int32_t>(0)}),
            "InvalidArgumentError");
}

TEST(Concat, Offsets) {
  auto out =
      runAll("ConcatOffset", {scalar<int32_t>(1), vec<int32_t>({2, 3}), vec<int32_t>({2, 4})},
             {DType::Int32, DType::Int32});
  EXPECT_EQ(values<int32_t>(out[0]), (I32{0, 0}));
  EXPECT_EQ(values<int32_t>(out[1]), (I32{0, 3}));
  EXPECT_EQ(errorClassOf("ConcatOffset",
                         {scalar<int32_t>(1), vec<int32_t>({2, 3}), vec<int32_t>({3, 4})},
                         {DType::Int32, DType::Int32}),
            "InvalidArgumentError");
}

TEST(Concat, PackAndUnpack) {
  Tensor a = vec<int32_t>({1, 2}), b = vec<int32_t>({3, 4});
  EXPECT_EQ(values<int32_t>(run1("Pack", {a, b}, {}, attrs("axis", int64_t(0)))),
            (I32{1, 2, 3, 4}));
  Tensor columns = run1("Pack", {a, b}, {}, attrs("axis", int64_t(-1)));
  EXPECT_EQ(values<int32_t>(columns), (I32{1, 3, 2, 4}));
  EXPECT_EQ(shapeOf(run1("Pack", {scalar<int32_t>(1)})), "[1]");
  EXPECT_EQ(errorClassOf("Pack", {a, vec<int32_t>({1})}), "InvalidArgumentError");

  auto out = runAll("Unpack", {columns}, {DType::Int32, DType::Int32}, attrs("axis", int64_t(1)));
  EXPECT_EQ(values<int32_t>(out[0]), (I32{1, 2}));
  EXPECT_EQ(values<int32_t>(out[1]), (I32{3, 4}));
  EXPECT_EQ(errorClassOf("Unpack", {vec<int32_t>({1, 2, 3})}, {DType::Int32, DType::Int32}),
            "InvalidArgumentError");
}

TEST(Concat, Split) {
  Tensor in = iota<int32_t>({2, 4}, 0);
  std::vector<DType> two(2, DType::Int32);
  auto out = runAll("Split", {scalar<int32_t>(1), in}, two);
  EXPECT_EQ(values<int32_t>(out[0]), (I32{0, 1, 4, 5}));
  EXPECT_EQ(values<int32_t>(out[1]), (I32{2, 3, 6, 7}));
  EXPECT_EQ(errorClassOf("Split", {scalar<int32_t>(0), iota<int32_t>({3}, 0)}, two),
            "InvalidArgumentError");
  out = runAll("SplitV", {in, vec<int32_t>({3, -1}), scalar<int32_t>(1)}, two);
  EXPECT_EQ(values<int32_t>(out[0]), (I32{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(values<int32_t>(out[1]), (I32{3, 7}));
  for (const I32 &sizes : {I32{1, 2}, I32{-1, -1}, I32{5, -1}, I32{4}, I32{-2, 6}})
    EXPECT_EQ(errorClassOf("SplitV", {in, vec(sizes), scalar<int32_t>(1)}, two),
              "InvalidArgumentError");
}

TEST(Concat, LargeRowsAreShared) {
  Tensor in = iota<int32_t>({2, 1000}, 0);
  auto out = runAll("Unpack", {in}, {DType::Int32, DType::Int32});
  EXPECT_EQ(out[1].data<int32_t>(), in.data<int32_t>() + 1000);
  EXPECT_EQ(shapeOf(out[1]), "[1000]");
}

// --- slices ------------------------------------------------------------------------------------

TEST(Slice, Slice) {
  Tensor in = iota<int32_t>({3, 3}, 0);
  Tensor out = run1("Slice", {in, vec<int32_t>({1, 0}), vec<int32_t>({-1, 2})});
  EXPECT_EQ(shapeOf(out), "[2,2]");
  EXPECT_EQ(values<int32_t>(out), (I32{3, 4, 6, 7}));
  EXPECT_EQ(shapeOf(run1("Slice", {in, vec<int32_t>({3, 0}), vec<int32_t>({0, 3})})), "[0,3]");
  for (const auto &[begin, size] : std::vector<std::pair<I32, I32>>{
           {{4, 0}, {0, 0}}, {{-1, 0}, {1, 1}}, {{0, 0}, {4, 1}}, {{0, 0}, {-2, 1}}, {{0}, {1}}})
    EXPECT_EQ(errorClassOf("Slice", {in, vec(begin), vec(size)}), "InvalidArgumentError");
}

struct StridedCase {
  I32 begin, end, strides;
  int64_t beginMask, endMask, ellipsis, newAxis, shrink;
  std::string shape;
  I32 result;

  AttrMap attrs() const {
    AttrMap map;
    map.set("begin_mask", beginMask);
    map.set("end_mask", endMask);
    map.set("ellipsis_mask", ellipsis);
    map.set("new_axis_mask", newAxis);
    map.set("shrink_axis_mask", shrink);
    return map;
  }
};

// All slices are of x = [[0,1,2],[3,4,5]].
const StridedCase stridedCases[] = {
    {{1}, {2}, {1}, 0, 0, 0, 0, 1, "[3]", {3, 4, 5}},                          // x[1]
    {{-1, -1}, {0, 0}, {1, 1}, 0, 0, 0, 0, 3, "[]", {5}},                      // x[-1,-1]
    {{0, 0}, {0, 0}, {1, 2}, 3, 3, 0, 0, 0, "[2,2]", {0, 2, 3, 5}},            // x[:,::2]
    {{0}, {0}, {-1}, 1, 1, 0, 0, 0, "[2,3]", {3, 4, 5, 0, 1, 2}},              // x[::-1]
    {{0, 1}, {0, 2}, {1, 1}, 0, 0, 1, 0, 2, "[2]", {1, 4}},                    // x[...,1]
    {{0, 0, 1}, {0, 0, 9}, {1, 1, 1}, 0, 0, 2, 1, 0, "[1,2,2]", {1, 2, 4, 5}}, // x[new,...,1:9]
    {{0, 0}, {0, 0}, {1, 1}, 0, 0, 1, 2, 0, "[2,3,1]", {0, 1, 2, 3, 4, 5}},    // x[...,new]
    {{5}, {9}, {1}, 0, 0, 0, 0, 0, "[0,3]", {}},                               // x[5:9]
    {{-9}, {1}, {1}, 0, 0, 0, 0, 0, "[1,3]", {0, 1, 2}},                       // x[-9:1]
    {{0, 2}, {2, 0}, {1, -1}, 0, 0, 0, 0, 0, "[2,2]", {2, 1, 5, 4}},           // x[0:2,2:0:-1]
    {{}, {}, {}, 0, 0, 0, 0, 0, "[2,3]", {0, 1, 2, 3, 4, 5}},                  // x[()]
};

TEST(Slice, StridedSlice) {
  for (const StridedCase &c : stridedCases) {
    Tensor out =
        run1("StridedSlice", {iota<int32_t>({2, 3}, 0), vec(c.begin), vec(c.end), vec(c.strides)},
             {}, c.attrs());
    EXPECT_EQ(shapeOf(out), c.shape);
    EXPECT_EQ(values<int32_t>(out), c.result);
  }
}

// The gradient writes each element back to its position.
TEST(Slice, StridedSliceGradInvertsIt) {
  for (const StridedCase &c : stridedCases) {
    std::vector<Tensor> slice{vec(c.begin), vec(c.end), vec(c.strides)};
    Tensor in = iota<int32_t>({2, 3}, 1);
    Tensor dy = run1("StridedSlice", {in, slice[0], slice[1], slice[2]}, {}, c.attrs());
    Tensor back = run1("StridedSliceGrad", {vec<int32_t>({2, 3}), slice[0], slice[1], slice[2], dy},
                       DType::Int32, c.attrs());
    I32 expected(6, 0);
    for (int32_t i : c.result)
      expected[i] = i + 1;
    EXPECT_EQ(values<int32_t>(back), expected);
  }
  EXPECT_EQ(errorOf("StridedSliceGrad",
                    {vec<int32_t>({2}), vec<int32_t>({0}), vec<int32_t>({1}), vec<int32_t>({1}),
                     vec<float>({1, 2})},
                    {DType::Float32}),
            "InvalidArgumentError: dy has shape [2], but the slice has shape [1]");
}

TEST(Slice, StridedSliceErrors) {
  Tensor in = iota<int32_t>({2, 3}, 0);
  auto error = [&](const StridedCase &c) {
    return errorOf("StridedSlice", {in, vec(c.begin), vec(c.end), vec(c.strides)}, {}, c.attrs());
  };
  EXPECT_EQ(error({{2}, {3}, {1}, 0, 0, 0, 0, 1, "", {}}),
            "InvalidArgumentError: slice index 2 of dimension 0 is out of bounds: its size is 2");
  EXPECT_EQ(error({{0}, {1}, {0}, 0, 0, 0, 0, 0, "", {}}),
            "InvalidArgumentError: stride of dimension 0 must not be 0");
  EXPECT_EQ(error({{0, 0}, {1, 1}, {1, 1}, 0, 0, 3, 0, 0, "", {}}),
            "InvalidArgumentError: slice has more than one ellipsis");
  EXPECT_NE(error({{0, 0, 0}, {1, 1, 1}, {1, 1, 1}, 0, 0, 0, 0, 0, "", {}}), "");
  EXPECT_NE(error({{0}, {1}, {-1}, 0, 0, 0, 0, 1, "", {}}), "");
  EXPECT_NE(error({{0}, {1, 1}, {1}, 0, 0, 0, 0, 0, "", {}}), "");
}

TEST(Slice, Update) {
  Tensor in = iota<int32_t>({2, 3}, 0);
  Tensor out = run1("TensorStridedSliceUpdate", {in, vec<int32_t>({0, 1}), vec<int32_t>({2, 2}),
                                                 vec<int32_t>({1, 1}), iota<int32_t>({2, 1}, 8)});
  EXPECT_EQ(values<int32_t>(out), (I32{0, 8, 2, 3, 9, 5}));
  EXPECT_EQ(in.data<int32_t>()[1], 1);
  auto update = [&](Tensor value) {
    return values<int32_t>(
        run1("TensorStridedSliceUpdate", {in, vec<int32_t>({0, 0}), vec<int32_t>({2, 2}),
                                          vec<int32_t>({1, 1}), std::move(value)}));
  };
  EXPECT_EQ(update(scalar<int32_t>(8)), (I32{8, 8, 2, 8, 8, 5}));
  EXPECT_EQ(update(vec<int32_t>({8, 9})), (I32{8, 9, 2, 8, 9, 5}));
  EXPECT_EQ(update(iota<int32_t>({2, 1}, 8)), (I32{8, 8, 2, 9, 9, 5}));
  EXPECT_EQ(
      errorClassOf("TensorStridedSliceUpdate", {in, vec<int32_t>({0, 0}), vec<int32_t>({2, 2}),
                                                vec<int32_t>({1, 1}), vec<int32_t>({7, 8, 9})}),
      "InvalidArgumentError");
}

// --- gathers -----------------------------------------------------------------------------------

TEST(Gather, AlongAnAxis) {
  Tensor params = iota<int32_t>({2, 3}, 0);
  auto gather = [&](Tensor indices, int32_t axis) {
    return run1("GatherV2", {params, std::move(indices), scalar<int32_t>(axis)});
  };
  EXPECT_EQ(values<int32_t>(gather(vec<int32_t>({1, 0, 1}), 0)), (I32{3, 4, 5, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values<int32_t>(gather(scalar<int64_t>(2), -1)), (I32{2, 5}));
  EXPECT_EQ(shapeOf(gather(iota<int32_t>({2, 1}, 0), 1)), "[2,2,1]");
  EXPECT_EQ(shapeOf(gather(iota<int32_t>({0}, 0), 0)), "[0,3]");
  EXPECT_EQ(
      values<std::string>(run1("Gather", {vec<std::string>({"a", "b"}), vec<int32_t>({1, 1})})),
      (std::vector<std::string>{"b", "b"}));
}

TEST(Gather, Batches) {
  Tensor out =
      run1("GatherV2",
           {iota<int32_t>({2, 3}, 0), tensor<int32_t>({2, 2}, {2, 0, 1, 1}), scalar<int32_t>(1)},
           {}, attrs("batch_dims", int64_t(1)));
  EXPECT_EQ(shapeOf(out), "[2,2]");
  EXPECT_EQ(values<int32_t>(out), (I32{2, 0, 4, 4}));
}

TEST(Gather, Errors) {
  Tensor params = iota<int32_t>({2, 3}, 0);
  EXPECT_EQ(errorOf("GatherV2", {params, tensor<int32_t>({1, 2}, {0, 2}), scalar<int32_t>(0)}),
            "InvalidArgumentError: indices[0,1] = 2 is not in [0, 2)");
  EXPECT_EQ(errorClassOf("GatherV2", {params, vec<int32_t>({-1}), scalar<int32_t>(0)}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("GatherV2", {params, vec<int32_t>({0}), scalar<int32_t>(2)}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("GatherV2", {scalar<int32_t>(1), vec<int32_t>({0}), scalar<int32_t>(0)}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("GatherV2", {params, vec<int32_t>({0}), scalar<int32_t>(0)}, {},
                         attrs("batch_dims", int64_t(1))),
            "InvalidArgumentError");
}

TEST(Gather, ByCoordinates) {
  Tensor params = iota<int32_t>({2, 3}, 0);
  EXPECT_EQ(values<int32_t>(run1("GatherNd", {params, tensor<int32_t>({2, 2}, {0, 1, 1, 2})})),
            (I32{1, 5}));
  EXPECT_EQ(values<int32_t>(run1("GatherNd", {params, vec<int64_t>({1})})), (I32{3, 4, 5}));
  EXPECT_EQ(shapeOf(run1("GatherNd", {params, iota<int32_t>({2, 0}, 0)})), "[2,2,3]");
  Tensor bad = tensor<int32_t>({2, 2}, {0, 1, 2, 0});
  EXPECT_EQ(errorOf("GatherNd", {params, bad}),
            "InvalidArgumentError: indices[1] = [2,0] does not index into params of shape [2,3]");
  EXPECT_EQ(values<int32_t>(run1("GatherNd", {params, bad}, {},
                                 attrs("bad_indices_policy", std::string("IGNORE")))),
            (I32{1, 0}));
}

// --- tiles and pads ----------------------------------------------------------------------------

TEST(Tile, Tile) {
  Tensor out = run1("Tile", {iota<int32_t>({2, 2}, 0), vec<int32_t>({2, 2})});
  EXPECT_EQ(shapeOf(out), "[4,4]");
  EXPECT_EQ(values<int32_t>(out), (I32{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(shapeOf(run1("Tile", {vec<int32_t>({1}), vec<int32_t>({0})})), "[0]");
  EXPECT_EQ(errorClassOf("Tile", {vec<int32_t>({1}), vec<int32_t>({-1})}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("Tile", {vec<int32_t>({1}), vec<int32_t>({1, 1})}),
            "InvalidArgumentError");
}

TEST(Tile, BroadcastTo) {
  EXPECT_EQ(values<int32_t>(run1("BroadcastTo", {iota<int32_t>({2, 1}, 0), vec<int32_t>({2, 2})})),
            (I32{0, 0, 1, 1}));
  EXPECT_EQ(values<int32_t>(run1("BroadcastTo", {scalar<int32_t>(4), vec<int64_t>({3})})),
            (I32{4, 4, 4}));
  EXPECT_EQ(errorClassOf("BroadcastTo", {vec<int32_t>({1, 2}), vec<int32_t>({3})}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("BroadcastTo", {vec<int32_t>({1, 2}), vec<int32_t>({})}),
            "InvalidArgumentError");
}

TEST(Pad, ZerosAndValues) {
  Tensor in = iota<int32_t>({1, 2}, 1), paddings = tensor<int32_t>({2, 2}, {1, 0, 0, 1});
  EXPECT_EQ(values<int32_t>(run1("Pad", {in, paddings})), (I32{0, 0, 0, 1, 2, 0}));
  EXPECT_EQ(values<int32_t>(run1("PadV2", {in, paddings, scalar<int32_t>(9)})),
            (I32{9, 9, 9, 1, 2, 9}));
  EXPECT_EQ(errorClassOf("Pad", {in, tensor<int32_t>({2, 2}, {-1, 0, 0, 1})}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("Pad", {in, vec<int32_t>({1, 1})}), "InvalidArgumentError");
}

TEST(Pad, Mirrored) {
  Tensor in = vec<int32_t>({1, 2, 3}), paddings = tensor<int32_t>({1, 2}, {2, 2});
  AttrMap reflect = attrs("mode", std::string("REFLECT"));
  AttrMap symmetric = attrs("mode", std::string("SYMMETRIC"));
  EXPECT_EQ(values<int32_t>(run1("MirrorPad", {in, paddings}, {}, reflect)),
            (I32{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(values<int32_t>(run1("MirrorPad", {in, paddings}, {}, symmetric)),
            (I32{2, 1, 1, 2, 3, 3, 2}));
  EXPECT_EQ(values<int32_t>(run1("MirrorPadGrad", {vec<int32_t>({1, 1, 1, 1, 1, 1, 1}), paddings},
                                 {}, reflect)),
            (I32{2, 3, 2}));
  EXPECT_EQ(errorClassOf("MirrorPad", {in, tensor<int32_t>({1, 2}, {3, 0})}, {}, reflect),
            "InvalidArgumentError");
  Tensor huge = tensor<int64_t>({1, 2}, {INT64_MAX, INT64_MAX});
  EXPECT_EQ(errorClassOf("MirrorPadGrad", {in, huge}, {}, reflect), "InvalidArgumentError");
  Tensor most = vec<int32_t>({INT32_MAX, 0, INT32_MAX}); // sums wrap around
  EXPECT_EQ(
      values<int32_t>(run1("MirrorPadGrad", {most, tensor<int32_t>({1, 2}, {1, 0})}, {}, reflect)),
      (I32{0, -2}));
}

TEST(XlaPad, FillsWithOneValue) {
  Tensor in = vec<float>({1, 2}), none = vec<float>({}), one = vec<int32_t>({1}),
         zero = vec<int32_t>({0});
  EXPECT_EQ(values<float>(run1("XlaPad", {in, scalar(7.0f), one, zero, zero})),
            (std::vector<float>{7, 1, 2}));
  EXPECT_EQ(errorClassOf("XlaPad", {in, none, one, zero, zero}), "InvalidArgumentError");
}

} // namespace
} // namespace treadle
