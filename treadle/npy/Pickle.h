// Just enough of Python's pickles to read numpy's object arrays of bytes and str.
#pragma once

#include "treadle/tensor/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace treadle {

/// The elements of a pickled object array, in the order they are stored. Nothing in a pickle is
/// ever called or imported: InvalidArgument for a damaged pickle, Unimplemented for elements other
/// than bytes and str.
Expected<std::vector<std::string>> readPickledStrings(std::string_view pickle);

} // namespace treadle
