// Scatter by coordinates, into tensors and into variables.
#pragma once

#include "treadle/kernels/Update.h"

namespace treadle {

enum class BadIndices : bool { Fail, Ignore };

/// Updates whole[indices[i]] with updates[i] for every row i of `indices`, whose last dimension
/// indexes the leading dimensions of `whole`. `whole` must be uniquely owned. InvalidArgument if
/// the shapes don't match or an index is out of range; the rows before that one have then been
/// written.
Expected<void> scatterNd(Tensor &whole, const Tensor &indices, const Tensor &updates,
                         RowsUpdateLoop update, BadIndices bad = BadIndices::Fail);

} // namespace treadle
