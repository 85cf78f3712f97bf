// The instruction set level that kernels and compiled code may use. It is chosen once, at first
// use.
#pragma once

#include "treadle/tensor/Error.h"

#include <optional>
#include <string>
#include <string_view>

namespace treadle {

/// The x86-64 levels of the psABI; each includes those before it. Other processors have only the
/// first one, for which everything is compiled.
enum class InstructionSet : uint8_t { X86_64_V2, X86_64_V3, X86_64_V4 };

/// Returns the name of a level, such as `x86-64-v3`.
std::string_view instructionSetName(InstructionSet set);

/// Returns the highest level that this processor supports.
InstructionSet processorInstructionSet();

/// Returns the level with this name among all levels of this architecture, or nullopt.
std::optional<InstructionSet> instructionSetOf(std::string_view name);
/// Returns the names of all levels, separated by commas.
std::string instructionSetNames();

/// Returns the level with this name. Returns InvalidArgument, listing the available levels, if
/// there is none or it is above `highest`, the level of the processor.
Expected<InstructionSet> findInstructionSet(std::string_view name, InstructionSet highest);

/// Returns the level that the environment variable TREADLE_CPU requests, nullopt if it isn't set,
/// or an error.
const Expected<std::optional<InstructionSet>> &requestedInstructionSet();

/// Returns the level that code is generated for: the requested one, or that of the processor.
/// Ignores invalid requests, which are reported when a session opens or a program starts.
InstructionSet instructionSet();

} // namespace treadle
