// Caches compiled code in files.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace treadle::codegen {

/// A content key: a BLAKE3 hash of everything that the content depends on.
using ContentKey = std::array<uint8_t, 32>;

/// Bytes by key, each in its own file in one folder. Thread-safe, and safe for concurrent
/// processes: a file is written under a temporary name and renamed, and has a checksum.
///
/// No operation fails: files that can't be read count as missing, and files that can't be written
/// are skipped. Since the contents are executed, a file is used only if it belongs to the user of
/// the process and no one else may write it. When the size limit is exceeded, the least recently
/// used files are removed. Other files in the folder aren't touched.
class DiskCache {
public:
  static constexpr uint64_t defaultSize = uint64_t{256} << 20;

  /// The folder is created when the first file is written.
  explicit DiskCache(std::filesystem::path folder, uint64_t maxBytes = defaultSize)
      : folder(std::move(folder)), maxBytes(maxBytes) {}

  /// Returns the folder that the environment selects: `$TREADLE_CACHE_DIR`, or `treadle` in
  /// `$XDG_CACHE_HOME` or in `~/.cache`. Returns nullopt if the first is empty or `off`, or none is
  /// set.
  static std::optional<std::filesystem::path> defaultFolder();

  /// Returns the cached bytes; nullopt if there are none or they are corrupted. Corrupted files are
  /// removed.
  std::optional<std::string> find(const ContentKey &key) const;
  /// Writes bytes, unless they are larger than an eighth of the cache.
  void keep(const ContentKey &key, std::string_view bytes) const;

  std::filesystem::path pathOf(const ContentKey &key) const;

private:
  bool write(const ContentKey &key, std::string_view bytes) const;
  /// Removes the oldest files if the limit is exceeded. Returns the remaining bytes.
  uint64_t trim() const;

  const std::filesystem::path folder;
  const uint64_t maxBytes;
  mutable std::mutex mutex;              // guards the following members
  mutable std::optional<uint64_t> known; // total bytes of all files, as far as this process knows
};

} // namespace treadle::codegen
