// Strings: joined, split, matched, hashed, encoded, read as numbers; and tensors as text for
// people.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Numbers as strings, in printf's formats.
std::span<const KernelEntry> asStringKernels();
/// Assert: ends the run, and says with which values, where a condition doesn't hold.
std::span<const KernelEntry> assertKernels();
/// Strings as bytes: tensors read from them, base 64, compressed data.
std::span<const KernelEntry> bytesKernels();
/// Print and PrintV2: text on a stream, through the run's own printer where it has one.
std::span<const KernelEntry> printKernels();
/// Matching and replacing by regular expressions, in RE2's syntax.
std::span<const KernelEntry> regexKernels();
/// The hashes, and the ops that put strings into buckets by them.
std::span<const KernelEntry> stringHashKernels();
/// Numbers in strings: alone, or as fields of lines of comma-separated values.
std::span<const KernelEntry> stringNumberKernels();
/// Strings taken apart: StringSplit and StringSplitV2, whose results are sparse tensors.
std::span<const KernelEntry> stringSplitKernels();
/// Strings: their case, length and joining, and texts with values in them.
std::span<const KernelEntry> stringKernels();
/// Parts of strings, runs of them, and those of one segment joined.
std::span<const KernelEntry> substringKernels();
/// Texts as code points: decoding and encoding, from one encoding into another, and scripts.
std::span<const KernelEntry> unicodeKernels();

inline constexpr KernelFamily textFamilies[] = {
    TREADLE_FAMILY(asStringKernels),     TREADLE_FAMILY(assertKernels),
    TREADLE_FAMILY(bytesKernels),        TREADLE_FAMILY(printKernels),
    TREADLE_FAMILY(regexKernels),        TREADLE_FAMILY(stringHashKernels),
    TREADLE_FAMILY(stringNumberKernels), TREADLE_FAMILY(stringSplitKernels),
    TREADLE_FAMILY(stringKernels),       TREADLE_FAMILY(substringKernels),
    TREADLE_FAMILY(unicodeKernels)};

} // namespace treadle
