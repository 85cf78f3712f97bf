// Collectives among ranks in this process, each on its own thread.
#include "treadle/collective/Communicator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <numeric>
#include <thread>

namespace treadle {
namespace {

using Values = std::vector<float>;

Tensor vectorOf(const Values &values) { return Tensor::vector<float>(DType::Float32, values); }

struct World {
  explicit World(int size, Link link = {}, double timeout = 20) {
    for (auto &transport : simulatedWorld(size, link))
      ranks.push_back(std::make_unique<Communicator>(std::move(transport), timeout));
  }

  /// Returns the result of each rank's call, given a function from rank to call.
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

// Instances are distinguished regardless of the order in which ranks start them.
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
  EXPECT_NE(found.message.find("all-reduce 'c' (group 0, instance 0): nothing arrived from ranks 1 "
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
              "all-reduce 'c': one rank has float32[1], another float32[2]; all ranks must "
              "have the same dtype and shape");
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
  EXPECT_EQ(results[0].error().message, "all-reduce 'c': its group has 3 ranks, but there are 2; "
                                        "start as many processes: mpirun -n 3");
}

TEST(Communicator, SendsAndReceives) {
  World world(2);
  world.ranks[1]->send(0, "k", vectorOf({5}));
  std::promise<Values> value;
  world.ranks[0]->receive(1, "k", 0, [&](Expected<Tensor> v) { value.set_value(valuesOf(v)); });
  EXPECT_EQ(value.get_future().get(), (Values{5}));
}

std::future<Expected<Tensor>> collected(Communicator &rank, const std::string &key) {
  auto value = std::make_shared<std::promise<Expected<Tensor>>>();
  rank.collect(key, [value](Expected<Tensor> v) { value->set_value(std::move(v)); });
  return value->get_future();
}

TEST(Host, WhatIsDepositedIsCollectedInItsOrder) {
  World world(3);
  for (float x : {1, 2})
    world.ranks[1]->deposit("k", vectorOf({x}));
  world.ranks[1]->deposit("other", vectorOf({9}));
  EXPECT_EQ(valuesOf(collected(*world.ranks[2], "k").get()), (Values{1}));
  EXPECT_EQ(valuesOf(collected(*world.ranks[0], "k").get()), (Values{2}));
  EXPECT_EQ(valuesOf(collected(*world.ranks[1], "other").get()), (Values{9}));
}

TEST(Host, WhoCollectsWaits) {
  World world(2);
  auto first = collected(*world.ranks[0], "k"), second = collected(*world.ranks[1], "k");
  world.ranks[0]->deposit("k", vectorOf({1}));
  world.ranks[1]->deposit("k", vectorOf({2}));
  float a = valuesOf(first.get())[0], b = valuesOf(second.get())[0];
  EXPECT_EQ(a + b, 3);
}

// Many values at once from all ranks: each is received once, and in order per sender.
TEST(Host, EachValueIsGotOnce) {
  constexpr int count = 500;
  World world(3);
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> got(3);
  for (size_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      for (int i = 0; i < count; ++i)
        world.ranks[rank]->deposit("k", vectorOf({static_cast<float>(rank * count + i)}));
    });
    threads.emplace_back([&, rank] {
      for (int i = 0; i < count; ++i)
        got[rank].push_back(valuesOf(collected(*world.ranks[rank], "k").get())[0]);
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  std::vector<float> all;
  for (const std::vector<float> &values : got) {
    std::map<int, float> last; // by sender
    for (float value : values) {
      auto [it, isNew] = last.try_emplace(static_cast<int>(value) / count, value);
      EXPECT_TRUE(isNew || it->second < value);
      it->second = value;
    }
    all.insert(all.end(), values.begin(), values.end());
  }
  std::ranges::sort(all);
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i], static_cast<float>(i));
}

TEST(Host, ServesAfterItHasLeft) {
  World world(3);
  world.ranks[0]->leave();
  world.ranks[1]->deposit("k", vectorOf({1}));
  world.ranks[1]->leave();
  EXPECT_EQ(valuesOf(collected(*world.ranks[2], "k").get()), (Values{1}));
  std::thread last([&] { world.ranks[2]->leave(); });
  world.ranks[0]->waitForOthersToLeave();
  last.join();
}

TEST(Host, WhatNobodyCollectsIsAnErrorOnAllRanks) {
  World world(2);
  auto waiting = collected(*world.ranks[0], "other");
  for (int i = 0; i < 4097; ++i)
    world.ranks[1]->deposit("k", vectorOf({1}));
  Expected<Tensor> result = waiting.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "no rank collects what is sent over k: 4096 values are waiting");
}

TEST(Host, ACollectionEndsInTime) {
  World world(2, {}, 0.1);
  Expected<Tensor> result = collected(*world.ranks[1], "k").get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::DeadlineExceeded);
  EXPECT_NE(result.error().message.find("receiving 'k', which another rank has to send"),
            std::string::npos);
}

GroupAgenda agendaOf(int size, int key, std::vector<std::string> lines, double timeout = 0) {
  return {size, key, -1, timeout, std::move(lines)};
}

using Agendas = std::vector<GroupAgenda>;

/// Returns each rank's result of agreeing on its own lists, on separate threads.
std::vector<Expected<void>> agree(World &world, const std::vector<Agendas> &agendas,
                                  Communicator::Patience patience = Communicator::Patience::Waits) {
  std::vector<Expected<void>> results(agendas.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < agendas.size(); ++i)
    threads.emplace_back([&, i] {
      results[i] = world.ranks[i]->agree(agendas[i], "the order of collectives", patience);
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

void expectMessage(const Expected<void> &result, Code code, std::string_view part) {
  ASSERT_FALSE(result) << "expected: " << part;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

TEST(Communicator, AMessageThatNobodySendsIsAnError) {
  for (const char *key : {"g/", "g/x", "g/1x", "g/99999999999", "g/1"}) {
    auto transports = simulatedWorld(2, {});
    Communicator rank(std::move(transports[0]), 20);
    transports[1]->send(0, key, vectorOf({1}));
    std::promise<Expected<Tensor>> value;
    rank.receive(1, "k", 0, [&](Expected<Tensor> v) { value.set_value(std::move(v)); });
    Expected<Tensor> result = value.get_future().get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::DataLoss);
    EXPECT_EQ(result.error().message,
              std::string("rank 1 sent '") + key +
                  "' with float32[1], expected 'g/KEY' with int32[2]; run the same version of "
                  "treadle on all ranks");
  }
}

TEST(Agreement, ListsThatAreEqualAgree) {
  World world(3);
  Agendas agendas = {agendaOf(3, 0, {"a", "b"})};
  for (auto &result : agree(world, {agendas, agendas, agendas}))
    EXPECT_TRUE(result);
}

TEST(Agreement, WhereListsDifferIsSaid) {
  World world(3);
  Agendas both = {agendaOf(3, 0, {"a", "b"})}, one = {agendaOf(3, 0, {"a"})};
  for (auto &result : agree(world, {both, both, one})) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message,
              "ranks don't agree on the order of collectives: number 2 is on rank 0 b, but on rank "
              "2 nothing more; all ranks must run the same collectives in the same order");
  }
}

// Each rank only knows its own groups, in its own order.
TEST(Agreement, AListWithoutDigestIsAnError) {
  auto transports = simulatedWorld(2, {});
  Communicator rank(std::move(transports[0]), 20);
  transports[1]->send(0, "a/0", vectorOf({1}));
  expectMessage(rank.agree({agendaOf(2, 0, {"x"})}, "the order of collectives"), Code::DataLoss,
                "rank 1 sent a list of 4 bytes, expected a digest of 8 bytes before it");
}

TEST(Agreement, GroupsMayBeInterleavedInAnyOrder) {
  World world(4);
  GroupAgenda all = agendaOf(4, 0, {"w"}), left = agendaOf(2, 7, {"a", "b"}),
              right = agendaOf(2, 8, {"c"}), middle = agendaOf(2, 9, {"d"});
  for (auto &result :
       agree(world, {{left, all}, {all, middle, left}, {right, middle, all}, {all, right}}))
    EXPECT_TRUE(result) << result.error().message;
}

TEST(Agreement, OfAGroupThatDiffersItsRanksAreNamed) {
  World world(4);
  auto results = agree(world, {{agendaOf(2, 8, {"c"})},
                               {agendaOf(2, 7, {"a", "b\t(x)"})},
                               {agendaOf(2, 8, {"c"})},
                               {agendaOf(2, 7, {"a", "d\t(y)"})}});
  EXPECT_TRUE(results[0] && results[2]);
  for (size_t rank : {1, 3}) {
    ASSERT_FALSE(results[rank]);
    EXPECT_EQ(results[rank].error().message,
              "ranks don't agree on the order of collectives of group 7 (ranks 1 and 3): number 2 "
              "is on rank 1 b (x), but on rank 3 d (y); all ranks must run the same "
              "collectives in the same order");
  }
}

TEST(Agreement, AGroupThatDoesNotComeTogetherIsAnErrorInTime) {
  World world(4);
  expectMessage(agree(world, {{agendaOf(3, 7, {"a"}, 0.05)}})[0], Code::DeadlineExceeded,
                "agreeing on the order of collectives of group 7: 3 ranks make this group: "
                "nothing arrived from the others within 0.05 s (so far rank 0 arrived)");
}

TEST(Agreement, ALateMemberIsNamed) {
  World world(3);
  Agendas first = {agendaOf(2, 7, {"a"})}, second = {agendaOf(2, 7, {"b"}, 0.05)};
  agree(world, {first, first});
  expectMessage(agree(world, {second})[0], Code::DeadlineExceeded,
                "of group 7 (ranks 0 and 1): nothing arrived from rank 1 within 0.05 s");
}

TEST(Agreement, SizesThatContradictAreAnError) {
  World world(4);
  bool isSaid = false;
  for (auto &result : agree(world, {{agendaOf(2, 7, {"a"}, 5)}, {agendaOf(3, 7, {"a"}, 5)}}))
    isSaid |= !result &&
              result.error().message.starts_with("group 7 has 2 ranks on rank 0, but 3 on rank 1");
  EXPECT_TRUE(isSaid);
}

TEST(Agreement, MoreRanksThanAGroupHasAreAnError) {
  World world(4);
  Agendas agendas = {agendaOf(2, 7, {"a"}, 5)};
  bool isSaid = false;
  for (auto &result : agree(world, {agendas, agendas, agendas}))
    isSaid |= !result && result.error().message.find("group 7 has 2 ranks, but ranks 0, 1 and 2 "
                                                     "use its key") != std::string::npos;
  EXPECT_TRUE(isSaid);
}

// Turns are counted per group: agreements of a rank alone, or in other groups, don't matter.
TEST(Agreement, WhoHasAgreedBeforeNeedNotWait) {
  World world(2);
  Agendas step = {agendaOf(2, 0, {"a"})};
  for (auto &result : agree(world, {step, step}))
    EXPECT_TRUE(result);
  // Rank 0 is three turns ahead; rank 1 doesn't wait for any of them.
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(world.ranks[0]->agree(step, "order", Communicator::Patience::GoesOn));
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(world.ranks[1]->agree(step, "order"));
}

TEST(Agreement, WhatDiffersLaterEndsWhoeverWaits) {
  World world(2, {}, 20);
  Agendas first = {agendaOf(2, 0, {"a"})}, second = {agendaOf(2, 0, {"b"})};
  agree(world, {first, first});
  EXPECT_TRUE(world.ranks[0]->agree(first, "the order", Communicator::Patience::GoesOn));
  std::promise<Error> error;
  world.ranks[0]->start(collective(Collective::AllReduce, 2, vectorOf({1})),
                        [&](Expected<Tensor> value) { error.set_value(value.error()); });
  EXPECT_FALSE(world.ranks[1]->agree(second, "the order"));
  EXPECT_NE(error.get_future().get().message.find(
                "ranks don't agree on the order: number 1 is on rank 0 a, but on rank 1 b"),
            std::string::npos);
}

/// A rank's lists, and its collectives (agenda, line) in execution order.
struct Plan {
  Agendas agendas;
  std::vector<std::pair<int, int>> chain;
};

CollectiveOrder orderOf(const std::vector<std::pair<int, int>> &chain) {
  CollectiveOrder order;
  for (auto [agenda, line] : chain) {
    if (!order.points.empty())
      order.edges.emplace_back(order.points.size() - 1, order.points.size());
    order.points.push_back({agenda, line});
  }
  return order;
}

std::vector<Expected<void>> agreeInOrder(World &world, const std::vector<Plan> &plans) {
  std::vector<Expected<void>> results(plans.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < plans.size(); ++i)
    threads.emplace_back([&, i] {
      results[i] = world.ranks[i]->agree(plans[i].agendas, "the order",
                                         Communicator::Patience::Waits, orderOf(plans[i].chain));
    });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

TEST(Agreement, RanksThatWouldWaitForEachOtherAreToldSo) {
  World world(3, {}, 600);
  Agendas both = {agendaOf(2, 7, {"a\t('n')"}), agendaOf(3, 0, {"b"})}, one = {both[1]};
  auto results =
      agreeInOrder(world, {{both, {{0, 0}, {1, 0}}}, {both, {{1, 0}, {0, 0}}}, {one, {}}});
  for (size_t rank : {0, 1})
    expectMessage(results[rank], Code::FailedPrecondition,
                  "ranks would deadlock: on rank 0 b waits for a ('n'), on "
                  "rank 1 a ('n') waits for b");
  std::promise<Error> error; // rank 2 may have agreed, but its first collective can't complete
  world.ranks[2]->start(collective(Collective::AllReduce, 3, vectorOf({1})),
                        [&](Expected<Tensor> value) { error.set_value(value.error()); });
  EXPECT_NE(error.get_future().get().message.find("would deadlock"), std::string::npos);
}

TEST(Agreement, CirclesWithinAGroupAreFound) {
  World world(2, {}, 600);
  Agendas both = {agendaOf(2, 0, {"a", "b"})};
  for (auto &result : agreeInOrder(world, {{both, {{0, 0}, {0, 1}}}, {both, {{0, 1}, {0, 0}}}}))
    expectMessage(result, Code::FailedPrecondition, "on rank 1 a waits for b, on rank 0 b waits");
}

// No two ranks of the ring know all of it, but rank 0 does, which is in none of the groups.
TEST(Agreement, CirclesThroughManyGroupsAreFound) {
  World world(5, {}, 600);
  auto group = [](int key) { return agendaOf(2, key, {str("c", key)}); };
  Plan alone, first{{group(1), group(2)}, {{0, 0}, {1, 0}}},
      second{{group(2), group(3)}, {{0, 0}, {1, 0}}}, third{{group(3), group(4)}, {{0, 0}, {1, 0}}},
      last{{group(4), group(1)}, {{0, 0}, {1, 0}}};
  agreeInOrder(world, {alone, first, second, third, last});
  Collective call = collective(Collective::AllReduce, 2, vectorOf({1}));
  call.groupKey = 1;
  std::promise<Error> error;
  world.ranks[1]->start(call, [&](Expected<Tensor> value) { error.set_value(value.error()); });
  EXPECT_NE(error.get_future().get().message.find(
                "on rank 4 c1 waits for c4, on rank 1 c2 waits for c1, on rank 2 c3 waits for c2"),
            std::string::npos);
}

TEST(Agreement, OrdersThatGoTogetherAreNoCircle) {
  World world(4);
  GroupAgenda rows[] = {agendaOf(2, 1, {"r", "s"}), agendaOf(2, 2, {"r", "s"})},
              columns[] = {agendaOf(2, 3, {"c"}), agendaOf(2, 4, {"c"})};
  std::vector<Plan> plans;
  for (size_t i = 0; i < 4; ++i)
    plans.push_back({{rows[i / 2], columns[i % 2]}, {{0, 0}, {1, 0}, {0, 1}}});
  for (int turn = 0; turn < 3; ++turn)
    for (auto &result : agreeInOrder(world, plans))
      EXPECT_TRUE(result) << result.error().message;
}

TEST(Communicator, ARankThatHasLeftIsNotWaitedFor) {
  World world(3, {}, 60);
  std::promise<Error> early, late;
  world.ranks[0]->start(collective(Collective::AllReduce, 3, vectorOf({1})),
                        [&](Expected<Tensor> value) { early.set_value(value.error()); });
  world.ranks[2]->leave();
  Error error = early.get_future().get();
  EXPECT_EQ(error.code, Code::Unavailable);
  EXPECT_NE(error.message.find("rank 2 has ended and can't take part"), std::string::npos);
  world.ranks[0]->start(collective(Collective::AllReduce, 3, vectorOf({1})),
                        [&](Expected<Tensor> value) { late.set_value(value.error()); });
  EXPECT_EQ(late.get_future().get().code, Code::Unavailable);
}

// Messages sent before leaving still count.
TEST(Communicator, WhatWasSentBeforeLeavingComes) {
  World world(2, {0.01, 0});
  world.ranks[1]->send(0, "k", vectorOf({5}));
  world.ranks[1]->leave();
  std::promise<Values> value;
  world.ranks[0]->receive(1, "k", 0, [&](Expected<Tensor> v) { value.set_value(valuesOf(v)); });
  EXPECT_EQ(value.get_future().get(), (Values{5}));
}

TEST(Communicator, AGroupThatCanNotComeTogetherIsAnErrorAtOnce) {
  World world(3, {}, 60);
  std::promise<Error> error;
  Collective call = collective(Collective::AllReduce, 2, vectorOf({1}));
  call.groupKey = 4;
  world.ranks[0]->start(call, [&](Expected<Tensor> value) { error.set_value(value.error()); });
  world.ranks[1]->leave();
  world.ranks[2]->leave();
  Error found = error.get_future().get();
  EXPECT_EQ(found.code, Code::Unavailable);
  EXPECT_NE(found.message.find("so far rank 0 arrived, and ranks 1 and 2 have ended"),
            std::string::npos)
      << found.message;
}

TEST(Communicator, Permutes) {
  World world(3);
  auto results = world.run([](int rank) {
    Collective call = collective(Collective::Permute, 3, vectorOf({static_cast<float>(rank + 1)}));
    call.pairs = {{0, 1}, {2, 2}};
    return call;
  });
  EXPECT_EQ(valuesOf(results[0]), (Values{0}));
  EXPECT_EQ(valuesOf(results[1]), (Values{1}));
  EXPECT_EQ(valuesOf(results[2]), (Values{3}));
}

TEST(Communicator, PairsThatContradictAreAnError) {
  World world(2);
  auto messageOf = [&](std::vector<std::pair<int, int>> pairs) {
    Collective call = collective(Collective::Permute, 2, vectorOf({1}));
    call.pairs = std::move(pairs);
    return world.run([&](int) { return call; })[0].error().message;
  };
  EXPECT_EQ(messageOf({{0, 2}}), "permutation 'c': its pairs name rank 2, but there are 2");
  EXPECT_EQ(messageOf({{0, 1}, {1, 1}}), "permutation 'c': two of its pairs end at rank 1");
  EXPECT_EQ(messageOf({{0, 1}, {0, 0}}), "permutation 'c': two of its pairs begin at rank 0");
}

TEST(Communicator, MeasuresLinks) {
  World world(3, {0.002, 1e6});
  std::vector<std::future<Expected<Link>>> results;
  for (auto &rank : world.ranks)
    results.push_back(std::async(std::launch::async, [&] {
      return measureLink(*rank, {.bytes = 20'000, .smallRepeats = 5, .largeRepeats = 3});
    }));
  Link first = *results[0].get();
  // On a busy machine, the message of a single round may already have arrived.
  EXPECT_GT(first.latency, 0);
  EXPECT_GT(first.bytesPerSecond, 0);
  for (size_t i : {1, 2}) {
    Link other = *results[i].get();
    EXPECT_EQ(other.latency, first.latency);
    EXPECT_EQ(other.bytesPerSecond, first.bytesPerSecond);
  }
  World alone(1);
  EXPECT_EQ(measureLink(*alone.ranks[0]).error().code, Code::FailedPrecondition);
}

// Places reorder ranks and select a subset.
TEST(Communicator, PlacesOrderAndChooseRanks) {
  World world(4);
  auto gather = [&](std::vector<std::vector<int>> rows) {
    std::vector<Values> out;
    for (auto &value : world.run([&](int rank) {
           Collective call =
               collective(Collective::AllGather, 4, vectorOf({static_cast<float>(rank)}));
           call.groupKey = 3;
           call.place = 3 - rank;
           for (const auto &row : rows)
             if (std::ranges::find(row, call.place) != row.end())
               call.places = row;
           return call;
         }))
      out.push_back(valuesOf(value));
    return out;
  };
  using All = std::vector<Values>;
  EXPECT_EQ(gather({})[2], (Values{3, 2, 1, 0}));
  EXPECT_EQ(gather({{0, 1}, {2, 3}}), (All{{1, 0}, {1, 0}, {3, 2}, {3, 2}}));
}

} // namespace
} // namespace treadle
