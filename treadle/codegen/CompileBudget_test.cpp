#include "treadle/codegen/CompileBudget.h"

#include "treadle/testing/TestExpected.h"

#include <ctime>
#include <thread>

namespace treadle::codegen {
namespace {

/// Computes until the process has used so much processor time.
void computeFor(double seconds) {
  for (std::clock_t begin = std::clock();
       static_cast<double>(std::clock() - begin) < seconds * CLOCKS_PER_SEC;) {
  }
}

TEST(CompileBudget, IsSpentByWhatComputes) {
  CompileBudget budget(std::chrono::milliseconds(20));
  EXPECT_TRUE(budget.check());
  {
    CompileBudget::Scope time(budget);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  EXPECT_TRUE(budget.check()); // waiting isn't charged
  {
    CompileBudget::Scope time(budget);
    computeFor(0.03);
    EXPECT_TRUE(budget.check()); // a compilation that has started may finish
  }
  EXPECT_FAILS(budget.check(), ResourceExhausted, "that a session allows");
}

} // namespace
} // namespace treadle::codegen
