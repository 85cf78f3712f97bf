// File access for checkpoints: reads at offsets, and atomic replacement.
#pragma once

#include "treadle/checkpoint/FileAccess.h"
#include "treadle/tensor/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace treadle {

/// Converts errno of a failed system call on `path` to an error.
Error fileError(std::string_view what, const std::string &path);

/// Reads a whole file. NotFound, PermissionDenied or Unavailable, naming the file; InvalidArgument
/// if it isn't a regular file.
Expected<std::string> readWholeFile(const std::string &path, const FileAccess &files);

/// A file that is read at offsets. Thread-safe once open.
class InputFile {
public:
  static Expected<InputFile> open(const std::string &path, const FileAccess &files);
  InputFile(InputFile &&other) noexcept;
  InputFile &operator=(InputFile &&other) noexcept;
  ~InputFile();

  int64_t size() const { return fileSize; }
  /// Reads exactly `size` bytes; DataLoss if the file is too short.
  Expected<void> read(void *out, int64_t size, int64_t offset) const;
  /// Maps bytes of the file as private copy-on-write memory. Returns null if the system can't map
  /// them. Changes of the file by others are visible in it, and truncation invalidates it.
  std::shared_ptr<void> map(int64_t size, int64_t offset) const;

private:
  InputFile(int descriptor, int64_t size, std::string path)
      : descriptor(descriptor), fileSize(size), path(std::move(path)) {}
  int descriptor;
  int64_t fileSize;
  std::string path;
};

/// A new file under a temporary name beside `path`. `commit` renames it; the destructor deletes it
/// otherwise. An old file at `path` is unchanged until then.
class OutputFile {
public:
  /// Creates missing parent folders.
  static Expected<OutputFile> create(const std::string &path, const FileAccess &files);
  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  Expected<void> append(const void *bytes, size_t size);
  Expected<void> append(std::string_view bytes) { return append(bytes.data(), bytes.size()); }
  int64_t size() const { return written; }
  /// Flushes and syncs the file, and renames it to `path`.
  Expected<void> commit(const std::string &path);
  Expected<void> commit() { return commit(path); }

private:
  OutputFile(int descriptor, std::string path, std::string temporary)
      : descriptor(descriptor), path(std::move(path)), temporary(std::move(temporary)) {}
  Expected<void> writeOut(const void *bytes, size_t size);

  int descriptor;
  int64_t written = 0;
  std::string path, temporary, buffer;
};

Expected<void> renameFile(const std::string &from, const std::string &to);

} // namespace treadle
