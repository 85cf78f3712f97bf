#include "treadle/codegen/DiskCache.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace treadle::codegen {
namespace {

constexpr char magic[8] = {'T', 'R', 'D', 'L', 'C', 'O', 'D', 'E'};
constexpr uint64_t format = 1;
constexpr llvm::StringLiteral extension = ".code";
/// Temporary files have a suffix after the extension; older ones were abandoned.
constexpr std::chrono::hours oldest(1);

/// The header of a file. The cached bytes follow it.
struct Header {
  std::array<char, 8> magic;
  uint64_t format;
  ContentKey key;
  uint64_t size;                    // of the bytes after the header
  std::array<uint8_t, 32> checksum; // BLAKE3 of the fields above and the bytes
};
static_assert(sizeof(Header) == 88);

std::array<uint8_t, 32> checksumOf(const Header &header, std::string_view bytes) {
  llvm::BLAKE3 hash;
  hash.update(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(&header), offsetof(Header, checksum)));
  hash.update(llvm::StringRef(bytes));
  return hash.final();
}

class File {
public:
  File(const fs::path &path, int flags) : number(open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~File() {
    if (number >= 0)
      close(number);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  explicit operator bool() const { return number >= 0; }

  /// Whether it is a regular file that only this user can have written.
  bool isTrusted(struct stat &status) const {
    return fstat(number, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           !(status.st_mode & (S_IWGRP | S_IWOTH));
  }
  bool readAll(char *to, size_t size) const {
    while (size) {
      ssize_t count = ::read(number, to, size);
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return false;
      to += count, size -= static_cast<size_t>(count);
    }
    return true;
  }
  bool writeAll(std::string_view bytes) const {
    while (!bytes.empty()) {
      ssize_t count = ::write(number, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  /// Eviction uses the time of the last access.
  void markUsed() const { futimens(number, nullptr); }

private:
  const int number;
};

/// Returns the content of a file; nullopt if it isn't what was written for this key.
std::optional<std::string> contentOf(const File &file, size_t size, const ContentKey &key) {
  Header header;
  if (size < sizeof header || !file.readAll(reinterpret_cast<char *>(&header), sizeof header) ||
      !std::ranges::equal(header.magic, magic) || header.format != format || header.key != key ||
      header.size != size - sizeof header)
    return std::nullopt;
  std::string bytes(header.size, '\0');
  if (!file.readAll(bytes.data(), bytes.size()) || checksumOf(header, bytes) != header.checksum)
    return std::nullopt;
  return bytes;
}

struct Found {
  fs::path path;
  uint64_t size;
  timespec used;
  bool isUnfinished;
};

/// Whether the name is that of a cache file or of a temporary file.
bool isCacheFileName(llvm::StringRef name) {
  llvm::StringRef hash = name.take_while([](char c) { return llvm::isHexDigit(c); });
  return hash.size() == 2 * sizeof(ContentKey) &&
         name.drop_front(hash.size()).starts_with(extension);
}

std::vector<Found> filesIn(const fs::path &folder) {
  std::vector<Found> files;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    std::string name = it->path().filename().string();
    struct stat status;
    if (isCacheFileName(name) && lstat(it->path().c_str(), &status) == 0 &&
        S_ISREG(status.st_mode) && status.st_uid == geteuid())
      files.push_back({it->path(), static_cast<uint64_t>(status.st_size), status.st_mtim,
                       !llvm::StringRef(name).ends_with(extension)});
  }
  return files;
}

bool isAbandoned(const Found &file) {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return file.isUnfinished && std::chrono::seconds(file.used.tv_sec) + oldest < now;
}

std::optional<fs::path> absoluteFrom(const char *variable, const char *rest) {
  const char *value = secure_getenv(variable);
  if (!value || *value != '/')
    return std::nullopt;
  return fs::path(value) / rest;
}

} // namespace

std::optional<fs::path> DiskCache::defaultFolder() {
  if (const char *named = secure_getenv("TREADLE_CACHE_DIR"))
    return *named && std::string_view(named) != "off" ? std::optional<fs::path>(named)
                                                      : std::nullopt;
  if (auto folder = absoluteFrom("XDG_CACHE_HOME", "treadle"))
    return folder;
  return absoluteFrom("HOME", ".cache/treadle");
}

fs::path DiskCache::pathOf(const ContentKey &key) const {
  return folder / (llvm::toHex(key, /*LowerCase=*/true) + extension.str());
}

std::optional<std::string> DiskCache::find(const ContentKey &key) const {
  fs::path path = pathOf(key);
  // O_NONBLOCK: opening must not wait for a pipe.
  File file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat status;
  if (!file || !file.isTrusted(status) || static_cast<uint64_t>(status.st_size) > maxBytes)
    return std::nullopt;
  std::optional<std::string> bytes = contentOf(file, static_cast<size_t>(status.st_size), key);
  if (bytes)
    file.markUsed();
  else
    unlink(path.c_str());
  return bytes;
}

bool DiskCache::write(const ContentKey &key, std::string_view bytes) const {
  static std::atomic<unsigned> count{0};
  fs::path path = pathOf(key);
  fs::path unfinished = path;
  unfinished += "." + std::to_string(getpid()) + "." + std::to_string(count++);
  Header header{{}, format, key, bytes.size(), {}};
  std::ranges::copy(magic, header.magic.begin());
  header.checksum = checksumOf(header, bytes);
  bool isWritten = false;
  {
    File file(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    if (!file)
      return false;
    isWritten = file.writeAll({reinterpret_cast<const char *>(&header), sizeof header}) &&
                file.writeAll(bytes);
  }
  if (isWritten && rename(unfinished.c_str(), path.c_str()) == 0)
    return true;
  unlink(unfinished.c_str());
  return false;
}

uint64_t DiskCache::trim() const {
  std::vector<Found> files = filesIn(folder);
  std::ranges::sort(
      files, {}, [](const Found &file) { return std::pair(file.used.tv_sec, file.used.tv_nsec); });
  uint64_t total = 0;
  for (const Found &file : files)
    total += file.size;
  // Frees more than necessary, so that the next write needn't trim again.
  uint64_t wanted = total > maxBytes ? maxBytes / 4 * 3 : maxBytes;
  for (const Found &file : files)
    if ((total > wanted && !file.isUnfinished) || isAbandoned(file)) {
      unlink(file.path.c_str());
      total -= file.size;
    }
  return total;
}

void DiskCache::keep(const ContentKey &key, std::string_view bytes) const {
  if (bytes.size() > maxBytes / 8)
    return;
  std::error_code failed;
  if (!fs::exists(folder, failed)) {
    fs::create_directories(folder.parent_path(), failed);
    mkdir(folder.c_str(), 0700);
  }
  if (!write(key, bytes))
    return;
  std::lock_guard lock(mutex);
  if (known)
    *known += sizeof(Header) + bytes.size();
  if (!known || *known > maxBytes)
    known = trim();
}

} // namespace treadle::codegen
