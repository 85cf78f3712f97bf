#include "treadle/tensor/MemoryBudget.h"

#include "treadle/tensor/BudgetedMemory.h"
#include "treadle/testing/TestExpected.h"

#include <memory>
#include <optional>
#include <thread>

namespace treadle {
namespace {

TEST(MemoryBudget, CountsAllocationsWhileOpen) {
  MemoryBudget budget(1 << 20);
  Tensor before = *Tensor::make(DType::Float32, {1000});
  EXPECT_EQ(budget.used(), 0);
  {
    MemoryBudget::Scope open(&budget.get());
    Tensor made = *Tensor::make(DType::Float32, {1000});
    EXPECT_GE(budget.used(), 4000);
    EXPECT_LE(budget.used(), 4200);
    Tensor view = made.withDims({std::vector<int64_t>{10, 100}});
    EXPECT_LE(budget.used(), 4400);
    EXPECT_EQ(view.dim(1), 100);
  }
  EXPECT_EQ(budget.used(), 0);
}

TEST(MemoryBudget, RefusesMoreThanItsLimit) {
  MemoryBudget budget(10000);
  MemoryBudget::Scope open(&budget.get());
  Tensor first = *Tensor::make(DType::UInt8, {6000});
  EXPECT_FAILS(Tensor::make(DType::UInt8, {6000}), ResourceExhausted, "limit of 10000 bytes");
  first.reset();
  EXPECT_TRUE(Tensor::make(DType::UInt8, {6000}));
}

TEST(MemoryBudget, RefusesManySmallOnes) {
  MemoryBudget budget(100000);
  MemoryBudget::Scope open(&budget.get());
  std::vector<Tensor> kept;
  auto keepAll = [&] {
    for (;;)
      kept.push_back(Tensor::makeScalar(DType::Int32));
  };
  EXPECT_THROW(keepAll(), std::bad_alloc);
  EXPECT_GT(kept.size(), 500);
  EXPECT_LT(kept.size(), 2500);
}

TEST(MemoryBudget, LateFreesAreCredited) {
  Tensor late;
  {
    MemoryBudget budget(1 << 20);
    {
      MemoryBudget::Scope open(&budget.get());
      late = *Tensor::make(DType::Float64, {100});
    }
    EXPECT_GE(budget.used(), 800);
    std::thread([mine = std::move(late)]() mutable { mine.reset(); }).join();
    EXPECT_EQ(budget.used(), 0);
    MemoryBudget::Scope open(&budget.get());
    late = *Tensor::make(DType::Float64, {100});
  }
  EXPECT_EQ(late.count(), 100); // outlives the budget
}

TEST(MemoryBudget, CountsTexts) {
  MemoryBudget budget(100000);
  MemoryBudget::Scope open(&budget.get());
  Tensor texts = *Tensor::make(DType::String, {2});
  int64_t empty = budget.used();
  texts.data<std::string>()[1] = std::string(50000, 'x');
  EXPECT_TRUE(chargeStringMemory({&texts, 1}));
  EXPECT_GE(budget.used() - empty, 50000);
  EXPECT_TRUE(chargeStringMemory({&texts, 1}));
  EXPECT_LT(budget.used() - empty, 51000);
  texts.data<std::string>()[0] = std::string(60000, 'x');
  EXPECT_FAILS(chargeStringMemory({&texts, 1}), ResourceExhausted, "strings of");
  texts.reset();
  EXPECT_EQ(budget.used(), 0);
}

TEST(MemoryBudget, ScopesNest) {
  MemoryBudget outer(1000), inner(1000);
  MemoryBudget::Scope one(&outer.get());
  {
    MemoryBudget::Scope two(&inner.get());
    EXPECT_EQ(MemoryBudget::opened(), &inner.get());
    MemoryBudget::Scope none(nullptr);
    EXPECT_EQ(MemoryBudget::opened(), nullptr);
  }
  EXPECT_EQ(MemoryBudget::opened(), &outer.get());
}

TEST(KeptMemory, ChargesTheBudgetOfTheShare) {
  MemoryBudget budget(100000);
  {
    std::optional<MemoryBudget::Scope> open(&budget.get());
    MemoryShare share;
    open.reset();
    int64_t empty = budget.used();
    EXPECT_GT(empty, 0);
    BudgetedVector<int64_t> numbers(1000, share);
    EXPECT_EQ(budget.used(), empty + 8000);
    BudgetedString text(5000, 'x', share);
    EXPECT_GE(budget.used(), empty + 13000);
    EXPECT_EQ(text.size(), 5000);
    MemoryCharge charge(share, 500), moved = std::move(charge);
    EXPECT_GE(budget.used(), empty + 13500);
    EXPECT_THROW(numbers.reserve(20000), OverBudget);
    EXPECT_EQ(numbers.size(), 1000);
    EXPECT_THROW(MemoryCharge(share, 100000), OverBudget);
  }
  EXPECT_EQ(budget.used(), 0);
}

TEST(KeptMemory, CountsNowhereWithoutABudget) {
  MemoryBudget budget(1000);
  MemoryShare share;
  MemoryBudget::Scope open(&budget.get());
  BudgetedVector<int64_t> numbers(1000, share);
  EXPECT_EQ(budget.used(), 0);
}

TEST(KeptMemory, OutlivesTheBudget) {
  std::optional<BudgetedVector<char>> bytes;
  std::unique_ptr<MemoryShare> share;
  {
    MemoryBudget budget(1000);
    MemoryBudget::Scope open(&budget.get());
    share = std::make_unique<MemoryShare>();
    bytes.emplace(*share);
  }
  bytes->resize(100);
  EXPECT_THROW(bytes->resize(1000), OverBudget);
  bytes.reset();
}

TEST(KeptMemory, ReportsExhaustedBudget) {
  EXPECT_EQ(memoryError(OverBudget(8, 1000)).message,
            "8 bytes are more than is left of the session's memory limit of 1000 bytes");
  EXPECT_EQ(memoryError(std::bad_alloc()).message, "out of memory");
}

} // namespace
} // namespace treadle
