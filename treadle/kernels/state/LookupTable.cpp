#include "treadle/kernels/state/LookupTable.h"

#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/text/StringHash.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <numeric>

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
  return std::ssize(rows);
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
  int64_t count = TREADLE_TRY(countKeys(keys));
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
  size_t size = static_cast<size_t>(keyCount()) * dtypeSize(type.key);
  return {keys.data<char>() + static_cast<size_t>(i) * size, size};
}

static void storeKey(std::string_view key, Tensor &keys, int64_t i) {
  if (keys.dtype() == DType::String)
    keys.data<std::string>()[i] = key;
  else
    std::memcpy(keys.data<char>() + static_cast<size_t>(i) * key.size(), key.data(), key.size());
}

bool LookupTable::isReserved(std::string_view key) const {
  return dense && (key == dense->emptyKey || key == dense->deletedKey);
}

static Error reservedKey(int64_t i) {
  return invalidArgument("key ", i,
                         " is the table's empty_key or deleted_key, which can't be stored");
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
                      values.data<std::string>() + i * valueCount(),
                      std::equal_to<std::string_view>());
  return !std::memcmp(values.data<char>() + static_cast<size_t>(i) * valueBytes(),
                      plain.data() + static_cast<size_t>(row) * valueBytes(), valueBytes());
}

void LookupTable::clear() {
  rows.clear();
  keyOfRow.clear();
  plain.clear();
  texts.clear();
  bucketOfRow.clear();
  rowsOfBuckets.clear();
}

// Adds a row for `key`, which is stored elsewhere. Strong exception guarantee: no row is added if
// memory is exhausted.
int64_t LookupTable::addRow(std::string_view key, int64_t bucket) {
  size_t row = keyOfRow.size();
  if (type.value == DType::String)
    texts.resize((row + 1) * static_cast<size_t>(valueCount()), BudgetedString(share));
  else
    plain.resize((row + 1) * valueBytes());
  if (dense) {
    bucketOfRow.resize(row + 1);
    bucketOfRow[row] = bucket;
  }
  keyOfRow.push_back(key);
  return static_cast<int64_t>(row);
}

Expected<void> LookupTable::put(const Tensor &keys, int64_t i, const Tensor &values) {
  std::string_view key = keyAt(keys, i);
  if (isReserved(key))
    return Unexpected(reservedKey(i));
  auto it = rows.find(key);
  if (it == rows.end()) {
    it = rows.emplace(BudgetedString(key, share), 0).first;
    it->second = callOrUndo([&] { return dense ? claimBucket(it->first) : addRow(it->first); },
                            [&] { rows.erase(it); });
  } else if (!type.isMutable && !isStored(it->second, values, i)) {
    return Unexpected(invalidArgument("key ", i, " has two different values"));
  }
  storeValue(it->second, values, i);
  return {};
}

Expected<Tensor> LookupTable::find(const Tensor &keys, const Tensor &fallback) const {
  int64_t count = TREADLE_TRY(countKeys(keys));
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
  Tensor out = TREADLE_TRY(Tensor::make(type.value, dims));
  std::shared_lock lock(mutex);
  if (!type.isMutable && !isFilled)
    return Unexpected(failedPrecondition("the table is not initialized"));
  for (int64_t i = 0; i < count; ++i) {
    if (isReserved(keyAt(keys, i)))
      return Unexpected(reservedKey(i));
    if (auto it = rows.find(keyAt(keys, i)); it != rows.end()) {
      loadValue(it->second, out, i);
      continue;
    }
    int64_t from = isForEach ? i * valueCount() : 0;
    if (type.value == DType::String)
      std::copy_n(fallback.data<std::string>() + from, valueCount(),
                  out.data<std::string>() + i * valueCount());
    else
      std::memcpy(out.data<char>() + static_cast<size_t>(i) * valueBytes(),
                  fallback.data<char>() + static_cast<size_t>(from) * dtypeSize(type.value),
                  valueBytes());
  }
  return out;
}

Expected<void> LookupTable::insert(const Tensor &keys, const Tensor &values) {
  if (!type.isMutable)
    return Unexpected(failedPrecondition("the table is immutable after its initialization"));
  return countPairs(keys, values).and_then([&](int64_t count) -> Expected<void> {
    std::unique_lock lock(mutex);
    TREADLE_TRY(makeRoom(count));
    size_t before = keyOfRow.size();
    return callOrUndo(
        [&]() -> Expected<void> {
          for (int64_t i = 0; i < count; ++i)
            TREADLE_TRY(put(keys, i, values));
          return {};
        },
        [&] { dropRowsFrom(before); });
  });
}

void LookupTable::dropRowsFrom(size_t first) {
  while (keyOfRow.size() > first) {
    auto last = std::ssize(keyOfRow) - 1;
    if (dense)
      rowsOfBuckets.erase(bucketOfRow[static_cast<size_t>(last)]);
    auto it = rows.find(keyOfRow.back());
    if (it != rows.end() && it->second == last)
      rows.erase(it);
    dropRow(last);
  }
}

// Moves the last row to the freed position.
void LookupTable::dropRow(int64_t row) {
  int64_t last = std::ssize(keyOfRow) - 1;
  if (row != last) {
    keyOfRow[static_cast<size_t>(row)] = keyOfRow.back();
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
    texts.resize(static_cast<size_t>(last * valueCount()), BudgetedString(share));
  else
    plain.resize(static_cast<size_t>(last) * valueBytes());
}

Expected<void> LookupTable::remove(const Tensor &keys) {
  if (dense && dense->emptyKey == dense->deletedKey)
    return Unexpected(failedPrecondition("the table has no deleted_key, so keys can't be removed; "
                                         "create it with MutableDenseHashTableV2"));
  if (!type.isMutable)
    return Unexpected(failedPrecondition("the table is immutable after its initialization"));
  int64_t count = TREADLE_TRY(countKeys(keys));
  std::unique_lock lock(mutex);
  for (int64_t i = 0; i < count; ++i) {
    if (isReserved(keyAt(keys, i)))
      return Unexpected(reservedKey(i));
    auto it = rows.find(keyAt(keys, i));
    if (it == rows.end())
      continue;
    int64_t row = it->second;
    rows.erase(it);
    if (dense)
      keyOfRow[static_cast<size_t>(row)] = dense->deletedKey;
    else
      dropRow(row);
  }
  return {};
}

Expected<void> LookupTable::replace(const Tensor &keys, const Tensor &values) {
  if (!type.isMutable)
    return initialize(keys, values);
  if (dense)
    return replaceBuckets(keys, values);
  return countPairs(keys, values).and_then([&](int64_t count) -> Expected<void> {
    std::unique_lock lock(mutex);
    clear();
    for (int64_t i = 0; i < count; ++i)
      TREADLE_TRY(put(keys, i, values));
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
      if (Expected<void> ok = callOrUndo([&] { return put(keys, i, values); }, [this] { clear(); });
          !ok) {
        clear();
        return ok;
      }
    isFilled = true;
    return {};
  });
}

Expected<std::pair<Tensor, Tensor>> LookupTable::pairsOf(const std::vector<int64_t> &wanted) const {
  std::vector<int64_t> keyDims{std::ssize(wanted)}, valueDims = keyDims;
  keyDims.insert(keyDims.end(), type.keyDims.begin(), type.keyDims.end());
  valueDims.insert(valueDims.end(), type.valueDims.begin(), type.valueDims.end());
  Expected<Tensor> keys = Tensor::make(type.key, keyDims);
  Expected<Tensor> values = Tensor::make(type.value, valueDims);
  if (!keys || !values)
    return Unexpected(std::move(keys ? values.error() : keys.error()));
  for (int64_t i = 0; i < std::ssize(wanted); ++i) {
    storeKey(keyOfRow[static_cast<size_t>(wanted[static_cast<size_t>(i)])], *keys, i);
    loadValue(wanted[static_cast<size_t>(i)], *values, i);
  }
  return std::pair(std::move(*keys), std::move(*values));
}

Expected<std::pair<Tensor, Tensor>> LookupTable::contents() const {
  std::shared_lock lock(mutex);
  if (dense)
    return allBuckets();
  std::vector<int64_t> all(keyOfRow.size());
  std::iota(all.begin(), all.end(), 0);
  return pairsOf(all);
}

// --- dense tables --------------------------------------------------------------------------------

// TensorFlow's hash: integers hash to themselves.
uint64_t LookupTable::hashOf(std::string_view key) const {
  uint64_t hash = 0;
  bool isInteger = visitType(type.key, IntegerTypes(), [&]<typename T>() {
    for (int64_t i = 0; i < keyCount(); ++i) {
      T element;
      std::memcpy(&element, key.data() + static_cast<size_t>(i) * sizeof element, sizeof element);
      auto own = static_cast<uint64_t>(static_cast<int64_t>(element)); // sign-extended
      hash = keyCount() == 1 ? own : hash ^ (own + 0x9e3779b97f4a7800 + (hash << 10) + (hash >> 4));
    }
  });
  return isInteger ? hash : murmurHash64(key, 0xdecafcaffe);
}

// Probes the buckets of a key, eventually all buckets, until `stop(bucket)` returns true.
template <typename Stop> int64_t LookupTable::probe(std::string_view key, Stop &&stop) const {
  uint64_t mask = static_cast<uint64_t>(dense->numBuckets) - 1, bucket = hashOf(key) & mask;
  for (uint64_t step = 1; !stop(static_cast<int64_t>(bucket)); ++step)
    bucket = (bucket + step) & mask;
  return static_cast<int64_t>(bucket);
}

// Finds or reuses a bucket for a new key. There is a free one, since makeRoom was called before.
int64_t LookupTable::claimBucket(std::string_view key) {
  auto isFree = [&](int64_t bucket) {
    auto it = rowsOfBuckets.find(bucket);
    return it == rowsOfBuckets.end() ||
           keyOfRow[static_cast<size_t>(it->second)] == dense->deletedKey;
  };
  int64_t bucket = probe(key, isFree);
  auto [it, isNew] = rowsOfBuckets.try_emplace(bucket, std::ssize(keyOfRow));
  if (isNew)
    return callOrUndo([&] { return addRow(key, bucket); }, [&] { rowsOfBuckets.erase(it); });
  keyOfRow[static_cast<size_t>(it->second)] = key;
  return it->second;
}

// Whether TensorFlow's probing finds each key in its bucket.
bool LookupTable::isProbeConsistent() const {
  if (!std::has_single_bit(static_cast<uint64_t>(dense->numBuckets)))
    return false;
  for (size_t row = 0; row < keyOfRow.size(); ++row) {
    std::string_view key = keyOfRow[row];
    auto ends = [&](int64_t bucket) {
      auto it = rowsOfBuckets.find(bucket);
      return it == rowsOfBuckets.end() || keyOfRow[static_cast<size_t>(it->second)] == key;
    };
    if (key != dense->deletedKey && probe(key, ends) != bucketOfRow[row])
      return false;
  }
  return true;
}

// Grows the table as TensorFlow does, which counts all keys as new ones.
Expected<void> LookupTable::makeRoom(int64_t numKeys) {
  if (!dense)
    return {};
  auto pending = static_cast<float>(std::ssize(rows) + numKeys);
  int64_t wanted = dense->numBuckets;
  while (pending > static_cast<float>(wanted) * dense->maxLoad)
    wanted *= 2;
  return wanted == dense->numBuckets ? Expected<void>() : rehash(wanted);
}

// Rehashes the keys to this many buckets, in the order of their current buckets.
Expected<void> LookupTable::rehash(int64_t numBuckets) {
  std::vector<int64_t> live;
  for (const auto &[key, row] : rows)
    live.push_back(row);
  std::ranges::sort(live, {}, [&](int64_t row) { return bucketOfRow[static_cast<size_t>(row)]; });
  return pairsOf(live).and_then([&](const auto &pairs) -> Expected<void> {
    clear();
    dense->numBuckets = numBuckets;
    for (int64_t i = 0; i < std::ssize(live); ++i)
      TREADLE_TRY(put(pairs.first, i, pairs.second));
    return {};
  });
}

Expected<int64_t> LookupTable::countBuckets(const Tensor &keys, const Tensor &values) const {
  if (keys.dtype() != type.key)
    return Unexpected(wrongType("keys", keys.dtype(), type.key));
  if (values.dtype() != type.value)
    return Unexpected(wrongType("values", values.dtype(), type.value));
  int64_t count = keys.rank() ? keys.dim(0) : 0;
  if (!keys.rank() || !values.rank() || values.dim(0) != count ||
      keys.count() != count * keyCount() || values.count() != count * valueCount())
    return Unexpected(invalidArgument("the keys' and values' shapes are ", dimsText(keys.dims()),
                                      " and ", dimsText(values.dims()), ", expected [n,",
                                      keyCount(), "] and [n,", valueCount(), "]"));
  return count;
}

// Stores a key in the bucket from a checkpoint: buckets that TensorFlow wrote are kept. Others,
// such as pairs in any order, are rehashed afterwards.
void LookupTable::putIntoBucket(std::string_view key, int64_t bucket, const Tensor &values) {
  std::string_view kept = dense->deletedKey;
  auto row = std::ssize(keyOfRow);
  if (key != kept) {
    auto it = rows.emplace(BudgetedString(key, share), row).first;
    it->second = row;
    kept = it->first;
  }
  rowsOfBuckets[bucket] = addRow(kept, bucket);
  storeValue(row, values, bucket);
}

Expected<void> LookupTable::replaceBuckets(const Tensor &keys, const Tensor &values) {
  int64_t count = TREADLE_TRY(countBuckets(keys, values));
  std::unique_lock lock(mutex);
  clear();
  dense->numBuckets = count;
  auto putAll = [&] {
    for (int64_t bucket = 0; bucket < count; ++bucket)
      if (std::string_view key = keyAt(keys, bucket); key != dense->emptyKey)
        putIntoBucket(key, bucket, values);
  };
  callOrUndo(putAll, [this] {
    clear();
    dense->numBuckets = DenseLayout::minBuckets;
  });
  if (isProbeConsistent())
    return {};
  auto numKeys = static_cast<float>(rows.size());
  int64_t wanted = DenseLayout::minBuckets;
  while (numKeys > static_cast<float>(wanted) * dense->maxLoad)
    wanted *= 2;
  return rehash(wanted);
}

Expected<std::pair<Tensor, Tensor>> LookupTable::allBuckets() const {
  int64_t count = dense->numBuckets;
  Expected<Tensor> keys = Tensor::make(type.key, {count, keyCount()});
  Expected<Tensor> values = Tensor::make(type.value, {count, valueCount()});
  if (!keys || !values)
    return Unexpected(std::move(keys ? values.error() : keys.error()));
  const std::string &empty = dense->emptyKey;
  for (int64_t i = 0; i < count; ++i)
    storeKey(empty, *keys, i);
  zeroElements(type.value, values->raw(), values->count());
  for (const auto &[bucket, row] : rowsOfBuckets) {
    storeKey(keyOfRow[static_cast<size_t>(row)], *keys, bucket);
    loadValue(row, *values, bucket);
  }
  return std::pair(std::move(*keys), std::move(*values));
}

} // namespace treadle
