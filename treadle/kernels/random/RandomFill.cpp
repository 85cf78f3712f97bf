#include "treadle/kernels/random/RandomFill.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/elementwise/VectorMath.h"
#include "treadle/kernels/random/RandomNumbers.h"

#include <cmath>
#include <numeric>

namespace treadle {
namespace {

// Draws until the group is full. For this, each group has 256 numbers of the stream per element.
template <typename T> struct TruncatedNormalNumbers {
  static constexpr float cost = 25;
  static constexpr uint64_t blocksPerGroup = groupOf<T> * 256 / 4;
  static auto pairFrom(PhiloxNumbers &numbers) {
    uint32_t x = numbers.next(), y = numbers.next();
    if constexpr (sizeof(T) == 8) {
      uint32_t z = numbers.next(), w = numbers.next();
      return normalPair(uniformDouble(x, y), uniformDouble(z, w));
    } else {
      return normalPair(uniformFloat(x), uniformFloat(y));
    }
  }
  static void draw(Philox &stream, const IntegerRange &, T *out) {
    PhiloxNumbers numbers(stream);
    for (int filled = 0; filled < groupOf<T>;)
      for (auto value : pairFrom(numbers))
        if (std::fabs(value) < 2 && filled < groupOf<T>)
          out[filled++] = T(value);
  }
};

template <typename T, bool isFull> struct UniformIntegers {
  static constexpr float cost = 2;
  static void draw(Philox &stream, const IntegerRange &range, T *out) {
    using U = std::make_unsigned_t<T>;
    Philox::Block x = stream.next();
    for (int i = 0; i < groupOf<T>; ++i) {
      U bits;
      if constexpr (sizeof(T) == 8)
        bits = uint64_t{x[2 * i]} | uint64_t{x[2 * i + 1]} << 32;
      else
        bits = x[i];
      if constexpr (!isFull)
        bits = static_cast<U>(range.low) + bits % static_cast<U>(range.size);
      out[i] = static_cast<T>(bits);
    }
  }
};
template <typename T> using RangedIntegers = UniformIntegers<T, false>;
template <typename T> using FullIntegers = UniformIntegers<T, true>;

// --- tensors -------------------------------------------------------------------------------------

template <typename Numbers> constexpr uint64_t blocksPerGroup() {
  if constexpr (requires { Numbers::blocksPerGroup; })
    return Numbers::blocksPerGroup;
  return 1;
}

template <typename Numbers, typename T>
void fillGroups(const Philox &stream, const IntegerRange &range, int64_t first, int64_t end,
                void *data, int64_t count) {
  constexpr int group = groupOf<T>;
  T *out = static_cast<T *>(data);
  T last[group];
  for (int64_t g = first; g < end; ++g) {
    Philox own = stream;
    own.skip(static_cast<uint64_t>(g) * blocksPerGroup<Numbers>());
    bool isWhole = (g + 1) * group <= count;
    Numbers::draw(own, range, isWhole ? out + g * group : last);
    if (!isWhole)
      std::copy_n(last, count - g * group, out + g * group);
  }
}

// --- floats, many groups at once -----------------------------------------------------------------

/// Number of groups that are computed together.
constexpr int manyGroups = 64;

/// Computes out[4 * g + i] from bits[i][g].
struct ManyUniform {
  static void make(const uint32_t (&bits)[4][manyGroups], float *out) {
    for (int i = 0; i < 4; ++i)
      for (int g = 0; g < manyGroups; ++g)
        out[4 * g + i] = uniformFloat(bits[i][g]);
  }
};
struct ManyNormal {
  static void make(const uint32_t (&bits)[4][manyGroups], float *out) {
    for (int i = 0; i < 4; i += 2) {
      float sines[manyGroups], cosines[manyGroups];
      TREADLE_VECTORISE
      for (int g = 0; g < manyGroups; ++g) {
        float x = uniformFloat(bits[i][g]), y = uniformFloat(bits[i + 1][g]);
        float log = logOfNormal(x < 1.0e-7f ? 1.0e-7f : x);
        float radius = __builtin_elementwise_sqrt(-2 * log); // doesn't set errno
        float sine, cosine;
        vectorSinCos(static_cast<float>(2 * std::numbers::pi * y), sine, cosine);
        sines[g] = sine * radius;
        cosines[g] = cosine * radius;
      }
      for (int g = 0; g < manyGroups; ++g) {
        out[4 * g + i] = sines[g];
        out[4 * g + i + 1] = cosines[g];
      }
    }
  }
};

template <typename Many, typename Numbers>
void fillMany(const Philox &stream, const IntegerRange &range, int64_t first, int64_t end,
              void *data, int64_t count) {
  auto *out = static_cast<float *>(data);
  for (; first + manyGroups <= end && (first + manyGroups) * 4 <= count; first += manyGroups) {
    Philox own = stream;
    own.skip(static_cast<uint64_t>(first));
    uint32_t bits[4][manyGroups];
    own.peek(bits);
    Many::make(bits, out + first * 4);
  }
  fillGroups<Numbers, float>(stream, range, first, end, data, count);
}

template <template <typename> class Numbers, typename Types> RandomFill fillOf(DType dtype) {
  RandomFill fill;
  visitType(dtype, Types(), [&]<typename T>() {
    fill = {fillGroups<Numbers<T>, T>, groupOf<T>, Numbers<T>::cost};
  });
  return fill;
}

} // namespace

RandomFill randomFillFor(Distribution distribution, DType dtype) {
  using WideAndUnsigned = TypeList<int32_t, int64_t, uint32_t, uint64_t>;
  switch (distribution) {
  case Distribution::Uniform:
    if (dtype == DType::Float32)
      return {fillMany<ManyUniform, UniformNumbers<float>>, 4, 0.5F};
    return fillOf<UniformNumbers, FloatTypes>(dtype);
  case Distribution::Normal:
    if (dtype == DType::Float32)
      return {fillMany<ManyNormal, NormalNumbers<float>>, 4, 2};
    return fillOf<NormalNumbers, FloatTypes>(dtype);
  case Distribution::TruncatedNormal:
    return fillOf<TruncatedNormalNumbers, FloatTypes>(dtype);
  case Distribution::UniformInt:
    return fillOf<RangedIntegers, WideAndUnsigned>(dtype);
  case Distribution::UniformFullInt:
    return fillOf<FullIntegers, WideAndUnsigned>(dtype);
  }
  return {};
}

void fillRandom(OpContext &ctx, const RandomFill &fill, const Philox &stream,
                const IntegerRange &range, Tensor &out) {
  int64_t groups = (out.count() + fill.groupSize - 1) / fill.groupSize;
  ctx.parallelFor(groups, static_cast<double>(fill.cost) * fill.groupSize,
                  [&](int64_t begin, int64_t end) {
                    fill.fn(stream, range, begin, end, out.raw(), out.count());
                  });
}

Tensor *allocateRandomOutput(OpContext &ctx, int i, DType dtype) {
  const Tensor &shape = ctx.input(i);
  if (shape.rank() == 1)
    return ctx.allocateOutput(0, dtype, readIndices(shape));
  ctx.fail(invalidArgument("shape must be a vector, but it is ", tensorTypeText(shape)));
  return nullptr;
}

bool readIntegerRange(OpContext &ctx, int lowInput, int highInput, IntegerRange &range) {
  const Tensor &low = ctx.input(lowInput), &high = ctx.input(highInput);
  if (!low.isScalar() || !high.isScalar()) {
    ctx.fail(invalidArgument("minval and maxval must be scalars, but have shapes ",
                             dimsText(low.dims()), " and ", dimsText(high.dims())));
    return false;
  }
  bool isEmpty = false;
  visitType(low.dtype(), TypeList<int32_t, int64_t, uint32_t, uint64_t>(), [&]<typename T>() {
    T least = low.scalarValue<T>(), end = high.scalarValue<T>();
    isEmpty = least >= end;
    range = {static_cast<uint64_t>(least),
             static_cast<uint64_t>(end) - static_cast<uint64_t>(least)};
  });
  if (isEmpty)
    ctx.fail(invalidArgument("minval must be less than maxval"));
  return !isEmpty;
}

void shuffleRows(OpContext &ctx, const std::function<Philox(uint64_t)> &streamOf) {
  const Tensor in = ctx.input(0);
  if (in.rank() == 0 || in.dim(0) < 2)
    return ctx.setOutput(0, in);
  int64_t rows = in.dim(0), width = in.count() / rows;
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), in.dims()));
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), int64_t{0});
  Philox stream = streamOf((static_cast<uint64_t>(rows - 1) + 3) / 4);
  PhiloxNumbers source(stream);
  for (int64_t i = 0; i + 1 < rows; ++i) {
    auto rest = static_cast<uint32_t>(rows - i);
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(i + source.next() % rest)]);
  }
  for (int64_t i = 0; i < rows; ++i)
    copyElements(in.dtype(), elementAt(in.dtype(), out->raw(), i * width),
                 elementAt(in.dtype(), in.raw(), order[static_cast<size_t>(i)] * width), width);
}

} // namespace treadle
