// _Attention and its gradient: softmax(query key' * scale + mask) value, computed block by block so
// that the score matrix is never materialized (T. Dao and others, "FlashAttention", arXiv
// 2205.14135; M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", arXiv
// 1805.02867).
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/elementwise/Families.h"
#include "treadle/kernels/elementwise/VectorMath.h"
#include "treadle/kernels/nets/Families.h"
#include "treadle/kernels/products/Families.h"
#include "treadle/kernels/products/FloatProduct.h"
#include "treadle/kernels/products/Tile.h"
#include "treadle/runtime/RunOp.h"

#include <cmath>
#include <numeric>
#include <vector>

namespace treadle {
namespace {

struct AttentionState {
  float scale;
  bool isCausal;     // query i attends to keys 0 to i
  bool zeroIfMasked; // a row whose scores are all -infinity yields zeros, not NaN
};

/// Whether all scores of a row with this sum of exponentials were -infinity.
bool isMasked(float sum) { return sum == 0; }

/// Numbers of queries and keys per block, whose scores stay in the cache.
constexpr int64_t blockQueries = 64, blockKeys = 512;

/// The sizes of query [..., queries, width], key [..., keys, width] and value [..., keys,
/// valueWidth], and the strides of a mask that is added to the scores [..., queries, keys] and may
/// be broadcast.
struct AttentionSizes {
  int64_t batch = 1, queries = 0, keys = 0, width = 0, valueWidth = 0;
  std::vector<int64_t> maskAt; // offset of each batch's mask; empty without a mask
  int64_t maskRow = 0, maskColumn = 0;
};

bool haveSameBatchDims(const Tensor &t, const Tensor &query) {
  return t.rank() == query.rank() &&
         std::ranges::equal(t.dims().first(t.dims().size() - 2),
                            query.dims().first(query.dims().size() - 2));
}

/// Returns false if the mask would broadcast the scores to a larger shape.
bool readMask(const Tensor &query, const Tensor &mask, AttentionSizes &shape) {
  DimVector scores(query.dims());
  scores[scores.size() - 1] = shape.keys;
  auto rank = static_cast<int64_t>(scores.size()), missing = rank - mask.rank();
  if (missing < 0)
    return false;
  DimVector strides(static_cast<size_t>(rank), 0);
  int64_t stride = 1;
  for (int d = mask.rank() - 1; d >= 0; --d) {
    auto at = static_cast<size_t>(d + missing);
    if (mask.dim(d) != scores[at] && mask.dim(d) != 1)
      return false;
    strides[at] = mask.dim(d) == 1 ? 0 : stride;
    stride *= mask.dim(d);
  }
  shape.maskColumn = strides[strides.size() - 1];
  shape.maskRow = strides[strides.size() - 2];
  shape.maskAt.assign(static_cast<size_t>(shape.batch), 0);
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t d = rank - 3, rest = b; d >= 0; --d) {
      auto at = static_cast<size_t>(d);
      shape.maskAt[static_cast<size_t>(b)] += rest % scores[at] * strides[at];
      rest /= scores[at];
    }
  return true;
}

/// Returns the sizes of query, key and value (inputs 0 to 2) and of a mask, which may be null;
/// nullopt if they don't match, or if batches or scores would be broadcast.
std::optional<AttentionSizes> shapeOf(OpContext &ctx, const Tensor *mask) {
  const Tensor &query = ctx.input(0), &key = ctx.input(1), &value = ctx.input(2);
  int rank = query.rank();
  if (rank < 2 || !haveSameBatchDims(key, query) || !haveSameBatchDims(value, query) ||
      query.dim(rank - 1) != key.dim(rank - 1) || key.dim(rank - 2) != value.dim(rank - 2))
    return std::nullopt;
  AttentionSizes shape;
  for (int d = 0; d < rank - 2; ++d)
    shape.batch *= query.dim(d);
  shape.queries = query.dim(rank - 2);
  shape.keys = key.dim(rank - 2);
  shape.width = query.dim(rank - 1);
  shape.valueWidth = value.dim(rank - 1);
  if (mask && !readMask(query, *mask, shape))
    return std::nullopt;
  return shape;
}

/// Computes c = a b, or c += a b if `adds`; c is [rows, columns].
void multiply(int64_t rows, int64_t columns, int64_t depth, const FloatMatrix &a,
              const FloatMatrix &b, bool adds, float *c) {
  multiplyFloats(rows, columns, depth, a, b, {.data = c, .stride = columns, .adds = adds});
}

/// A block of the scores of one batch: `count` keys from `key` on for `rows` queries from `query`
/// on.
struct ScoreBlock {
  int64_t query, rows, key, count;

  /// Number of the block's keys that query `row` attends to.
  int64_t visibleKeys(bool isCausal, int64_t row) const {
    return isCausal ? std::clamp<int64_t>(query + row + 1 - key, 0, count) : count;
  }
};

class Attention {
public:
  Attention(const AttentionSizes &shape, const AttentionState &state, const float *query,
            const float *key, const float *value, const float *mask)
      : s(shape), state(state), query(query), key(key), value(value), mask(mask) {}

  /// Number of keys that the last of the queries up to `endQuery` attends to.
  int64_t keysFor(int64_t endQuery) const {
    return state.isCausal ? std::min(s.keys, endQuery) : s.keys;
  }

  const float *queryAt(int64_t batch, int64_t row) const {
    return query + (batch * s.queries + row) * s.width;
  }
  const float *keyAt(int64_t batch, int64_t row) const {
    return key + (batch * s.keys + row) * s.width;
  }
  const float *valueAt(int64_t batch, int64_t row) const {
    return value + (batch * s.keys + row) * s.valueWidth;
  }

  /// Computes the scores of a block, row-major. The scores of masked keys are unspecified.
  void score(int64_t batch, const ScoreBlock &block, float *scores) const {
    multiply(block.rows, block.count, s.width, {queryAt(batch, block.query), s.width},
             {keyAt(batch, block.key), s.width, /*isTransposed=*/true}, false, scores);
    for (int64_t i = 0; i < block.rows * block.count; ++i)
      scores[i] *= state.scale;
    if (mask)
      for (int64_t r = 0; r < block.rows; ++r)
        addMask(batch, block, r, scores + r * block.count);
  }

  const AttentionSizes &s;
  const AttentionState &state;

private:
  void addMask(int64_t batch, const ScoreBlock &block, int64_t r, float *row) const {
    const float *from = mask + s.maskAt[static_cast<size_t>(batch)] +
                        (block.query + r) * s.maskRow + block.key * s.maskColumn;
    if (s.maskColumn)
      for (int64_t i = 0; i < block.count; ++i)
        row[i] += from[i];
    else
      for (int64_t i = 0; i < block.count; ++i)
        row[i] += *from;
  }

  const float *query, *key, *value, *mask;
};

// --- forward -------------------------------------------------------------------------------------

/// Computes the result for some queries of one batch, one block of keys after another (online
/// softmax): keeps the largest score so far and the sum of the exponentials for each row.
class OnlineSoftmax {
public:
  OnlineSoftmax(const Attention &attention, int64_t batch, int64_t query, int64_t rows, float *out)
      : a(attention), batch(batch), query(query), rows(rows), out(out),
        scores(static_cast<size_t>(rows * std::min(blockKeys, attention.s.keys))) {
    std::fill_n(largest, rows, -std::numeric_limits<float>::infinity());
    std::fill_n(sum, rows, 0.0F);
  }

  void run(float *logSums) {
    int64_t end = a.keysFor(query + rows);
    if (end == 0) { // no keys: the result is zero
      std::fill_n(out, rows * a.s.valueWidth, 0.0F);
      std::copy_n(largest, rows, logSums);
      return;
    }
    for (int64_t key = 0; key < end; key += blockKeys)
      add({query, rows, key, std::min(blockKeys, end - key)});
    for (int64_t r = 0; r < rows; ++r) {
      scale(r, a.state.zeroIfMasked && isMasked(sum[r]) ? 0 : 1 / sum[r]);
      logSums[r] = largest[r] + std::log(sum[r]);
    }
  }

private:
  void add(const ScoreBlock &block) {
    a.score(batch, block, scores.data());
    for (int64_t r = 0; r < rows; ++r)
      exponentiate(block, r);
    const AttentionSizes &s = a.s;
    multiply(rows, s.valueWidth, block.count, {scores.data(), block.count},
             {a.valueAt(batch, block.key), s.valueWidth}, block.key > 0, out);
  }

  void exponentiate(const ScoreBlock &block, int64_t r) {
    float *row = scores.data() + r * block.count;
    int64_t visibleKeys = block.visibleKeys(a.state.isCausal, r);
    std::fill(row + visibleKeys, row + block.count, 0.0F);
    float before = largest[r];
    largest[r] = std::max(before, largestOf(row, visibleKeys));
    // If all scores are -infinity, so is each of them, and the previous sum is zero.
    float shift = largest[r] == -std::numeric_limits<float>::infinity() ? 0 : largest[r];
    float added = expAndSum(row, shift, row, visibleKeys);
    if (block.key > 0 && before != largest[r]) {
      float factor = std::exp(before - shift);
      sum[r] *= factor;
      scale(r, factor);
    }
    sum[r] += added;
  }

  void scale(int64_t r, float factor) {
    float *row = out + r * a.s.valueWidth;
    for (int64_t i = 0; i < a.s.valueWidth; ++i)
      row[i] *= factor;
  }

  const Attention &a;
  int64_t batch, query, rows;
  float *out;
  std::vector<float> scores;
  float largest[blockQueries], sum[blockQueries];
};

const Tensor *maskOf(OpContext &ctx, int at) {
  return ctx.numInputs() > at ? &ctx.input(at) : nullptr;
}

const float *floatsOf(const Tensor *t) { return t ? t->data<float>() : nullptr; }

// --- other shapes: op by op ----------------------------------------------------------------------

/// Runs `op` and returns its output; null if it failed.
Tensor runOne(OpContext &ctx, std::string_view op, std::vector<Tensor> inputs, AttrMap attrs = {}) {
  if (ctx.hasFailed())
    return {};
  attrs.set("T", TypeAttr{DType::Float32});
  auto out = ctx.check(runOp({matMulKernels, elementwiseArithmeticKernels, softmaxKernels}, op,
                             attrs, std::move(inputs), {DType::Float32}));
  return out ? out->front() : Tensor();
}

/// Clears the probabilities of rows whose scores are all -infinity.
void clearMasked(const Tensor &scores, Tensor &probabilities) {
  int64_t columns = scores.dim(scores.rank() - 1);
  for (int64_t at = 0; at < scores.count(); at += columns) {
    const float *row = scores.data<float>() + at;
    if (std::all_of(row, row + columns, [](float x) { return x == -INFINITY; }))
      std::fill_n(probabilities.data<float>() + at, columns, 0.0F);
  }
}

/// Returns the logarithm of the sum of exp(x) of each row.
std::optional<Tensor> logSumsOf(OpContext &ctx, const Tensor &scores) {
  auto out = ctx.check(Tensor::make(DType::Float32, scores.dims().first(scores.dims().size() - 1)));
  int64_t columns = scores.dim(scores.rank() - 1);
  std::vector<float> row(static_cast<size_t>(columns));
  for (int64_t r = 0; out && r < out->count(); ++r) {
    const float *x = scores.data<float>() + r * columns;
    float largest = largestOf(x, columns), shift = largest == -INFINITY ? 0 : largest;
    out->data<float>()[r] = largest + std::log(expAndSum(x, shift, row.data(), columns));
  }
  return out;
}

/// Runs the ops that this op replaces, one by one: they broadcast, and report the errors.
void runUnfused(OpContext &ctx, const AttentionState &state) {
  AttrMap turnsKey;
  turnsKey.set("adj_y", true);
  Tensor scores = runOne(ctx, "BatchMatMulV2", {ctx.input(0), ctx.input(1)}, turnsKey);
  scores = runOne(ctx, "Mul", {scores, Tensor::scalar(DType::Float32, state.scale)});
  if (const Tensor *mask = maskOf(ctx, 3))
    scores = runOne(ctx, "AddV2", {scores, *mask});
  Tensor probabilities = runOne(ctx, "Softmax", {scores});
  if (state.zeroIfMasked && !ctx.hasFailed())
    clearMasked(scores, probabilities);
  Tensor result = runOne(ctx, "BatchMatMulV2", {probabilities, ctx.input(2)});
  if (ctx.hasFailed())
    return;
  Tensor logSums = TREADLE_OR_RETURN(logSumsOf(ctx, scores));
  ctx.setOutput(0, std::move(result));
  ctx.setOutput(1, std::move(logSums));
}

void failShapes(OpContext &ctx) {
  ctx.fail(invalidArgument(
      "query, key and value must be [..., queries, width], [..., keys, width] and [..., keys, "
      "any], and a mask must broadcast to the scores, but they have shapes ",
      dimsText(ctx.input(0).dims()), ", ", dimsText(ctx.input(1).dims()), " and ",
      dimsText(ctx.input(2).dims())));
}

void runAttention(OpContext &ctx) {
  const Tensor *mask = maskOf(ctx, 3);
  std::optional<AttentionSizes> shape = shapeOf(ctx, mask);
  const auto &state = ctx.state<AttentionState>();
  if (!shape)
    return state.isCausal ? failShapes(ctx) : runUnfused(ctx, state);
  DimVector dims(ctx.input(0).dims());
  dims[dims.size() - 1] = shape->valueWidth;
  Tensor *out = ctx.allocateOutput(0, DType::Float32, dims);
  Tensor *logSums = ctx.allocateOutput(1, DType::Float32, Dims(dims).first(dims.size() - 1));
  if (!out || !logSums || !logSums->count())
    return;
  Attention attention(*shape, state, ctx.input(0).data<float>(), ctx.input(1).data<float>(),
                      ctx.input(2).data<float>(), floatsOf(mask));
  const int64_t queries = shape->queries, width = shape->valueWidth,
                perBatch = (queries + blockQueries - 1) / blockQueries;
  double cost = nsPerTileProduct * static_cast<double>(std::min(blockQueries, queries)) *
                static_cast<double>(shape->keys) *
                static_cast<double>(shape->width + shape->valueWidth + 64);
  ctx.parallelFor(shape->batch * perBatch, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t batch = i / perBatch, query = i % perBatch * blockQueries,
              rows = std::min(blockQueries, queries - query), row = batch * queries + query;
      OnlineSoftmax(attention, batch, query, rows, out->data<float>() + row * width)
          .run(logSums->data<float>() + row);
    }
  });
}

// --- gradient ------------------------------------------------------------------------------------

/// The gradient, with the probabilities p = exp(scores - logSums): dv = p' g; ds = p * (g v' -
/// sum(g * out)) * scale; dq = ds k; dk = ds' q.
struct AttentionGradient {
  const Attention &a;
  const float *out, *logSums, *grad;
  float *query, *key, *value; // their gradients

  void computeBatch(int64_t batch) const {
    const AttentionSizes &s = a.s;
    std::fill_n(query + batch * s.queries * s.width, s.queries * s.width, 0.0F);
    std::fill_n(key + batch * s.keys * s.width, s.keys * s.width, 0.0F);
    std::fill_n(value + batch * s.keys * s.valueWidth, s.keys * s.valueWidth, 0.0F);
    auto size = static_cast<size_t>(blockQueries * std::min(blockKeys, s.keys));
    std::vector<float> p(size), ds(size);
    for (int64_t q = 0; q < s.queries; q += blockQueries) {
      int64_t rows = std::min(blockQueries, s.queries - q), end = a.keysFor(q + rows);
      for (int64_t k = 0; k < end; k += blockKeys)
        computeBlock(batch, {q, rows, k, std::min(blockKeys, end - k)}, p.data(), ds.data());
    }
  }

  void computeBlock(int64_t batch, const ScoreBlock &block, float *p, float *ds) const {
    const AttentionSizes &s = a.s;
    const int64_t row = batch * s.queries + block.query, keyRow = batch * s.keys + block.key;
    const float *g = grad + row * s.valueWidth;
    a.score(batch, block, p);
    multiply(block.rows, block.count, s.valueWidth, {g, s.valueWidth},
             {a.valueAt(batch, block.key), s.valueWidth, true}, false, ds);
    for (int64_t r = 0; r < block.rows; ++r)
      computeRowGradient(block, r, row + r, p + r * block.count, ds + r * block.count);
    multiply(block.count, s.valueWidth, block.rows, {p, block.count, true}, {g, s.valueWidth}, true,
             value + keyRow * s.valueWidth);
    multiply(block.rows, s.width, block.count, {ds, block.count},
             {a.keyAt(batch, block.key), s.width}, true, query + row * s.width);
    multiply(block.count, s.width, block.rows, {ds, block.count, true},
             {a.queryAt(batch, block.query), s.width}, true, key + keyRow * s.width);
  }

  /// Converts scores to probabilities, and the gradient of the probabilities to that of the scores.
  void computeRowGradient(const ScoreBlock &block, int64_t r, int64_t row, float *p,
                          float *ds) const {
    int64_t visibleKeys = block.visibleKeys(a.state.isCausal, r), width = a.s.valueWidth;
    std::fill(p + visibleKeys, p + block.count, 0.0F);
    std::fill(ds + visibleKeys, ds + block.count, 0.0F);
    if (a.state.zeroIfMasked && logSums[row] == -INFINITY) {
      std::fill(p, p + visibleKeys, 0.0F);
      std::fill(ds, ds + visibleKeys, 0.0F);
      return;
    }
    expAndSum(p, logSums[row], p, visibleKeys);
    float inner =
        std::inner_product(out + row * width, out + (row + 1) * width, grad + row * width, 0.0F);
    for (int64_t i = 0; i < visibleKeys; ++i)
      ds[i] = p[i] * (ds[i] - inner) * a.state.scale;
  }
};

bool checkGradients(OpContext &ctx, const AttentionSizes &shape) {
  const Tensor &out = ctx.input(3), &logSums = ctx.input(4), &grad = ctx.input(5);
  DimVector dims(ctx.input(0).dims());
  dims[dims.size() - 1] = shape.valueWidth;
  if (std::ranges::equal(out.dims(), dims) && std::ranges::equal(grad.dims(), dims) &&
      std::ranges::equal(logSums.dims(), Dims(dims).first(dims.size() - 1)))
    return true;
  ctx.fail(invalidArgument("output and gradient must have shape ", dimsText(dims),
                           " and the logarithms of sums one number per row, but they have shapes ",
                           dimsText(out.dims()), ", ", dimsText(grad.dims()), " and ",
                           dimsText(logSums.dims())));
  return false;
}

void runAttentionGrad(OpContext &ctx) {
  const Tensor *mask = maskOf(ctx, 6);
  std::optional<AttentionSizes> shape = shapeOf(ctx, mask);
  if (!shape)
    return failShapes(ctx);
  if (!checkGradients(ctx, *shape))
    return;
  Tensor *gradientOutputs[3];
  for (int i = 0; i < 3; ++i) {
    gradientOutputs[i] = ctx.allocateOutput(i, DType::Float32, ctx.input(i).dims());
    if (!gradientOutputs[i])
      return;
  }
  Attention attention(*shape, ctx.state<AttentionState>(), ctx.input(0).data<float>(),
                      ctx.input(1).data<float>(), ctx.input(2).data<float>(), floatsOf(mask));
  AttentionGradient gradient{attention,
                             ctx.input(3).data<float>(),
                             ctx.input(4).data<float>(),
                             ctx.input(5).data<float>(),
                             gradientOutputs[0]->data<float>(),
                             gradientOutputs[1]->data<float>(),
                             gradientOutputs[2]->data<float>()};
  double cost =
      nsPerTileProduct * static_cast<double>(shape->queries) * static_cast<double>(shape->keys) *
      (3.0 * static_cast<double>(shape->width) + 2.0 * static_cast<double>(shape->valueWidth));
  ctx.parallelFor(shape->batch, cost, [&](int64_t begin, int64_t end) {
    for (int64_t batch = begin; batch < end; ++batch)
      gradient.computeBatch(batch);
  });
}

template <KernelFn fn> Expected<BoundKernel> bind(const BindContext &node) {
  if (node.inputTypes[0] != DType::Float32)
    return unsupportedDType(node, node.inputTypes[0]);
  return expensive(boundWith(fn, AttentionState{node.attrs.getOr("scale", 1.0F),
                                                node.attrs.getOr("causal", false),
                                                node.attrs.getOr("zero_if_masked", false)}));
}

const KernelEntry attentionTable[] = {
    {"_Attention", bind<runAttention>},
    {"_AttentionGrad", bind<runAttentionGrad>},
};

} // namespace

std::span<const KernelEntry> attentionKernels() { return attentionTable; }

} // namespace treadle
