#include "treadle/kernels/files/ExampleFeatures.h"

#include "treadle/tensor/Wire.h"

#include <algorithm>
#include <bit>

namespace treadle {
namespace {

constexpr uint64_t valueField = 1; // of BytesList, FloatList and Int64List

DType listDType(uint64_t field) {
  constexpr DType dtypes[] = {DType::Invalid, DType::String, DType::Float32, DType::Int64};
  return field < std::size(dtypes) ? dtypes[field] : DType::Invalid;
}

// The type of a Feature and the bytes of its list: the last one that is set.
struct FeatureList {
  DType dtype = DType::Invalid; // nothing is set
  std::string_view bytes;
};

bool readFeature(std::string_view feature, FeatureList &list) {
  return forEachField(feature, [&](const WireReader::Field &field) {
    list = {listDType(field.number), field.bytes};
    return field.isBytes() && list.dtype != DType::Invalid;
  });
}

Tensor lengthsTensor(std::span<const int64_t> lengths, DType dtype) {
  Tensor splits = *Tensor::make(dtype, {std::ssize(lengths) + 1});
  int64_t sum = 0;
  for (int64_t i = 0; i <= std::ssize(lengths); ++i) {
    if (i > 0)
      sum += lengths[i - 1];
    if (dtype == DType::Int32)
      splits.data<int32_t>()[i] = static_cast<int32_t>(sum);
    else
      splits.data<int64_t>()[i] = sum;
  }
  return splits;
}

int64_t longest(std::span<const int64_t> lengths) {
  return lengths.empty() ? 0 : *std::ranges::max_element(lengths);
}

} // namespace

// --- values ------------------------------------------------------------------------------------

int64_t FeatureValues::size() const {
  return dtype == DType::String  ? std::ssize(texts)
         : dtype == DType::Int64 ? std::ssize(integers)
                                 : std::ssize(floats);
}

// Numbers may be packed, many in a field, or have a field each.
bool FeatureValues::append(std::string_view list) {
  return forEachField(list, [&](const WireReader::Field &field) {
    if (field.number != valueField)
      return true;
    if (dtype == DType::Int64)
      return forEachNumber(field, WireType::Varint, [&](uint64_t value) {
        integers.push_back(static_cast<int64_t>(value));
      });
    if (dtype == DType::Float32)
      return forEachNumber(field, WireType::Fixed32, [&](uint64_t value) {
        floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(value)));
      });
    texts.emplace_back(field.bytes);
    return field.isBytes();
  });
}

void FeatureValues::append(const Tensor &more) {
  auto add = [&]<typename T>(std::vector<T> &own) {
    own.insert(own.end(), more.data<T>(), more.data<T>() + more.count());
  };
  if (dtype == DType::String)
    add(texts);
  else if (dtype == DType::Int64)
    add(integers);
  else
    add(floats);
}

void FeatureValues::move(int64_t begin, int64_t count, Tensor &out, int64_t at) {
  auto put = [&]<typename T>(std::vector<T> &own) {
    std::move(own.begin() + begin, own.begin() + begin + count, out.data<T>() + at);
  };
  if (dtype == DType::String)
    put(texts);
  else if (dtype == DType::Int64)
    put(integers);
  else
    put(floats);
}

// --- columns -----------------------------------------------------------------------------------

Expected<void> FeatureColumn::checkCount(int64_t count) const {
  if (spec.kind != FeatureKind::Dense)
    return {};
  bool isGood = spec.isVariable ? stride() ? count % stride() == 0 : count == 0 : count == stride();
  if (isGood)
    return {};
  return Unexpected(invalidArgument("feature '", key, "' has ", count, " values, expected ",
                                    spec.isVariable ? "a multiple of " : "", stride(),
                                    " for the shape ", dimsText(spec.shape)));
}

Expected<int64_t> FeatureColumn::addFeature(std::string_view feature) {
  FeatureList list;
  if (!readFeature(feature, list))
    return Unexpected(invalidArgument("feature '", key, "' is malformed"));
  if (list.dtype == DType::Invalid)
    return spec.isOfSequence ? checkCount(0).map([] { return int64_t{0}; }) : Expected<int64_t>(-1);
  if (list.dtype != spec.dtype)
    return Unexpected(invalidArgument("feature '", key, "' holds ", dtypeName(list.dtype),
                                      ", expected ", dtypeName(spec.dtype)));
  int64_t before = values.size();
  if (!values.append(list.bytes))
    return Unexpected(invalidArgument("the values of feature '", key, "' are malformed"));
  int64_t count = values.size() - before;
  TREADLE_TRY(checkCount(count));
  return count;
}

Expected<void> FeatureColumn::addAbsent() {
  if (spec.isList) {
    if (!mayBeAbsent)
      return Unexpected(invalidArgument("feature list '", key,
                                        "' is missing; name it in "
                                        "feature_list_dense_missing_assumed_empty if it may be"));
    steps.push_back(0);
    return {};
  }
  if (spec.kind == FeatureKind::Dense && !spec.isVariable) {
    if (!absent || absent.count() == 0)
      return Unexpected(
          invalidArgument("feature '", key, "' (", dtypeName(spec.dtype),
                          ") is missing and has no default; give it one if it may be"));
    values.append(absent);
    lengths.push_back(absent.count());
    return {};
  }
  lengths.push_back(0);
  return {};
}

Expected<void> FeatureColumn::add(const std::string_view *bytes) {
  if (!bytes)
    return addAbsent();
  if (!spec.isList) {
    int64_t count = TREADLE_TRY(addFeature(*bytes));
    if (count < 0)
      return addAbsent();
    lengths.push_back(count);
    return {};
  }
  Error error{Code::Ok, ""};
  steps.push_back(0);
  bool isGood = forEachField(*bytes, [&](const WireReader::Field &field) {
    if (field.number != 1 || !field.isBytes())
      return true;
    Expected<int64_t> count = addFeature(field.bytes);
    if (!count) {
      error = std::move(count.error());
      return false;
    }
    lengths.push_back(*count);
    ++steps.back();
    return true;
  });
  if (isGood)
    return {};
  if (error.code == Code::Ok)
    error = invalidArgument("feature list '", key, "' is malformed");
  return Unexpected(std::move(error));
}

Expected<std::vector<Tensor>> FeatureColumn::finishSparse(bool isSingle) {
  int64_t rank = 1 + !isSingle + spec.isList, count = values.size();
  Expected<Tensor> indices = Tensor::make(DType::Int64, {count, rank});
  Expected<Tensor> out = Tensor::make(spec.dtype, {count});
  if (!indices || !out)
    return Unexpected(std::move((!indices ? indices : out).error()));
  values.move(0, count, *out, 0);
  auto *at = indices->data<int64_t>();
  int64_t message = 0, step = 0;
  for (int64_t length : lengths) {
    while (spec.isList && step == steps[message])
      ++message, step = 0;
    for (int64_t i = 0; i < length; ++i) {
      if (!isSingle)
        *at++ = message;
      if (spec.isList)
        *at++ = step;
      *at++ = i;
    }
    ++(spec.isList ? step : message);
  }
  std::vector<int64_t> shape;
  if (!isSingle)
    shape.push_back(std::ssize(spec.isList ? steps : lengths));
  if (spec.isList)
    shape.push_back(longest(steps));
  shape.push_back(longest(lengths));
  return std::vector<Tensor>{std::move(*indices), std::move(*out),
                             Tensor::vector<int64_t>(DType::Int64, shape)};
}

// Pads rows of different lengths with the default, or with zeros.
Expected<std::vector<Tensor>> FeatureColumn::finishDense(bool isSingle) {
  bool isPadded = spec.isList || spec.isVariable;
  std::vector<int64_t> rows; // their lengths in values
  for (int64_t length : spec.isList ? steps : lengths)
    rows.push_back(spec.isList ? length * stride() : length);
  std::vector<int64_t> dims;
  if (!isSingle)
    dims.push_back(std::ssize(rows));
  if (isPadded)
    dims.push_back(spec.isList ? longest(steps) : stride() ? longest(rows) / stride() : 0);
  dims.insert(dims.end(), spec.shape.begin(), spec.shape.end());
  Tensor out = TREADLE_TRY(Tensor::make(spec.dtype, dims));
  if (isPadded && !spec.isList && absent && absent.count())
    fillElements(spec.dtype, out.raw(), absent.raw(), out.count());
  else if (isPadded)
    zeroElements(spec.dtype, out.raw(), out.count());
  int64_t begin = 0, width = rows.empty() ? 0 : out.count() / std::ssize(rows);
  for (int64_t r = 0; r < std::ssize(rows); begin += rows[r++])
    values.move(begin, rows[r], out, r * width);
  std::vector<Tensor> tensors{std::move(out)};
  if (spec.isList) {
    Tensor counts = Tensor::vector<int64_t>(DType::Int64, steps);
    tensors.push_back(isSingle ? counts.withDims({}) : counts);
  }
  return tensors;
}

Expected<std::vector<Tensor>> FeatureColumn::finishRagged(bool isSingle) {
  Tensor out = TREADLE_TRY(Tensor::make(spec.dtype, {values.size()}));
  values.move(0, values.size(), out, 0);
  std::vector<Tensor> tensors{std::move(out)};
  // A single message has no rows to split; for a SequenceExample TensorFlow returns a scalar.
  Tensor none = *Tensor::make(spec.splitsDType, {0});
  if (spec.isOfSequence) {
    none = Tensor::makeScalar(spec.splitsDType);
    zeroElements(spec.splitsDType, none.raw(), 1);
  }
  if (spec.isList)
    tensors.push_back(isSingle ? none : lengthsTensor(steps, spec.splitsDType));
  tensors.push_back(isSingle && !spec.isList ? none : lengthsTensor(lengths, spec.splitsDType));
  return tensors;
}

Expected<std::vector<Tensor>> FeatureColumn::finish(bool isSingle) {
  switch (spec.kind) {
  case FeatureKind::Sparse:
    return finishSparse(isSingle);
  case FeatureKind::Dense:
    return finishDense(isSingle);
  case FeatureKind::Ragged:
    return finishRagged(isSingle);
  }
  __builtin_unreachable();
}

// --- messages ----------------------------------------------------------------------------------

FeatureReader::FeatureReader(std::vector<FeatureColumn> &columns)
    : columns(columns), found(columns.size()), isFound(columns.size()) {
  for (size_t c = 0; c < columns.size(); ++c)
    (columns[c].isList() ? lists : plain).emplace(columns[c].name(), c);
}

// Reads map entries from names to features; the last one of equal names wins.
bool FeatureReader::readMap(std::string_view map, bool isList) {
  return forEachField(map, [&](const WireReader::Field &field) {
    if (field.number != 1 || !field.isBytes())
      return true;
    std::string_view name, value;
    bool isGood = forEachField(field.bytes, [&](const WireReader::Field &part) {
      (part.number == 1 ? name : value) = part.bytes;
      return part.isBytes() && (part.number == 1 || part.number == 2);
    });
    if (!isGood)
      return false;
    auto [begin, end] = (isList ? lists : plain).equal_range(name);
    for (auto it = begin; it != end; ++it) {
      found[it->second] = value;
      isFound[it->second] = true;
    }
    return true;
  });
}

Expected<void> FeatureReader::addFound() {
  for (size_t c = 0; c < columns.size(); ++c)
    TREADLE_TRY(columns[c].add(isFound[c] ? &found[c] : nullptr));
  return {};
}

Expected<void> FeatureReader::addExample(std::string_view message) {
  isFound.assign(columns.size(), false);
  bool isGood = forEachField(message, [&](const WireReader::Field &field) {
    return field.number != 1 || !field.isBytes() || readMap(field.bytes, false);
  });
  if (!isGood)
    return Unexpected(invalidArgument("the bytes are not a serialized Example"));
  return addFound();
}

Expected<void> FeatureReader::addSequenceExample(std::string_view message) {
  isFound.assign(columns.size(), false);
  bool isGood = forEachField(message, [&](const WireReader::Field &field) {
    bool isMap = (field.number == 1 || field.number == 2) && field.isBytes();
    return !isMap || readMap(field.bytes, field.number == 2);
  });
  if (!isGood)
    return Unexpected(invalidArgument("the bytes are not a serialized SequenceExample"));
  return addFound();
}

} // namespace treadle
