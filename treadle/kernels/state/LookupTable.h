// Lookup tables: from keys to values, of any dtypes.
#pragma once

#include "treadle/tensor/KeptMemory.h"
#include "treadle/tensor/Resource.h"
#include "treadle/tensor/Tensor.h"

#include <optional>
#include <shared_mutex>
#include <unordered_map>

namespace treadle {

/// What a table maps: a key is `keyDims` elements of `key`, a value `valueDims` of `value`.
struct TableType {
  DType key, value;
  std::vector<int64_t> keyDims, valueDims;
  bool isMutable;
  bool operator==(const TableType &) const = default;
  std::string text() const; // `string to int64[4]`
};

/// TensorFlow's dense tables have buckets, a power of two of them; keys that mark those that are
/// empty and those whose key was removed can't be stored. A checkpoint has all buckets, and whoever
/// restores it looks keys up in them as they are: each key must be where TensorFlow puts it.
struct DenseLayout {
  static constexpr int64_t fewestBuckets = 4;
  std::string emptyKey, deletedKey; // by their bytes; equal: keys are never removed
  int64_t numBuckets;
  float maxLoad; // the share of buckets that may hold keys, less than 1
};

/// A table. One that isn't mutable is filled once, and may be read only then. Thread-safe.
class LookupTable final : public Resource {
public:
  static constexpr std::string_view kindName = "lookup table";
  std::string_view kind() const override { return kindName; }

  explicit LookupTable(TableType type, std::optional<DenseLayout> dense = {})
      : type(std::move(type)), dense(std::move(dense)) {}
  const TableType type;

  int64_t size() const;

  /// The keys' values, or `fallback`: one value, or one for each key. FailedPrecondition for a
  /// table that was not filled yet, InvalidArgument for dtypes or shapes that don't fit, and, here
  /// and below, for keys that can't be stored.
  Expected<Tensor> find(const Tensor &keys, const Tensor &fallback) const;
  Expected<void> insert(const Tensor &keys, const Tensor &values);
  Expected<void> remove(const Tensor &keys);
  /// Puts these in the place of all that there are: pairs, or of a dense table all buckets.
  Expected<void> replace(const Tensor &keys, const Tensor &values);
  /// Fills a table that isn't mutable. FailedPrecondition where it holds something else already,
  /// InvalidArgument where a key has two values.
  Expected<void> initialize(const Tensor &keys, const Tensor &values);
  /// All keys and values, in the order of insertion as long as none was removed. Of a dense table
  /// matrices of all buckets, empty and removed ones included.
  Expected<std::pair<Tensor, Tensor>> contents() const;

private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  template <typename Key, typename KeyHash = std::hash<Key>>
  using KeptMap = std::unordered_map<Key, int64_t, KeyHash, std::equal_to<>,
                                     KeptAllocator<std::pair<const Key, int64_t>>>;

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

  // Of dense tables.
  Expected<int64_t> countBuckets(const Tensor &keys, const Tensor &values) const;
  uint64_t hashOf(std::string_view key) const;
  template <typename Stop> int64_t probe(std::string_view key, Stop &&stop) const;
  int64_t claimBucket(std::string_view key);
  bool isLaidOut() const;
  Expected<void> makeRoom(int64_t numKeys);
  Expected<void> layOut(int64_t numBuckets);
  void putIntoBucket(std::string_view key, int64_t bucket, const Tensor &values);
  Expected<void> replaceBuckets(const Tensor &keys, const Tensor &values);
  Expected<std::pair<Tensor, Tensor>> allBuckets() const;

  int64_t keyCount() const { return *countElements(type.keyDims); }
  int64_t valueCount() const { return *countElements(type.valueDims); }
  size_t valueBytes() const { return static_cast<size_t>(valueCount()) * dtypeSize(type.value); }

  const MemoryShare share;
  mutable std::shared_mutex mutex; // guards what follows
  KeptMap<KeptString, Hash> rows{share};
  KeptVector<std::string_view> keyOfRow{share}; // of `rows`; in a dense table also the deleted key
  KeptVector<char> plain{share};                // of values that are plain
  KeptVector<KeptString> texts{share};          // of values that are strings
  bool isFilled = false;
  std::optional<DenseLayout> dense;
  // Of a dense table. Where memory ended there may be more than rows.
  KeptVector<int64_t> bucketOfRow{share};
  KeptMap<int64_t> rowsOfBuckets{share}; // of those that aren't empty
};

} // namespace treadle
