#include "treadle/collective/World.h"

#include "treadle/collective/MessageBytes.h"
#include "treadle/collective/MpiLibrary.h"
#include "treadle/runtime/SharedLibrary.h"

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>

namespace treadle {
namespace {

constexpr std::string_view libraryName = "libtreadle_mpi.so";

class MpiTransport final : public Transport {
public:
  MpiTransport(const treadle_mpi_functions &mpi, int rank, int size)
      : mpi(mpi), number(rank), count(size) {}

  int rank() const override { return number; }
  int size() const override { return count; }
  void send(int to, std::string key, Tensor value) override {
    std::string bytes = messageBytes(key, value);
    mpi.send(to, bytes.data(), bytes.size());
  }
  void listen(Take newTake) override {
    take = std::move(newTake);
    mpi.listen(
        [](void *self, int from, const void *bytes, size_t size) {
          std::optional<Message> message =
              messageOf(from, {static_cast<const char *>(bytes), size});
          if (message)
            static_cast<MpiTransport *>(self)->take(std::move(*message));
        },
        this);
  }
  void close() override { mpi.listen(nullptr, nullptr); }

private:
  const treadle_mpi_functions &mpi;
  const int number, count;
  Take take;
};

/// Returns the folders that may contain the library: that of this program or module, `lib` beside
/// it, and one level above for a Python package.
std::vector<std::string> candidates() {
  // For a program, the loader only knows the name by which it was called.
  std::vector<std::string> paths, files = {"/proc/self/exe"};
  Dl_info here;
  if (dladdr(reinterpret_cast<const void *>(&isStartedByMpi), &here) && here.dli_fname)
    files.emplace_back(here.dli_fname);
  for (const std::string &file : files) {
    std::error_code ignored;
    std::filesystem::path folder = std::filesystem::weakly_canonical(file, ignored).parent_path();
    for (const char *place : {"", "../lib", "../../lib"})
      paths.push_back((folder / place / libraryName).string());
  }
  paths.emplace_back(libraryName);
  return paths;
}

Expected<const treadle_mpi_functions *> load() {
  std::string why;
  for (const std::string &path : candidates()) {
    // OpenMPI's plugins look up its symbols globally.
    void *library = openSharedLibrary(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
      const char *error = dlerror();
      why = error ? error : "this program is linked statically";
      continue;
    }
    auto entry = reinterpret_cast<decltype(&treadle_mpi)>(dlsym(library, "treadle_mpi"));
    if (entry)
      return entry();
    why = dlerror();
  }
  return Unexpected(notFound("this process was started by mpirun, but '", libraryName,
                             "' can't be loaded: ", why,
                             "; build it where libopenmpi-dev is installed"));
}

/// Created once; never destroyed, since runs may use it while the process exits.
struct Joined {
  std::mutex mutex;
  const treadle_mpi_functions *mpi = nullptr;
  std::shared_ptr<Communicator> communicator;
};
Joined &joined() {
  static auto *world = new Joined;
  return *world;
}

} // namespace

bool isStartedByMpi() {
  const char *size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size && std::string_view(size) != "1";
}

Expected<std::shared_ptr<Communicator>> joinWorld(double timeout) {
  Joined &world = joined();
  std::lock_guard lock(world.mutex);
  if (world.communicator)
    return world.communicator;
  if (!isStartedByMpi())
    return world.communicator = std::make_shared<Communicator>(nullptr, timeout);
  Expected<const treadle_mpi_functions *> mpi = load();
  if (!mpi)
    return Unexpected(std::move(mpi.error()));
  int rank = 0, size = 1;
  int status = (*mpi)->open(&rank, &size, timeout);
  if (status == treadle_mpi_late)
    return Unexpected(
        deadlineExceeded("joining the others: not all ", std::getenv("OMPI_COMM_WORLD_SIZE"),
                         " processes that mpirun started have joined within ", timeout,
                         " s; one has ended, is slow, or doesn't run Treadle"));
  if (status != 0)
    return Unexpected(unavailable("MPI can't be initialized: error ", status));
  world.mpi = *mpi;
  return world.communicator = std::make_shared<Communicator>(
             std::make_unique<MpiTransport>(**mpi, rank, size), timeout);
}

void leaveWorld(bool hasFailed) {
  Joined &world = joined();
  std::lock_guard lock(world.mutex);
  const double patience = hasFailed ? 1 : 5; // seconds
  if (!world.mpi)
    return;
  world.communicator->leave();
  if (!hasFailed && world.communicator->rank() == 0)
    world.communicator->waitForOthersToLeave();
  std::exchange(world.mpi, nullptr)->close(hasFailed, patience);
}

} // namespace treadle
