#include "treadle/runtime/InstructionSet.h"

#include <gtest/gtest.h>

namespace treadle {
namespace {

#ifdef __x86_64__

TEST(InstructionSet, IsFoundByName) {
  for (InstructionSet set :
       {InstructionSet::X86_64_V2, InstructionSet::X86_64_V3, InstructionSet::X86_64_V4}) {
    Expected<InstructionSet> found =
        findInstructionSet(instructionSetName(set), InstructionSet::X86_64_V4);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, set);
  }
}

TEST(InstructionSet, ThatNobodyKnowsIsAnErrorWithThoseThereAre) {
  Expected<InstructionSet> found = findInstructionSet("haswell", InstructionSet::X86_64_V4);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "TREADLE_CPU is 'haswell', but this processor has x86-64-v4; "
                                   "expected one of x86-64-v2, x86-64-v3, x86-64-v4");
}

TEST(InstructionSet, BeyondTheProcessorsIsAnErrorWithItsOwn) {
  Expected<InstructionSet> found = findInstructionSet("x86-64-v4", InstructionSet::X86_64_V3);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "TREADLE_CPU is 'x86-64-v4', but this processor has x86-64-v3; "
                                   "expected one of x86-64-v2, x86-64-v3");
}

#endif

TEST(InstructionSet, IsTheProcessorsOrTheOneThatIsAskedFor) {
  const auto &request = requestedInstructionSet();
  EXPECT_EQ(instructionSet(), request && *request ? **request : processorInstructionSet());
}

} // namespace
} // namespace treadle
