// Tests relations between element types, and attributes in C++.
#include "treadle/dialect/TfType.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace treadle::tf_type;

namespace {

class TfTypeTest : public testing::Test {
protected:
  TfTypeTest() { context.loadDialect<TfTypeDialect>(); }

  Type type(StringRef text) {
    Type result = parseType(text, &context);
    EXPECT_TRUE(result) << text.str();
    return result;
  }

  MLIRContext context;
};

// Builtin type (or ours), and the reference type to it.
constexpr std::pair<const char *, const char *> references[] = {
    {"f32", "f32ref"},
    {"f64", "f64ref"},
    {"f16", "halfref"},
    {"bf16", "bfloat16ref"},
    {"f8E5M2", "float8e5m2ref"},
    {"f8E4M3FN", "float8e4m3fnref"},
    {"f8E4M3FNUZ", "float8e4m3fnuzref"},
    {"f8E4M3B11FNUZ", "float8e4m3b11fnuzref"},
    {"f8E5M2FNUZ", "float8e5m2fnuzref"},
    {"f4E2M1FN", "float4e2m1fnref"},
    {"i1", "boolref"},
    {"i2", "int2ref"},
    {"i4", "int4ref"},
    {"i8", "int8ref"},
    {"i16", "int16ref"},
    {"i32", "int32ref"},
    {"i64", "int64ref"},
    {"ui2", "uint2ref"},
    {"ui4", "uint4ref"},
    {"ui8", "uint8ref"},
    {"ui16", "uint16ref"},
    {"ui32", "uint32ref"},
    {"ui64", "uint64ref"},
    {"complex<f32>", "complex64ref"},
    {"complex<f64>", "complex128ref"},
    {"!tf_type.string", "stringref"},
    {"!tf_type.resource", "resourceref"},
    {"!tf_type.variant", "variantref"},
    {"!tf_type.qint8", "qint8ref"},
    {"!tf_type.qint16", "qint16ref"},
    {"!tf_type.qint32", "qint32ref"},
    {"!tf_type.quint8", "quint8ref"},
    {"!tf_type.quint16", "quint16ref"},
};

TEST_F(TfTypeTest, ReferencesMapToTheirElementTypes) {
  for (auto [targetText, referenceText] : references) {
    Type target = type(targetText);
    Type reference = type(std::string("!tf_type.") + referenceText);
    EXPECT_TRUE(isReference(reference)) << referenceText;
    EXPECT_FALSE(isReference(target)) << targetText;
    EXPECT_EQ(referenceTo(target), reference) << targetText;
    EXPECT_EQ(dereference(reference), target) << referenceText;
    EXPECT_EQ(dereference(target), target) << targetText;
    EXPECT_TRUE(isElementType(target) && isElementType(reference)) << targetText;
  }
}

TEST_F(TfTypeTest, SomeTypesHaveNoReference) {
  for (const char *text : {"i3", "si32", "f80", "index", "complex<f16>", "!tf_type.control",
                           "!tf_type.unknown", "!tf_type.f32ref"})
    EXPECT_FALSE(referenceTo(type(text))) << text;
}

TEST_F(TfTypeTest, SomeTypesArentElementTypes) {
  for (const char *text :
       {"index", "complex<f16>", "!tf_type.control", "!tf_type.tensor", "tensor<f32>", "none"})
    EXPECT_FALSE(isElementType(type(text))) << text;
}

TEST_F(TfTypeTest, CompatibilityLooksAtDtypeAndShape) {
  struct Case {
    const char *a, *b;
    bool compatible;
  };
  const Case cases[] = {
      {"tensor<2xf32>", "tensor<2xf32>", true},
      {"tensor<2xf32>", "tensor<*xf32>", true},
      {"tensor<2x?xf32>", "tensor<?x3xf32>", true},
      {"tensor<2xf32>", "tensor<3xf32>", false},
      {"tensor<2xf32>", "tensor<2x1xf32>", false},
      {"tensor<f32>", "tensor<f64>", false},
      {"tensor<i32>", "tensor<ui32>", false},
      {"tensor<f32>", "tensor<!tf_type.f32ref>", true},
      {"tensor<f64>", "tensor<!tf_type.f32ref>", false},
      {"tensor<!tf_type.resource>", "tensor<!tf_type.resource<tensor<f32>>>", true},
      {"tensor<!tf_type.resource>", "tensor<!tf_type.variant>", false},
      {"tensor<*x!tf_type.unknown>", "tensor<2xf32>", true},
      {"tensor<3x!tf_type.unknown>", "tensor<2xf32>", false},
      {"!tf_type.tensor", "tensor<2xf32>", true},
      {"!tf_type.control", "!tf_type.control", true},
      {"!tf_type.control", "!tf_type.tensor", false},
      {"!tf_type.control", "tensor<f32>", false},
      {"i32", "tensor<i32>", false},
  };
  for (const Case &test : cases) {
    EXPECT_EQ(areCompatible(type(test.a), type(test.b)), test.compatible) << test.a << test.b;
    EXPECT_EQ(areCompatible(type(test.b), type(test.a)), test.compatible) << test.b << test.a;
  }
}

TEST_F(TfTypeTest, ShapesKnowTheirTensorType) {
  Builder builder(&context);
  auto ranked = ShapeAttr::get(&context, ArrayRef<int64_t>{2, ShapedType::kDynamic});
  EXPECT_TRUE(ranked.hasRank());
  EXPECT_FALSE(ranked.isStatic());
  EXPECT_EQ(ranked.tensorOf(builder.getF32Type()), type("tensor<2x?xf32>"));
  EXPECT_EQ(ShapeAttr::get(cast<ShapedType>(type("tensor<2x?xi1>"))), ranked);

  auto scalar = ShapeAttr::get(&context, ArrayRef<int64_t>{});
  EXPECT_TRUE(scalar.hasRank() && scalar.isStatic());
  auto unranked = ShapeAttr::getUnranked(&context);
  EXPECT_FALSE(unranked.hasRank() || unranked.isStatic());
  EXPECT_NE(scalar, unranked);
  EXPECT_EQ(unranked.tensorOf(builder.getF32Type()), type("tensor<*xf32>"));
  EXPECT_EQ(ShapeAttr::get(cast<ShapedType>(type("tensor<*xi1>"))), unranked);
}

TEST_F(TfTypeTest, NegativeDimensionsAreErrors) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) { message = diag.str(); });
  const int64_t dims[] = {1, -7};
  EXPECT_FALSE(ShapeAttr::getChecked([&] { return emitError(UnknownLoc::get(&context)); }, &context,
                                     ArrayRef(dims), /*unranked=*/false));
  EXPECT_EQ(message, "dimension 1 of a shape is -7, expected at least 0, or ? if it is unknown");
}

TEST_F(TfTypeTest, SymbolsAreFoundAndRenamedInsideFunctionAttributes) {
  context.allowUnregisteredDialects();
  auto module = parseSourceString<ModuleOp>(
      R"("test.op"() {f = #tf_type.func<@foo, {g = #tf_type.func<@foo, {}>}>} : () -> ())",
      &context);
  ASSERT_TRUE(module);
  ASSERT_TRUE(succeeded(SymbolTable::replaceAllSymbolUses(StringAttr::get(&context, "foo"),
                                                          StringAttr::get(&context, "bar"),
                                                          &module->getBodyRegion())));
  auto f = module->getBody()->front().getAttrOfType<FuncAttr>("f");
  ASSERT_TRUE(f);
  EXPECT_EQ(f.getName().getLeafReference(), "bar");
  EXPECT_EQ(f.getAttrs().getAs<FuncAttr>("g").getName().getLeafReference(), "bar");
}

TEST_F(TfTypeTest, EncodedMessagesKeepEveryByte) {
  std::string bytes("\0\xff\n\"\\x", 6);
  auto message = MessageAttr::get(&context, "AttrValue", bytes);
  std::string text;
  llvm::raw_string_ostream(text) << message;
  EXPECT_EQ(cast<MessageAttr>(parseAttribute(text, &context)).getValue(), bytes);

  auto tensor = TensorProtoAttr::get(cast<ShapedType>(type("tensor<2xf32>")), bytes);
  text.clear();
  llvm::raw_string_ostream(text) << tensor;
  EXPECT_EQ(parseAttribute(text, &context), tensor);
  EXPECT_EQ(tensor.getType(), type("tensor<2xf32>"));
}

TEST_F(TfTypeTest, FullTypeNames) {
  EXPECT_EQ(fullTypeName(0), "unset");
  EXPECT_EQ(fullTypeName(1005), "shape_tensor");
  EXPECT_EQ(fullTypeName(4711), "");
}

} // namespace
