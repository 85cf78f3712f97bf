#include "treadle/kernels/files/SliceFile.h"

#include "treadle/checkpoint/Files.h"
#include "treadle/checkpoint/ShapeMessages.h"
#include "treadle/checkpoint/Table.h"
#include "treadle/kernels/SerializedTensor.h"
#include "treadle/tensor/Wire.h"

#include <algorithm>
#include <glob.h>

namespace treadle {
namespace {

// Field numbers of SavedTensorSlices and its submessages.
namespace file {
enum Field : uint32_t { Meta = 1, Data = 2 };
}
namespace meta {
enum Field : uint32_t { Tensor = 1, Versions = 2 };
}
namespace stored {
enum Field : uint32_t { Name = 1, Shape = 2, Type = 3, Slice = 4 };
}
namespace data {
enum Field : uint32_t { Name = 1, Slice = 2, Data = 3 };
}
constexpr uint32_t tensorType = 1, tensorShape = 2, producerVersion = 1;
constexpr uint64_t formatVersion = 1;

/// Returns the bytes of one field of a message; empty if it is missing.
std::string_view fieldOf(std::string_view message, uint32_t number) {
  std::string_view found;
  forEachField(message, [&](const WireReader::Field &field) {
    if (field.number == number)
      found = field.bytes;
    return true;
  });
  return found;
}

// --- messages ------------------------------------------------------------------------------------

bool readStored(std::string_view message, StoredTensor &tensor) {
  bool isGood = forEachField(message, [&](const WireReader::Field &field) {
    if (field.number == stored::Name)
      tensor.name = field.bytes;
    if (field.number == stored::Shape)
      return readShape(field.bytes, tensor.dims);
    if (field.number == stored::Type)
      tensor.dtype = field.value < numDTypes ? static_cast<DType>(field.value) : DType::Invalid;
    return field.number != stored::Slice || readSlice(field.bytes, tensor.slices.emplace_back());
  });
  return isGood && tensor.dtype != DType::Invalid &&
         std::ranges::all_of(tensor.slices, [&](const TensorSlice &slice) {
           return slice.dimsIn(tensor.dims).has_value();
         });
}

/// A stored slice, and the part of it to read.
struct StoredSlice {
  TensorSlice from, common;
  Tensor value;
};

/// Parses the elements of a slice, which are stored without dtype and shape. Returns nullopt if
/// their number is wrong.
std::optional<Tensor> readElements(DType dtype, Dims dims, std::string_view elements) {
  auto count = countElements(dims);
  // Each element takes at least a byte.
  if (!count || static_cast<uint64_t>(*count) > elements.size())
    return std::nullopt;
  std::string message;
  putNumber(message, tensorType, static_cast<uint64_t>(dtype));
  putBytes(message, tensorShape, shapeMessage(dims));
  message += elements;
  Expected<Tensor> part = parseTensorProto(message);
  // A malformed message may contain a dtype and shape that override these.
  if (!part || part->dtype() != dtype || !std::ranges::equal(part->dims(), dims))
    return std::nullopt;
  return std::move(*part);
}

bool areDisjointIn(const StoredTensor &tensor) {
  constexpr size_t maxSlices = 1 << 14; // slices are compared pairwise
  std::vector<TensorSlice> slices;
  for (const TensorSlice &slice : tensor.slices)
    slices.push_back(slice.resolved(tensor.dims));
  return slices.size() <= maxSlices && areDisjoint(std::move(slices));
}

} // namespace

// --- reading -------------------------------------------------------------------------------------

Expected<SliceFileReader> SliceFileReader::open(const std::string &pattern,
                                                const FileAccess &files) {
  glob_t found;
  bool isFound = glob(pattern.c_str(), 0, nullptr, &found) == 0;
  std::vector<std::string> paths;
  if (isFound)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (paths.empty())
    return Unexpected(notFound("there is no file '", pattern, "'"));
  SliceFileReader reader;
  for (const std::string &path : paths)
    TREADLE_TRY(reader.addFile(path, files));
  return reader;
}

Expected<void> SliceFileReader::addFile(const std::string &path, const FileAccess &files) {
  auto damaged = [&] {
    return Unexpected(dataLoss("'", path, "' is corrupted, or not a checkpoint of version 1"));
  };
  std::string bytes = TREADLE_TRY(readWholeFile(path, files));
  Expected<TableRows> rows = readTable(bytes);
  if (!rows || rows->empty() || !rows->front().first.empty())
    return damaged();
  std::string_view contents = fieldOf(rows->front().second, file::Meta);
  bool isGood = forEachField(contents, [&](const WireReader::Field &field) {
    StoredTensor tensor;
    if (field.number != meta::Tensor)
      return true;
    if (!readStored(field.bytes, tensor))
      return false;
    auto [known, isNew] = tensors.try_emplace(tensor.name, tensor);
    if (!isNew)
      known->second.slices.insert(known->second.slices.end(), tensor.slices.begin(),
                                  tensor.slices.end());
    return known->second.dims == tensor.dims && known->second.dtype == tensor.dtype;
  });
  for (size_t i = 1; i < rows->size(); ++i)
    slices[(*rows)[i].first] = fieldOf((*rows)[i].second, file::Data);
  isGood = isGood && std::ranges::all_of(
                         tensors, [](const auto &named) { return areDisjointIn(named.second); });
  return isGood ? Expected<void>() : damaged();
}

const StoredTensor *SliceFileReader::find(std::string_view name) const {
  auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

Expected<Tensor> SliceFileReader::read(const StoredTensor &tensor,
                                       const TensorSlice &wanted) const {
  std::vector<int64_t> dims = TREADLE_TRY(wanted.dimsIn(tensor.dims));
  std::vector<StoredSlice> parts;
  int64_t covered = 0, count = countElements(dims).value_or(0);
  for (const TensorSlice &slice : tensor.slices) {
    TensorSlice from = slice.resolved(tensor.dims);
    auto common = from.intersection(wanted);
    auto message = slices.find(sliceKey(tensor.name, slice));
    if (!common || message == slices.end())
      continue;
    std::optional<Tensor> part = readElements(tensor.dtype, *slice.dimsIn(tensor.dims),
                                              fieldOf(message->second, data::Data));
    if (!part)
      return Unexpected(dataLoss("a slice of tensor '", tensor.name, "' is corrupted"));
    covered += countElements(*common->dimsIn(tensor.dims)).value_or(0);
    parts.push_back({std::move(from), std::move(*common), std::move(*part)});
  }
  if (covered != count)
    return Unexpected(invalidArgument("tensor '", tensor.name, "' has only ", covered, " of ",
                                      count, " elements"));
  Expected<Tensor> out = Tensor::make(tensor.dtype, dims);
  for (size_t i = 0; out && i < parts.size(); ++i)
    copyRegion(parts[i].common, parts[i].value, parts[i].from, *out, wanted);
  return out;
}

// --- writing -------------------------------------------------------------------------------------

Expected<void> SliceFileWriter::add(const std::string &name, const std::vector<int64_t> &dims,
                                    const TensorSlice &slice, const Tensor &value) {
  auto known = std::ranges::find(tensors, name, &StoredTensor::name);
  if (known == tensors.end())
    known = tensors.insert(known, StoredTensor{name, value.dtype(), dims, {}});
  if (known->dims != dims || known->dtype != value.dtype())
    return Unexpected(invalidArgument("slices of tensor '", name, "' have shapes ", dimsText(dims),
                                      " and ", dimsText(known->dims)));
  std::string &row = rows[sliceKey(name, slice)];
  if (!row.empty())
    return Unexpected(invalidArgument("tensor '", name, "' is saved twice"));
  known->slices.push_back(slice);
  std::string message;
  putBytes(message, data::Name, name);
  putBytes(message, data::Slice, sliceMessage(slice));
  putBytes(message, data::Data, serializeElements(value));
  putBytes(row, file::Data, message);
  return {};
}

std::string SliceFileWriter::finish() {
  std::string contents, versions;
  std::ranges::sort(tensors, {}, &StoredTensor::name);
  for (const StoredTensor &tensor : tensors) {
    std::string message;
    putBytes(message, stored::Name, tensor.name);
    putBytes(message, stored::Shape, shapeMessage(tensor.dims));
    putNumber(message, stored::Type, static_cast<uint64_t>(tensor.dtype));
    for (const TensorSlice &slice : tensor.slices)
      putBytes(message, stored::Slice, sliceMessage(slice));
    putBytes(contents, meta::Tensor, message);
  }
  putNumber(versions, producerVersion, formatVersion);
  putBytes(contents, meta::Versions, versions);
  std::string first;
  putBytes(first, file::Meta, contents);
  TableBuilder table;
  table.add("", first);
  for (const auto &[key, row] : rows)
    table.add(key, row);
  return table.finish();
}

} // namespace treadle
