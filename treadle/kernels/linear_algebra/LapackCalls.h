// Internal to the folder: routines of LAPACK as custom calls name them, on one matrix each.
#pragma once

#include "treadle/kernels/linear_algebra/LinearAlgebra.h"
#include "treadle/kernels/linear_algebra/Spectra.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace treadle::lapack {

using Result = Columns<Complex128>;

/// What a call states besides its operands: `uplo` 'L' or 'U', `mode`, `side`, ..., by name.
using Options = std::map<std::string, int64_t, std::less<>>;

inline char letter(const Options &options, std::string_view name, char otherwise) {
  auto it = options.find(name);
  return it == options.end() ? otherwise : static_cast<char>(it->second);
}

/// One call: operands, vectors among them as one column. `info` is 0, or what LAPACK tells of a
/// matrix that the routine can't work on.
template <typename W> struct Call {
  const Options &options;
  bool isSingle; // the operands' own precision
  std::vector<Columns<W>> in = {};
  std::vector<Result> out = {};
  int info = 0;

  template <typename Derived> void give(const Eigen::MatrixBase<Derived> &value) {
    out.push_back(value.template cast<Complex128>());
  }
};

/// A routine for real and for complex matrices. The letters of `operands` and `results` tell of
/// what rank each is: m a matrix, v a vector, n a number; i is the number `info`.
struct Routine {
  std::string_view name; // without the letter of the type
  std::string_view operands, results, complexResults;
  void (*ofReal)(Call<double> &);
  void (*ofComplex)(Call<Complex128> &);
};

std::span<const Routine> factorRoutines();
std::span<const Routine> spectralRoutines();

} // namespace treadle::lapack
