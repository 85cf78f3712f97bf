// Tests of the compile thread: the order of jobs, and clients that are destroyed while it works.
#include "treadle/codegen/CompileThread.h"

#include <gtest/gtest.h>

#include <array>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace treadle::codegen {
namespace {

/// Waits for all jobs submitted so far: the thread runs them in order.
void catchUp() {
  auto client = CompileClient::make();
  std::promise<void> done;
  ASSERT_TRUE(client->submit([&](CompileClient &) { done.set_value(); }));
  done.get_future().wait();
}

/// Keeps the thread busy until it is destroyed.
class Busy {
public:
  Busy() {
    client->submit([started = &started, free = free.get_future().share()](CompileClient &) {
      started->set_value();
      free.wait();
    });
    started.get_future().wait();
  }
  ~Busy() {
    free.set_value();
    catchUp();
  }
  const std::shared_ptr<CompileClient> client = CompileClient::make();

private:
  std::promise<void> started, free;
};

TEST(CompileThread, TakesJobsInTheirOrderOnOneThread) {
  auto a = CompileClient::make(), b = CompileClient::make();
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE((i % 2 ? a : b)->submit([&, i](CompileClient &client) {
      EXPECT_EQ(&client, (i % 2 ? a : b).get());
      order.push_back(i);
      threads.push_back(std::this_thread::get_id());
    }));
  catchUp();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(order[i], i);
    EXPECT_EQ(threads[i], threads[0]);
    EXPECT_NE(threads[i], std::this_thread::get_id());
  }
}

TEST(CompileThread, CountsWhatWaitsOrRuns) {
  auto client = CompileClient::make();
  {
    Busy busy;
    EXPECT_EQ(busy.client->pending(), 1u);
    client->submit([](CompileClient &) {});
    client->submit([](CompileClient &) {});
    EXPECT_EQ(client->pending(), 2u);
  }
  EXPECT_EQ(client->pending(), 0u);
}

TEST(CompileThread, JobsOfAClosedClientAreForgotten) {
  auto closed = CompileClient::make(), open = CompileClient::make();
  std::atomic<int> ran{0};
  auto held = std::make_shared<int>(0);
  {
    Busy busy;
    closed->submit([&, held](CompileClient &) { ran += 100; });
    open->submit([&](CompileClient &) { ran += 1; });
    closed->close();
    EXPECT_EQ(closed->pending(), 0u);
    EXPECT_EQ(held.use_count(), 1); // the captured objects are released
    EXPECT_FALSE(closed->submit([&](CompileClient &) { ran += 100; }));
  }
  EXPECT_EQ(ran, 1);
}

TEST(CompileThread, TheJobThatRunsIsToldToEnd) {
  auto client = CompileClient::make();
  std::promise<void> started, ended;
  client->submit([&](CompileClient &own) {
    started.set_value();
    while (!own.isCancelled())
      std::this_thread::yield();
    ended.set_value();
  });
  started.get_future().wait();
  client->close();
  ended.get_future().wait();
}

TEST(CompileThread, NobodyForksWhileAJobHoldsLocksOfOthers) {
  std::mutex others;
  std::promise<void> started;
  auto client = CompileClient::make();
  client->submit([&](CompileClient &) {
    CompileClient::withForksBlocked([&] {
      std::lock_guard lock(others);
      started.set_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
  });
  started.get_future().wait();
  pid_t child = fork();
  if (child == 0)
    _exit(others.try_lock() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  catchUp();
}

TEST(CompileThread, AJobWithoutMemoryEndsNothingElse) {
  auto client = CompileClient::make();
  client->submit([](CompileClient &) { throw std::bad_alloc(); });
  catchUp();
  EXPECT_EQ(client->pending(), 0u);
}

TEST(CompileThread, ServesManyOwnersThatComeAndGo) {
  std::atomic<int> used{0};
  auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < 100; ++round) {
      auto client = CompileClient::make();
      auto owned = std::make_shared<std::array<std::atomic<int>, 8>>();
      int jobs = static_cast<int>(random() % 4);
      for (int i = 0; i < jobs; ++i)
        client->submit([owned, &used, i](CompileClient &) {
          ++(*owned)[i];
          ++used;
        });
      if (random() % 2)
        std::this_thread::yield();
      client->close();
      for (int count : *owned)
        EXPECT_LE(count, 1);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed)
    threads.emplace_back(work, seed);
  for (std::thread &thread : threads)
    thread.join();
  catchUp();
  RecordProperty("used", used);
}

} // namespace
} // namespace treadle::codegen
