#include "treadle/shapes/ShapeFunctions.h"

#include "treadle/kernels/Families.h"
#include "treadle/ops/OpTable.h"
#include "treadle/shapes/Signature.h"
#include "treadle/testing/TestNode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <set>

namespace treadle {
namespace {

const int64_t u = Shape::unknown;

ShapeResults infer(const TestNode &node, const std::vector<KnownValue> &inputs) {
  std::vector<const KnownValue *> pointers;
  for (const KnownValue &input : inputs)
    pointers.push_back(&input);
  return inferShapes(ShapeQuery(node, pointers));
}

Shape shapeOf(std::string op, const std::vector<KnownValue> &inputs, const AttrMap &attrs = {}) {
  ShapeResults results = infer(TestNode(std::move(op), 1, attrs), inputs);
  EXPECT_EQ(results.conflict, "");
  return results.values.empty() ? Shape() : results.values[0].shape;
}

KnownValue integers(Shape::Dims values) {
  KnownValue out(Shape{static_cast<int64_t>(values.size())});
  out.integers = std::move(values);
  return out;
}

KnownValue scalar(int64_t value) {
  KnownValue out(Shape::scalar());
  out.integers = Shape::Dims{value};
  return out;
}

AttrMap ints(std::initializer_list<std::pair<std::string_view, AttrValue>> values) {
  AttrMap out;
  for (const auto &[key, value] : values)
    out.set(key, value);
  return out;
}

bool isList(const ArgDef &arg) { return !arg.numberAttr().empty() || !arg.typeListAttr().empty(); }

/// Checks that signatures have as many fixed arguments as the op definitions.
TEST(ShapeTable, SignaturesAreThoseOfTheirOps) {
  for (const ShapeFamily &family : shapeFamilies())
    for (const SignatureEntry &entry : family.signatures) {
      std::optional<Signature> signature = Signature::parse(entry.signature);
      ASSERT_TRUE(signature) << entry.signature;
      for (std::string_view name : entry.ops) {
        const OpDef *op = lookupOp(name);
        EXPECT_TRUE(op) << "there is no op " << name;
        if (!op)
          continue;
        EXPECT_TRUE(signature->takes(op->inputs().size()) ||
                    std::ranges::any_of(op->inputs(), isList))
            << name << ": " << entry.signature;
        EXPECT_TRUE(signature->gives(op->outputs().size()) ||
                    std::ranges::any_of(op->outputs(), isList))
            << name << ": " << entry.signature;
      }
    }
}

TEST(ShapeTable, EveryOpIsThereOnce) {
  std::set<std::string_view> seen;
  for (const OpDef &op : allOps())
    if (!op.shapes().empty()) {
      seen.insert(op.name());
      std::optional<Signature> signature = Signature::parse(op.shapes());
      ASSERT_TRUE(signature) << op.name();
      EXPECT_TRUE(signature->takes(op.inputs().size())) << op.name();
      EXPECT_TRUE(signature->gives(op.outputs().size())) << op.name();
    }
  for (const ShapeFamily &family : shapeFamilies()) {
    for (const SignatureEntry &entry : family.signatures)
      for (std::string_view name : entry.ops)
        EXPECT_TRUE(seen.insert(name).second) << name;
    for (const ShapeEntry &entry : family.functions) {
      EXPECT_TRUE(seen.insert(entry.op).second) << entry.op;
      EXPECT_TRUE(lookupOp(entry.op)) << "there is no op " << entry.op;
    }
  }
}

// A kernel may precede its shape function; missing ones are printed.
TEST(ShapeTable, KernelsHaveShapeFunctions) {
  int kernels = 0, known = 0;
  for (const OpDef &op : allOps())
    if (builtinKernels().find(op.name())) {
      ++kernels;
      known += hasShapeFunction(op.name());
      if (!hasShapeFunction(op.name()))
        std::cerr << "no shape function: " << op.name() << "\n";
    }
  EXPECT_GE(known * 100, kernels * 95);
}

TEST(ShapeFunctions, Windows) {
  AttrMap attrs =
      ints({{"strides", std::vector<int64_t>{1, 2, 2, 1}}, {"padding", std::string("SAME")}});
  EXPECT_EQ(shapeOf("Conv2D", {Shape{u, 7, 8, 3}, Shape{3, 3, 3, 5}}, attrs), (Shape{u, 4, 4, 5}));
  attrs.set("padding", std::string("VALID"));
  EXPECT_EQ(shapeOf("Conv2D", {Shape{1, 7, 8, 3}, Shape{3, 3, 3, 5}}, attrs), (Shape{1, 3, 3, 5}));
  EXPECT_NE(infer(TestNode("Conv2D", 1, attrs), {Shape{1, 7, 8, 4}, Shape{3, 3, 3, 5}}).conflict,
            "");
}

TEST(ShapeFunctions, AliasesOfOps) {
  AttrMap attrs =
      ints({{"strides", std::vector<int64_t>{1, 2, 2, 1}}, {"padding", std::string("SAME")}});
  EXPECT_EQ(shapeOf("_MklNativeConv2D", {Shape{u, 7, 8, 3}, Shape{3, 3, 3, 5}}, attrs),
            (Shape{u, 4, 4, 5}));
  ShapeResults conv = infer(TestNode("_MklConv2D", 4, attrs),
                            {Shape{u, 7, 8, 3}, Shape{3, 3, 3, 5}, Shape{u}, Shape{u}});
  ASSERT_EQ(conv.values.size(), 1u);
  EXPECT_EQ(conv.values[0].shape, (Shape{u, 4, 4, 5}));
  attrs.set("ksize", std::vector<int64_t>{1, 2, 2, 1});
  ShapeResults results = infer(TestNode("_MklNativeMaxPool", 2, attrs), {Shape{u, 7, 8, 3}});
  ASSERT_EQ(results.values.size(), 1u); // without the outputs that describe memory layouts
  EXPECT_EQ(results.values[0].shape, (Shape{u, 4, 4, 3}));
}

TEST(ShapeFunctions, MessagesByTheirFields) {
  AttrMap attrs = ints({{"field_names", std::vector<std::string>{"a", "b"}}});
  ShapeResults results = infer(TestNode("DecodeProtoV2", 3, attrs), {Shape{4, u}});
  ASSERT_EQ(results.values.size(), 3u);
  EXPECT_EQ(results.values[0].shape, (Shape{4, u, 2}));
  EXPECT_EQ(results.values[2].shape, (Shape{4, u, u}));
  EXPECT_EQ(shapeOf("EncodeProto", {Shape{4, 2}, Shape{4, 7}, Shape{4, 1}}), Shape{4});
}

TEST(ShapeFunctions, PiecesForAGridOfDevices) {
  AttrMap attrs = ints({{"num_splits", std::vector<int64_t>{2, 2}},
                        {"num_concats", std::vector<int64_t>{2, 2}},
                        {"paddings", std::vector<int64_t>{1, 0}}});
  EXPECT_EQ(shapeOf("XlaSplitND", {Shape{3, 4}}, attrs), (Shape{2, 2}));
  EXPECT_EQ(shapeOf("XlaConcatND", {Shape{2, u}}, attrs), (Shape{3, u}));
}

TEST(ShapeFunctions, Reshape) {
  EXPECT_EQ(shapeOf("Reshape", {Shape{4, 6}, integers({3, -1})}), (Shape{3, 8}));
  EXPECT_EQ(infer(TestNode("Reshape", 1), {Shape{4, 6}, integers({5, 5})}).conflict,
            "an input of shape [4,6] (24 elements) can't be reshaped to [5,5] (25 elements)");
}

TEST(ShapeFunctions, MatMul) {
  EXPECT_EQ(infer(TestNode("MatMul", 1), {Shape{2, 3}, Shape{4, 5}}).conflict,
            "matrices of shapes [2,3] and [4,5] can't be multiplied: 3 columns, 4 rows");
  EXPECT_EQ(shapeOf("MatMul", {Shape{2, 3}, Shape{5, 3}}, ints({{"transpose_b", true}})),
            (Shape{2, 5}));
}

TEST(ShapeFunctions, Einsum) {
  auto equation = [](std::string text) { return ints({{"equation", std::move(text)}}); };
  EXPECT_EQ(shapeOf("Einsum", {Shape{2, 3}, Shape{3, 4}}, equation("ij,jk->ik")), (Shape{2, 4}));
  EXPECT_EQ(shapeOf("Einsum", {Shape{7, 2, 3}, Shape{1, 3, 4}}, equation("...ij,...jk->k...i")),
            (Shape{4, 7, 2}));
}

TEST(ShapeFunctions, DequeuedShapesAreTheQueues) {
  KnownValue queue(Shape::scalar(), {Shape{2}, Shape::scalar()});
  ShapeResults many = infer(TestNode("QueueDequeueManyV2", 2), {queue, scalar(5)});
  ASSERT_EQ(many.values.size(), 2u);
  EXPECT_EQ(many.values[0].shape, (Shape{5, 2}));
  EXPECT_EQ(many.values[1].shape, (Shape{5}));
}

TEST(ShapeFunctions, ListsOfAnyShapeStayThat) {
  KnownValue list(Shape::scalar(), {Shape()});
  ShapeResults pushed = infer(TestNode("TensorListPushBack", 1), {list, Shape{2}});
  ASSERT_EQ(pushed.values.size(), 1u);
  EXPECT_EQ(pushed.values[0].held, std::vector<Shape>{Shape()});
}

TEST(ShapeFunctions, RangeOfFloats) {
  auto lengthOf = [](float start, float limit, float step) {
    std::vector<KnownValue> inputs;
    for (float number : {start, limit, step})
      inputs.push_back(knownOf(Tensor::scalar(DType::Float32, number)));
    return infer(TestNode("Range", 1, {}, DType::Float32), inputs).values[0].shape.dim(0);
  };
  EXPECT_EQ(lengthOf(0, 1, 0.3F), 4);
  EXPECT_EQ(lengthOf(0, 1e12F, 1), int64_t(1e12F));
  EXPECT_EQ(lengthOf(3, 0, -2), 2);
  EXPECT_EQ(lengthOf(0, 3, -2), u);
  EXPECT_EQ(lengthOf(0, 3, 0), u);
}

TEST(IntegerValues, AreFollowed) {
  auto valuesOf = [](std::string op, const std::vector<KnownValue> &inputs, AttrMap attrs = {}) {
    ShapeResults out = infer(TestNode(std::move(op), 1, std::move(attrs)), inputs);
    return out.values.empty() ? std::nullopt : out.values[0].integers;
  };
  using Dims = Shape::Dims;
  EXPECT_EQ(valuesOf("Shape", {Shape{2, u}}), (Dims{2, u}));
  EXPECT_EQ(valuesOf("FloorDiv", {scalar(-7), scalar(2)}), Dims{-4});
  EXPECT_EQ(valuesOf("FloorMod", {scalar(-7), scalar(2)}), Dims{1});
  EXPECT_EQ(valuesOf("Mul", {scalar(1 << 20), scalar(1 << 20)}), Dims{u});
  EXPECT_EQ(valuesOf("ListDiff", {integers({0, 1, 2}), integers({1})}), (Dims{0, 2}));
  EXPECT_EQ(valuesOf("Range", {scalar(0), scalar(5), scalar(2)}), (Dims{0, 2, 4}));
  EXPECT_EQ(valuesOf("Pack", {integers({1, 2}), integers({3, 4})}, ints({{"axis", int64_t{1}}})),
            (Dims{1, 3, 2, 4}));
}

// A file may contain any node: inference doesn't crash, and returns no negative dimensions.
TEST(ShapeFunctions, MalformedNodesAreUnknown) {
  std::mt19937 random(1);
  auto any = [&](int below) { return static_cast<int64_t>(random() % below); };
  const int64_t odd[] = {0, 1, 2, 3, -1, -2, 7, 1 << 20, INT64_MAX, INT64_MAX / 2, -INT64_MAX, u};
  auto number = [&] { return odd[any(std::size(odd))]; };
  auto numbers = [&] {
    Shape::Dims out(any(6));
    for (int64_t &value : out)
      value = number();
    return out;
  };
  auto value = [&] {
    KnownValue out(any(4) ? Shape(numbers()) : Shape());
    if (any(3) == 0)
      out.held = {Shape(numbers())};
    if (any(2)) {
      out.integers = numbers();
      if (any(3))
        out.shape = Shape{static_cast<int64_t>(out.integers->size())};
    }
    return out;
  };
  auto check = [&](std::string_view op) {
    AttrMap attrs;
    const OpDef *definition = lookupOp(op);
    for (const AttrDef &attr : definition ? definition->attrs() : std::span<const AttrDef>())
      switch (any(6)) {
      case 0:
        attrs.set(attr.name(), number());
        break;
      case 1:
        attrs.set(attr.name(), numbers());
        break;
      case 2:
        attrs.set(attr.name(), std::string(any(2) ? "SAME" : "VALID"));
        break;
      case 3:
        attrs.set(attr.name(), PartialShape{any(2) != 0, numbers()});
        break;
      case 4:
        attrs.set(attr.name(), std::vector<PartialShape>{PartialShape{true, numbers()}});
        break;
      default:
        break;
      }
    std::vector<KnownValue> inputs(any(12));
    for (KnownValue &input : inputs)
      input = value();
    ShapeResults out = infer(TestNode(std::string(op), any(6), attrs), inputs);
    for (const KnownValue &result : out.values)
      for (int64_t dim : result.shape.all())
        EXPECT_TRUE(dim >= 0 || dim == u) << op;
  };
  for (const ShapeFamily &family : shapeFamilies())
    for (int repeat = 0; repeat < 200; ++repeat) {
      for (const SignatureEntry &entry : family.signatures)
        for (std::string_view op : entry.ops)
          check(op);
      for (const ShapeEntry &entry : family.functions)
        check(entry.op);
    }
}

} // namespace
} // namespace treadle
