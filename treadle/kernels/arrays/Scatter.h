// Writing rows by coordinates: into tensors, and into what variables hold.
#pragma once

#include "treadle/kernels/Update.h"

namespace treadle {

enum class BadIndices : bool { Fail, Ignore };

/// Updates whole[indices[i]] with updates[i] for every row i of `indices`, whose last dimension
/// names the leading dimensions of `whole`. `whole` must be unique. InvalidArgument where the
/// shapes don't fit or an index is outside; rows before that one are written then.
Expected<void> scatterNd(Tensor &whole, const Tensor &indices, const Tensor &updates,
                         UpdateLoop update, BadIndices bad = BadIndices::Fail);

} // namespace treadle
