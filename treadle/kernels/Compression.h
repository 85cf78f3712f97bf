// Decompression of data that zlib compressed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace treadle {

/// Returns zlib's `windowBits` for a compression type, `ZLIB` or `GZIP`; 0 for "" (uncompressed);
/// nullopt for any other.
std::optional<int> windowBitsOf(std::string_view compressionType);

/// Decompresses `bytes` and appends the result to `out`. Returns false if `bytes` isn't in the
/// given format. Truncated input yields the part that can be decompressed.
bool inflateAll(std::string_view bytes, int windowBits, std::string &out);

} // namespace treadle
