// A world of ranks in one process: messages are delayed as by links.
#include "treadle/collective/Communicator.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace treadle {
namespace {

using Clock = std::chrono::steady_clock;

/// Messages to one rank, ordered by arrival time.
class Inbox {
public:
  void put(Clock::time_point when, Message message) {
    std::lock_guard lock(mutex);
    messages.emplace(when, std::move(message));
    changed.notify_all();
  }

  void listen(Transport::Take take) {
    thread = std::thread([this, take = std::move(take)] { run(take); });
  }

  void close() {
    {
      std::lock_guard lock(mutex);
      isClosed = true;
      changed.notify_all();
    }
    if (thread.joinable())
      thread.join();
  }

private:
  void run(const Transport::Take &take) {
    std::unique_lock lock(mutex);
    while (!isClosed) {
      if (messages.empty()) {
        changed.wait(lock);
        continue;
      }
      Clock::time_point when = messages.begin()->first;
      if (Clock::now() < when) {
        changed.wait_until(lock, when);
        continue;
      }
      Message message = std::move(messages.begin()->second);
      messages.erase(messages.begin());
      lock.unlock();
      take(std::move(message));
      lock.lock();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::multimap<Clock::time_point, Message> messages; // equal times: in sending order
  bool isClosed = false;
  std::thread thread;
};

struct World {
  explicit World(int size) : inboxes(static_cast<size_t>(size)) {}
  std::vector<Inbox> inboxes;
};

class SimulatedTransport final : public Transport {
public:
  SimulatedTransport(std::shared_ptr<World> world, int rank, Link link)
      : world(std::move(world)), number(rank), link(link) {}
  ~SimulatedTransport() override { close(); }

  int rank() const override { return number; }
  int size() const override { return static_cast<int>(world->inboxes.size()); }
  void listen(Take take) override { inbox(number).listen(std::move(take)); }
  void close() override { inbox(number).close(); }

  void send(int to, std::string key, Tensor value) override {
    Clock::time_point arrival;
    {
      std::lock_guard lock(mutex);
      double seconds =
          link.bytesPerSecond > 0 ? static_cast<double>(value.bytes()) / link.bytesPerSecond : 0;
      freeAt = std::max(freeAt, Clock::now()) + duration(seconds);
      arrival = freeAt + duration(link.latency);
    }
    inbox(to).put(arrival, {number, std::move(key), std::move(value)});
  }

private:
  static Clock::duration duration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  Inbox &inbox(int rank) { return world->inboxes[static_cast<size_t>(rank)]; }

  const std::shared_ptr<World> world;
  const int number;
  const Link link;
  std::mutex mutex;
  Clock::time_point freeAt; // when the link has transmitted everything so far
};

} // namespace

std::vector<std::unique_ptr<Transport>> simulatedWorld(int size, Link link) {
  auto world = std::make_shared<World>(size);
  std::vector<std::unique_ptr<Transport>> ranks;
  ranks.reserve(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank)
    ranks.push_back(std::make_unique<SimulatedTransport>(world, rank, link));
  return ranks;
}

} // namespace treadle
