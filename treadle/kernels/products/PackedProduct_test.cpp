// Products with a packed operand, and the caching of packed operands.
#include "treadle/kernels/products/PackedProduct.h"
#include "treadle/runtime/Execution.h"
#include "treadle/testing/KernelTest.h"

#include <cmath>

namespace treadle {
namespace {

Tensor scattered(std::vector<int64_t> dims, int64_t seed) {
  Tensor t = *Tensor::make(DType::Float32, dims);
  for (int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = static_cast<float>((i * 31 + seed) % 17 - 8);
  return t;
}

struct Sizes {
  int64_t rows, depth, columns;
};

TEST(PackedProduct, EqualsTheDefinitionForAllSizes) {
  Execution ctx;
  const Sizes all[] = {{1, 1, 1},      {1, 300, 17},  {5, 256, 16},   {6, 257, 48}, {97, 512, 33},
                       {13, 7, 100},   {200, 3, 5},   {192, 600, 31}, {1, 5, 64},   {2, 131, 80},
                       {2, 513, 47},   {1, 258, 16},  {2, 3, 33},     {3, 9, 40},   {2, 1, 16},
                       {40, 1024, 70}, {99, 2048, 65}};
  for (const Sizes &s : all)
    for (bool rightTransposed : {false, true})
      for (bool leftTransposed : {false, true}) {
        Tensor a = scattered({s.rows, s.depth}, 1), b = scattered({s.depth, s.columns}, 2);
        Tensor out = *Tensor::make(DType::Float32, {s.rows, s.columns});
        auto packed = PackedMatrix::make(
            ctx, s.depth, s.columns,
            {b.data<float>(), rightTransposed ? s.depth : s.columns, rightTransposed});
        ASSERT_TRUE(packed);
        FloatMatrix left{a.data<float>(), leftTransposed ? s.rows : s.depth, leftTransposed};
        multiplyPacked(ctx, s.rows, left, *packed, {out.data<float>(), s.columns});
        for (int64_t r = 0; r < s.rows; ++r)
          for (int64_t c = 0; c < s.columns; ++c) {
            float want = 0;
            for (int64_t i = 0; i < s.depth; ++i)
              want += a.data<float>()[leftTransposed ? i * s.rows + r : r * s.depth + i] *
                      b.data<float>()[rightTransposed ? c * s.depth + i : i * s.columns + c];
            ASSERT_EQ(out.data<float>()[r * s.columns + c], want)
                << s.rows << "x" << s.depth << "x" << s.columns << " at " << r << "," << c;
          }
      }
}

TEST(PackedProduct, ReadsSegmentsOfRows) {
  Execution ctx;
  // Uses elements 2, 3 and 6, 7 of each line of 10.
  Tensor a = iota<float>({4, 10}, 0), b = vec<float>({1, 10, 100, 1000});
  auto packed = PackedMatrix::make(ctx, 4, 1, {b.data<float>(), 1});
  const int64_t segments[] = {2, 6};
  float out[4];
  multiplyPacked(ctx, 4, [&](int64_t r) { return a.data<float>() + r * 10; }, {segments, 2, 1},
                 *packed, {out, 1});
  for (int r = 0; r < 4; ++r)
    EXPECT_EQ(out[r], 7632.0F + 1111.0F * 10.0F * static_cast<float>(r));
}

/// Packs square matrices.
struct Finder {
  Execution ctx;
  PackedWeights weights;

  std::shared_ptr<const PackedMatrix> operator()(const Tensor &t) {
    return weights.find(t, [&] {
      return PackedMatrix::make(ctx, t.dim(0), t.dim(1), {t.data<float>(), t.dim(1)});
    });
  }
};

TEST(PackedWeights, CachesRepeatedOperands) {
  Finder find;
  Tensor w = scattered({16, 16}, 3);
  EXPECT_FALSE(find(w)) << "it may be a temporary";
  EXPECT_TRUE(w.isUnique());
  auto packed = find(w);
  ASSERT_TRUE(packed);
  EXPECT_FALSE(w.isUnique()) << "it must not be overwritten now";
  EXPECT_EQ(find(w), packed);
  Tensor next = scattered({16, 16}, 4);
  EXPECT_FALSE(find(next));
  EXPECT_TRUE(w.isUnique()) << "the old operand was released";
}

TEST(PackedWeights, IsDisabledIfOperandsChange) {
  Finder find;
  Tensor a = scattered({4, 4}, 1), b = scattered({4, 4}, 2);
  for (int i = 0; i < 3; ++i)
    for (const Tensor *t : {&a, &a, &b})
      find(*t);
  EXPECT_FALSE(find(a));
  EXPECT_FALSE(find(a));
  EXPECT_TRUE(a.isUnique());
}

TEST(PackedWeights, DoesNotCacheCallerOwnedMemory) {
  Finder find;
  std::vector<float> memory(16, 1);
  const int64_t dims[] = {4, 4};
  Tensor view = Tensor::external(DType::Float32, dims, memory.data(), [] {});
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(find(view));
}

TEST(PackedWeights, CachesConstantsInFiles) {
  Finder find;
  auto memory = std::make_shared<std::vector<float>>(256, 1);
  const int64_t dims[] = {16, 16};
  Tensor mapped = mappedTensor(DType::Float32, dims, {memory, memory->data()});
  EXPECT_FALSE(find(mapped)) << "it may be a temporary";
  EXPECT_TRUE(find(mapped));
  EXPECT_FALSE(mapped.isUnique());
}

} // namespace
} // namespace treadle
