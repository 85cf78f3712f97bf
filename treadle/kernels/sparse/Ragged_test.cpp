// Ragged and sparse tensors packed into other tensors, and back.
#include "treadle/kernels/SerializedTensor.h"
#include "treadle/kernels/Variants.h"
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

// --- ragged ------------------------------------------------------------------------------------

AttrMap toAttrs(bool batched) {
  AttrMap attrs;
  attrs.set("batched_input", batched);
  return attrs;
}

AttrMap fromAttrs(int64_t input, int64_t output) {
  AttrMap attrs;
  attrs.set("input_ragged_rank", input);
  attrs.set("output_ragged_rank", output);
  attrs.set("Tsplits", TypeAttr{DType::Int64});
  return attrs;
}

using Ints = std::vector<int64_t>;

// [[[1, 2], []], [], [[3]]]
const Ints outer = {0, 2, 2, 3}, inner = {0, 2, 2, 3};

TEST(Ragged, roundTripsWholeTensor) {
  Tensor encoded = run1("RaggedTensorToVariant", {vec(outer), vec(inner), vec<float>({1, 2, 3})},
                        DType::Variant, toAttrs(false));
  EXPECT_TRUE(encoded.isScalar());
  auto out = runAll("RaggedTensorFromVariant", {encoded},
                    {DType::Int64, DType::Int64, DType::Float32}, fromAttrs(2, 2));
  EXPECT_EQ(values<int64_t>(out.at(0)), outer);
  EXPECT_EQ(values<int64_t>(out.at(1)), inner);
  EXPECT_EQ(values<float>(out.at(2)), (std::vector<float>{1, 2, 3}));
}

TEST(Ragged, aRowEachThereAndBack) {
  Tensor rows = run1("RaggedTensorToVariant", {vec(outer), vec(inner), vec<float>({1, 2, 3})},
                     DType::Variant, toAttrs(true));
  ASSERT_EQ(rows.count(), 3);
  for (int64_t inputRank : {int64_t{1}, int64_t{-1}}) {
    auto out = runAll("RaggedTensorFromVariant", {rows},
                      {DType::Int64, DType::Int64, DType::Float32}, fromAttrs(inputRank, 2));
    EXPECT_EQ(values<int64_t>(out.at(0)), outer);
    EXPECT_EQ(values<int64_t>(out.at(1)), inner);
    EXPECT_EQ(values<float>(out.at(2)), (std::vector<float>{1, 2, 3}));
  }
}

TEST(Ragged, rowsOfARegularTensor) {
  Tensor rows =
      run1("RaggedTensorToVariant", {iota<int32_t>({2, 3}, 0)}, DType::Variant, toAttrs(true));
  auto out =
      runAll("RaggedTensorFromVariant", {rows}, {DType::Int64, DType::Int32}, fromAttrs(0, 1));
  EXPECT_EQ(values<int64_t>(out.at(0)), (Ints{0, 3, 6}));
  EXPECT_EQ(out.at(1).rank(), 1);
  Tensor stacked = run1("RaggedTensorFromVariant", {rows}, DType::Int32, fromAttrs(-1, 0));
  EXPECT_EQ(dimsText(stacked.dims()), "[2,3]");
}

TEST(Ragged, aMatrixOfRowsHasUniformSplits) {
  Tensor rows = run1("RaggedTensorToVariant", {vec<int64_t>({0, 1, 3, 3, 4}), iota<float>({4}, 0)},
                     DType::Variant, toAttrs(true));
  int64_t square[] = {2, 2};
  auto out = runAll("RaggedTensorFromVariant", {rows.withDims(square)},
                    {DType::Int64, DType::Int64, DType::Float32}, fromAttrs(0, 2));
  EXPECT_EQ(values<int64_t>(out.at(0)), (Ints{0, 2, 4}));
  EXPECT_EQ(values<int64_t>(out.at(1)), (Ints{0, 1, 3, 3, 4}));
  EXPECT_EQ(out.at(2).count(), 4);
}

TEST(Ragged, theGradientPutsRowsTogether) {
  Tensor rows = run1("RaggedTensorToVariant", {vec<int64_t>({0, 1, 3}), vec<float>({1, 2, 3})},
                     DType::Variant, toAttrs(true));
  rows.data<Variant>()[0].object = nullptr; // no gradient arrived
  Tensor out = run1("RaggedTensorToVariantGradient",
                    {rows, vec<int64_t>({0, 1, 3}), vec<int32_t>({3})}, DType::Float32);
  EXPECT_EQ(values<float>(out), (std::vector<float>{0, 2, 3}));
}

TEST(Ragged, whatIsNotRagged) {
  auto to = [](Ints splits, int64_t rows) {
    return errorClassOf("RaggedTensorToVariant", {vec(std::move(splits)), iota<float>({rows}, 0)},
                        {DType::Variant}, toAttrs(true));
  };
  EXPECT_EQ(to({0, 2}, 2), "");
  EXPECT_EQ(to({}, 0), "InvalidArgumentError");
  EXPECT_EQ(to({1, 2}, 2), "InvalidArgumentError");
  EXPECT_EQ(to({0, 2, 1, 2}, 2), "InvalidArgumentError");
  EXPECT_EQ(to({0, 3}, 2), "InvalidArgumentError");
  Tensor nothing = Tensor::makeScalar(DType::Variant);
  EXPECT_EQ(errorClassOf("RaggedTensorFromVariant", {nothing}, {DType::Int64, DType::Float32},
                         fromAttrs(1, 1)),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("RaggedTensorFromVariant", {nothing}, {DType::Int64, DType::Float32},
                         fromAttrs(0, 1)),
            "InvalidArgumentError");
}

// --- sparse ------------------------------------------------------------------------------------

class Packed : public testing::TestWithParam<DType> {};

TEST_P(Packed, aSparseTensorThereAndBack) {
  Tensor indices = tensor<int64_t>({2, 2}, {0, 1, 2, 0}), shape = vec<int64_t>({3, 4});
  Tensor packed = run1("SerializeSparse", {indices, vec<float>({5, 6}), shape}, GetParam());
  ASSERT_EQ(packed.count(), 3);
  auto out = runAll("DeserializeSparse", {packed}, {DType::Int64, DType::Float32, DType::Int64});
  EXPECT_EQ(values<int64_t>(out.at(0)), (Ints{0, 1, 2, 0}));
  EXPECT_EQ(dimsText(out.at(0).dims()), "[2,2]");
  EXPECT_EQ(values<float>(out.at(1)), (std::vector<float>{5, 6}));
  EXPECT_EQ(values<int64_t>(out.at(2)), (Ints{3, 4}));
}

TEST_P(Packed, oneForEachRow) {
  Tensor indices = tensor<int64_t>({3, 2}, {0, 1, 0, 3, 2, 0}), shape = vec<int64_t>({3, 4});
  Tensor packed = run1(
      "SerializeManySparse",
      {indices, vec<std::string>({"a", "", "long enough to be on the heap"}), shape}, GetParam());
  ASSERT_EQ(dimsText(packed.dims()), "[3,3]");
  auto out = runAll("DeserializeSparse", {packed}, {DType::Int64, DType::String, DType::Int64});
  EXPECT_EQ(values<int64_t>(out.at(0)), (Ints{0, 1, 0, 3, 2, 0}));
  EXPECT_EQ(values<std::string>(out.at(1)),
            (std::vector<std::string>{"a", "", "long enough to be on the heap"}));
  EXPECT_EQ(values<int64_t>(out.at(2)), (Ints{3, 4}));
}

TEST_P(Packed, theLargestShapeHoldsAll) {
  auto pack = [](Ints shape) {
    return run1("SerializeSparse", {tensor<int64_t>({1, 1}, {0}), vec<int32_t>({1}), vec(shape)},
                GetParam());
  };
  Tensor both = *Tensor::make(GetParam(), {2, 3});
  int64_t at = 0;
  for (const Tensor &packed : {pack({2}), pack({7})})
    for (int64_t i = 0; i < 3; ++i, ++at)
      if (GetParam() == DType::Variant)
        both.data<Variant>()[at] = packed.data<Variant>()[i];
      else
        both.data<std::string>()[at] = packed.data<std::string>()[i];
  auto out = runAll("DeserializeSparse", {both}, {DType::Int64, DType::Int32, DType::Int64});
  EXPECT_EQ(values<int64_t>(out.at(0)), (Ints{0, 0, 1, 0}));
  EXPECT_EQ(values<int64_t>(out.at(2)), (Ints{2, 7}));
}

TEST_P(Packed, whatIsNoSparseTensor) {
  auto pack = [](Tensor indices, Tensor shape) {
    return errorClassOf("SerializeManySparse", {indices, vec<int32_t>({1}), shape}, {GetParam()});
  };
  EXPECT_EQ(pack(tensor<int64_t>({1, 2}, {0, 0}), vec<int64_t>({1, 1})), "");
  EXPECT_EQ(pack(tensor<int64_t>({1, 2}, {1, 0}), vec<int64_t>({1, 1})), "InvalidArgumentError");
  EXPECT_EQ(pack(tensor<int64_t>({1, 1}, {0}), vec<int64_t>({1})), "InvalidArgumentError");
  EXPECT_EQ(pack(tensor<int64_t>({1, 2}, {0, 0}), vec<int64_t>({1})), "InvalidArgumentError");
  EXPECT_EQ(pack(vec<int64_t>({0, 0}), vec<int64_t>({1, 1})), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("DeserializeSparse", {*Tensor::make(GetParam(), {3})},
                         {DType::Int64, DType::Int32, DType::Int64}),
            "InvalidArgumentError");
}

INSTANTIATE_TEST_SUITE_P(Forms, Packed, testing::Values(DType::Variant, DType::String));

// --- serialized tensors ------------------------------------------------------------------------

TEST(SerializedTensor, thereAndBack) {
  Tensor matrix = *parseTensorProto(serializeTensorProto(iota<int16_t>({2, 3}, -2)));
  EXPECT_EQ(tensorTypeText(matrix), "int16[2,3]");
  EXPECT_EQ(values<int16_t>(matrix), (std::vector<int16_t>{-2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(tensorTypeText(*parseTensorProto(serializeTensorProto(tensor<float>({0, 2}, {})))),
            "float32[0,2]");
  EXPECT_EQ(
      parseTensorProto(serializeTensorProto(scalar<std::string>("x")))->scalarValue<std::string>(),
      "x");
}

TEST(SerializedTensor, theBytesAreTensorFlows) {
  // dtype: DT_INT32, tensor_shape { dim { size: 2 } }, tensor_content: 1, 2
  EXPECT_EQ(serializeTensorProto(vec<int32_t>({1, 2})),
            std::string("\x08\x03\x12\x04\x12\x02\x08\x02\x22\x08\1\0\0\0\2\0\0\0", 18));
}

TEST(SerializedTensor, shortenedTextIsAnErrorInsideAField) {
  constexpr size_t endOfDtype = 2, endOfShape = 8; // missing elements are zero
  for (const Tensor &t : {vec<int32_t>({1, 2}), vec<std::string>({"ab", "c"})}) {
    std::string bytes = serializeTensorProto(t);
    for (size_t n = 0; n < bytes.size(); ++n)
      EXPECT_EQ(bool(parseTensorProto(std::string_view(bytes).substr(0, n))),
                n == endOfDtype || n == endOfShape)
          << n;
  }
  std::string huge("\x08\x03\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 15);
  EXPECT_FALSE(parseTensorProto(huge));
}

} // namespace
} // namespace treadle
