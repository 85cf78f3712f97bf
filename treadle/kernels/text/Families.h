// Kernels for strings: joining, splitting, matching, hashing, encodings, parsing of numbers, and
// printing of tensors.
#include "treadle/runtime/Kernel.h"

/// AsString: numbers to strings, in printf's formats.
TREADLE_FAMILY(asStringKernels)
/// Assert: fails the run with the given values if the condition is false.
TREADLE_FAMILY(assertKernels)
/// Strings as bytes: serialized tensors, raw elements, base 64 and compression.
TREADLE_FAMILY(bytesKernels)
/// Print and PrintV2: write to a stream, or to the session's print function if there is one.
TREADLE_FAMILY(printKernels)
/// Regular expressions (RE2): matching and replacement.
TREADLE_FAMILY(regexKernels)
/// String hashes, and ops that assign strings to hash buckets.
TREADLE_FAMILY(stringHashKernels)
/// Numbers in strings: single ones, and fields of CSV records.
TREADLE_FAMILY(stringNumberKernels)
/// StringSplit and StringSplitV2, whose results are sparse tensors.
TREADLE_FAMILY(stringSplitKernels)
/// Case, length, joining and formatting of strings.
TREADLE_FAMILY(stringKernels)
/// Substrings, n-grams, and joining by segments.
TREADLE_FAMILY(substringKernels)
/// Unicode: decoding, encoding, transcoding and scripts.
TREADLE_FAMILY(unicodeKernels)
