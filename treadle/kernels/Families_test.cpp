// Consistency of the kernels with the op records.
#include "treadle/kernels/Families.h"
#include "treadle/kernels/KernelLevels.h"
#include "treadle/ops/OpTable.h"
#include "treadle/runtime/InstructionSet.h"

#include <gtest/gtest.h>

#include <set>

namespace treadle {
namespace {

TEST(Families, EachKernelHasAnOpAndIsUnique) {
  std::set<std::string_view> seen;
  for (std::span<const KernelEntry> family : kernelFamilies())
    for (const KernelEntry &entry : family) {
      EXPECT_TRUE(lookupOp(entry.op)) << "there is no op " << entry.op;
      EXPECT_TRUE(seen.insert(entry.op).second) << entry.op << " has two kernels";
    }
  EXPECT_GT(seen.size(), 1000u);
}

TEST(Families, EachElementwiseOpHasAKernel) {
  std::set<std::string_view> seen;
  for (std::span<const KernelEntry> family : kernelFamilies())
    for (const KernelEntry &entry : family)
      seen.insert(entry.op);
  for (const OpDef &op : allOps())
    if (!op.elementwise().empty()) {
      EXPECT_TRUE(seen.contains(op.name())) << op.name();
    }
}

// ctest runs these tests once for each level, and skips those that the processor lacks by this
// error.
TEST(Families, HaveTheRequestedLevel) {
  const auto &request = requestedInstructionSet();
  ASSERT_TRUE(request) << request.error().message;
  bool hasHotKernels = false;
#define TREADLE_KERNEL_LEVEL(level) hasHotKernels |= InstructionSet::level <= instructionSet();
#include "treadle/kernels/Levels.inc"
#undef TREADLE_KERNEL_LEVEL
  std::set<const KernelEntry *> everybodys, chosen;
  for (const KernelFamily &family : compiledFamilies)
    everybodys.insert(family.table().data());
  for (std::span<const KernelEntry> family : kernelFamilies())
    chosen.insert(family.data());
  EXPECT_EQ(everybodys != chosen, hasHotKernels);
}

} // namespace
} // namespace treadle
