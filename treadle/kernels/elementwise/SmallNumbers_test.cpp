#include "treadle/kernels/elementwise/SmallNumbers.h"
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

template <typename T> void expectThereAndBack() {
  for (int bits = 0; bits < 256; ++bits) {
    T x;
    x.bits = static_cast<uint8_t>(bits);
    auto value = static_cast<float>(x);
    if (!std::isnan(value))
      EXPECT_EQ(int{T(static_cast<double>(value)).bits}, bits) << value;
  }
}

TEST(SmallNumbers, FloatsThereAndBack) {
  expectThereAndBack<Float8E5M2>();
  expectThereAndBack<Float8E4M3FN>();
  expectThereAndBack<Float8E5M2FNUZ>();
  expectThereAndBack<Float8E4M3FNUZ>();
  expectThereAndBack<Float8E4M3B11FNUZ>();
}

TEST(SmallNumbers, RoundingToEvenAndBeyondTheLargest) {
  Tensor in = vec<double>({1.0625, 1.1875, 448, 464, 465, 61439, 61440, 1e-9, -0.0});
  Tensor fine = run1("Cast", {in}, DType::Float8E4M3FN),
         coarse = run1("Cast", {in}, DType::Float8E5M2);
  EXPECT_EQ(std::vector<uint8_t>(fine.data<uint8_t>(), fine.data<uint8_t>() + 9),
            (std::vector<uint8_t>{0x38, 0x3a, 0x7e, 0x7e, 0x7f, 0x7f, 0x7f, 0, 0x80}));
  EXPECT_EQ(std::vector<uint8_t>(coarse.data<uint8_t>(), coarse.data<uint8_t>() + 9),
            (std::vector<uint8_t>{0x3c, 0x3d, 0x5f, 0x5f, 0x5f, 0x7b, 0x7c, 0, 0x80}));
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(values<float>(run1("Cast", {coarse}, DType::Float32)),
            (std::vector<float>{1, 1.25f, 448, 448, 448, 57344, infinity, 0, 0}));
}

TEST(SmallNumbers, TypesWithoutNegativeZeroEncodeNaNThere) {
  Tensor in = vec<float>({-0.0f, -1e-9f, 240, 248, -1, std::numeric_limits<float>::infinity()});
  Tensor out = run1("Cast", {in}, DType::Float8E4M3FNUZ);
  EXPECT_EQ(std::vector<uint8_t>(out.data<uint8_t>(), out.data<uint8_t>() + 6),
            (std::vector<uint8_t>{0, 0, 0x7f, 0x80, 0xc0, 0x80}));
  EXPECT_TRUE(std::isnan(values<float>(run1("Cast", {out}, DType::Float32))[3]));
}

TEST(SmallNumbers, IntegersWrapAround) {
  Tensor in = vec<int32_t>({7, 8, -8, 17});
  expectNear<int8_t>(run1("Cast", {run1("Cast", {in}, DType::Int4)}, DType::Int8), {7, -8, -8, 1});
  expectNear<int8_t>(run1("Cast", {run1("Cast", {in}, DType::UInt4)}, DType::Int8), {7, 8, 8, 1});
  expectNear<int8_t>(run1("Cast", {run1("Cast", {in}, DType::Int2)}, DType::Int8), {-1, 0, 0, 1});
  expectNear<int8_t>(run1("Cast", {run1("Cast", {in}, DType::UInt2)}, DType::Int8), {3, 0, 0, 1});
  EXPECT_EQ(errorClassOf("Cast", {vec<float>({1})}, {DType::Int4}), "UnimplementedError");
}

TEST(SmallNumbers, QuantizedDTypesAreTheirIntegers) {
  Tensor quantized = run1("Cast", {vec<float>({1.5f, -3, 300})}, DType::QUInt8);
  expectNear<float>(run1("Cast", {quantized}, DType::Float32), {1, 253, 44});
  expectNear<uint8_t>(run1("Cast", {quantized}, DType::UInt8), {1, 253, 44});
}

} // namespace
} // namespace treadle
