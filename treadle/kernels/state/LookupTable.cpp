#include "treadle/kernels/state/LookupTable.h"

#include <algorithm>
#include <mutex>

namespace treadle {

static Error wrongType(const char *what, DType found, DType expected) {
  return invalidArgument("the ", what, " are ", dtypeName(found), ", but the table's are ",
                         dtypeName(expected));
}

static bool endsWith(Dims dims, Dims tail) {
  return dims.size() >= tail.size() && std::ranges::equal(dims.last(tail.size()), tail);
}

std::string TableType::text() const {
  auto one = [](DType dtype, Dims dims) {
    return str(dtypeName(dtype), dims.empty() ? std::string() : dimsText(dims));
  };
  return str(one(key, keyDims), " to ", one(value, valueDims));
}

int64_t LookupTable::size() const {
  std::shared_lock lock(mutex);
  return std::ssize(keyOfRow);
}

Expected<int64_t> LookupTable::countKeys(const Tensor &keys) const {
  if (keys.dtype() != type.key)
    return Unexpected(wrongType("keys", keys.dtype(), type.key));
  if (!endsWith(keys.dims(), type.keyDims))
    return Unexpected(invalidArgument("the keys' shape is ", dimsText(keys.dims()),
                                      ", expected one that ends with ", dimsText(type.keyDims)));
  return *countElements(keys.dims().first(keys.dims().size() - type.keyDims.size()));
}

Expected<int64_t> LookupTable::countPairs(const Tensor &keys, const Tensor &values) const {
  Expected<int64_t> count = countKeys(keys);
  if (!count)
    return count;
  if (values.dtype() != type.value)
    return Unexpected(wrongType("values", values.dtype(), type.value));
  std::vector<int64_t> expected(keys.dims().begin(), keys.dims().end() - std::ssize(type.keyDims));
  expected.insert(expected.end(), type.valueDims.begin(), type.valueDims.end());
  if (!std::ranges::equal(values.dims(), expected))
    return Unexpected(invalidArgument("the values' shape is ", dimsText(values.dims()),
                                      ", but keys of shape ", dimsText(keys.dims()),
                                      " have values of shape ", dimsText(expected)));
  return count;
}

std::string_view LookupTable::keyAt(const Tensor &keys, int64_t i) const {
  if (type.key == DType::String)
    return keys.data<std::string>()[i];
  size_t size = static_cast<size_t>(*countElements(type.keyDims)) * dtypeSize(type.key);
  return {keys.data<char>() + static_cast<size_t>(i) * size, size};
}

void LookupTable::storeValue(int64_t row, const Tensor &values, int64_t i) {
  if (type.value == DType::String)
    std::copy_n(values.data<std::string>() + i * valueCount(), valueCount(),
                texts.begin() + row * valueCount());
  else
    std::memcpy(plain.data() + static_cast<size_t>(row) * valueBytes(),
                values.data<char>() + static_cast<size_t>(i) * valueBytes(), valueBytes());
}

void LookupTable::loadValue(int64_t row, Tensor &values, int64_t i) const {
  if (type.value == DType::String)
    std::copy_n(texts.begin() + row * valueCount(), valueCount(),
                values.data<std::string>() + i * valueCount());
  else
    std::memcpy(values.data<char>() + static_cast<size_t>(i) * valueBytes(),
                plain.data() + static_cast<size_t>(row) * valueBytes(), valueBytes());
}

bool LookupTable::isStored(int64_t row, const Tensor &values, int64_t i) const {
  if (type.value == DType::String)
    return std::equal(texts.begin() + row * valueCount(), texts.begin() + (row + 1) * valueCount(),
                      values.data<std::string>() + i * valueCount());
  return !std::memcmp(values.data<char>() + static_cast<size_t>(i) * valueBytes(),
                      plain.data() + static_cast<size_t>(row) * valueBytes(), valueBytes());
}

void LookupTable::clear() {
  rows.clear();
  keyOfRow.clear();
  plain.clear();
  texts.clear();
}

Expected<void> LookupTable::put(const Tensor &keys, int64_t i, const Tensor &values) {
  std::string_view key = keyAt(keys, i);
  if (std::ranges::find(reserved, key) != reserved.end())
    return Unexpected(invalidArgument("key ", i,
                                      " is the table's empty_key or deleted_key, which "
                                      "can't be stored"));
  auto it = rows.find(key);
  if (it == rows.end()) {
    it = rows.emplace(key, std::ssize(keyOfRow)).first;
    keyOfRow.emplace_back(key);
    if (type.value == DType::String)
      texts.resize(texts.size() + static_cast<size_t>(valueCount()));
    else
      plain.resize(plain.size() + valueBytes());
  } else if (!type.isMutable && !isStored(it->second, values, i)) {
    return Unexpected(invalidArgument("key ", i, " has two different values"));
  }
  storeValue(it->second, values, i);
  return {};
}

Expected<Tensor> LookupTable::find(const Tensor &keys, const Tensor &fallback) const {
  Expected<int64_t> count = countKeys(keys);
  if (!count)
    return Unexpected(std::move(count.error()));
  if (fallback.dtype() != type.value)
    return Unexpected(wrongType("default values", fallback.dtype(), type.value));
  std::vector<int64_t> dims(keys.dims().begin(), keys.dims().end() - std::ssize(type.keyDims));
  dims.insert(dims.end(), type.valueDims.begin(), type.valueDims.end());
  bool isForEach = std::ranges::equal(fallback.dims(), dims) &&
                   !std::ranges::equal(fallback.dims(), type.valueDims);
  if (!isForEach && !std::ranges::equal(fallback.dims(), type.valueDims))
    return Unexpected(invalidArgument("the default's shape is ", dimsText(fallback.dims()),
                                      ", expected ", dimsText(type.valueDims),
                                      ", or one for each key: ", dimsText(dims)));
  Expected<Tensor> out = Tensor::make(type.value, dims);
  if (!out)
    return out;
  std::shared_lock lock(mutex);
  if (!type.isMutable && !isFilled)
    return Unexpected(failedPrecondition("the table is not initialized"));
  for (int64_t i = 0; i < *count; ++i) {
    if (auto it = rows.find(keyAt(keys, i)); it != rows.end()) {
      loadValue(it->second, *out, i);
      continue;
    }
    int64_t from = isForEach ? i * valueCount() : 0;
    if (type.value == DType::String)
      std::copy_n(fallback.data<std::string>() + from, valueCount(),
                  out->data<std::string>() + i * valueCount());
    else
      std::memcpy(out->data<char>() + static_cast<size_t>(i) * valueBytes(),
                  fallback.data<char>() + static_cast<size_t>(from) * dtypeSize(type.value),
                  valueBytes());
  }
  return out;
}

Expected<void> LookupTable::insert(const Tensor &keys, const Tensor &values) {
  if (!type.isMutable)
    return Unexpected(failedPrecondition("the table was made to be filled once, and can't be "
                                         "changed"));
  return countPairs(keys, values).and_then([&](int64_t count) -> Expected<void> {
    std::unique_lock lock(mutex);
    for (int64_t i = 0; i < count; ++i)
      if (Expected<void> ok = put(keys, i, values); !ok)
        return ok;
    return {};
  });
}

Expected<void> LookupTable::remove(const Tensor &keys) {
  if (!type.isMutable)
    return Unexpected(failedPrecondition("the table was made to be filled once, and can't be "
                                         "changed"));
  Expected<int64_t> count = countKeys(keys);
  if (!count)
    return Unexpected(std::move(count.error()));
  std::unique_lock lock(mutex);
  for (int64_t i = 0; i < *count; ++i) {
    auto it = rows.find(keyAt(keys, i));
    if (it == rows.end())
      continue;
    // The last row takes the place.
    int64_t row = it->second, last = std::ssize(keyOfRow) - 1;
    rows.erase(it);
    if (row != last) {
      keyOfRow[static_cast<size_t>(row)] = std::move(keyOfRow.back());
      rows.find(keyOfRow[static_cast<size_t>(row)])->second = row;
      if (type.value == DType::String)
        std::copy_n(texts.begin() + last * valueCount(), valueCount(),
                    texts.begin() + row * valueCount());
      else
        std::memcpy(plain.data() + static_cast<size_t>(row) * valueBytes(),
                    plain.data() + static_cast<size_t>(last) * valueBytes(), valueBytes());
    }
    keyOfRow.pop_back();
    if (type.value == DType::String)
      texts.resize(static_cast<size_t>(last * valueCount()));
    else
      plain.resize(static_cast<size_t>(last) * valueBytes());
  }
  return {};
}

Expected<void> LookupTable::replace(const Tensor &keys, const Tensor &values) {
  if (!type.isMutable)
    return initialize(keys, values);
  return countPairs(keys, values).and_then([&](int64_t count) -> Expected<void> {
    std::unique_lock lock(mutex);
    clear();
    for (int64_t i = 0; i < count; ++i)
      if (Expected<void> ok = put(keys, i, values); !ok)
        return ok;
    return {};
  });
}

Expected<void> LookupTable::initialize(const Tensor &keys, const Tensor &values) {
  return countPairs(keys, values).and_then([&](int64_t count) -> Expected<void> {
    std::unique_lock lock(mutex);
    if (isFilled) {
      bool isSame = count == std::ssize(keyOfRow);
      for (int64_t i = 0; isSame && i < count; ++i) {
        auto it = rows.find(keyAt(keys, i));
        isSame = it != rows.end() && isStored(it->second, values, i);
      }
      return isSame ? Expected<void>()
                    : Unexpected(failedPrecondition("the table was already initialized with "
                                                    "different data"));
    }
    for (int64_t i = 0; i < count; ++i)
      if (Expected<void> ok = put(keys, i, values); !ok) {
        clear();
        return ok;
      }
    isFilled = true;
    return {};
  });
}

Expected<std::pair<Tensor, Tensor>> LookupTable::contents() const {
  std::shared_lock lock(mutex);
  std::vector<int64_t> keyDims{std::ssize(keyOfRow)}, valueDims = keyDims;
  keyDims.insert(keyDims.end(), type.keyDims.begin(), type.keyDims.end());
  valueDims.insert(valueDims.end(), type.valueDims.begin(), type.valueDims.end());
  Expected<Tensor> keys = Tensor::make(type.key, keyDims);
  Expected<Tensor> values = Tensor::make(type.value, valueDims);
  if (!keys || !values)
    return Unexpected(std::move(keys ? values.error() : keys.error()));
  for (size_t row = 0; row < keyOfRow.size(); ++row) {
    const std::string &key = keyOfRow[row];
    if (type.key == DType::String)
      keys->data<std::string>()[row] = key;
    else
      std::memcpy(keys->data<char>() + row * key.size(), key.data(), key.size());
    loadValue(static_cast<int64_t>(row), *values, static_cast<int64_t>(row));
  }
  return std::pair(std::move(*keys), std::move(*values));
}

} // namespace treadle
