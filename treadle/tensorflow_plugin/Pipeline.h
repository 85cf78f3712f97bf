// The pipeline that a user names, made fit for graphs inside TensorFlow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace treadle::tensorflow {

/// Passes that stand without options get those that keep what TensorFlow needs: the nodes called
/// `names`, nodes with effects, and functions, which it changes itself. In options that a user
/// writes, `{names}` stands for the names: `tfg-prune{targets={names}}`.
std::string withNames(std::string_view pipeline, const std::vector<std::string> &names);

} // namespace treadle::tensorflow
