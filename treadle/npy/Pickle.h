// A restricted reader of Python pickles, for numpy's object arrays of bytes and str.
#pragma once

#include "treadle/tensor/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace treadle {

/// Returns the elements of a pickled object array, in storage order. Never calls or imports
/// anything that the pickle names. InvalidArgument for a corrupted pickle; Unimplemented for
/// elements other than bytes and str.
Expected<std::vector<std::string>> readPickledStrings(std::string_view pickle);

} // namespace treadle
