// The value behind the TensorMap ops: tensors by keys that are tensors.
#pragma once

#include "treadle/kernels/Variants.h"
#include "treadle/tensor/KeptMemory.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace treadle {

/// Entries stand in the order in which their keys came. Shared maps are never changed; an op that
/// has the only reference changes it in place.
class TensorMapObject final : public VariantObject {
public:
  static constexpr std::string_view kindName = "tensor map";
  std::string_view kind() const override { return kindName; }

  struct Entry {
    Tensor key, value;
  };

  Ref<TensorMapObject> copy() const;
  const KeptVector<Entry> &all() const { return entries; }
  /// Null where there is none.
  const Entry *find(const Tensor &key) const;
  void insert(const Tensor &key, Tensor value);
  bool erase(const Tensor &key);

private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  const MemoryShare share;
  KeptVector<Entry> entries{share};
  /// By the key's dtype, shape and elements.
  std::unordered_map<KeptString, size_t, Hash, std::equal_to<>,
                     KeptAllocator<std::pair<const KeptString, size_t>>>
      places{share};
};

/// The entries of both; values under one key are added.
Expected<Ref<VariantObject>> addMaps(const TensorMapObject &a, const TensorMapObject &b);

} // namespace treadle
