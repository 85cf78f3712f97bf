// Table of the properties of dtypes.
#include "treadle/tensor/DType.h"

#include "treadle/tensor/Resource.h"

#include <array>
#include <string>

namespace treadle {
namespace {

enum Kind : uint8_t { None, Floating, Signed, Unsigned, Complex, Other };

struct DTypeInfo {
  std::string_view name;
  std::string_view shortName;
  uint8_t size;
  Kind kind;
};

constexpr std::array<DTypeInfo, numDTypes> dtypeInfos = {{
    {"invalid", "invalid", 0, None},
    {"float32", "f32", 4, Floating},
    {"float64", "f64", 8, Floating},
    {"int32", "i32", 4, Signed},
    {"uint8", "ui8", 1, Unsigned},
    {"int16", "i16", 2, Signed},
    {"int8", "i8", 1, Signed},
    {"string", "str", sizeof(std::string), Other},
    {"complex64", "c64", 8, Complex},
    {"int64", "i64", 8, Signed},
    {"bool", "i1", 1, Other},
    {"qint8", "qi8", 1, Other},
    {"quint8", "qui8", 1, Other},
    {"qint32", "qi32", 4, Other},
    {"bfloat16", "bf16", 2, Floating},
    {"qint16", "qi16", 2, Other},
    {"quint16", "qui16", 2, Other},
    {"uint16", "ui16", 2, Unsigned},
    {"complex128", "c128", 16, Complex},
    {"float16", "f16", 2, Floating},
    {"resource", "resource", sizeof(ResourceHandle), Other},
    {"variant", "variant", sizeof(Variant), Other},
    {"uint32", "ui32", 4, Unsigned},
    {"uint64", "ui64", 8, Unsigned},
    {"float8_e5m2", "f8E5M2", 1, Floating},
    {"float8_e4m3fn", "f8E4M3FN", 1, Floating},
    {"float8_e4m3fnuz", "f8E4M3FNUZ", 1, Floating},
    {"float8_e4m3b11fnuz", "f8E4M3B11FNUZ", 1, Floating},
    {"float8_e5m2fnuz", "f8E5M2FNUZ", 1, Floating},
    {"int4", "i4", 1, Signed},
    {"uint4", "ui4", 1, Unsigned},
    {"int2", "i2", 1, Signed},
    {"uint2", "ui2", 1, Unsigned},
}};

// Returns the entry of Invalid for a number outside the table, which a file may hold.
const DTypeInfo &infoOf(DType dtype) {
  auto number = static_cast<size_t>(dtype);
  return dtypeInfos[number < dtypeInfos.size() ? number : 0];
}

} // namespace

size_t dtypeSize(DType dtype) { return infoOf(dtype).size; }

std::string_view dtypeName(DType dtype) { return infoOf(dtype).name; }

std::optional<DType> dtypeFromName(std::string_view name) {
  for (size_t i = 1; i < dtypeInfos.size(); ++i)
    if (dtypeInfos[i].name == name || dtypeInfos[i].shortName == name)
      return static_cast<DType>(i);
  return std::nullopt;
}

bool isFloating(DType dtype) { return infoOf(dtype).kind == Floating; }
bool isComplex(DType dtype) { return infoOf(dtype).kind == Complex; }
bool isInteger(DType dtype) {
  return infoOf(dtype).kind == Signed || infoOf(dtype).kind == Unsigned;
}

} // namespace treadle
