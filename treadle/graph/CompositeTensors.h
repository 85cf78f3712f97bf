// Internal: ragged, sparse and other composite tensors as the tensors that they are made of.
#pragma once

#include "treadle/graph/SavedModel.h"

#include <optional>

namespace treadle {

using NamedValues = std::vector<std::pair<std::string, Graph::Value>>;

/// What a signature has under a key: one value, or the components `key.values`, `key.row_splits`
/// and so on of a composite tensor, in TensorFlow's order.
NamedValues componentsOf(const std::string &key, const pb::TensorInfo &info);

/// What a function takes or gives of this type; nothing for a type whose components aren't known.
std::optional<NamedValues> componentsOf(const std::string &name, const pb::TypeSpecProto &spec);

/// Of anything that states a dtype and a shape.
template <typename Info>
Graph::Value typedValue(const Info &info, const pb::TensorShapeProto &shape, bool hasShape = true) {
  constexpr int firstReference = 100; // the dtype of a reference is that of what it refers to
  int dtype = info.dtype();
  Graph::Value value;
  value.dtype = static_cast<DType>(dtype > firstReference ? dtype - firstReference : dtype);
  value.hasRank = hasShape && !shape.unknown_rank();
  for (const auto &dim : shape.dim())
    value.dims.push_back(dim.size());
  return value;
}

} // namespace treadle
