#include "treadle/kernels/products/FloatProduct.h"

#include "treadle/kernels/OneDnn.h"
#include "treadle/runtime/ThreadPool.h"

#include <algorithm>

namespace treadle {
namespace {

/// Some rows and columns of a product.
struct Block {
  int64_t row, rows, column, columns;
};

void multiplyBlock(const Product &p, const Block &block, const float *a, const float *b,
                   float *out) {
  OneThread alone;
  a += block.row * (p.aTransposed ? 1 : p.k);
  b += block.column * (p.bTransposed ? p.k : 1);
  dnnl_sgemm(p.aTransposed ? 'T' : 'N', p.bTransposed ? 'T' : 'N', block.rows, block.columns, p.k,
             1, a, p.aTransposed ? p.m : p.k, b, p.bTransposed ? p.k : p.n, 0,
             out + block.row * p.n + block.column, p.n);
}

} // namespace

bool suitsLibrary(const Product &p) {
  constexpr int64_t leastRows = 3, leastColumns = 2, leastProducts = 16384;
  return p.m >= leastRows && p.n >= leastColumns && p.m * p.n * p.k >= leastProducts;
}

bool isFastUnpacked(const Product &p) {
#ifdef __AVX512F__ // its code for AVX2 takes up to twice the time of tiles
  constexpr int64_t leastRows = 32;
  return p.m >= leastRows;
#else
  return false;
#endif
}

void multiplyFloats(const Product &p, const float *a, const float *b, float *out) {
  multiplyBlock(p, {0, p.m, 0, p.n}, a, b, out);
}

void multiplyInParts(OpContext &ctx, const Product &p, const float *a, const float *b, float *out,
                     const Epilogue *epilogue) {
  constexpr int64_t step = 16;
  double cost = nsPerProduct * static_cast<double>(p.m * p.n) * static_cast<double>(p.k);
  int64_t threads = ctx.pool() ? ctx.pool()->numWorkers() + 1 : 1;
  auto wanted =
      static_cast<int64_t>(std::clamp<double>(cost / nsPerPart, 1, static_cast<double>(threads)));
  bool isByRows = p.m >= p.n;
  int64_t size = isByRows ? p.m : p.n,
          perPart = ((size + wanted - 1) / wanted + step - 1) / step * step;
  int64_t parts = (size + perPart - 1) / perPart;
  ctx.parallelFor(parts, std::max(cost / static_cast<double>(parts), nsPerPart),
                  [&](int64_t begin, int64_t end) {
                    int64_t first = begin * perPart, count = std::min(end * perPart, size) - first;
                    Block block =
                        isByRows ? Block{first, count, 0, p.n} : Block{0, p.m, first, count};
                    multiplyBlock(p, block, a, b, out);
                    if (epilogue)
                      epilogue->apply(out, block.row, block.rows, block.column, block.columns);
                  });
}

} // namespace treadle
