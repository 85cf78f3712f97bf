// Data that zlib compressed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace treadle {

/// What zlib is told of a compression type, `ZLIB` or `GZIP`; 0 for "": not compressed. Nothing for
/// others.
std::optional<int> windowBitsOf(std::string_view compressionType);

/// Appends what was compressed to `out`; false where `bytes` is something else. What is cut off
/// gives what there is.
bool inflateAll(std::string_view bytes, int windowBits, std::string &out);

} // namespace treadle
