// Addresses of the C library functions that compiled code may call, by name: a statically linked
// program has no dynamic symbol table to look them up in.
#pragma once

#include "treadle/codegen/CallFrame.h"

namespace treadle::codegen {

std::vector<RuntimeFunction> cFunctions();

} // namespace treadle::codegen
