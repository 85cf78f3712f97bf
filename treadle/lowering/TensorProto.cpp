// Converts tensor messages: raw content, or typed values of which the last one repeats.
#include "treadle/lowering/Attributes.h"

#include <complex>

namespace treadle {
namespace {

template <typename T, typename Values, typename Convert>
void fill(Tensor &tensor, const Values &values, Convert convert) {
  T *out = tensor.data<T>();
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (values.empty())
      out[i] = T();
    else
      out[i] = convert(values[static_cast<int>(std::min<int64_t>(i, values.size() - 1))]);
  }
}

template <typename T, typename Values> void fillPlain(Tensor &tensor, const Values &values) {
  fill<T>(tensor, values, [](auto v) { return static_cast<T>(v); });
}

template <typename Real, typename Values> void fillComplex(Tensor &tensor, const Values &values) {
  auto *out = tensor.data<std::complex<Real>>();
  int64_t given = values.size() / 2;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    int at = static_cast<int>(2 * std::min(i, given - 1));
    out[i] = given ? std::complex<Real>(values[at], values[at + 1]) : std::complex<Real>();
  }
}

bool fillTyped(Tensor &tensor, const pb::TensorProto &p) {
  switch (tensor.dtype()) {
  case DType::Float32:
    return fillPlain<float>(tensor, p.float_val()), true;
  case DType::Float64:
    return fillPlain<double>(tensor, p.double_val()), true;
  case DType::Int32:
  case DType::QInt32:
    return fillPlain<int32_t>(tensor, p.int_val()), true;
  case DType::Int16:
  case DType::QInt16:
    return fillPlain<int16_t>(tensor, p.int_val()), true;
  case DType::UInt16:
  case DType::QUInt16:
    return fillPlain<uint16_t>(tensor, p.int_val()), true;
  case DType::Int8:
  case DType::QInt8:
  case DType::Int4:
  case DType::Int2:
    return fillPlain<int8_t>(tensor, p.int_val()), true;
  case DType::UInt8:
  case DType::QUInt8:
  case DType::UInt4:
  case DType::UInt2:
    return fillPlain<uint8_t>(tensor, p.int_val()), true;
  case DType::Int64:
    return fillPlain<int64_t>(tensor, p.int64_val()), true;
  case DType::UInt32:
    return fillPlain<uint32_t>(tensor, p.uint32_val()), true;
  case DType::UInt64:
    return fillPlain<uint64_t>(tensor, p.uint64_val()), true;
  case DType::Bool:
    return fillPlain<bool>(tensor, p.bool_val()), true;
  case DType::Float16:
  case DType::BFloat16:
    return fillPlain<uint16_t>(tensor, p.half_val()), true;
  case DType::String:
    return fill<std::string>(tensor, p.string_val(), [](const std::string &s) { return s; }), true;
  case DType::Complex64:
    return fillComplex<float>(tensor, p.scomplex_val()), true;
  case DType::Complex128:
    return fillComplex<double>(tensor, p.dcomplex_val()), true;
  default:
    break;
  }
  if (dtypeSize(tensor.dtype()) != 1 || !isPlain(tensor.dtype()))
    return false;
  const std::string &bits = p.float8_val();
  return fill<uint8_t>(tensor, bits, [](char c) { return static_cast<uint8_t>(c); }), true;
}

} // namespace

Expected<Tensor> tensorFromProto(const pb::TensorProto &proto) {
  int number = proto.dtype();
  if (number <= 0 || number >= numDTypes)
    return Unexpected(
        invalidArgument("a tensor has the dtype number ", number, ", which doesn't exist"));
  DType dtype = static_cast<DType>(number);
  std::vector<int64_t> dims;
  for (const auto &dim : proto.tensor_shape().dim())
    dims.push_back(dim.size());
  Tensor tensor = TREADLE_TRY(Tensor::make(dtype, dims));
  const std::string &content = proto.tensor_content();
  if (!content.empty() && isPlain(dtype)) {
    if (content.size() != tensor.bytes())
      return Unexpected(invalidArgument("a tensor ", tensorTypeText(tensor), " needs ",
                                        tensor.bytes(), " bytes, but its content has ",
                                        content.size()));
    std::memcpy(tensor.raw(), content.data(), content.size());
    return tensor;
  }
  if (!fillTyped(tensor, proto))
    return Unexpected(
        unimplemented("a constant of dtype ", dtypeName(dtype), " can't be read from a graph"));
  return tensor;
}

} // namespace treadle
