// Diagonals and bands, and scatter by coordinates.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using I = int32_t;
using Values = std::vector<I>;

AttrMap align(const char *value) {
  AttrMap attrs;
  attrs.set("align", std::string(value));
  return attrs;
}

TEST(MatrixTest, DiagonalsAligned) {
  Tensor in = iota<I>({3, 4}, 0), k = vec<I>({-1, 2}), padding = scalar<I>(77);
  auto part = [&](const char *how) {
    return values<I>(run1("MatrixDiagPartV3", {in, k, padding}, DType::Int32, align(how)));
  };
  EXPECT_EQ(part("RIGHT_LEFT"), (Values{77, 2, 7, 1, 6, 11, 0, 5, 10, 4, 9, 77}));
  EXPECT_EQ(part("LEFT_RIGHT"), (Values{2, 7, 77, 1, 6, 11, 0, 5, 10, 77, 4, 9}));
  EXPECT_EQ(values<I>(run1("MatrixDiagPart", {in})), (Values{0, 5, 10}));
}

TEST(MatrixTest, MadeOfDiagonals) {
  Tensor packed = iota<I>({2, 3}, 1), k = vec<I>({0, 1}), any = scalar<I>(-1), nine = scalar<I>(9);
  auto made = [&](const char *how, Tensor rows, Tensor cols) {
    return values<I>(run1("MatrixDiagV3", {packed, k, rows, cols, nine}, DType::Int32, align(how)));
  };
  EXPECT_EQ(made("RIGHT_LEFT", any, any), (Values{4, 2, 9, 9, 5, 3, 9, 9, 6}));
  EXPECT_EQ(made("LEFT_LEFT", scalar<I>(3), scalar<I>(4)),
            (Values{4, 1, 9, 9, 9, 5, 2, 9, 9, 9, 6, 3}));
  EXPECT_EQ(values<I>(run1("MatrixDiag", {iota<I>({2, 2}, 1)})), (Values{1, 0, 0, 2, 3, 0, 0, 4}));
  Tensor two = scalar<I>(2);
  EXPECT_EQ(errorClassOf("MatrixDiagV3", {packed, k, two, two, nine}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("MatrixDiagV3", {packed, vec<I>({1, 0}), any, any, nine}),
            "InvalidArgumentError");
}

TEST(MatrixTest, DiagonalsReplaced) {
  Tensor in = iota<I>({2, 3}, 0);
  EXPECT_EQ(values<I>(run1("MatrixSetDiag", {in, vec<I>({8, 9})})), (Values{8, 1, 2, 3, 9, 5}));
  EXPECT_EQ(values<I>(in), (Values{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values<I>(run1("MatrixSetDiagV3", {in, vec<I>({8}), scalar<I>(-1)})),
            (Values{0, 1, 2, 8, 4, 5}));
  EXPECT_EQ(errorClassOf("MatrixSetDiag", {in, vec<I>({8})}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("MatrixSetDiagV3", {in, vec<I>({8}), scalar<I>(3)}),
            "InvalidArgumentError");
}

TEST(MatrixTest, Bands) {
  Tensor in = iota<I>({2, 3}, 1);
  auto band = [&](I below, I above) {
    return values<I>(run1("MatrixBandPart", {in, scalar(below), scalar(above)}));
  };
  EXPECT_EQ(band(0, 0), (Values{1, 0, 0, 0, 5, 0}));
  EXPECT_EQ(band(-1, 0), (Values{1, 0, 0, 4, 5, 0}));
  EXPECT_EQ(band(0, 1), (Values{1, 2, 0, 0, 5, 6}));
  EXPECT_EQ(band(-1, -1), values<I>(in));
  EXPECT_EQ(errorClassOf("MatrixBandPart", {in, scalar<I>(3), scalar<I>(0)}),
            "InvalidArgumentError");
}

TEST(MatrixTest, DiagonalsOfTensors) {
  Tensor out = run1("Diag", {iota<I>({1, 2}, 1)});
  EXPECT_EQ(dimsText(out.dims()), "[1,2,1,2]");
  EXPECT_EQ(values<I>(out), (Values{1, 0, 0, 2}));
  EXPECT_EQ(values<I>(run1("DiagPart", {out})), (Values{1, 2}));
  EXPECT_EQ(errorClassOf("DiagPart", {iota<I>({2, 3}, 1)}), "InvalidArgumentError");
}

TEST(ScatterTest, IntoZeros) {
  Tensor at = tensor<I>({3, 1}, {2, 0, 2}), shape = vec<I>({4});
  EXPECT_EQ(values<I>(run1("ScatterNd", {at, vec<I>({1, 2, 3}), shape}, DType::Int32)),
            (Values{2, 0, 4, 0}));
  Tensor words = run1("ScatterNd", {at, vec<std::string>({"a", "b", "c"}), shape}, DType::String);
  EXPECT_EQ(values<std::string>(words), (std::vector<std::string>{"b", "", "ac", ""}));
}

TEST(ScatterTest, IntoTensors) {
  Tensor in = iota<I>({2, 2}, 1), at = tensor<I>({1, 1}, {1}), row = tensor<I>({1, 2}, {0, 9});
  auto scattered = [&](const char *op) { return values<I>(run1(op, {in, at, row})); };
  EXPECT_EQ(scattered("TensorScatterUpdate"), (Values{1, 2, 0, 9}));
  EXPECT_EQ(scattered("TensorScatterAdd"), (Values{1, 2, 3, 13}));
  EXPECT_EQ(scattered("TensorScatterSub"), (Values{1, 2, 3, -5}));
  EXPECT_EQ(scattered("TensorScatterMax"), (Values{1, 2, 3, 9}));
  EXPECT_EQ(scattered("TensorScatterMin"), (Values{1, 2, 0, 4}));
  EXPECT_EQ(values<I>(in), (Values{1, 2, 3, 4}));
}

TEST(ScatterTest, Errors) {
  Tensor in = iota<I>({2, 2}, 1);
  auto error = [&](Tensor at, Tensor updates) {
    return errorClassOf("TensorScatterUpdate", {in, at, updates});
  };
  EXPECT_EQ(error(tensor<I>({1, 2}, {0, 2}), vec<I>({1})), "InvalidArgumentError");
  EXPECT_EQ(error(tensor<I>({1, 2}, {0, -1}), vec<I>({1})), "InvalidArgumentError");
  EXPECT_EQ(error(tensor<I>({1, 2}, {0, 1}), vec<I>({1, 2})), "InvalidArgumentError");
  EXPECT_EQ(error(tensor<I>({1, 3}, {0, 1, 0}), vec<I>({1})), "InvalidArgumentError");
  EXPECT_EQ(error(scalar<I>(0), vec<I>({1})), "InvalidArgumentError");
}

TEST(ScatterTest, RowsByPosition) {
  Tensor in = iota<I>({2, 2}, 1), at = vec<I>({1, 3}), rows = tensor<I>({2, 2}, {5, 6, 7, 8});
  EXPECT_EQ(values<I>(run1("InplaceAdd", {in, at, rows})), (Values{1, 2, 15, 18}));
  EXPECT_EQ(values<I>(run1("InplaceUpdate", {in, at, rows})), (Values{1, 2, 7, 8}));
}

TEST(ScatterTest, SparseToDense) {
  Tensor shape = vec<I>({4}), zero = scalar<I>(0), two = vec<I>({7, 8});
  EXPECT_EQ(values<I>(run1("SparseToDense", {vec<I>({1, 3}), shape, two, zero})),
            (Values{0, 7, 0, 8}));
  EXPECT_EQ(values<I>(run1("SparseToDense", {scalar<I>(2), shape, scalar<I>(5), zero})),
            (Values{0, 0, 5, 0}));
  for (const Tensor &bad : {vec<I>({3, 1}), vec<I>({1, 4}), vec<I>({1})})
    EXPECT_EQ(errorClassOf("SparseToDense", {bad, shape, two, zero}), "InvalidArgumentError");
}

} // namespace
} // namespace treadle
