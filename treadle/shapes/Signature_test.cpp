#include "treadle/shapes/Signature.h"

#include "treadle/testing/TestNode.h"

#include <gtest/gtest.h>

namespace treadle {
namespace {

const int64_t u = Shape::unknown;

/// Applies a signature to inputs of these shapes.
ShapeResults apply(std::string_view text, const std::vector<KnownValue> &inputs,
                   size_t numResults = 1, const AttrMap &attrs = {}) {
  std::optional<Signature> signature = Signature::parse(text);
  EXPECT_TRUE(signature) << text;
  TestNode node("Op", numResults, attrs);
  std::vector<const KnownValue *> pointers;
  for (const KnownValue &input : inputs)
    pointers.push_back(&input);
  return signature ? signature->infer(ShapeQuery(node, pointers)) : ShapeResults();
}

Shape first(const ShapeResults &results) {
  EXPECT_EQ(results.conflict, "");
  return results.values.empty() ? Shape() : results.values[0].shape;
}

KnownValue integers(Shape::Dims values) {
  KnownValue out(Shape{static_cast<int64_t>(values.size())});
  out.integers = std::move(values);
  return out;
}

TEST(Signature, LettersAreNumbers) {
  EXPECT_EQ(first(apply("[m,k], [k,n] -> [m,n]", {Shape{2, 3}, Shape{3, 4}})), (Shape{2, 4}));
  EXPECT_EQ(first(apply("[m,k], [k,n] -> [m,n]", {Shape(), Shape{3, 4}})), (Shape{u, 4}));
  EXPECT_EQ(first(apply("[4u] -> [u,2u]", {Shape{12}})), (Shape{3, 6}));
  EXPECT_EQ(first(apply("[a,a] -> [a]", {Shape{u, 5}})), (Shape{5}));
}

TEST(Signature, CapitalsAreAnyNumberOfDimensions) {
  EXPECT_EQ(first(apply("[B,n,n] -> [B]", {Shape{7, 6, 3, 3}})), (Shape{7, 6}));
  EXPECT_EQ(first(apply("[B,n,n] -> [B]", {Shape()})), Shape());
  EXPECT_EQ(first(apply("X, X -> X", {Shape{u, 2}, Shape{3, u}})), (Shape{3, 2}));
  EXPECT_EQ(first(apply("[n,R], I -> [I,R]", {Shape{9, 2, 3}, Shape{4, 5}})), (Shape{4, 5, 2, 3}));
}

TEST(Signature, OutputsFromValuesAndAttributes) {
  EXPECT_EQ(first(apply("*, * -> =1", {Shape{2}, integers({3, -1})})), (Shape{3, u}));
  EXPECT_EQ(first(apply("[b], [2] -> [b,$1.1]", {Shape{2}, integers({3, 8})})), (Shape{2, 8}));
  AttrMap attrs;
  attrs.set("k", int64_t{4});
  attrs.set("shape", PartialShape::ranked({2, -1}));
  EXPECT_EQ(first(apply("-> [{k}]", {}, 1, attrs)), (Shape{4}));
  EXPECT_EQ(first(apply("-> {shape}", {}, 1, attrs)), (Shape{2, u}));
}

TEST(Signature, Handles) {
  KnownValue handle(Shape::scalar(), {Shape{2, 3}});
  EXPECT_EQ(first(apply("*:X -> X", {handle})), (Shape{2, 3}));
  ShapeResults same = apply("[]:X -> []:X", {handle});
  ASSERT_EQ(same.values.size(), 1u);
  EXPECT_EQ(same.values[0].held, handle.held);
}

TEST(Signature, Lists) {
  EXPECT_EQ(first(apply("X+ -> X", {Shape{u}, Shape{2}, Shape()})), (Shape{2}));
  EXPECT_EQ(apply("[n] -> [], [n]+", {Shape{3}}, 3).values.size(), 3u);
  EXPECT_EQ(apply("[n] -> [], [n]+", {Shape{3}}, 3).values[2].shape, (Shape{3}));
}

TEST(Signature, ConflictsNameTheInput) {
  EXPECT_EQ(apply("[m,k], [k,n] -> [m,n]", {Shape{2, 3}, Shape{4, 5}}).conflict,
            "input 1 has shape [4,5], expected [k,n] where k = 3");
  EXPECT_EQ(apply("[] -> []", {Shape{1}}).conflict, "input 0 has shape [1], expected []");
  EXPECT_EQ(apply("X, X -> X", {Shape{1}, Shape{2}}).conflict,
            "input 1 has shape [2], expected [X] where X = [1]");
  EXPECT_EQ(apply("*:X, X -> ", {KnownValue(Shape(), {Shape{2}}), Shape{3}}).conflict,
            "input 1 has shape [3], expected [X] where X = [2]");
}

TEST(Signature, WrongNumberOfInputsIsUnknown) {
  EXPECT_TRUE(apply("X, X -> X", {Shape{1}}).values.empty());
  EXPECT_TRUE(apply("-> []", {Shape{1}}).values.empty());
}

TEST(Signature, MalformedTextIsNone) {
  for (std::string_view text : {"", "X", "X ->", "[a -> X", "[A,B] -> X", "X+, X -> X", "x -> x",
                                "X -> =", "X -> {", "X -> [$]", "X -> X Y"})
    EXPECT_EQ(Signature::parse(text).has_value(), text == "X ->") << text;
}

} // namespace
} // namespace treadle
