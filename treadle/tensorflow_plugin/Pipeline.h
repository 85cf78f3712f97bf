// Adapts a user's pipeline to graphs inside TensorFlow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace treadle::tensorflow {

/// Adds options to passes without options, so that they keep what TensorFlow needs: the nodes in
/// `names`, nodes with effects, and functions, which it changes itself. In options that a user
/// writes, `{names}` is replaced by the names: `tfg-prune{targets={names}}`.
std::string withKeptNodes(std::string_view pipeline, const std::vector<std::string> &names);

} // namespace treadle::tensorflow
