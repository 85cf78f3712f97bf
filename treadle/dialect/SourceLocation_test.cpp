// Tests building and reading stacks and their one-line form.
#include "treadle/dialect/SourceLocation.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace treadle {
namespace {

class SourceLocation : public testing::Test {
protected:
  Location frame(StringRef file, unsigned line, StringRef function = "f") {
    return stackFrame(FileLineColLoc::get(&context, file, line, 0),
                      StringAttr::get(&context, function));
  }
  Location defined(ArrayRef<Location> frames) {
    return definedAt(StringAttr::get(&context, "n@f"), frames);
  }
  Location named(StringRef name) { return NameLoc::get(StringAttr::get(&context, name)); }

  MLIRContext context;
};

TEST_F(SourceLocation, TheInnermostFrameOfTheUsersIsTheSourceLine) {
  std::string library = "/lib/tensorflow/python/ops.py";
  EXPECT_EQ(sourceLine(defined({frame(library, 1), frame("model.py", 31), frame("main.py", 2)})),
            "model.py:31");
  EXPECT_EQ(sourceLine(defined({frame("model.py", 31, ""), frame("main.py", 2)})), "model.py:31");
  EXPECT_EQ(sourceLine(defined({frame("model.py", 31, "")})), "model.py:31");
}

TEST_F(SourceLocation, TheInnermostFrameCountsIfAllAreInLibraries) {
  std::string library = "/lib/tensorflow/python/ops.py";
  EXPECT_EQ(sourceLine(defined({frame(library, 7), frame(library, 8)})), library + ":7");
}

TEST_F(SourceLocation, NamesAndTextLocationsArentStacks) {
  EXPECT_EQ(sourceLine(UnknownLoc::get(&context)), "");
  EXPECT_EQ(sourceLine(named("n")), "");
  EXPECT_EQ(sourceLine(FileLineColLoc::get(&context, "graph.mlir", 3, 1)), "");
}

TEST_F(SourceLocation, TheStackIsFoundBehindNames) {
  Location location = defined({frame("model.py", 3), frame("main.py", 2)});
  Location outer = CallSiteLoc::get(
      FusedLoc::get({named("Neg:"), named("n")}, Attribute(), &context), *stackOf(location));
  EXPECT_EQ(stackOf(outer), stackOf(location));
  EXPECT_EQ(sourceLine(outer), "model.py:3");
  EXPECT_EQ(definitionKey(location), "n@f");
  EXPECT_EQ(definitionKey(outer), "");
}

TEST_F(SourceLocation, InlinedNodesKeepTheirDefinition) {
  Location location = CallSiteLoc::get(defined({frame("f.py", 3)}), defined({frame("call.py", 2)}));
  EXPECT_EQ(sourceLine(location), "f.py:3");
  EXPECT_EQ(definitionKey(location), "n@f");
}

TEST_F(SourceLocation, TheFirstStackOfAFusedLocationCounts) {
  Location fused =
      FusedLoc::get({named("n"), defined({frame("a.py", 1)}), defined({frame("b.py", 1)})},
                    Attribute(), &context);
  EXPECT_EQ(sourceLine(fused), "a.py:1");
}

} // namespace
} // namespace treadle
