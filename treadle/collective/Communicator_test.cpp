// Collectives among ranks in this process, each on a thread of its own.
#include "treadle/collective/Communicator.h"

#include <gtest/gtest.h>

#include <future>
#include <numeric>
#include <thread>

namespace treadle {
namespace {

using Values = std::vector<float>;

Tensor vectorOf(const Values &values) { return Tensor::vector<float>(DType::Float32, values); }

struct World {
  explicit World(int size, SimulatedLink link = {}, double timeout = 20) {
    for (auto &transport : simulatedWorld(size, link))
      ranks.push_back(std::make_unique<Communicator>(std::move(transport), timeout));
  }

  /// What each rank's call gives; the call is made by the rank's number.
  std::vector<Expected<Tensor>> run(const std::function<Collective(int)> &call) {
    std::vector<std::future<Expected<Tensor>>> results;
    for (size_t i = 0; i < ranks.size(); ++i) {
      auto result = std::make_shared<std::promise<Expected<Tensor>>>();
      results.push_back(result->get_future());
      ranks[i]->start(call(static_cast<int>(i)),
                      [result](Expected<Tensor> value) { result->set_value(std::move(value)); });
    }
    std::vector<Expected<Tensor>> values;
    for (auto &result : results)
      values.push_back(result.get());
    return values;
  }

  std::vector<std::unique_ptr<Communicator>> ranks;
};

Collective collective(Collective::Kind kind, int size, Tensor input) {
  Collective call;
  call.kind = kind;
  call.groupSize = size;
  call.input = std::move(input);
  call.name = "c";
  return call;
}

Values valuesOf(const Expected<Tensor> &tensor) {
  EXPECT_TRUE(tensor) << (tensor ? "" : tensor.error().message);
  if (!tensor)
    return {};
  auto span = tensor->values<float>();
  return {span.begin(), span.end()};
}

TEST(Communicator, ReducesSmallAndLargeValues) {
  for (int size : {2, 3, 4})
    for (int64_t count : {1, 7, 5000}) {
      World world(size);
      auto input = [&](int rank) {
        Values values(static_cast<size_t>(count));
        std::iota(values.begin(), values.end(), static_cast<float>(rank));
        return vectorOf(values);
      };
      for (bool isMean : {false, true})
        for (const auto &result : world.run([&](int rank) {
               Collective call = collective(Collective::AllReduce, size, input(rank));
               call.isMean = isMean;
               return call;
             })) {
          Values values = valuesOf(result);
          ASSERT_EQ(values.size(), static_cast<size_t>(count));
          float ranks = static_cast<float>(size * (size - 1)) / 2, n = static_cast<float>(size);
          for (size_t i = 0; i < values.size(); ++i)
            ASSERT_FLOAT_EQ(values[i], (ranks + n * static_cast<float>(i)) / (isMean ? n : 1));
        }
    }
}

TEST(Communicator, ReducesByMinMaxAndMul) {
  World world(3);
  auto reduce = [&](Reduction reduction) {
    return valuesOf(world.run([&](int rank) {
      Collective call =
          collective(Collective::AllReduce, 3, vectorOf({static_cast<float>(rank + 1), -2}));
      call.reduction = reduction;
      return call;
    })[1]);
  };
  EXPECT_EQ(reduce(Reduction::Min), (Values{1, -2}));
  EXPECT_EQ(reduce(Reduction::Max), (Values{3, -2}));
  EXPECT_EQ(reduce(Reduction::Mul), (Values{6, -8}));
}

TEST(Communicator, GathersScattersAndExchanges) {
  World world(2);
  auto input = [](int rank) {
    float r = static_cast<float>(10 * rank);
    return vectorOf({r, r + 1});
  };
  auto run = [&](Collective::Kind kind) {
    std::vector<Values> out;
    for (auto &value : world.run([&](int rank) { return collective(kind, 2, input(rank)); }))
      out.push_back(valuesOf(value));
    return out;
  };
  using Both = std::vector<Values>;
  EXPECT_EQ(run(Collective::AllGather), (Both{{0, 1, 10, 11}, {0, 1, 10, 11}}));
  EXPECT_EQ(run(Collective::ReduceScatter), (Both{{10}, {12}}));
  EXPECT_EQ(run(Collective::AllToAll), (Both{{0, 10}, {1, 11}}));
}

TEST(Communicator, BroadcastsWhoeverComesFirst) {
  World world(3);
  for (int round = 0; round < 3; ++round)
    for (auto &value : world.run([&](int rank) {
           auto kind = rank == 2 ? Collective::BroadcastSend : Collective::BroadcastReceive;
           return collective(kind, 3, rank == 2 ? vectorOf({static_cast<float>(round)}) : Tensor());
         }))
      EXPECT_EQ(valuesOf(value), (Values{static_cast<float>(round)}));
}

TEST(Communicator, GroupsAreThoseWhoSaySo) {
  World world(4);
  auto results = world.run([&](int rank) {
    Collective call = collective(Collective::AllReduce, 2, vectorOf({static_cast<float>(rank)}));
    call.groupKey = rank % 2;
    return call;
  });
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(valuesOf(results[static_cast<size_t>(rank)]), (Values{rank % 2 ? 4.0F : 2.0F}));
}

// Instances are told apart, whatever the order in which ranks come to them.
TEST(Communicator, OrderDoesNotMatter) {
  World world(2, {0.002, 0});
  std::vector<std::future<Values>> results;
  for (int rank : {0, 1})
    for (int i = 0; i < 8; ++i) {
      Collective call = collective(Collective::AllReduce, 2, {});
      call.instance = rank ? 7 - i : i;
      call.input = vectorOf({static_cast<float>(call.instance)});
      auto result = std::make_shared<std::promise<Values>>();
      results.push_back(result->get_future());
      world.ranks[static_cast<size_t>(rank)]->start(
          call, [result](Expected<Tensor> value) { result->set_value(valuesOf(value)); });
    }
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(results[static_cast<size_t>(i)].get(), (Values{2.0F * static_cast<float>(i)}));
    EXPECT_EQ(results[static_cast<size_t>(8 + i)].get(),
              (Values{2.0F * static_cast<float>(7 - i)}));
  }
}

TEST(Communicator, ALateRankIsAnErrorThatNamesIt) {
  World world(3, {}, 0.05);
  std::promise<Error> error;
  world.ranks[0]->start(collective(Collective::AllReduce, 3, vectorOf({1})),
                        [&](Expected<Tensor> value) { error.set_value(value.error()); });
  Error found = error.get_future().get();
  EXPECT_EQ(found.code, Code::DeadlineExceeded);
  EXPECT_NE(found.message.find("all-reduce 'c' (group 0, instance 0): nothing came from ranks 1 "
                               "and 2 within"),
            std::string::npos)
      << found.message;
}

TEST(Communicator, ShapesThatDifferAreAnError) {
  World world(2);
  for (auto &value : world.run([](int rank) {
         return collective(Collective::AllReduce, 2, rank ? vectorOf({1, 2}) : vectorOf({1}));
       })) {
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error().message,
              "all-reduce 'c': one rank gives float32[1], another float32[2]; all must give the "
              "same dtype and shape");
  }
}

TEST(Communicator, AFailedRankFailsAll) {
  World world(2);
  std::promise<Error> error;
  world.ranks[0]->start(collective(Collective::AllReduce, 2, vectorOf({1})),
                        [&](Expected<Tensor> value) { error.set_value(value.error()); });
  world.ranks[1]->abort(invalidArgument("no such file"));
  EXPECT_EQ(error.get_future().get().message, "rank 1 failed: no such file");
  std::promise<Error> later;
  world.ranks[0]->start(collective(Collective::AllReduce, 2, vectorOf({1})),
                        [&](Expected<Tensor> value) { later.set_value(value.error()); });
  EXPECT_EQ(later.get_future().get().code, Code::Aborted);
}

TEST(Communicator, ALargerGroupThanTheWorldIsAnError) {
  World world(2);
  auto results = world.run([](int) { return collective(Collective::AllReduce, 3, vectorOf({1})); });
  EXPECT_EQ(results[0].error().message, "all-reduce 'c': its group is of 3 ranks, but there are 2; "
                                        "start as many processes: mpirun -n 3");
}

TEST(Communicator, SendsAndReceives) {
  World world(2);
  world.ranks[1]->send(0, "k", vectorOf({5}));
  std::promise<Values> value;
  world.ranks[0]->receive(1, "k", 0, [&](Expected<Tensor> v) { value.set_value(valuesOf(v)); });
  EXPECT_EQ(value.get_future().get(), (Values{5}));
}

std::vector<Expected<void>> agree(World &world,
                                  const std::vector<std::vector<std::string>> &lists) {
  std::vector<Expected<void>> results(lists.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < lists.size(); ++i)
    threads.emplace_back(
        [&, i] { results[i] = world.ranks[i]->agree(lists[i], "the order of collectives"); });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

TEST(Communicator, ListsThatAreEqualAgree) {
  World world(3);
  for (auto &result : agree(world, {{"a", "b"}, {"a", "b"}, {"a", "b"}}))
    EXPECT_TRUE(result);
}

TEST(Communicator, WhereListsDifferIsSaid) {
  World world(3);
  for (auto &result : agree(world, {{"a", "b"}, {"a", "b"}, {"a"}})) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message,
              "ranks don't agree on the order of collectives: number 2 is on rank 0 b, but on rank "
              "2 nothing more; let all ranks run the same, in the same order");
  }
}

} // namespace
} // namespace treadle
