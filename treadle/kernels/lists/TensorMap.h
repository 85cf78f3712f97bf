// The variant value of TensorMap ops: a map from tensors to tensors.
#pragma once

#include "treadle/kernels/Variants.h"
#include "treadle/tensor/BudgetedMemory.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace treadle {

/// Entries are in insertion order of their keys. Shared maps are immutable; an op that has the only
/// reference changes the map in place.
class TensorMapObject final : public VariantObject {
public:
  static constexpr std::string_view kindName = "tensor map";
  std::string_view kind() const override { return kindName; }

  struct Entry {
    Tensor key, value;
  };

  Ref<TensorMapObject> copy() const;
  const BudgetedVector<Entry> &all() const { return entries; }
  /// Returns null if there is none.
  const Entry *find(const Tensor &key) const;
  void insert(const Tensor &key, Tensor value);
  bool erase(const Tensor &key);

private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  const MemoryShare share;
  BudgetedVector<Entry> entries{share};
  /// Keyed by the key's dtype, shape and elements.
  std::unordered_map<BudgetedString, size_t, Hash, std::equal_to<>,
                     BudgetedAllocator<std::pair<const BudgetedString, size_t>>>
      places{share};
};

/// Returns the union of both; values of a common key are added.
Expected<Ref<VariantObject>> addMaps(const TensorMapObject &a, const TensorMapObject &b);

} // namespace treadle
