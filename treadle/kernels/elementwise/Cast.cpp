// Cast between all pairs of plain dtypes, of quantized ones and of some small numbers, and Bitcast.
#include "treadle/kernels/elementwise/Conversion.h"
#include "treadle/kernels/elementwise/Elementwise.h"

#include <array>

namespace treadle {
namespace {

template <typename From, typename To> struct CastOp {
  static constexpr float cost = 0.5f;
  static To apply(From x) { return convert<To>(x); }
};

template <typename From, typename To> void runCast(OpContext &ctx) {
  using Kernel = UnaryKernel<CastOp<From, To>, From>;
  const Tensor &in = ctx.input(0);
  if (in.isScalar())
    return setScalarOutput<To>(ctx, 0, sizeof(From) == sizeof(To), dtypeOf<To>,
                               convert<To>(in.scalarValue<From>()));
  runUnary(ctx, Kernel::spec, dtypeOf<To>);
}

// --- the table of pairs ------------------------------------------------------------------------

using CastRow = std::array<KernelFn, numDTypes>;

template <typename From, typename... Tos> constexpr CastRow makeRow(TypeList<Tos...>) {
  CastRow row{};
  ((row[static_cast<size_t>(dtypeOf<Tos>)] = runCast<From, Tos>), ...);
  return row;
}

template <typename... Froms, typename Tos>
constexpr void addPairs(std::array<CastRow, numDTypes> &pairs, TypeList<Froms...>, Tos tos) {
  auto add = [](CastRow &row, const CastRow &more) {
    for (size_t i = 0; i < row.size(); ++i)
      row[i] = more[i] ? more[i] : row[i];
  };
  (add(pairs[static_cast<size_t>(dtypeOf<Froms>)], makeRow<Froms>(tos)), ...);
}

// Small numbers are converted only to the types that TensorFlow converts them to.
constexpr auto makePairs() {
  using Floats8 =
      TypeList<Float8E5M2, Float8E4M3FN, Float8E5M2FNUZ, Float8E4M3FNUZ, Float8E4M3B11FNUZ>;
  using Nibbles = TypeList<Int4, UInt4, Int2, UInt2>;
  std::array<CastRow, numDTypes> pairs{};
  addPairs(pairs, PlainTypes(), PlainTypes());
  addPairs(pairs, Floats8(), Join<PlainTypes, Floats8>());
  addPairs(pairs, FloatTypes(), Floats8());
  addPairs(pairs, Nibbles(), Join<IntegerTypes, Nibbles>());
  addPairs(pairs, IntegerTypes(), Nibbles());
  return pairs;
}

constexpr std::array<CastRow, numDTypes> castPairs = makePairs();

void forwardCastInput(OpContext &ctx) { ctx.setOutput(0, ctx.takeInput(0)); }

// --- truncating casts --------------------------------------------------------------------------

// Truncates instead of rounding to nearest: clears the fraction bits that don't fit first.
template <typename From> using BitsOf = std::conditional_t<sizeof(From) == 4, uint32_t, uint64_t>;

template <typename From, typename To> struct TruncatingCastOp {
  static constexpr int fractionBits = std::is_same_v<To, Half>       ? 10
                                      : std::is_same_v<To, BFloat16> ? 8
                                                                     : 23;
  static constexpr int dropped = (sizeof(From) == 4 ? 23 : 52) - fractionBits;
  static To apply(From x) {
    BitsOf<From> bits = std::bit_cast<BitsOf<From>>(x) >> dropped << dropped;
    return convert<To>(std::bit_cast<From>(bits));
  }
};

template <typename From, typename To> void runTruncatingCast(OpContext &ctx) {
  UnaryKernel<TruncatingCastOp<From, To>, From>::run(ctx);
}

KernelFn truncatingCast(DType from, DType to) {
  struct Row {
    DType from, to;
    KernelFn fn;
  };
  static const Row rows[] = {
      {DType::Float32, DType::Float16, runTruncatingCast<float, Half>},
      {DType::Float32, DType::BFloat16, runTruncatingCast<float, BFloat16>},
      {DType::Float64, DType::Float16, runTruncatingCast<double, Half>},
      {DType::Float64, DType::BFloat16, runTruncatingCast<double, BFloat16>},
      {DType::Float64, DType::Float32, runTruncatingCast<double, float>},
  };
  for (const Row &row : rows)
    if (row.from == from && row.to == to)
      return row.fn;
  return nullptr;
}

KernelFn castOf(DType from, DType to, bool truncates) {
  if (from == to)
    return forwardCastInput;
  KernelFn fn = truncates ? truncatingCast(from, to) : nullptr;
  return fn ? fn : castPairs[static_cast<size_t>(from)][static_cast<size_t>(to)];
}

// Returns the integer dtype behind a quantized dtype, which is cast like it.
DType integersOf(DType dtype) {
  switch (dtype) {
  case DType::QInt8:
    return DType::Int8;
  case DType::QUInt8:
    return DType::UInt8;
  case DType::QInt16:
    return DType::Int16;
  case DType::QUInt16:
    return DType::UInt16;
  case DType::QInt32:
    return DType::Int32;
  default:
    return dtype;
  }
}

struct QuantizedCast {
  KernelFn fn;
  DType to;
};

void runQuantizedCast(OpContext &ctx) {
  const auto &s = ctx.state<QuantizedCast>();
  s.fn(ctx);
  if (!ctx.hasFailed())
    ctx.setOutput(0, ctx.output(0).withDType(s.to, ctx.output(0).dims()));
}

Expected<BoundKernel> bindCast(const BindContext &node) {
  DType from = node.inputTypes[0], to = node.outputTypes[0];
  BoundKernel bound;
  bound.fn = castOf(integersOf(from), integersOf(to), node.attrs.getOr<bool>("Truncate", false));
  if (!bound.fn)
    return Unexpected(
        unimplemented("op 'Cast' has no kernel from ", dtypeName(from), " to ", dtypeName(to)));
  bool isRenamed = bound.fn == forwardCastInput && from != to;
  if (isRenamed || to != integersOf(to))
    return boundWith(runQuantizedCast, QuantizedCast{bound.fn, to});
  return bound;
}

// --- Bitcast -----------------------------------------------------------------------------------

void runBitcast(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  DType to = ctx.state<DType>();
  size_t fromSize = dtypeSize(in.dtype()), toSize = dtypeSize(to);
  std::vector<int64_t> dims(in.dims().begin(), in.dims().end());
  if (toSize < fromSize) {
    dims.push_back(static_cast<int64_t>(fromSize / toSize));
  } else if (toSize > fromSize) {
    int64_t ratio = static_cast<int64_t>(toSize / fromSize);
    if (dims.empty() || dims.back() != ratio)
      return ctx.fail(invalidArgument("cannot bitcast ", tensorTypeText(in), " to ", dtypeName(to),
                                      ": the last dimension must be ", ratio));
    dims.pop_back();
  }
  ctx.setOutput(0, in.withDType(to, dims));
}

Expected<BoundKernel> bindBitcast(const BindContext &node) {
  for (DType dtype : {node.inputTypes[0], node.outputTypes[0]})
    if (!isPlain(dtype))
      return unsupportedDType(node, dtype);
  return boundWith(runBitcast, node.outputTypes[0]);
}

const KernelEntry castTable[] = {
    {"Cast", bindCast},
    {"_HostCast", bindCast},
    {"Bitcast", bindBitcast},
};

} // namespace

std::span<const KernelEntry> castKernels() { return castTable; }

} // namespace treadle
