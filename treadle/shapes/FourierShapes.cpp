// Shape functions of Fourier transforms.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

/// Real transforms: the lengths are an input; the last dimension of the complex side has length / 2
/// + 1.
template <int64_t rank, bool isForward> ShapeResults realTransform(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  const std::optional<Shape::Dims> &lengths = query.integers(1);
  if (!input.hasRank())
    return {};
  if (input.rank() < rank)
    return shapeError(
        str("input 0 has shape ", input.text(), ", expected ", rank, " dimensions or more"));
  Shape out = input.take(-rank) + Shape::ofRank(rank);
  for (int64_t i = 0; lengths && static_cast<int64_t>(lengths->size()) == rank && i < rank; ++i) {
    int64_t length = (*lengths)[i];
    bool isHalf = isForward && i == rank - 1 && length > 0;
    out.setDim(input.rank() - rank + i, isHalf ? length / 2 + 1 : length);
  }
  return {out};
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"[B,n] -> [B,n]", {"FFT", "IFFT", "BatchFFT", "BatchIFFT"}},
      {"[B,m,n] -> [B,m,n]", {"FFT2D", "IFFT2D", "BatchFFT2D", "BatchIFFT2D"}},
      {"[B,k,m,n] -> [B,k,m,n]", {"FFT3D", "IFFT3D", "BatchFFT3D", "BatchIFFT3D"}},
  };
  return table;
}

constexpr ShapeEntry functions[] = {
    {"RFFT", realTransform<1, true>},     {"RFFT2D", realTransform<2, true>},
    {"RFFT3D", realTransform<3, true>},   {"IRFFT", realTransform<1, false>},
    {"IRFFT2D", realTransform<2, false>}, {"IRFFT3D", realTransform<3, false>},
};

} // namespace

ShapeFamily fourierShapes() { return {signatures(), functions}; }

} // namespace treadle
