// Lookup tables: maps from keys to values of any dtypes.
#pragma once

#include "treadle/tensor/BudgetedMemory.h"
#include "treadle/tensor/Resource.h"
#include "treadle/tensor/Tensor.h"

#include <optional>
#include <shared_mutex>
#include <unordered_map>

namespace treadle {

/// Types of keys and values: a key is `keyDims` elements of `key`, a value `valueDims` elements of
/// `value`.
struct TableType {
  DType key, value;
  std::vector<int64_t> keyDims, valueDims;
  bool isMutable;
  bool operator==(const TableType &) const = default;
  std::string text() const; // `string to int64[4]`
};

/// The layout of TensorFlow's dense tables: a power of two buckets, and reserved keys, which can't
/// be stored, that mark empty and deleted buckets. Checkpoints contain all buckets, and readers
/// probe them as they are: each key must be in the bucket where TensorFlow puts it.
struct DenseLayout {
  static constexpr int64_t minBuckets = 4;
  std::string emptyKey, deletedKey; // their bytes; if equal, keys are never deleted
  int64_t numBuckets;
  float maxLoad; // maximum load factor, below 1
};

/// A lookup table. An immutable table is initialized once, and readable only then. Thread-safe.
class LookupTable final : public Resource {
public:
  static constexpr std::string_view kindName = "lookup table";
  std::string_view kind() const override { return kindName; }

  explicit LookupTable(TableType type, std::optional<DenseLayout> dense = {})
      : type(std::move(type)), dense(std::move(dense)) {}
  const TableType type;

  int64_t size() const;

  /// Returns the keys' values, or `fallback` for missing keys: one value, or one for each key.
  /// FailedPrecondition if the table isn't initialized; InvalidArgument for wrong dtypes and
  /// shapes, and (for all methods) for reserved keys.
  Expected<Tensor> find(const Tensor &keys, const Tensor &fallback) const;
  Expected<void> insert(const Tensor &keys, const Tensor &values);
  Expected<void> remove(const Tensor &keys);
  /// Replaces the whole content: by pairs, or for a dense table by all buckets.
  Expected<void> replace(const Tensor &keys, const Tensor &values);
  /// Initializes an immutable table. FailedPrecondition if it was initialized with other contents;
  /// InvalidArgument if a key has two values.
  Expected<void> initialize(const Tensor &keys, const Tensor &values);
  /// Returns all keys and values, in insertion order if none was removed. For a dense table, all
  /// buckets as matrices, including empty and deleted ones.
  Expected<std::pair<Tensor, Tensor>> contents() const;

private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  template <typename Key, typename KeyHash = std::hash<Key>>
  using BudgetedMap = std::unordered_map<Key, int64_t, KeyHash, std::equal_to<>,
                                         BudgetedAllocator<std::pair<const Key, int64_t>>>;

  Expected<int64_t> countKeys(const Tensor &keys) const;
  Expected<int64_t> countPairs(const Tensor &keys, const Tensor &values) const;
  std::string_view keyAt(const Tensor &keys, int64_t i) const;
  bool isReserved(std::string_view key) const;
  Expected<void> put(const Tensor &keys, int64_t i, const Tensor &values);
  int64_t addRow(std::string_view key, int64_t bucket = 0);
  void dropRow(int64_t row);
  void dropRowsFrom(size_t first);
  void storeValue(int64_t row, const Tensor &values, int64_t i);
  void loadValue(int64_t row, Tensor &values, int64_t i) const;
  bool isStored(int64_t row, const Tensor &values, int64_t i) const;
  void clear();
  Expected<std::pair<Tensor, Tensor>> pairsOf(const std::vector<int64_t> &rows) const;

  // Dense tables only.
  Expected<int64_t> countBuckets(const Tensor &keys, const Tensor &values) const;
  uint64_t hashOf(std::string_view key) const;
  template <typename Stop> int64_t probe(std::string_view key, Stop &&stop) const;
  int64_t claimBucket(std::string_view key);
  bool isProbeConsistent() const;
  Expected<void> makeRoom(int64_t numKeys);
  Expected<void> rehash(int64_t numBuckets);
  void putIntoBucket(std::string_view key, int64_t bucket, const Tensor &values);
  Expected<void> replaceBuckets(const Tensor &keys, const Tensor &values);
  Expected<std::pair<Tensor, Tensor>> allBuckets() const;

  int64_t keyCount() const { return *countElements(type.keyDims); }
  int64_t valueCount() const { return *countElements(type.valueDims); }
  size_t valueBytes() const { return static_cast<size_t>(valueCount()) * dtypeSize(type.value); }

  const MemoryShare share;
  mutable std::shared_mutex mutex; // guards the members below
  BudgetedMap<BudgetedString, Hash> rows{share};
  BudgetedVector<std::string_view> keyOfRow{share}; // of `rows`; in dense tables also deleted
  BudgetedVector<char> plain{share};                // values of plain dtypes
  BudgetedVector<BudgetedString> texts{share};      // string values
  bool isFilled = false;
  std::optional<DenseLayout> dense;
  // Dense tables only. May be longer than the number of rows after memory was exhausted.
  BudgetedVector<int64_t> bucketOfRow{share};
  BudgetedMap<int64_t> rowsOfBuckets{share}; // of non-empty buckets
};

} // namespace treadle
