#include "treadle/checkpoint/Files.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace treadle {

Error fileError(std::string_view what, const std::string &path) {
  int code = errno;
  if (code == ENOENT || code == ENOTDIR)
    return notFound("there is no file '", path, "'");
  std::string message = str("'", path, "' can't be ", what, ": ", std::strerror(code));
  if (code == EACCES || code == EPERM || code == EROFS)
    return permissionDenied(message);
  if (code == ENOSPC || code == EDQUOT)
    return resourceExhausted(message);
  return unavailable(message);
}

// --- reading -----------------------------------------------------------------------------------

Expected<InputFile> InputFile::open(const std::string &path, const FileAccess &files) {
  TREADLE_TRY(files.mayRead(path));
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return Unexpected(fileError("read", path));
  InputFile file(descriptor, 0, path);
  struct stat status;
  if (fstat(descriptor, &status))
    return Unexpected(fileError("read", path));
  if (!S_ISREG(status.st_mode))
    return Unexpected(invalidArgument("'", path, "' is not a regular file"));
  file.fileSize = status.st_size;
  return file;
}

InputFile::InputFile(InputFile &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), fileSize(other.fileSize),
      path(std::move(other.path)) {}

InputFile &InputFile::operator=(InputFile &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  std::swap(fileSize, other.fileSize);
  std::swap(path, other.path);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor >= 0)
    close(descriptor);
}

Expected<void> InputFile::read(void *out, int64_t size, int64_t offset) const {
  auto *at = static_cast<char *>(out);
  while (size) {
    ssize_t got = pread(descriptor, at, static_cast<size_t>(size), offset);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return Unexpected(fileError("read", path));
    if (!got)
      return Unexpected(dataLoss("'", path, "' is truncated: it has ", fileSize, " bytes, and ",
                                 size, " more are expected at offset ", offset));
    at += got, offset += got, size -= got;
  }
  return {};
}

std::shared_ptr<void> InputFile::map(int64_t size, int64_t offset) const {
  int64_t before = offset % sysconf(_SC_PAGESIZE);
  auto length = static_cast<size_t>(before + size);
  void *pages = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                     descriptor, offset - before);
  if (pages == MAP_FAILED)
    return nullptr;
  return {static_cast<char *>(pages) + before, [=](void *) { munmap(pages, length); }};
}

Expected<std::string> readWholeFile(const std::string &path, const FileAccess &files) {
  InputFile file = TREADLE_TRY(InputFile::open(path, files));
  std::string bytes(static_cast<size_t>(file.size()), '\0');
  TREADLE_TRY(file.read(bytes.data(), file.size(), 0));
  return bytes;
}

// --- writing -----------------------------------------------------------------------------------

Expected<OutputFile> OutputFile::create(const std::string &path, const FileAccess &files) {
  TREADLE_TRY(files.mayWrite(path));
  std::error_code failure;
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty())
    std::filesystem::create_directories(folder, failure);
  if (failure) {
    errno = failure.value();
    return Unexpected(fileError("made", folder.string()));
  }
  static std::atomic<unsigned> made{0};
  int descriptor = -1;
  std::string temporary;
  do {
    temporary = str(path, ".tmp-", getpid(), "-", made++);
    descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EEXIST);
  if (descriptor < 0)
    return Unexpected(fileError("written", path));
  return OutputFile(descriptor, path, temporary);
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), written(other.written),
      path(std::move(other.path)), temporary(std::exchange(other.temporary, {})),
      buffer(std::move(other.buffer)) {}

OutputFile::~OutputFile() {
  if (descriptor >= 0)
    close(descriptor);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

Expected<void> OutputFile::writeOut(const void *bytes, size_t size) {
  const auto *at = static_cast<const char *>(bytes);
  while (size) {
    ssize_t put = write(descriptor, at, size);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return Unexpected(fileError("written", path));
    at += put, size -= static_cast<size_t>(put);
  }
  return {};
}

Expected<void> OutputFile::append(const void *bytes, size_t size) {
  constexpr size_t large = 64 << 10;
  written += static_cast<int64_t>(size);
  if (buffer.size() + size < large) {
    buffer.append(static_cast<const char *>(bytes), size);
    return {};
  }
  Expected<void> done = writeOut(buffer.data(), buffer.size());
  buffer.clear();
  return done ? writeOut(bytes, size) : done;
}

Expected<void> OutputFile::commit(const std::string &name) {
  Expected<void> done = writeOut(buffer.data(), buffer.size());
  buffer.clear();
  if (!done)
    return done;
  if (fsync(descriptor) && errno != EINVAL)
    return Unexpected(fileError("written", path));
  if (close(std::exchange(descriptor, -1)))
    return Unexpected(fileError("written", path));
  done = renameFile(temporary, name);
  if (done)
    temporary.clear();
  return done;
}

Expected<void> renameFile(const std::string &from, const std::string &to) {
  if (std::rename(from.c_str(), to.c_str()))
    return Unexpected(fileError("written", to));
  return {};
}

} // namespace treadle
