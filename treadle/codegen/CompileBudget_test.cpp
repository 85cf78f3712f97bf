#include "treadle/codegen/CompileBudget.h"

#include "treadle/tensor/TestExpected.h"

#include <thread>

namespace treadle::codegen {
namespace {

TEST(CompileBudget, IsSpentByWhatTakesTime) {
  CompileBudget budget(std::chrono::milliseconds(1));
  EXPECT_TRUE(budget.check());
  {
    CompileBudget::Scope time(budget);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_TRUE(budget.check()); // what has begun goes on
  }
  EXPECT_FAILS(budget.check(), ResourceExhausted, "that it may take in a session");
}

} // namespace
} // namespace treadle::codegen
