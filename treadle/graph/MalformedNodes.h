// What is wrong with a file that no graph can be read from.
#pragma once

#include "treadle/treadle.h"

namespace treadle {

/// What is wrong with each malformed node of a GraphDef's or SavedModel's file, in its order, of
/// `most` nodes at most; empty where there are none, or the file is malformed in another way.
std::vector<Error> malformedNodes(const std::string &path, size_t most);

} // namespace treadle
