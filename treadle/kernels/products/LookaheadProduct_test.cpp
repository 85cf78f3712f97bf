// Products of consecutive slices, and of slices in other orders.
#include "treadle/kernels/products/LookaheadProduct.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/Run.h"
#include "treadle/runtime/ThreadPool.h"
#include "treadle/testing/KernelTest.h"

#include <cmath>
#include <optional>

namespace treadle {
namespace {

/// Slices of a tensor, multiplied by a matrix of small integers: sums are exact.
struct Pieces {
  Pieces(int64_t count, int64_t rows, int64_t depth = 20, int64_t columns = 18)
      : rows(rows), depth(depth), columns(columns), whole(iota<float>({count, rows, depth}, 0)),
        matrix(iota<float>({depth, columns}, -100)), right(pack(ctx, matrix)) {}

  static std::shared_ptr<const PackedMatrix> pack(OpContext &ctx, const Tensor &t) {
    return PackedMatrix::make(ctx, t.dim(0), t.dim(1), {t.data<float>(), t.dim(1)});
  }

  Tensor at(int64_t i) const {
    const int64_t dims[] = {rows, depth};
    return whole.view(i * rows * depth, dims);
  }

  /// Returns whether the product came from the sequence; checks its value.
  bool multiply(const Tensor &piece) {
    std::vector<float> out(static_cast<size_t>(rows * columns));
    if (!ahead.multiply(ctx, piece, right, out.data()))
      return false;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        float want = 0;
        for (int64_t k = 0; k < depth; ++k)
          want += piece.data<float>()[r * depth + k] * matrix.data<float>()[k * columns + c];
        EXPECT_NEAR(out[static_cast<size_t>(r * columns + c)], want, 1e-6F * std::abs(want));
      }
    return true;
  }

  Execution ctx;
  int64_t rows, depth, columns;
  Tensor whole, matrix;
  std::shared_ptr<const PackedMatrix> right;
  LookaheadProduct ahead;
};

TEST(LookaheadProduct, FollowsASequenceToItsEnd) {
  for (int64_t rows : {1, 2, 5, 12}) {
    Pieces pieces(150, rows);
    for (int call = 0; call < 2; ++call) {
      EXPECT_FALSE(pieces.multiply(pieces.at(0))) << "no sequence has begun";
      for (int64_t i = 1; i < 150; ++i)
        ASSERT_TRUE(pieces.multiply(pieces.at(i))) << i;
      EXPECT_TRUE(pieces.whole.isUnique()) << "everything is released at the end";
    }
  }
}

TEST(LookaheadProduct, InputsComputedAheadAreNotOverwritten) {
  Pieces pieces(10, 2);
  pieces.multiply(pieces.at(0));
  ASSERT_TRUE(pieces.multiply(pieces.at(1)));
  EXPECT_FALSE(pieces.whole.isUnique());
}

std::vector<float> productsOf(Pieces &pieces) {
  int64_t size = pieces.rows * pieces.columns;
  std::vector<float> all(static_cast<size_t>(size * 99));
  for (int64_t i = 0; i < 100; ++i)
    EXPECT_EQ(pieces.ahead.multiply(pieces.ctx, pieces.at(i), pieces.right,
                                    all.data() + size * std::max<int64_t>(i - 1, 0)),
              i > 0);
  return all;
}

TEST(LookaheadProduct, RoundsTheSameWhereAnotherThreadHelps) {
  Pieces pieces(100, 12, 64, 128);
  for (int64_t i = 0; i < pieces.whole.count(); ++i)
    pieces.whole.data<float>()[i] = std::sin(static_cast<float>(i));
  std::vector<float> alone = productsOf(pieces);
  ResourceManager resources;
  std::optional<ThreadPool> pool(1);
  RunState run(resources, &*pool);
  pieces.ctx.runState = &run;
  for (int call = 0; call < 20; ++call)
    ASSERT_EQ(productsOf(pieces), alone);
  pool.reset();
  EXPECT_TRUE(pieces.whole.isUnique()) << "a late batch keeps nothing alive";
}

TEST(LookaheadProduct, ReleasesOperandsIfALoopEndsEarly) {
  ResourceManager resources;
  std::optional<ThreadPool> pool(1);
  RunState run(resources, &*pool);
  Pieces pieces(100, 12, 64, 128), others(3, 1);
  pieces.ctx.runState = &run;
  std::vector<float> out(12 * 128);
  for (int64_t calls = 3; calls < 60; calls += 4) {
    for (int64_t i = 0; i < calls; ++i)
      pieces.ahead.multiply(pieces.ctx, pieces.at(i), pieces.right, out.data());
    pieces.ahead.multiply(pieces.ctx, others.at(2), others.right, out.data());
  }
  pool.reset();
  EXPECT_TRUE(pieces.whole.isUnique());
}

TEST(LookaheadProduct, StopsWhereTheSequenceDoes) {
  Pieces pieces(50, 2);
  pieces.multiply(pieces.at(0));
  ASSERT_TRUE(pieces.multiply(pieces.at(1)));
  EXPECT_FALSE(pieces.multiply(pieces.at(7))) << "not the next";
  EXPECT_FALSE(pieces.multiply(pieces.at(6)));
  EXPECT_TRUE(pieces.multiply(pieces.at(7)));
  pieces.right = Pieces::pack(pieces.ctx, pieces.matrix = iota<float>({20, 18}, 7));
  EXPECT_FALSE(pieces.multiply(pieces.at(8))) << "another matrix";
  EXPECT_TRUE(pieces.multiply(pieces.at(9)));
}

TEST(LookaheadProduct, IsDisabledIfSequencesEndEarly) {
  Pieces pieces(50, 2);
  int used = 0;
  for (int i = 0; i < 20; ++i) {
    pieces.multiply(pieces.at(0));
    used += pieces.multiply(pieces.at(1));
  }
  EXPECT_LT(used, 10);
  EXPECT_TRUE(pieces.whole.isUnique());
}

TEST(LookaheadProduct, IgnoresOtherOperands) {
  Pieces wide(4, 13);
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_FALSE(wide.multiply(wide.at(i))) << "a product of that many rows is fast on its own";
  Pieces pieces(4, 2);
  std::vector<float> memory(pieces.whole.values<float>().begin(),
                            pieces.whole.values<float>().end());
  const int64_t dims[] = {4, 2, 20};
  pieces.whole = Tensor::external(DType::Float32, dims, memory.data(), [] {});
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_FALSE(pieces.multiply(pieces.at(i))) << "caller-owned memory may change";
}

} // namespace
} // namespace treadle
