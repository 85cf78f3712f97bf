// SobolSample: points of the Sobol sequence, with the direction numbers of S. Joe and F. Y. Kuo
// ("Constructing Sobol sequences with better two-dimensional projections", 2008).
#include "treadle/kernels/Element.h"

#include <array>
#include <bit>

namespace treadle {
namespace {

constexpr int numBits = 31; // of a point's index
using DirectionNumbers = std::array<uint32_t, numBits>;

/// For each dimension but the first: a primitive polynomial over GF(2) as bits, then the
/// dimension's initial direction numbers, as many as its degree.
constexpr uint16_t numbers[] = {
#include "treadle/kernels/random/SobolNumbers.inc"
};
constexpr int64_t maxDims = 1111;

/// The bits of the fraction, most significant first, for each bit of a point's index.
DirectionNumbers firstDirections() {
  DirectionNumbers directions;
  for (int i = 0; i < numBits; ++i)
    directions[static_cast<size_t>(i)] = uint32_t{1} << (31 - i);
  return directions;
}

/// Reads a dimension's row and advances to the next.
DirectionNumbers nextDirections(const uint16_t *&row) {
  uint32_t polynomial = *row++;
  int degree = std::bit_width(polynomial) - 1;
  uint64_t m[numBits];
  DirectionNumbers directions;
  for (int i = 0; i < numBits; ++i) {
    if (i < degree) {
      m[i] = *row++;
    } else {
      m[i] = m[i - degree] ^ m[i - degree] << degree;
      for (int k = 1; k < degree; ++k)
        if (polynomial >> (degree - k) & 1)
          m[i] ^= m[i - k] << k;
    }
    directions[static_cast<size_t>(i)] = static_cast<uint32_t>(m[i] << (31 - i));
  }
  return directions;
}

struct SobolRequest {
  int64_t dims, count, skip;
};

bool readRequest(OpContext &ctx, SobolRequest &request) {
  int64_t values[3];
  for (int i = 0; i < 3; ++i) {
    if (ctx.input(i).count() != 1) {
      ctx.fail(invalidArgument("dim, num_results and skip must be scalars, but input ", i, " is ",
                               tensorTypeText(ctx.input(i))));
      return false;
    }
    values[i] = *ctx.input(i).data<int32_t>();
  }
  auto [dims, count, skip] = request = {values[0], values[1], values[2]};
  if (dims < 1 || count < 1 || skip < 0 || count + skip >= int64_t{1} << numBits) {
    ctx.fail(invalidArgument("dim is ", dims, ", num_results ", count, " and skip ", skip,
                             ", expected 1 or more, 1 or more and 0 or more, and fewer than 2^31 "
                             "points"));
    return false;
  }
  if (dims > maxDims)
    ctx.fail(unimplemented("points of ", dims, " dimensions, expected at most ", maxDims));
  return dims <= maxDims;
}

/// Point `n` combines the directions of the bits of n's Gray code.
uint32_t combination(const DirectionNumbers &directions, uint32_t n) {
  uint32_t bits = 0;
  for (uint32_t gray = n ^ n >> 1; gray; gray &= gray - 1)
    bits ^= directions[static_cast<size_t>(std::countr_zero(gray))];
  return bits;
}

template <typename T> struct Sobol {
  static void run(OpContext &ctx) {
    SobolRequest request;
    if (!readRequest(ctx, request))
      return;
    Tensor *out =
        TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<T>, {request.count, request.dims}));
    const uint16_t *row = numbers;
    for (int64_t d = 0; d < request.dims; ++d)
      fill(d ? nextDirections(row) : firstDirections(), request, out->data<T>() + d);
  }

  /// Computes one dimension of all points; the first point, 0, isn't included.
  static void fill(const DirectionNumbers &directions, const SobolRequest &request, T *out) {
    auto n = static_cast<uint32_t>(request.skip + 1);
    uint32_t bits = combination(directions, n);
    for (int64_t i = 0; i < request.count; ++i) {
      out[i * request.dims] = static_cast<T>(static_cast<double>(bits) * 0x1p-32);
      bits ^= directions[static_cast<size_t>(std::countr_zero(++n))];
    }
  }
};

Expected<BoundKernel> bindSobol(const BindContext &node) {
  return bindForType<Sobol, TypeList<float, double>>(node, node.outputTypes[0]);
}

const KernelEntry sobolTable[] = {
    {"SobolSample", bindSobol},
};

} // namespace

std::span<const KernelEntry> sobolKernels() { return sobolTable; }

} // namespace treadle
