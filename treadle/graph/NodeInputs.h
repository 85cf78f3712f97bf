// Internal: infers a new node's attributes from its inputs.
#pragma once

#include "treadle/ops/OpTable.h"
#include "treadle/tensor/Attr.h"

#include <span>
#include <vector>

namespace treadle {

/// Returns how many of `total` data inputs belong to each input of the op: as its attributes state,
/// otherwise one to each and the rest to the list.
std::vector<size_t> inputCounts(const OpDef &def, size_t total, const AttrMap &attrs);

/// Sets the dtype and number attributes that the inputs determine and the node doesn't state.
/// Invalid dtypes are ignored.
void inferAttrs(const OpDef &def, std::span<const DType> dtypes, AttrMap &attrs);

} // namespace treadle
