// Internal to the folder: LAPACK routines under the names of custom calls, on one matrix each.
#pragma once

#include "treadle/kernels/linear_algebra/LinearAlgebra.h"
#include "treadle/kernels/linear_algebra/Spectra.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace treadle::lapack {

/// The options of a call by name: `uplo` 'L' or 'U', `mode`, `side`, ...
using LapackOptions = std::map<std::string, int64_t, std::less<>>;

inline char letter(const LapackOptions &options, std::string_view name, char otherwise) {
  auto it = options.find(name);
  return it == options.end() ? otherwise : static_cast<char>(it->second);
}

using Result = Columns<Complex128>;

/// A result: of the type of the computation, or complex for a real computation.
template <typename W> struct LapackResult {
  Columns<W> own;
  Result complex = {};
  bool isComplex = false;

  Eigen::Index rows() const { return isComplex ? complex.rows() : own.rows(); }
  Eigen::Index cols() const { return isComplex ? complex.cols() : own.cols(); }
};

/// One call: its operands, in which vectors are single columns. `info` is 0, or LAPACK's code for a
/// matrix that the routine can't process.
template <typename W> struct LapackCall {
  const LapackOptions &options;
  bool isSingle; // the operands' own precision
  std::vector<Columns<W>> in = {};
  std::vector<LapackResult<W>> out = {};
  int info = 0;

  template <typename Derived> void give(const Eigen::MatrixBase<Derived> &value) {
    constexpr bool isWider =
        Eigen::NumTraits<typename Derived::Scalar>::IsComplex && !Eigen::NumTraits<W>::IsComplex;
    if constexpr (isWider)
      out.push_back({{}, value.template cast<Complex128>(), true});
    else
      out.push_back({value.template cast<W>()});
  }
  void give(Columns<W> &&value) { out.push_back({std::move(value)}); }
};

/// Calls `body(matrix)` in the type of the call's operands: single precision is twice as fast.
template <typename W, typename Body>
auto inOwnType(const LapackCall<W> &call, const Columns<W> &matrix, Body body) {
  using Narrow = std::conditional_t<Eigen::NumTraits<W>::IsComplex, Complex64, float>;
  return call.isSingle ? body(Columns<Narrow>(matrix.template cast<Narrow>())) : body(matrix);
}

/// A routine for real and for complex matrices. The letters of `operands` and `results` state the
/// rank of each: m a matrix, v a vector, n a number; i is the number `info`, p a vector of int32
/// that must be 0.
struct Routine {
  std::string_view name; // without the letter of the type
  std::string_view operands, results, complexResults;
  void (*ofReal)(LapackCall<double> &);
  void (*ofComplex)(LapackCall<Complex128> &);
  /// One letter per dimension of the operands: dimensions with the same letter must have the same
  /// size. `sizesFromRight` applies if a matrix multiplies from the right.
  std::string_view sizes, sizesFromRight = sizes;
};

std::span<const Routine> factorRoutines();
std::span<const Routine> spectralRoutines();

} // namespace treadle::lapack
