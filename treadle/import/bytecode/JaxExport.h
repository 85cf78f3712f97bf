// Files of jax.export, as Exported.serialize() gives them.
#pragma once

#include <optional>
#include <string_view>

namespace treadle {

/// The portable artifact in such a file; none in other bytes. The rest of the file says for JAX
/// what the artifact says of itself.
std::optional<std::string_view> artifactOfJaxExport(std::string_view bytes);

} // namespace treadle
