// Internal: what the inputs of a new node say of its attributes.
#pragma once

#include "treadle/ops/OpTable.h"
#include "treadle/tensor/Attr.h"

#include <span>
#include <vector>

namespace treadle {

/// How many of `total` data inputs belong to each input of the op: as attributes state, else one to
/// each and the others to the list.
std::vector<size_t> inputCounts(const OpDef &def, size_t total, const AttrMap &attrs);

/// Sets the type and number attributes that inputs decide and the node doesn't state. A dtype that
/// is Invalid says nothing.
void inferAttrs(const OpDef &def, std::span<const DType> dtypes, AttrMap &attrs);

} // namespace treadle
