#include "treadle/checkpoint/Slice.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace treadle {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at; (at = text.find(separator)) != text.npos; text.remove_prefix(at + 1))
    parts.push_back(text.substr(0, at));
  parts.push_back(text);
  return parts;
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 0)
    return std::nullopt;
  return value;
}

std::optional<TensorSlice::Extent> parseExtent(std::string_view text) {
  if (text == "-")
    return TensorSlice::Extent{};
  size_t comma = text.find(',');
  if (comma == text.npos)
    return std::nullopt;
  std::optional<int64_t> start = number(text.substr(0, comma)),
                         length = number(text.substr(comma + 1));
  if (!start || !length)
    return std::nullopt;
  return TensorSlice::Extent{*start, *length};
}

// --- order-preserving encodings ------------------
// ------------------------------------------------

// Appends the length in bytes, then the bytes, most significant first.
void putOrdered(std::string &out, uint64_t value) {
  int length = (std::bit_width(value) + 7) / 8;
  out += static_cast<char>(length);
  while (length--)
    out += static_cast<char>(value >> (8 * length));
}

// The leading bits encode the length: for nonnegative numbers as many ones, then a zero.
void putOrderedSigned(std::string &out, int64_t value) {
  uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  int length = std::bit_width(magnitude) / 7 + 1;
  unsigned char bytes[10];
  for (int i = 0; i < length; ++i) {
    int shift = 8 * (length - 1 - i);
    bytes[i] = static_cast<unsigned char>(shift < 64 ? value >> shift : value >> 63);
  }
  for (int bit = 0; bit < length; ++bit)
    bytes[bit / 8] ^= 0x80 >> (bit % 8);
  out.append(reinterpret_cast<const char *>(bytes), static_cast<size_t>(length));
}

void putOrdered(std::string &out, std::string_view text) {
  for (char c : text) {
    out += c;
    if (c == '\0')
      out += '\xff';
    else if (c == '\xff')
      out += '\0';
  }
  out += '\0';
  out += '\1';
}

// --- copies --------------------------------------------------------------------------------------

template <typename Copy>
void forEachRun(const TensorSlice &region, const TensorSlice &from, const TensorSlice &to,
                Copy copy) {
  size_t rank = region.extents.size();
  if (!rank)
    return copy(0, 0, 1);
  std::vector<int64_t> index(rank, 0);
  int64_t run = region.extents.back().length;
  for (;;) {
    int64_t source = 0, target = 0;
    for (size_t d = 0; d < rank; ++d) {
      int64_t at = region.extents[d].start + index[d];
      source = source * from.extents[d].length + at - from.extents[d].start;
      target = target * to.extents[d].length + at - to.extents[d].start;
    }
    copy(source, target, run);
    size_t d = rank - 1;
    while (d-- > 0)
      if (++index[d] < region.extents[d].length)
        break;
      else
        index[d] = 0;
    if (d == static_cast<size_t>(-1))
      return;
  }
}

} // namespace

Expected<TensorSlice> TensorSlice::parse(std::string_view text) {
  TensorSlice slice;
  if (text.empty())
    return slice;
  for (std::string_view part : split(text, ':')) {
    std::optional<Extent> extent = parseExtent(part);
    if (!extent)
      return Unexpected(invalidArgument(
          "'", text,
          "' is not a slice: expected START,LENGTH or - for each dimension, with ':' between"));
    slice.extents.push_back(*extent);
  }
  return slice;
}

std::string TensorSlice::text() const {
  std::string text;
  for (const Extent &extent : extents) {
    text += text.empty() ? "" : ":";
    text += extent.isFull() ? "-" : str(extent.start, ",", extent.length);
  }
  return text;
}

Expected<std::vector<int64_t>> TensorSlice::dimsIn(Dims full) const {
  if (extents.size() != full.size())
    return Unexpected(invalidArgument("slice '", text(), "' has ", extents.size(),
                                      " dimensions, but the tensor's shape is ", dimsText(full)));
  std::vector<int64_t> dims;
  for (size_t d = 0; d < full.size(); ++d) {
    const Extent &extent = extents[d];
    if (!extent.isFull() && (extent.start > full[d] || extent.length > full[d] - extent.start))
      return Unexpected(invalidArgument("slice '", text(), "' reaches beyond dimension ", d,
                                        " of the tensor's shape ", dimsText(full)));
    dims.push_back(extent.isFull() ? full[d] : extent.length);
  }
  return dims;
}

TensorSlice TensorSlice::resolved(Dims full) const {
  TensorSlice slice = *this;
  for (size_t d = 0; d < full.size(); ++d)
    if (slice.extents[d].isFull())
      slice.extents[d].length = full[d];
  return slice;
}

std::optional<TensorSlice> TensorSlice::intersection(const TensorSlice &other) const {
  TensorSlice shared;
  for (size_t d = 0; d < extents.size(); ++d) {
    const Extent &a = extents[d], &b = other.extents[d];
    int64_t start = std::max(a.start, b.start);
    int64_t end = std::min(a.start + a.length, b.start + b.length);
    if (start >= end)
      return std::nullopt;
    shared.extents.push_back({start, end - start});
  }
  return shared;
}

bool areDisjoint(std::vector<TensorSlice> slices) {
  auto start = [](const TensorSlice &slice) {
    return slice.extents.empty() ? 0 : slice.extents[0].start;
  };
  std::ranges::sort(slices, {}, start);
  for (size_t i = 0; i < slices.size(); ++i)
    for (size_t k = i + 1; k < slices.size(); ++k) {
      if (!slices[k].extents.empty() &&
          start(slices[k]) >= start(slices[i]) + slices[i].extents[0].length)
        break;
      if (slices[i].intersection(slices[k]))
        return false;
    }
  return true;
}

Expected<ShapeAndSlice> ShapeAndSlice::parse(std::string_view text) {
  ShapeAndSlice parsed;
  std::vector<std::string_view> parts = split(text, ' ');
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    std::optional<int64_t> dim = number(parts[i]);
    if (!dim)
      return Unexpected(
          invalidArgument("'", text, "' is not a shape and slice: '", parts[i],
                          "' is not a dimension; expected, for example, '10 20 0,5:-'"));
    parsed.dims.push_back(*dim);
  }
  TensorSlice slice = TREADLE_TRY(TensorSlice::parse(parts.back()));
  std::vector<int64_t> dims = TREADLE_TRY(slice.dimsIn(parsed.dims));
  parsed.slice = std::move(slice);
  parsed.sliceDims = std::move(dims);
  return parsed;
}

std::string sliceKey(std::string_view name, const TensorSlice &slice) {
  std::string key;
  putOrdered(key, uint64_t{0}); // type of the key
  putOrdered(key, name);
  putOrdered(key, uint64_t{slice.extents.size()});
  for (const TensorSlice::Extent &extent : slice.extents) {
    putOrderedSigned(key, extent.start);
    putOrderedSigned(key, extent.length);
  }
  return key;
}

void copyRegion(const TensorSlice &region, const Tensor &source, const TensorSlice &from,
                Tensor &target, const TensorSlice &to) {
  if (source.dtype() == DType::String)
    return forEachRun(region, from, to, [&](int64_t at, int64_t put, int64_t count) {
      std::copy_n(source.data<std::string>() + at, count, target.data<std::string>() + put);
    });
  auto size = static_cast<int64_t>(dtypeSize(source.dtype()));
  forEachRun(region, from, to, [&](int64_t at, int64_t put, int64_t count) {
    std::memcpy(target.data<char>() + put * size, source.data<char>() + at * size,
                static_cast<size_t>(count * size));
  });
}

} // namespace treadle
