#include "fuzz/readers/Readers.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace treadle::fuzz {

std::span<const Reader> allReaders() {
  static const std::vector<Reader> all = [] {
    std::vector<Reader> readers;
    for (auto part : {graphReaders(), arrayReaders(), mediaReaders(), toolReaders()})
      readers.insert(readers.end(), part.begin(), part.end());
    std::ranges::sort(readers, {}, &Reader::name);
    return readers;
  }();
  return all;
}

const Reader *findReader(std::string_view name) {
  auto found = std::ranges::find(allReaders(), name, &Reader::name);
  return found == allReaders().end() ? nullptr : &*found;
}

std::vector<std::string_view> partsOf(std::string_view bytes) {
  std::vector<std::string_view> parts;
  while (bytes.size() >= 2) {
    auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(bytes[i])); };
    size_t size = std::min(byte(0) | byte(1) << 8, bytes.size() - 2);
    parts.push_back(bytes.substr(2, size));
    bytes.remove_prefix(2 + size);
  }
  return parts;
}

std::string joinParts(const std::vector<std::string> &parts) {
  std::string bytes;
  for (const std::string &part : parts) {
    bytes += static_cast<char>(part.size());
    bytes += static_cast<char>(part.size() >> 8);
    bytes += part;
  }
  return bytes;
}

namespace {

/// Removed when the process exits normally.
struct Folder {
  Folder()
      : path(std::filesystem::temp_directory_path() / ("readers-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() {
    std::error_code ignored;
    if (owner == getpid())
      std::filesystem::remove_all(path, ignored);
  }
  const std::filesystem::path path;
  const pid_t owner = getpid();
};

} // namespace

std::string writeTempFile(std::string_view bytes, std::string_view name) {
  static const Folder folder;
  std::string path = folder.path / name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

} // namespace treadle::fuzz
