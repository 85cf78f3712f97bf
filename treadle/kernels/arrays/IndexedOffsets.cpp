#include "treadle/kernels/arrays/IndexedOffsets.h"

#include "treadle/kernels/Element.h"

#include <algorithm>

namespace treadle {

// A sum of offsets with one such is negative, whatever the others are.
static constexpr int64_t outside = -(int64_t(1) << 56);

IndexedOffsets::IndexedOffsets(Tensor indices, int64_t vectorDim, Bounds bounds)
    : indices(std::move(indices)), vectorDim(vectorDim), bounds(bounds) {
  Dims dims = this->indices.dims();
  auto split = static_cast<size_t>(vectorDim);
  vectorSize = split < dims.size() ? dims[split] : 1;
  inner = countBetween(dims, std::min(split + 1, dims.size()), dims.size());
  numVectors = countBetween(dims, 0, split) * inner;
}

IndexedOffsets IndexedOffsets::ofRows(const Tensor &indices, Dims dims) {
  int last = indices.rank() - 1;
  IndexedOffsets offsets(indices, last, Bounds::Reject);
  DimVector strides = rowMajorStrides(dims);
  for (size_t d = 0; d < static_cast<size_t>(indices.dim(last)); ++d)
    offsets.addCoordinate(strides[d], dims[d] - 1);
  return offsets;
}

DimVector coordinatesAt(const Tensor &indices, int64_t row) {
  int64_t depth = indices.dim(indices.rank() - 1);
  DimVector coordinates;
  for (int64_t d = 0; d < depth; ++d)
    coordinates.push(indexAt(indices, row * depth + d));
  return coordinates;
}

void IndexedOffsets::addCoordinate(int64_t stride, int64_t last) {
  coordinates.push_back({stride, last});
}

void IndexedOffsets::addPosition(int64_t dim, int64_t stride) {
  Dims dims = indices.dims();
  int64_t size = dims[static_cast<size_t>(dim)], repeats = 1;
  for (size_t d = static_cast<size_t>(dim) + 1; d < dims.size(); ++d)
    if (static_cast<int64_t>(d) != vectorDim)
      repeats *= dims[d];
  // Two positions that follow each other on both sides are one.
  if (!positions.empty() && positions.back().repeats == repeats * size &&
      positions.back().stride == stride * size)
    positions.back() = {positions.back().size * size, repeats, stride};
  else
    positions.push_back({size, repeats, stride});
}

void IndexedOffsets::compute(int64_t first, int64_t count, int64_t *offsets) const {
  std::fill_n(offsets, count, int64_t(0));
  visitType(indices.dtype(), IntegerTypes(),
            [&]<typename Index>() { addCoordinates<Index>(first, count, offsets); });
  for (const Position &p : positions) {
    int64_t value = first / p.repeats % p.size, left = p.repeats - first % p.repeats;
    for (int64_t i = 0; i < count;) {
      if (p.repeats == 1) { // a ramp
        int64_t run = std::min(count - i, p.size - value);
        for (int64_t k = 0; k < run; ++k)
          offsets[i + k] += (value + k) * p.stride;
        i += run;
        value = 0;
      } else {
        int64_t run = std::min(count - i, left), offset = value * p.stride;
        for (int64_t k = 0; k < run; ++k)
          offsets[i + k] += offset;
        i += run;
        left = p.repeats;
        value = value + 1 == p.size ? 0 : value + 1;
      }
    }
  }
}

template <typename Index>
void IndexedOffsets::addCoordinates(int64_t first, int64_t count, int64_t *offsets) const {
  const Index *values = indices.data<Index>();
  // The vectors of a run lie `step` indices apart.
  auto addRun = [&](const Index *from, int64_t step, const Coordinate &c, int64_t n, int64_t *to) {
    if (bounds == Bounds::Clamp)
      for (int64_t i = 0; i < n; ++i)
        to[i] += std::clamp(static_cast<int64_t>(from[i * step]), int64_t(0), c.last) * c.stride;
    else
      for (int64_t i = 0; i < n; ++i) {
        auto index = static_cast<int64_t>(from[i * step]);
        to[i] += index >= 0 && index <= c.last ? index * c.stride : outside;
      }
  };
  for (size_t k = 0; k < coordinates.size(); ++k) {
    const Coordinate &c = coordinates[k];
    auto offset = static_cast<int64_t>(k) * inner;
    if (inner == 1) {
      addRun(values + first * vectorSize + offset, vectorSize, c, count, offsets);
      continue;
    }
    for (int64_t i = 0; i < count;) {
      int64_t outer = (first + i) / inner, at = (first + i) % inner;
      int64_t run = std::min(count - i, inner - at);
      addRun(values + outer * inner * vectorSize + offset + at, 1, c, run, offsets + i);
      i += run;
    }
  }
}

IndexedWindow::IndexedWindow(Dims allDims, Dims allFrom, Dims allTo) {
  if (std::ranges::find(allDims, 0) != allDims.end()) {
    width = 0;
    return;
  }
  size_t left = allDims.size();
  for (; left > 0; --left) {
    size_t d = left - 1;
    if (allDims[d] != 1 && (allFrom[d] != width || allTo[d] != width))
      break;
    width *= allDims[d];
  }
  for (size_t d = 0; d < left; ++d)
    if (allDims[d] != 1) {
      dims.push(allDims[d]);
      from.push(allFrom[d]);
      to.push(allTo[d]);
    }
}

} // namespace treadle
