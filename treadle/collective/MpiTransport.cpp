// libtreadle_mpi.so: the MPI transport. One thread makes all MPI calls, so that any build of
// OpenMPI works.
#include "treadle/collective/MpiLibrary.h"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Outgoing {
  int to;
  std::vector<char> bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};

class World {
public:
  static World &get() {
    static auto *world = new World; // never destroyed: needed at exit
    return *world;
  }

  int open(int *rank, int *size, double seconds) {
    if (!thread.joinable())
      thread = std::thread([this] { run(); });
    std::unique_lock lock(mutex);
    constexpr double forever = 1e8; // seconds, still representable by clocks
    std::chrono::duration<double> patience(std::min(seconds, forever));
    if (!changed.wait_for(lock, patience, [&] { return isOpen; }))
      return treadle_mpi_late;
    *rank = ownRank;
    *size = worldSize;
    return status;
  }

  void listen(treadle_mpi_take newTake, void *newReceiver) {
    std::lock_guard lock(mutex);
    take = newTake;
    receiver = newReceiver;
  }

  void send(int to, const void *bytes, size_t size) {
    const char *begin = static_cast<const char *>(bytes);
    std::lock_guard lock(mutex);
    queue.push_back({to, {begin, begin + size}});
    hasWork = true;
  }

  void close(bool failed, double seconds) {
    {
      std::lock_guard lock(mutex);
      end = Clock::now() +
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
      isClosing = true;
    }
    std::unique_lock lock(mutex);
    if (failed && !changed.wait_until(lock, end, [&] { return hasLeft; }))
      return thread.detach(); // another rank is missing: mpirun ends it when this process ends
    lock.unlock();
    thread.join();
  }

private:
  static constexpr int tag = 1;

  void run() {
    int provided = 0;
    int result = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    if (result == MPI_SUCCESS) {
      MPI_Comm_rank(MPI_COMM_WORLD, &ownRank);
      MPI_Comm_size(MPI_COMM_WORLD, &worldSize);
    }
    {
      std::lock_guard lock(mutex);
      status = result;
      isOpen = true;
    }
    changed.notify_all();
    if (result == MPI_SUCCESS)
      serve();
  }

  // MPI can't block until a message arrives, so this polls with increasing sleeps.
  void serve() {
    constexpr auto shortest = std::chrono::microseconds(5),
                   longest = std::chrono::microseconds(200);
    auto pause = shortest;
    while (true) {
      bool isBusy = startSends();
      isBusy |= finishSends();
      isBusy |= receive();
      if (isOver())
        break;
      pause = isBusy ? shortest : std::min(pause * 2, longest);
      if (!isBusy)
        std::this_thread::sleep_for(pause);
    }
    // Also after a failure: mpirun 4.1 sometimes hangs when a process has just closed its
    // connection.
    if (sending.empty())
      MPI_Finalize();
    std::lock_guard lock(mutex);
    hasLeft = true;
    changed.notify_all();
  }

  bool isOver() {
    std::lock_guard lock(mutex);
    return isClosing && ((queue.empty() && sending.empty()) || Clock::now() > end);
  }

  bool startSends() {
    std::deque<Outgoing> started;
    if (!hasWork.exchange(false))
      return false;
    {
      std::lock_guard lock(mutex);
      started.swap(queue);
      for (Outgoing &message : started)
        sending.push_back(std::move(message));
    }
    for (Outgoing &message : sending)
      if (message.request == MPI_REQUEST_NULL)
        MPI_Isend(message.bytes.data(), static_cast<int>(message.bytes.size()), MPI_BYTE,
                  message.to, tag, MPI_COMM_WORLD, &message.request);
    return true;
  }

  bool finishSends() {
    bool any = false;
    std::lock_guard lock(mutex);
    for (auto it = sending.begin(); it != sending.end();) {
      int isDone = 0;
      MPI_Test(&it->request, &isDone, MPI_STATUS_IGNORE);
      any |= isDone != 0;
      it = isDone ? sending.erase(it) : std::next(it);
    }
    return any;
  }

  // Messages that arrive before `listen` is called stay in MPI.
  bool receive() {
    treadle_mpi_take handler;
    void *object;
    {
      std::lock_guard lock(mutex);
      handler = take;
      object = receiver;
    }
    int found = 0;
    if (!handler)
      return false;
    MPI_Message message;
    MPI_Status state;
    MPI_Improbe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &found, &message, &state);
    if (!found)
      return false;
    int size = 0;
    MPI_Get_count(&state, MPI_BYTE, &size);
    std::vector<char> bytes(static_cast<size_t>(size));
    MPI_Mrecv(bytes.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    handler(object, state.MPI_SOURCE, bytes.data(), bytes.size());
    return true;
  }

  std::thread thread;
  std::mutex mutex;
  std::condition_variable changed;
  bool isOpen = false, isClosing = false, hasLeft = false;
  int status = 0, ownRank = 0, worldSize = 1;
  Clock::time_point end;
  std::deque<Outgoing> queue;
  std::list<Outgoing> sending;
  std::atomic<bool> hasWork{false};
  treadle_mpi_take take = nullptr;
  void *receiver = nullptr;
};

const treadle_mpi_functions functions = {
    [](int *rank, int *size, double seconds) { return World::get().open(rank, size, seconds); },
    [](treadle_mpi_take take, void *receiver) { World::get().listen(take, receiver); },
    [](int to, const void *bytes, size_t size) { World::get().send(to, bytes, size); },
    [](int hasFailed, double seconds) { World::get().close(hasFailed != 0, seconds); },
};

} // namespace

extern "C" __attribute__((visibility("default"))) const treadle_mpi_functions *treadle_mpi(void) {
  return &functions;
}
