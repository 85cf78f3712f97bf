// The kernels beside the records of ops.
#include "treadle/kernels/Families.h"
#include "treadle/ops/OpTable.h"

#include <gtest/gtest.h>

#include <set>

namespace treadle {
namespace {

TEST(Families, EachKernelIsOfAnOpAndTheOnlyOne) {
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

} // namespace
} // namespace treadle
