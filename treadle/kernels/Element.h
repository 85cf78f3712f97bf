// The C++ types of elements, and the selection of a kernel template by dtype when a node is bound.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <Eigen/Core>

#include <complex>
#include <string>

namespace treadle {

using Half = Eigen::half;
using BFloat16 = Eigen::bfloat16;
using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

/// The dtype of a C++ element type: `dtypeOf<float> == DType::Float32`.
template <typename T> inline constexpr DType dtypeOf = DType::Invalid;
template <> inline constexpr DType dtypeOf<float> = DType::Float32;
template <> inline constexpr DType dtypeOf<double> = DType::Float64;
template <> inline constexpr DType dtypeOf<int32_t> = DType::Int32;
template <> inline constexpr DType dtypeOf<uint8_t> = DType::UInt8;
template <> inline constexpr DType dtypeOf<int16_t> = DType::Int16;
template <> inline constexpr DType dtypeOf<int8_t> = DType::Int8;
template <> inline constexpr DType dtypeOf<std::string> = DType::String;
template <> inline constexpr DType dtypeOf<Complex64> = DType::Complex64;
template <> inline constexpr DType dtypeOf<int64_t> = DType::Int64;
template <> inline constexpr DType dtypeOf<bool> = DType::Bool;
template <> inline constexpr DType dtypeOf<BFloat16> = DType::BFloat16;
template <> inline constexpr DType dtypeOf<uint16_t> = DType::UInt16;
template <> inline constexpr DType dtypeOf<Complex128> = DType::Complex128;
template <> inline constexpr DType dtypeOf<Half> = DType::Float16;
template <> inline constexpr DType dtypeOf<uint32_t> = DType::UInt32;
template <> inline constexpr DType dtypeOf<uint64_t> = DType::UInt64;
template <> inline constexpr DType dtypeOf<ResourceHandle> = DType::Resource;
template <> inline constexpr DType dtypeOf<Variant> = DType::Variant;

/// A list of element types, for tables.
template <typename... Ts> struct TypeList {};
template <typename A, typename B> struct JoinLists;
template <typename... As, typename... Bs> struct JoinLists<TypeList<As...>, TypeList<Bs...>> {
  using type = TypeList<As..., Bs...>;
};
template <typename A, typename B> using Join = typename JoinLists<A, B>::type;

using FloatTypes = TypeList<float, double, Half, BFloat16>;
using ComplexTypes = TypeList<Complex64, Complex128>;
using SignedTypes = TypeList<int32_t, int64_t, int16_t, int8_t>;
using UnsignedTypes = TypeList<uint8_t, uint16_t, uint32_t, uint64_t>;
using IntegerTypes = Join<SignedTypes, UnsignedTypes>;
using RealTypes = Join<FloatTypes, IntegerTypes>;
using NumericTypes = Join<RealTypes, ComplexTypes>;
using PlainTypes = Join<NumericTypes, TypeList<bool>>;
using AllTypes = Join<PlainTypes, TypeList<std::string, ResourceHandle, Variant>>;

/// Calls `visit.template operator()<T>()` for the type in the list whose dtype is `dtype`; returns
/// false if the list has none.
template <typename... Ts, typename Visitor>
bool visitType(DType dtype, TypeList<Ts...>, Visitor &&visit) {
  return ((dtypeOf<Ts> == dtype ? (visit.template operator()<Ts>(), true) : false) || ...);
}

/// The error of a bind function for a dtype that the op doesn't support.
inline Unexpected unsupportedDType(const BindContext &node, DType dtype) {
  return Unexpected(unimplemented("op '", node.op, "' has no kernel for ", dtypeName(dtype)));
}

/// Returns the kernel `kernel.template operator()<T>()` for the type in `Types` whose dtype is
/// `dtype`.
template <typename Types, typename Kernel>
Expected<BoundKernel> bindChosen(const BindContext &node, DType dtype, Kernel kernel) {
  BoundKernel bound;
  if (!visitType(dtype, Types(), [&]<typename T>() { bound.fn = kernel.template operator()<T>(); }))
    return unsupportedDType(node, dtype);
  return bound;
}

/// Like `bindChosen`, but for a kernel that is a class template `Kernel<T>::run(OpContext &)`.
template <template <typename> class Kernel, typename Types>
Expected<BoundKernel> bindForType(const BindContext &node, DType dtype) {
  return bindChosen<Types>(node, dtype, []<typename T>() { return Kernel<T>::run; });
}

/// A bind function for such a kernel, selected by the dtype of input 0 (of output 0 if the op has
/// no inputs). A kernel table needs one line per op:
///     {"Neg", bindByType<NegKernel, NumericTypes>}
template <template <typename> class Kernel, typename Types>
Expected<BoundKernel> bindByType(const BindContext &node) {
  return bindForType<Kernel, Types>(node, node.inputTypes.empty() ? node.outputTypes[0]
                                                                  : node.inputTypes[0]);
}

/// A bind function for a kernel that is a single function for all dtypes.
template <KernelFn fn> Expected<BoundKernel> bindPlain(const BindContext &) {
  BoundKernel bound;
  bound.fn = fn;
  return bound;
}

} // namespace treadle
