#include "treadle/sandbox/SharedMemory.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace treadle::sandbox {

static Error failure(const char *what) {
  return resourceExhausted("can't create shared memory for a sandbox: ", what, ": ",
                           std::strerror(errno));
}

void SharedMemory::Unmap::operator()(SharedLayout *memory) const {
  munmap(memory, sizeof(SharedLayout));
}

Expected<SharedMemory> SharedMemory::map(int file, std::shared_ptr<const int> owned) {
  void *memory = mmap(nullptr, sizeof(SharedLayout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED)
    return Unexpected(failure("it can't be mapped"));
  // Zero bytes are a valid initial state.
  return SharedMemory(static_cast<SharedLayout *>(memory), std::move(owned));
}

Expected<SharedMemory> SharedMemory::make() {
  int file = memfd_create("treadle-sandbox", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0)
    return Unexpected(failure("memfd_create"));
  auto close = [](const int *number) {
    ::close(*number);
    delete number;
  };
  std::shared_ptr<const int> owned(new int(file), close);
  constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (ftruncate(file, sizeof(SharedLayout)) || fcntl(file, F_ADD_SEALS, seals))
    return Unexpected(failure("it can't be sealed"));
  return map(file, std::move(owned));
}

Expected<SharedMemory> SharedMemory::open(int file) {
  struct stat status{};
  if (fstat(file, &status) || status.st_size != static_cast<off_t>(sizeof(SharedLayout)))
    return Unexpected(invalidArgument("file ", file, " is not the shared memory of a sandbox"));
  return map(file, nullptr);
}

} // namespace treadle::sandbox
