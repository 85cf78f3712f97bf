// Strings: joined, split, matched, hashed, encoded, read as numbers; and tensors as text for
// people.
#include "treadle/runtime/Kernel.h"

/// Numbers as strings, in printf's formats.
TREADLE_FAMILY(asStringKernels)
/// Assert: ends the run, and says with which values, where a condition doesn't hold.
TREADLE_FAMILY(assertKernels)
/// Strings as bytes: tensors read from them, base 64, compressed data.
TREADLE_FAMILY(bytesKernels)
/// Print and PrintV2: text on a stream, through the run's own printer where it has one.
TREADLE_FAMILY(printKernels)
/// Matching and replacing by regular expressions, in RE2's syntax.
TREADLE_FAMILY(regexKernels)
/// The hashes, and the ops that put strings into buckets by them.
TREADLE_FAMILY(stringHashKernels)
/// Numbers in strings: alone, or as fields of lines of comma-separated values.
TREADLE_FAMILY(stringNumberKernels)
/// Strings taken apart: StringSplit and StringSplitV2, whose results are sparse tensors.
TREADLE_FAMILY(stringSplitKernels)
/// Strings: their case, length and joining, and texts with values in them.
TREADLE_FAMILY(stringKernels)
/// Parts of strings, runs of them, and those of one segment joined.
TREADLE_FAMILY(substringKernels)
/// Texts as code points: decoding and encoding, from one encoding into another, and scripts.
TREADLE_FAMILY(unicodeKernels)
