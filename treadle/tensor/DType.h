// Element types of tensors. The numbers are those of GraphDef's DataType, so that a
// dtype can be stored in, and read from, a graph without translation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace treadle {

enum class DType : uint8_t {
  Invalid = 0,
  Float32 = 1,
  Float64 = 2,
  Int32 = 3,
  UInt8 = 4,
  Int16 = 5,
  Int8 = 6,
  String = 7,
  Complex64 = 8,
  Int64 = 9,
  Bool = 10,
  QInt8 = 11,
  QUInt8 = 12,
  QInt32 = 13,
  BFloat16 = 14,
  QInt16 = 15,
  QUInt16 = 16,
  UInt16 = 17,
  Complex128 = 18,
  Float16 = 19,
  Resource = 20,
  Variant = 21,
  UInt32 = 22,
  UInt64 = 23,
  Float8E5M2 = 24,
  Float8E4M3FN = 25,
  Float8E4M3FNUZ = 26,
  Float8E4M3B11FNUZ = 27,
  Float8E5M2FNUZ = 28,
  Int4 = 29,
  UInt4 = 30,
  Int2 = 31,
  UInt2 = 32,
};

/// One past the largest dtype number.
inline constexpr int numDTypes = 33;

/// A reference dtype (a v1 variable's output) is its base dtype plus this.
inline constexpr int refOffset = 100;

/// Returns the size of one stored element in bytes; elements of 4-bit and 2-bit types take one byte
/// each.
size_t dtypeSize(DType dtype);

/// Returns numpy's name of the dtype: `float32`, `bfloat16`, `bool`, `string`, ...
std::string_view dtypeName(DType dtype);

/// Parses the short MLIR-like name that the command line uses (`f32`, `i64`, `ui8`, `i1`, ...) or
/// the long name of `dtypeName`. Returns nullopt for other names.
std::optional<DType> dtypeFromName(std::string_view name);

/// Whether elements are plain bytes, which memcpy copies and no destructor frees.
inline bool isPlain(DType dtype) {
  return dtype != DType::String && dtype != DType::Resource && dtype != DType::Variant;
}

bool isFloating(DType dtype); // real floating-point types of 8 to 64 bits
bool isComplex(DType dtype);
bool isInteger(DType dtype); // signed or unsigned integers, without bool and quantized types

} // namespace treadle
