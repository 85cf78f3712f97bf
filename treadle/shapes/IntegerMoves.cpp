// Constant evaluation of integer tensors that compute shapes: ops that move elements.
#include "treadle/shapes/IntegerValues.h"

#include <algorithm>

namespace treadle {
namespace {

Integers first(const ShapeQuery &query) { return query.integers(0); }

/// Returns the elements of an input of that rank; unknown elements if only their number is known.
Integers elements(const ShapeQuery &query, size_t input, int64_t rank) {
  const Shape &shape = query.shape(input);
  if (!shape.isRank(rank))
    return std::nullopt;
  if (query.integers(input))
    return query.integers(input);
  int64_t count = shape.count();
  if (!dims::isKnown(count) || count > static_cast<int64_t>(maxShapeElements))
    return std::nullopt;
  return Shape::Dims(count, Shape::unknown);
}

Integers concatenated(const ShapeQuery &query, size_t begin, size_t end, int64_t rank) {
  Shape::Dims out;
  for (size_t i = begin; i < end; ++i) {
    Integers values = elements(query, i, rank);
    if (!values || out.size() > maxShapeElements)
      return std::nullopt;
    out.insert(out.end(), values->begin(), values->end());
  }
  return out;
}

Integers concatLast(const ShapeQuery &query) {
  return concatenated(query, 0, query.numInputs() - !!query.numInputs(), 1);
}
Integers concatFirst(const ShapeQuery &query) {
  return concatenated(query, 1, query.numInputs(), 1);
}

/// Packs scalars to a vector, and vectors to the rows or columns of a matrix.
Integers packed(const ShapeQuery &query) {
  if (query.shape(0).isRank(0))
    return concatenated(query, 0, query.numInputs(), 0);
  Integers rows = concatenated(query, 0, query.numInputs(), 1);
  int64_t axis = query.intAttr("axis"), count = static_cast<int64_t>(query.numInputs());
  if (!rows || count == 0 || axis == 0 || axis == -2)
    return rows;
  int64_t length = static_cast<int64_t>(rows->size()) / count;
  Shape::Dims out(rows->size());
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < length; ++j)
      out[j * count + i] = (*rows)[i * length + j];
  return out;
}

// x[i] and x[a:b:c] of a vector.
Integers stridedSlice(const ShapeQuery &query) {
  const Integers &values = query.integers(0), &begin = query.integers(1), &end = query.integers(2),
                 &strides = query.integers(3);
  int64_t shrink = query.intAttr("shrink_axis_mask"), beginMask = query.intAttr("begin_mask"),
          endMask = query.intAttr("end_mask");
  if (!values || !begin || !end || !strides || begin->size() != 1 || end->size() != 1 ||
      strides->size() != 1 || !query.shape(0).isRank(1) || query.intAttr("ellipsis_mask") ||
      query.intAttr("new_axis_mask") || (*strides)[0] == 0 || !dims::isKnown((*strides)[0]) ||
      (!beginMask && !dims::isKnown((*begin)[0])) ||
      (!endMask && !shrink && !dims::isKnown((*end)[0])))
    return std::nullopt;
  int64_t count = static_cast<int64_t>(values->size()), step = (*strides)[0];
  int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? count : count - 1;
  auto place = [&](int64_t value) { return value < 0 ? value + count : value; };
  int64_t from = beginMask ? (step > 0 ? 0 : count - 1) : place((*begin)[0]);
  if (shrink) {
    if (beginMask || from < 0 || from >= count)
      return std::nullopt;
    return Shape::Dims{(*values)[from]};
  }
  int64_t to = endMask ? (step > 0 ? count : -1) : std::clamp(place((*end)[0]), lowest, highest);
  Shape::Dims out;
  // A step beyond the vector's length takes one element.
  step = std::clamp(step, -count - 1, count + 1);
  for (int64_t i = std::clamp(from, lowest, highest); step > 0 ? i < to : i > to; i += step)
    out.push_back((*values)[i]);
  return out;
}

Integers slice(const ShapeQuery &query) {
  const Integers &values = query.integers(0);
  std::optional<int64_t> begin = query.integer(1), size = query.integer(2);
  if (!values || !begin || !size || !query.shape(0).isRank(1))
    return std::nullopt;
  int64_t count = static_cast<int64_t>(values->size());
  if (*begin < 0 || *begin > count || *size < -1 || *size > count - *begin)
    return std::nullopt;
  auto from = values->begin() + *begin;
  return Shape::Dims(from, *size < 0 ? values->end() : from + *size);
}

Integers gathered(const ShapeQuery &query) {
  const Integers &values = query.integers(0), &indices = query.integers(1);
  if (!values || !indices || !query.shape(0).isRank(1) || !query.shape(1).hasRank() ||
      query.shape(1).rank() > 1)
    return std::nullopt;
  Shape::Dims out;
  for (int64_t index : *indices)
    out.push_back(index >= 0 && index < static_cast<int64_t>(values->size()) ? (*values)[index]
                                                                             : Shape::unknown);
  return out;
}

// Elements of the first input that aren't in the second.
Integers without(const ShapeQuery &query) {
  const Integers &values = query.integers(0), &gone = query.integers(1);
  if (!values || !gone || std::ranges::count(*values, Shape::unknown) ||
      std::ranges::count(*gone, Shape::unknown))
    return std::nullopt;
  Shape::Dims out;
  std::ranges::copy_if(*values, std::back_inserter(out),
                       [&](int64_t value) { return !std::ranges::count(*gone, value); });
  return out;
}

// Scatters vectors to the positions that index vectors give.
Integers stitched(const ShapeQuery &query) {
  size_t parts = query.numInputs() / 2;
  Shape::Dims out;
  for (size_t i = 0; i < parts; ++i) {
    const Integers &places = query.integers(i);
    Integers values = elements(query, parts + i, query.shape(i).rank());
    if (!places || !values || places->size() != values->size())
      return std::nullopt;
    for (size_t j = 0; j < places->size(); ++j) {
      int64_t place = (*places)[j];
      if (place < 0 || place >= static_cast<int64_t>(maxShapeElements))
        return std::nullopt;
      out.resize(std::max(out.size(), static_cast<size_t>(place) + 1), Shape::unknown);
      out[place] = (*values)[j];
    }
  }
  return out;
}

Integers filled(const ShapeQuery &query) {
  int64_t count = query.shapeFrom(0).count();
  if (!query.integers(0) || !dims::isKnown(count) ||
      count > static_cast<int64_t>(maxShapeElements) || query.shapeFrom(0).rank() > 2)
    return std::nullopt;
  return Shape::Dims(count, query.integer(1).value_or(Shape::unknown));
}

Integers tiled(const ShapeQuery &query) {
  const Integers &values = query.integers(0);
  std::optional<int64_t> times = query.integer(1);
  if (!values || !query.shape(0).isRank(1) || !times || *times < 0 ||
      *times > static_cast<int64_t>(maxShapeElements) || values->size() * *times > maxShapeElements)
    return std::nullopt;
  Shape::Dims out;
  for (int64_t i = 0; i < *times; ++i)
    out.insert(out.end(), values->begin(), values->end());
  return out;
}

Integers inverted(const ShapeQuery &query) {
  const Integers &values = query.integers(0);
  if (!values)
    return std::nullopt;
  Shape::Dims out(values->size(), Shape::unknown);
  for (size_t i = 0; i < values->size(); ++i) {
    if ((*values)[i] < 0 || (*values)[i] >= static_cast<int64_t>(out.size()))
      return std::nullopt;
    out[(*values)[i]] = static_cast<int64_t>(i);
  }
  return out;
}

Integers reversed(const ShapeQuery &query) {
  Integers values = query.integers(0);
  if (!values || !query.shape(0).isRank(1) || !query.integer(1))
    return std::nullopt;
  std::ranges::reverse(*values);
  return values;
}

constexpr IntegerEntry table[] = {
    {"Identity", first},
    {"StopGradient", first},
    {"PreventGradient", first},
    {"EnsureShape", first},
    {"ExpandDims", first},
    {"Reshape", first},
    {"Squeeze", first},
    {"Pack", packed},
    {"ConcatV2", concatLast},
    {"Concat", concatFirst},
    {"StridedSlice", stridedSlice},
    {"Slice", slice},
    {"GatherV2", gathered},
    {"Gather", gathered},
    {"ListDiff", without},
    {"DynamicStitch", stitched},
    {"ParallelDynamicStitch", stitched},
    {"Fill", filled},
    {"Tile", tiled},
    {"InvertPermutation", inverted},
    {"ReverseV2", reversed},
};

} // namespace

std::span<const IntegerEntry> integerMoves() { return table; }

} // namespace treadle
