// Files of compiled code, for later processes.
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

/// Names content: a BLAKE3 hash of all that it depends on.
using ContentKey = std::array<uint8_t, 32>;

/// Bytes by key, each in a file of its own in one folder. Thread-safe, and safe beside other
/// processes: a file is written under another name and renamed, and bears a checksum.
///
/// Nothing here is an error: what can't be read isn't there, what can't be written is left out. A
/// file counts only if it belongs to the process's user and nobody else may write it, since what is
/// in it is executed. Above its size the cache forgets what wasn't used for longest. It touches no
/// files but its own.
class DiskCache {
public:
  static constexpr uint64_t defaultSize = uint64_t{256} << 20;

  /// The folder is made when the first file is.
  explicit DiskCache(std::filesystem::path folder, uint64_t maxBytes = defaultSize)
      : folder(std::move(folder)), maxBytes(maxBytes) {}

  /// Where the environment wants it: `$TREADLE_CACHE_DIR`, or `treadle` in `$XDG_CACHE_HOME`, or in
  /// `~/.cache`. Nothing where the first is empty or `off`, or there is none of them.
  static std::optional<std::filesystem::path> folderOfProcess();

  /// What was kept; nothing for what wasn't, or is damaged, which is removed.
  std::optional<std::string> find(const ContentKey &key) const;
  /// Bytes larger than an eighth of the cache aren't kept.
  void keep(const ContentKey &key, std::string_view bytes) const;

  std::filesystem::path pathOf(const ContentKey &key) const;

private:
  bool write(const ContentKey &key, std::string_view bytes) const;
  /// Removes the oldest files if they are too many. Their bytes.
  uint64_t trim() const;

  const std::filesystem::path folder;
  const uint64_t maxBytes;
  mutable std::mutex mutex;              // guards what follows
  mutable std::optional<uint64_t> known; // bytes of all files, as far as this process knows
};

} // namespace treadle::codegen
