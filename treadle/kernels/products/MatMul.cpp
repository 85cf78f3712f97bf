// Matrix products: MatMul, the BatchMatMuls, and _FusedMatMul. Floats are packed, and doubles use
// Eigen; other types are converted to row-major, untransposed form first, 16-bit floats as float.
#include "treadle/kernels/products/MatMul.h"
#include "treadle/kernels/Element.h"
#include "treadle/kernels/RunningTotal.h"
#include "treadle/kernels/Widened.h"
#include "treadle/kernels/elementwise/Broadcast.h"
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/products/Epilogue.h"
#include "treadle/kernels/products/FewRows.h"
#include "treadle/kernels/products/FloatProduct.h"
#include "treadle/kernels/products/LookaheadProduct.h"
#include "treadle/kernels/products/VectorProduct.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace treadle {
namespace {

// --- one product -------------------------------------------------------------------------------

template <typename T>
using ColMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

template <typename T, typename A, typename B>
void multiplyMaps(const Product &p, const T *a, const T *b, int64_t begin, int64_t end, T *out) {
  int64_t toLeft = p.aTransposed ? p.m : 1, toRight = p.bTransposed ? 1 : p.n;
  using Stride = Eigen::OuterStride<>;
  Eigen::Map<const A, 0, Stride> left(a + begin * toLeft, p.m, end - begin,
                                      Stride(p.aTransposed ? p.m : p.k));
  Eigen::Map<const B, 0, Stride> right(b + begin * toRight, end - begin, p.n,
                                       Stride(p.bTransposed ? p.k : p.n));
  Eigen::Map<RowMajor<T>>(out, p.m, p.n).noalias() = left * right;
}

/// Multiplies elements [begin, end) of the depth. A long depth is halved, as for packed floats.
template <typename T>
void multiplyByEigen(const Product &p, const T *a, const T *b, int64_t begin, int64_t end, T *out) {
  if (end - begin > longestDepth) {
    int64_t middle = begin + (end - begin) / 2;
    std::vector<T> other(static_cast<size_t>(p.m * p.n));
    multiplyByEigen(p, a, b, begin, middle, out);
    multiplyByEigen(p, a, b, middle, end, other.data());
    std::transform(other.begin(), other.end(), out, out, std::plus<T>());
    return;
  }
  if (p.aTransposed)
    return p.bTransposed ? multiplyMaps<T, ColMajor<T>, ColMajor<T>>(p, a, b, begin, end, out)
                         : multiplyMaps<T, ColMajor<T>, RowMajor<T>>(p, a, b, begin, end, out);
  return p.bTransposed ? multiplyMaps<T, RowMajor<T>, ColMajor<T>>(p, a, b, begin, end, out)
                       : multiplyMaps<T, RowMajor<T>, RowMajor<T>>(p, a, b, begin, end, out);
}

/// Computes matrix [rows, columns] times a column. If transposed, the matrix is stored as [columns,
/// rows].
template <typename T>
void multiplyVector(const T *matrix, bool transposed, int64_t rows, int64_t columns, const T *x,
                    T *out) {
  if (transposed)
    multiplyColumnsByVector(matrix, rows, rows, columns, x, out);
  else
    multiplyRowsByVector(matrix, columns, rows, columns, x, out);
}

template <typename T> void multiplyPlain(const Product &p, const T *a, const T *b, T *out) {
  if constexpr (std::is_same_v<T, float>)
    if (shouldPack(p))
      return multiplyFloats(p.m, p.n, p.k, leftOf(p, a), rightOf(p, b), {out, p.n});
  if (multiplyFewRows(p, a, b, out))
    return;
  if (p.n == 1)
    return multiplyVector(a, p.aTransposed, p.m, p.k, b, out);
  if (p.m == 1) // out' = b' a'
    return multiplyVector(b, !p.bTransposed, p.n, p.k, a, out);
  multiplyByEigen(p, a, b, 0, p.k, out);
}

// Multiplies row by row: the innermost loop runs along rows of b and of the result.
template <typename T, typename Acc>
void multiplyByRows(const Product &p, const T *a, const T *b, Acc *out) {
  for (int64_t i = 0; i < p.m; ++i) {
    std::vector<RunningTotal<Acc>> total(static_cast<size_t>(p.n));
    for (int64_t begin = 0; begin < p.k; begin += elementsOfSum) {
      Acc *result = out + i * p.n;
      std::fill_n(result, p.n, Acc(0));
      for (int64_t l = begin; l < std::min(p.k, begin + elementsOfSum); ++l) {
        const Acc x = Acc(a[i * p.k + l]);
        const T *row = b + l * p.n;
        for (int64_t j = 0; j < p.n; ++j)
          result[j] = static_cast<Acc>(result[j] + Widened<Acc>(x) * Widened<Acc>(row[j]));
      }
      for (int64_t j = 0; j < p.n; ++j)
        total[static_cast<size_t>(j)].add(result[j]);
    }
    for (int64_t j = 0; j < p.n; ++j)
      out[i * p.n + j] = total[static_cast<size_t>(j)].value();
  }
}

// Returns a copy as [rows, columns] of a matrix that may be stored as [columns, rows], with each
// element converted.
template <typename To, typename From>
std::vector<To> toRowMajor(const From *x, bool transposed, int64_t rows, int64_t columns,
                           bool conjugated) {
  std::vector<To> out(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      To value = static_cast<To>(x[transposed ? j * rows + i : i * columns + j]);
      if constexpr (isComplexType<To>)
        value = conjugated ? std::conj(value) : value;
      out[static_cast<size_t>(i * columns + j)] = value;
    }
  return out;
}

template <typename T>
void multiplyReal(const Product &p, const void *a, const void *b, void *out, bool) {
  multiplyPlain(p, static_cast<const T *>(a), static_cast<const T *>(b), static_cast<T *>(out));
}

template <typename T, typename A = T, typename B = T>
void multiplySmallFloat(const Product &p, const void *a, const void *b, void *out, bool) {
  std::vector<float> x =
      toRowMajor<float>(static_cast<const A *>(a), p.aTransposed, p.m, p.k, false);
  std::vector<float> y =
      toRowMajor<float>(static_cast<const B *>(b), p.bTransposed, p.k, p.n, false);
  std::vector<float> sum(static_cast<size_t>(p.m * p.n));
  multiplyPlain<float>({p.m, p.k, p.n, false, false}, x.data(), y.data(), sum.data());
  std::transform(sum.begin(), sum.end(), static_cast<T *>(out), [](float v) { return T(v); });
}

template <typename A, typename B, typename Out>
void multiplyInteger(const Product &p, const void *a, const void *b, void *out, bool) {
  using Acc = Wrapping<Out>;
  std::vector<Out> x = toRowMajor<Out>(static_cast<const A *>(a), p.aTransposed, p.m, p.k, false);
  std::vector<Out> y = toRowMajor<Out>(static_cast<const B *>(b), p.bTransposed, p.k, p.n, false);
  multiplyByRows(Product{p.m, p.k, p.n, false, false}, x.data(), y.data(), static_cast<Acc *>(out));
}

/// Multiplies a row-major complex matrix by a column: its parts are the products with two columns.
template <typename R>
void multiplyByComplexColumn(int64_t rows, int64_t depth, const R *matrix,
                             const std::complex<R> *column, std::complex<R> *out) {
  std::vector<R> toReal, toImaginary, real(static_cast<size_t>(rows)), imaginary(real.size());
  for (int64_t i = 0; i < depth; ++i) {
    toReal.insert(toReal.end(), {column[i].real(), -column[i].imag()});
    toImaginary.insert(toImaginary.end(), {column[i].imag(), column[i].real()});
  }
  const Product p{rows, 2 * depth, 1, false, false};
  multiplyPlain<R>(p, matrix, toReal.data(), real.data());
  multiplyPlain<R>(p, matrix, toImaginary.data(), imaginary.data());
  for (int64_t i = 0; i < rows; ++i)
    out[i] = {real[static_cast<size_t>(i)], imaginary[static_cast<size_t>(i)]};
}

/// Multiplies complex matrices as real ones, with twice the depth and twice the columns: a left row
/// is a real row of parts, and each right row (x, y, ...) becomes the row of its parts, followed by
/// that of i times it (-y, x, ...).
template <typename R>
void multiplyComplex(const Product &p, const void *a, const void *b, void *out, bool conjugates) {
  using T = std::complex<R>;
  std::vector<T> copyOfLeft, copyOfRight;
  auto rowMajor = [&](const void *data, bool isTransposed, int64_t rows, int64_t columns,
                      std::vector<T> &copy) {
    const T *elements = static_cast<const T *>(data);
    if (!isTransposed)
      return elements;
    copy = toRowMajor<T>(elements, isTransposed, rows, columns, conjugates);
    return static_cast<const T *>(copy.data());
  };
  const T *left = rowMajor(a, p.aTransposed, p.m, p.k, copyOfLeft);
  const T *right = rowMajor(b, p.bTransposed, p.k, p.n, copyOfRight);
  constexpr int64_t maxSimple = 512; // products: for more, the copies below pay off
  if (p.m * p.k * p.n <= maxSimple)
    return multiplyByRows(Product{p.m, p.k, p.n, false, false}, left, right, static_cast<T *>(out));
  const R *leftParts = reinterpret_cast<const R *>(left);
  if (p.n == 1)
    return multiplyByComplexColumn(p.m, p.k, leftParts, right, static_cast<T *>(out));
  std::vector<T> rightParts(static_cast<size_t>(2 * p.k * p.n));
  for (int64_t i = 0; i < p.k; ++i) {
    const T *from = right + i * p.n;
    T *to = rightParts.data() + 2 * i * p.n;
    std::copy_n(from, p.n, to);
    std::transform(from, from + p.n, to + p.n, [](T x) { return T(-x.imag(), x.real()); });
  }
  multiplyPlain<R>(Product{p.m, 2 * p.k, 2 * p.n, false, false}, leftParts,
                   reinterpret_cast<const R *>(rightParts.data()), static_cast<R *>(out));
}

// Multiplies small floats, widened to float.
template <typename A, typename B>
void multiplyWidened(const Product &p, const void *a, const void *b, void *out, bool) {
  auto x = toRowMajor<float>(static_cast<const A *>(a), p.aTransposed, p.m, p.k, false);
  auto y = toRowMajor<float>(static_cast<const B *>(b), p.bTransposed, p.k, p.n, false);
  multiplyReal<float>(Product{p.m, p.k, p.n, false, false}, x.data(), y.data(), out, false);
}

struct MultiplyRow {
  DType a, b, out;
  MultiplyFn fn;
};
const MultiplyRow multiplyRows[] = {
    {DType::Float32, DType::Float32, DType::Float32, multiplyReal<float>},
    {DType::Float64, DType::Float64, DType::Float64, multiplyReal<double>},
    {DType::Float16, DType::Float16, DType::Float16, multiplySmallFloat<Half>},
    {DType::BFloat16, DType::BFloat16, DType::BFloat16, multiplySmallFloat<BFloat16>},
    {DType::BFloat16, DType::Int8, DType::BFloat16, multiplySmallFloat<BFloat16, BFloat16, int8_t>},
    {DType::BFloat16, DType::UInt8, DType::BFloat16,
     multiplySmallFloat<BFloat16, BFloat16, uint8_t>},
    {DType::Int8, DType::BFloat16, DType::BFloat16, multiplySmallFloat<BFloat16, int8_t, BFloat16>},
    {DType::UInt8, DType::BFloat16, DType::BFloat16,
     multiplySmallFloat<BFloat16, uint8_t, BFloat16>},
    {DType::BFloat16, DType::BFloat16, DType::Float32, multiplyWidened<BFloat16, BFloat16>},
    {DType::BFloat16, DType::Float32, DType::Float32, multiplyWidened<BFloat16, float>},
    {DType::Float32, DType::BFloat16, DType::Float32, multiplyWidened<float, BFloat16>},
    {DType::Int32, DType::Int32, DType::Int32, multiplyInteger<int32_t, int32_t, int32_t>},
    {DType::Int64, DType::Int64, DType::Int64, multiplyInteger<int64_t, int64_t, int64_t>},
    {DType::Int16, DType::Int16, DType::Int16, multiplyInteger<int16_t, int16_t, int16_t>},
    {DType::Int8, DType::Int8, DType::Int32, multiplyInteger<int8_t, int8_t, int32_t>},
    {DType::UInt8, DType::UInt8, DType::Int32, multiplyInteger<uint8_t, uint8_t, int32_t>},
    {DType::UInt8, DType::Int8, DType::Int32, multiplyInteger<uint8_t, int8_t, int32_t>},
    {DType::Int8, DType::UInt8, DType::Int32, multiplyInteger<int8_t, uint8_t, int32_t>},
    {DType::Complex64, DType::Complex64, DType::Complex64, multiplyComplex<float>},
    {DType::Complex128, DType::Complex128, DType::Complex128, multiplyComplex<double>},
};

// --- the ops -----------------------------------------------------------------------------------

struct MatMulState {
  MultiplyFn multiply;
  DType out;
  bool transposesA, transposesB;
  bool conjugates; // transposed operands are also conjugated
  bool broadcasts; // the op broadcasts batch dimensions
  std::optional<EpilogueSpec> epilogue = {};
  std::shared_ptr<PackedWeights> weights = std::make_shared<PackedWeights>();
  std::shared_ptr<LookaheadProduct> ahead = std::make_shared<LookaheadProduct>();
};

// Computes the sizes of the product of the last two dimensions.
bool findProduct(OpContext &ctx, const MatMulState &s, const Tensor &a, const Tensor &b,
                 Product &p) {
  int64_t aRows = a.dim(a.rank() - 2), aColumns = a.dim(a.rank() - 1);
  int64_t bRows = b.dim(b.rank() - 2), bColumns = b.dim(b.rank() - 1);
  p.aTransposed = s.transposesA;
  p.bTransposed = s.transposesB;
  p.m = s.transposesA ? aColumns : aRows;
  p.k = s.transposesA ? aRows : aColumns;
  p.n = s.transposesB ? bRows : bColumns;
  if (p.k == (s.transposesB ? bColumns : bRows))
    return true;
  ctx.fail(invalidArgument("matrix sizes are incompatible: ", dimsText(a.dims()),
                           s.transposesA ? " (transposed)" : "", " times ", dimsText(b.dims()),
                           s.transposesB ? " (transposed)" : ""));
  return false;
}

// Computes rows [begin, end) of the product, and the epilogue.
void multiplyPart(const MatMulState &s, const Product &p, const Tensor &a, const Tensor &b,
                  Tensor &out, const Epilogue *epilogue, int64_t begin, int64_t end) {
  Product part = p;
  part.m = end - begin;
  auto *aData = static_cast<const char *>(a.raw());
  auto *outData = static_cast<char *>(out.raw());
  int64_t size = static_cast<int64_t>(dtypeSize(a.dtype()));
  int64_t outSize = static_cast<int64_t>(dtypeSize(out.dtype()));
  if (p.k == 0)
    std::memset(outData + begin * p.n * outSize, 0, static_cast<size_t>(part.m * p.n * outSize));
  else
    s.multiply(part, aData + begin * p.k * size, b.raw(), outData + begin * p.n * outSize,
               s.conjugates);
  if (!epilogue)
    return;
  if (out.dtype() == DType::Float32)
    epilogue->apply(out.data<float>(), begin, part.m, 0, p.n);
  else
    epilogue->apply(out.data<double>(), begin, part.m, 0, p.n);
}

// Multiplies by the packed form of the right operand if that is a constant (weights). Returns false
// if it isn't.
bool multiplyWeights(OpContext &ctx, const Product &p, const Tensor &a, const Tensor &b,
                     Tensor &out, const Epilogue *epilogue) {
  constexpr int64_t minDepth = 16, minColumns = 16;
  const MatMulState &s = ctx.state<MatMulState>();
  bool areFloats = a.dtype() == DType::Float32 && b.dtype() == DType::Float32;
  if (!areFloats || s.out != DType::Float32 || p.k < minDepth || p.n < minColumns)
    return false;
  auto packed = s.weights->find(
      b, [&] { return PackedMatrix::make(ctx, p.k, p.n, rightOf(p, b.data<float>())); });
  if (!packed)
    return false;
  if (!p.aTransposed && s.ahead->multiply(ctx, a, packed, out.data<float>())) {
    if (epilogue)
      epilogue->apply(out.data<float>(), 0, p.m, 0, p.n);
    return true;
  }
  multiplyPacked(ctx, p.m, leftOf(p, a.data<float>()), *packed, {out.data<float>(), p.n, epilogue});
  return true;
}

/// Computes one product into output 0, which gets the given dimensions.
void multiplyMatrices(OpContext &ctx, const Product &p, Dims dims, const Epilogue *epilogue) {
  const MatMulState &s = ctx.state<MatMulState>();
  const Tensor a = ctx.input(0), b = ctx.input(1);
  Tensor *out = ctx.allocateOutput(0, s.out, dims);
  if (!out || !out->count())
    return;
  if (multiplyWeights(ctx, p, a, b, *out, epilogue))
    return;
  if (s.multiply == multiplyReal<float> && shouldPack(p))
    return multiplyFloats(ctx, p, a.data<float>(), b.data<float>(),
                          {out->data<float>(), p.n, epilogue});
  double work = costOfProduct * static_cast<double>(p.k) * static_cast<double>(p.n);
  // Rows of an untransposed `a` can be divided among threads.
  if (s.transposesA || p.m < 8 || p.m * work < 100000)
    return multiplyPart(s, p, a, b, *out, epilogue, 0, p.m);
  ctx.parallelFor((p.m + 7) / 8, work * 8, [&](int64_t begin, int64_t end) {
    multiplyPart(s, p, a, b, *out, epilogue, begin * 8, std::min(p.m, end * 8));
  });
}

void runMatMul(OpContext &ctx) {
  const MatMulState &s = ctx.state<MatMulState>();
  const Tensor &a = ctx.input(0), &b = ctx.input(1);
  if (a.rank() != 2 || b.rank() != 2)
    return ctx.fail(invalidArgument("MatMul needs two matrices, but got shapes ",
                                    dimsText(a.dims()), " and ", dimsText(b.dims())));
  Product p;
  if (!findProduct(ctx, s, a, b, p))
    return;
  const int64_t dims[] = {p.m, p.n};
  if (!s.epilogue)
    return multiplyMatrices(ctx, p, dims, nullptr);
  auto epilogue = TREADLE_OR_RETURN(Epilogue::of(ctx, *s.epilogue, 2, {s.out, dims, p.n}));
  multiplyMatrices(ctx, p, dims, &epilogue);
  if (!ctx.hasFailed())
    epilogue.finish(ctx, ctx.output(0));
}

// Pairs up the batch dimensions; false, with ctx failed, if they don't broadcast.
bool planBatches(OpContext &ctx, const MatMulState &s, BroadcastPlan<2> &plan) {
  Dims a = ctx.input(0).dims(), b = ctx.input(1).dims();
  a = a.first(a.size() - 2);
  b = b.first(b.size() - 2);
  if ((s.broadcasts || std::ranges::equal(a, b)) && planBroadcast<2>({a, b}, plan) &&
      plan.rank + 2 <= BroadcastPlan<2>::maxRank)
    return true;
  ctx.fail(invalidArgument("batch dimensions are incompatible: ", dimsText(ctx.input(0).dims()),
                           " vs. ", dimsText(ctx.input(1).dims())));
  return false;
}

/// Positions of the operands of one product, counted in matrices.
struct MatrixPair {
  int64_t a, b;
};

// Returns the pairs of matrices in the order of their products.
std::vector<MatrixPair> pairBatches(const BroadcastPlan<2> &plan, int64_t count) {
  std::vector<MatrixPair> pairs(static_cast<size_t>(count));
  int inner = plan.loops - 1;
  forEachRow<2>(plan, [&](const std::array<int64_t, 2> &at, int64_t begin) {
    for (int64_t i = 0; i < plan.size[inner]; ++i)
      pairs[static_cast<size_t>(begin + i)] = {at[0] + i * plan.stride[0][inner],
                                               at[1] + i * plan.stride[1][inner]};
  });
  return pairs;
}

// Computes all products of the batches that `plan` pairs up.
void multiplyBatches(OpContext &ctx, const MatMulState &s, const Product &p,
                     const BroadcastPlan<2> &plan, const Tensor &a, const Tensor &b, Tensor &out) {
  auto *aData = static_cast<const char *>(a.raw());
  auto *bData = static_cast<const char *>(b.raw());
  auto *outData = static_cast<char *>(out.raw());
  int64_t aSize = p.m * p.k * static_cast<int64_t>(dtypeSize(a.dtype()));
  int64_t bSize = p.k * p.n * static_cast<int64_t>(dtypeSize(b.dtype()));
  int64_t outSize = p.m * p.n * static_cast<int64_t>(dtypeSize(out.dtype()));
  std::vector<MatrixPair> pairs = pairBatches(plan, out.count() / (p.m * p.n));
  double cost = costOfProduct * static_cast<double>(p.m) * static_cast<double>(p.k * p.n);
  ctx.parallelFor(std::ssize(pairs), cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      s.multiply(p, aData + pairs[static_cast<size_t>(i)].a * aSize,
                 bData + pairs[static_cast<size_t>(i)].b * bSize, outData + i * outSize,
                 s.conjugates);
  });
}

void runBatchMatMul(OpContext &ctx) {
  const MatMulState &s = ctx.state<MatMulState>();
  const Tensor a = ctx.input(0), b = ctx.input(1);
  if (a.rank() < 2 || b.rank() < 2)
    return ctx.fail(invalidArgument("the operands must have rank 2 or more, but have shapes ",
                                    dimsText(a.dims()), " and ", dimsText(b.dims())));
  Product p;
  BroadcastPlan<2> plan;
  if (!findProduct(ctx, s, a, b, p) || !planBatches(ctx, s, plan))
    return;
  int rank = plan.rank;
  plan.dims[rank] = p.m;
  plan.dims[rank + 1] = p.n;
  const Dims dims(plan.dims, static_cast<size_t>(rank) + 2);
  int64_t rows = countElements(dims).value_or(0) / std::max<int64_t>(p.n, 1);
  if (b.count() == p.k * p.n && a.count() == rows * p.k && !p.aTransposed) {
    p.m = rows; // stack all matrices of the left operand, and multiply by the only one of the right
    return multiplyMatrices(ctx, p, dims, nullptr);
  }
  Tensor *out = ctx.allocateOutput(0, s.out, dims);
  if (!out || !out->count())
    return;
  if (p.k == 0)
    std::memset(out->raw(), 0, out->bytes());
  else
    multiplyBatches(ctx, s, p, plan, a, b, *out);
}

template <KernelFn fn>
Expected<BoundKernel> bindProduct(const BindContext &node, const char *aFlag, const char *bFlag,
                                  bool conjugates, bool broadcasts) {
  DType a = node.inputTypes[0], b = node.inputTypes[1], out = node.outputTypes[0];
  if (MultiplyFn multiply = findMultiply(a, b, out)) {
    return expensive(
        boundWith(fn, MatMulState{multiply, out, node.attrs.getOr<bool>(aFlag, false),
                                  node.attrs.getOr<bool>(bFlag, false), conjugates, broadcasts}));
  }
  return unsupportedDType(node, a);
}

Expected<BoundKernel> bindMatMul(const BindContext &node) {
  return bindProduct<runMatMul>(node, "transpose_a", "transpose_b", false, false);
}

Expected<BoundKernel> bindFusedMatMul(const BindContext &node) {
  DType dtype = node.outputTypes[0];
  MultiplyFn multiply = findMultiply(dtype, dtype, dtype);
  if (!multiply || (dtype != DType::Float32 && dtype != DType::Float64))
    return unsupportedDType(node, dtype);
  EpilogueSpec epilogue = TREADLE_TRY(EpilogueSpec::of(node));
  return expensive(
      boundWith(runMatMul,
                MatMulState{multiply, dtype, node.attrs.getOr<bool>("transpose_a", false),
                            node.attrs.getOr<bool>("transpose_b", false), false, false, epilogue}));
}

template <bool broadcasts> Expected<BoundKernel> bindBatchMatMul(const BindContext &node) {
  return bindProduct<runBatchMatMul>(node, "adj_x", "adj_y", true, broadcasts);
}

const KernelEntry matMulTable[] = {
    {"MatMul", bindMatMul},
    // its operands are dense tensors that are likely to contain many zeros
    {"SparseMatMul", bindMatMul},
    {"_FusedMatMul", bindWithHalfFloats<bindFusedMatMul>},
    {"BatchMatMul", bindBatchMatMul<false>},
    {"BatchMatMulV2", bindBatchMatMul<true>},
    {"BatchMatMulV3", bindBatchMatMul<true>},
};

} // namespace

MultiplyFn findMultiply(DType a, DType b, DType out) {
  for (const MultiplyRow &row : multiplyRows)
    if (row.a == a && row.b == b && row.out == out)
      return row.fn;
  return nullptr;
}

DType productDType(DType a, DType b, DType out) {
  auto any = [&](auto predicate) { return predicate(a) || predicate(b) || predicate(out); };
  auto hasLongParts = [](DType d) { return d == DType::Float64 || d == DType::Complex128; };
  auto isLong = [](DType d) {
    return d == DType::Int64 || d == DType::UInt64 || d == DType::UInt32;
  };
  if (a == b && a == out && isFloating(a))
    return a;
  if (any(isComplex))
    return any(hasLongParts) ? DType::Complex128 : DType::Complex64;
  if (any(isFloating))
    return any(hasLongParts) ? DType::Float64 : DType::Float32;
  return any(isLong) ? DType::Int64 : DType::Int32;
}

std::span<const KernelEntry> matMulKernels() { return matMulTable; }

} // namespace treadle
