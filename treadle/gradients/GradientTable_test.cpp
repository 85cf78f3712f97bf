// Compares the gradients with the op records.
#include "treadle/gradients/GradientTable.h"

#include "treadle/ops/OpTable.h"

#include <gtest/gtest.h>

namespace treadle::tfg {
namespace {

TEST(GradientTable, EachHasAnOpRecord) {
  int functions = 0;
  for (const auto &entry : gradientTable()) {
    const OpDef *op = lookupOp(entry.getKey());
    EXPECT_TRUE(op) << "there is no op " << entry.getKey().str();
    bool hasFunction = static_cast<bool>(entry.getValue());
    functions += hasFunction;
    if (op) {
      EXPECT_EQ(op->facts().hasNoGradient, !hasFunction) << op->name();
    }
  }
  EXPECT_GT(functions, 100);
}

} // namespace
} // namespace treadle::tfg
