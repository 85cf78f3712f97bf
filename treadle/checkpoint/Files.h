// Files as checkpoints need them: read at an offset, and replaced as a whole or not at all.
#pragma once

#include "treadle/checkpoint/FileAccess.h"
#include "treadle/tensor/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace treadle {

/// The error of a call of the system that failed for `path`, by errno.
Error fileError(std::string_view what, const std::string &path);

/// NotFound, PermissionDenied or Unavailable, naming the file; InvalidArgument for what is no
/// regular file.
Expected<std::string> readWholeFile(const std::string &path, const FileAccess &files);

/// A file that is read at offsets. Thread-safe once open.
class InputFile {
public:
  static Expected<InputFile> open(const std::string &path, const FileAccess &files);
  InputFile(InputFile &&other) noexcept;
  InputFile &operator=(InputFile &&other) noexcept;
  ~InputFile();

  int64_t size() const { return fileSize; }
  /// Reads exactly `size` bytes; DataLoss if the file ends before.
  Expected<void> read(void *out, int64_t size, int64_t offset) const;
  /// Bytes of the file as memory of one's own: a page is read when it is first used, and copied
  /// when it is first written. Null where the system has no such memory. Whoever changes the file
  /// in place changes them; whoever truncates it takes them away.
  std::shared_ptr<void> map(int64_t size, int64_t offset) const;

private:
  InputFile(int descriptor, int64_t size, std::string path)
      : descriptor(descriptor), fileSize(size), path(std::move(path)) {}
  int descriptor;
  int64_t fileSize;
  std::string path;
};

/// A new file under a temporary name beside `path`; it takes that name by `commit`, and is gone
/// without. What was at `path` before is there, unharmed, until then.
class OutputFile {
public:
  /// Makes missing folders on the way.
  static Expected<OutputFile> create(const std::string &path, const FileAccess &files);
  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  Expected<void> append(const void *bytes, size_t size);
  Expected<void> append(std::string_view bytes) { return append(bytes.data(), bytes.size()); }
  int64_t size() const { return written; }
  /// Writes out what is buffered, to the disk itself, and gives the file the name `path`.
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
