// Which of the processor's instructions kernels and machine code may use: chosen once, when the
// process first asks.
#pragma once

#include "treadle/tensor/Error.h"

#include <optional>
#include <string>
#include <string_view>

namespace treadle {

/// The levels of x86-64 as its psABI has them; each has all instructions of those before it. Other
/// processors have the first one alone, which is what everything is compiled for.
enum class InstructionSet : uint8_t { X86_64_V2, X86_64_V3, X86_64_V4 };

/// `x86-64-v3`
std::string_view instructionSetName(InstructionSet set);

/// The highest level that this processor has.
InstructionSet processorInstructionSet();

/// The level of this name among all that there are for this kind of processor; nothing where there
/// is none.
std::optional<InstructionSet> instructionSetOf(std::string_view name);
/// `x86-64-v2, x86-64-v3, x86-64-v4`
std::string instructionSetNames();

/// The level of this name. InvalidArgument, with the levels there are, for what is no level, or is
/// one beyond `highest`, which is the processor's.
Expected<InstructionSet> findInstructionSet(std::string_view name, InstructionSet highest);

/// The level that the environment's TREADLE_CPU asks for, if it does, or why it can't.
const Expected<std::optional<InstructionSet>> &requestedInstructionSet();

/// The level that code is chosen for: the requested one, or else the processor's own. Requests that
/// are errors count as none: whoever opens a session or runs a program reports them before.
InstructionSet instructionSet();

} // namespace treadle
