// Lookup tables: from keys to values, of any dtypes.
#pragma once

#include "treadle/tensor/Resource.h"
#include "treadle/tensor/Tensor.h"

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

/// A table. One that isn't mutable is filled once, and may be read only then. Thread-safe.
class LookupTable final : public Resource {
public:
  static constexpr std::string_view kindName = "lookup table";
  std::string_view kind() const override { return kindName; }

  explicit LookupTable(TableType type) : type(std::move(type)) {}
  const TableType type;
  /// Keys that may not be stored, by their bytes: those that mark empty and deleted places in
  /// TensorFlow's dense tables.
  std::vector<std::string> reserved;

  int64_t size() const;

  /// The keys' values, or `fallback`: one value, or one for each key. FailedPrecondition for a
  /// table that was not filled yet, InvalidArgument for dtypes or shapes that don't fit.
  Expected<Tensor> find(const Tensor &keys, const Tensor &fallback) const;
  Expected<void> insert(const Tensor &keys, const Tensor &values);
  Expected<void> remove(const Tensor &keys);
  /// Puts these in the place of all that there are.
  Expected<void> replace(const Tensor &keys, const Tensor &values);
  /// Fills a table that isn't mutable. FailedPrecondition where it holds something else already,
  /// InvalidArgument where a key has two values.
  Expected<void> initialize(const Tensor &keys, const Tensor &values);
  /// All keys and values, in the order of insertion as long as none was removed.
  Expected<std::pair<Tensor, Tensor>> contents() const;

private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Rows = std::unordered_map<std::string, int64_t, Hash, std::equal_to<>>;

  Expected<int64_t> countKeys(const Tensor &keys) const;
  Expected<int64_t> countPairs(const Tensor &keys, const Tensor &values) const;
  std::string_view keyAt(const Tensor &keys, int64_t i) const;
  Expected<void> put(const Tensor &keys, int64_t i, const Tensor &values);
  void storeValue(int64_t row, const Tensor &values, int64_t i);
  void loadValue(int64_t row, Tensor &values, int64_t i) const;
  bool isStored(int64_t row, const Tensor &values, int64_t i) const;
  void clear();

  int64_t valueCount() const { return *countElements(type.valueDims); }
  size_t valueBytes() const { return static_cast<size_t>(valueCount()) * dtypeSize(type.value); }

  mutable std::shared_mutex mutex; // guards what follows
  Rows rows;
  std::vector<std::string> keyOfRow;
  std::vector<char> plain;        // of values that are plain
  std::vector<std::string> texts; // of values that are strings
  bool isFilled = false;
};

} // namespace treadle
