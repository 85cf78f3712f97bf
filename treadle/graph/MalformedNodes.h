// Reports the malformed nodes of a file that can't be imported.
#pragma once

#include "treadle/treadle.h"

namespace treadle {

/// Returns an error for each malformed node of a GraphDef or SavedModel file, in file order, at
/// most `most`. Empty if there are none, or if the file is malformed in another way.
std::vector<Error> malformedNodes(const std::string &path, size_t most);

} // namespace treadle
