// Functions of the C library that compiled code may call, by name: a program that was linked
// statically can't be asked for them.
#pragma once

#include "treadle/codegen/Frame.h"

namespace treadle::codegen {

std::vector<RuntimeFunction> cFunctions();

} // namespace treadle::codegen
