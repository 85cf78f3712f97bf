// Internal: decomposes ragged, sparse and other composite tensors into their component tensors.
#pragma once

#include "treadle/graph/SavedModel.h"

#include <optional>

namespace treadle {

using NamedValues = std::vector<std::pair<std::string, Graph::Value>>;

/// Returns what a signature has under a key: one value, or the components of a composite tensor
/// (`key.values`, `key.row_splits`, ...) in TensorFlow's order.
NamedValues componentsOf(const std::string &key, const pb::TensorInfo &info);

/// Returns the components of a function's argument or result of this type; nullopt if the type's
/// components aren't known.
std::optional<NamedValues> componentsOf(const std::string &name, const pb::TypeSpecProto &spec);

/// Returns the dtype and shape of a message that has both fields.
template <typename Info>
Graph::Value typedValue(const Info &info, const pb::TensorShapeProto &shape, bool hasShape = true) {
  constexpr int firstReference = 100; // a reference dtype counts as the dtype that it refers to
  int dtype = info.dtype();
  Graph::Value value;
  value.dtype = static_cast<DType>(dtype > firstReference ? dtype - firstReference : dtype);
  value.hasRank = hasShape && !shape.unknown_rank();
  for (const auto &dim : shape.dim())
    value.dims.push_back(dim.size());
  return value;
}

} // namespace treadle
