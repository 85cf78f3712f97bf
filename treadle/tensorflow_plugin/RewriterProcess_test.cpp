// Tests of a rewriter that can't start, ends early, or sends malformed replies.
// test/test_tensorflow_plugin.py tests that it works.
#include "treadle/tensorflow_plugin/RewriterProcess.h"

#include <gtest/gtest.h>

namespace treadle::tensorflow {
namespace {

std::string errorOf(const char *program, size_t bytes = 10) {
  RewriterProcess process(program);
  RewriterProcess::Result result = process.rewrite({"p", "n", std::string(bytes, 'g')});
  EXPECT_EQ(result.graph, "");
  return result.error;
}

TEST(RewriterProcess, AProgramThatIsNotThere) {
  std::string error = errorOf("/no/such/program");
  EXPECT_NE(error.find("'/no/such/program' can't be started (No such file"), std::string::npos)
      << error;
}

TEST(RewriterProcess, AProgramThatEnds) {
  EXPECT_NE(errorOf("true").find("the rewriter ended"), std::string::npos);
  // More than a socket buffer holds: the write fails, and no signal ends this process.
  EXPECT_NE(errorOf("true", 1 << 24).find("the rewriter ended"), std::string::npos);
}

TEST(RewriterProcess, AProgramThatSaysSomethingElse) {
  EXPECT_NE(errorOf("yes").find("the rewriter ended"), std::string::npos);
}

TEST(RewriterProcess, OneThatKeepsEndingIsGivenUp) {
  RewriterProcess process("true");
  std::string error;
  for (int i = 0; i < 30; ++i)
    error = process.rewrite({"p", "n", "g"}).error;
  EXPECT_NE(error.find("won't be started again"), std::string::npos) << error;
}

} // namespace
} // namespace treadle::tensorflow
