// Literal inputs: numbers become constants of the requested dtype if it can represent them.
#include "treadle/Builder.h"

#include <Eigen/Core>

#include <complex>
#include <limits>

namespace treadle::builder {
namespace {

template <typename T> Tensor scalar(DType dtype, double number) {
  return Tensor::scalar(dtype, static_cast<T>(number));
}

struct Floating {
  DType dtype;
  Tensor (*make)(DType, double);
};

constexpr Floating floating[] = {
    {DType::Float32, scalar<float>},
    {DType::Float64, scalar<double>},
    {DType::Float16, scalar<Eigen::half>},
    {DType::BFloat16, scalar<Eigen::bfloat16>},
    {DType::Complex64, scalar<std::complex<float>>},
    {DType::Complex128, scalar<std::complex<double>>},
};

template <typename T> Expected<Tensor> integer(DType dtype, int64_t number) {
  bool fits = std::is_signed_v<T> ? number >= static_cast<int64_t>(std::numeric_limits<T>::min())
                                  : number >= 0;
  fits &=
      sizeof(T) >= sizeof(int64_t) || number <= static_cast<int64_t>(std::numeric_limits<T>::max());
  if (!fits)
    return Unexpected(invalidArgument(number, " is out of range for ", dtypeName(dtype)));
  return Tensor::scalar(dtype, static_cast<T>(number));
}

struct Integral {
  DType dtype;
  Expected<Tensor> (*make)(DType, int64_t);
};

constexpr Integral integral[] = {
    {DType::Int8, integer<int8_t>},     {DType::Int16, integer<int16_t>},
    {DType::Int32, integer<int32_t>},   {DType::Int64, integer<int64_t>},
    {DType::UInt8, integer<uint8_t>},   {DType::UInt16, integer<uint16_t>},
    {DType::UInt32, integer<uint32_t>}, {DType::UInt64, integer<uint64_t>},
};

Error wrongLiteralKind(const std::string &found, DType want) {
  return invalidArgument(found, " is passed where ", dtypeName(want), " is expected");
}

} // namespace

Input::Input(const Operation &node) {
  if (node.outputs().size() == 1) {
    value = node.output(0);
  } else if (node) {
    literal = [name = node.name(), count = node.outputs().size()](DType) -> Expected<Tensor> {
      return Unexpected(invalidArgument("node '", name, "' has ", count, " outputs; expected ",
                                        count ? "one of them" : "a value"));
    };
  }
}

Input::Input(Tensor tensor) {
  if (tensor)
    literal = [tensor](DType) -> Expected<Tensor> { return tensor; };
}

Input::Input(double number) {
  literal = [number](DType want) -> Expected<Tensor> {
    if (want == DType::Invalid)
      want = DType::Float32;
    for (const Floating &entry : floating)
      if (entry.dtype == want)
        return entry.make(want, number);
    return Unexpected(wrongLiteralKind(str("the number ", number), want));
  };
}

Input::Input(int64_t number) {
  literal = [number](DType want) -> Expected<Tensor> {
    if (want == DType::Invalid)
      want = DType::Int32;
    for (const Integral &entry : integral)
      if (entry.dtype == want)
        return entry.make(want, number);
    for (const Floating &entry : floating)
      if (entry.dtype == want)
        return entry.make(want, static_cast<double>(number));
    return Unexpected(wrongLiteralKind(str("the number ", number), want));
  };
}

Input::Input(bool value) {
  literal = [value](DType want) -> Expected<Tensor> {
    if (want == DType::Invalid || want == DType::Bool)
      return Tensor::scalar(DType::Bool, value);
    return Unexpected(wrongLiteralKind(value ? "true" : "false", want));
  };
}

Input::Input(const char *text) {
  literal = [text = std::string(text)](DType want) -> Expected<Tensor> {
    if (want == DType::Invalid || want == DType::String)
      return Tensor::scalarString(text);
    return Unexpected(wrongLiteralKind(str("the text '", text, "'"), want));
  };
}

} // namespace treadle::builder
