// Single elements of tensors by dtype, as numbers and as text.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <complex>
#include <string>

namespace treadle::cli {

/// Returns element `i` as a double; for complex dtypes the real part; int64 beyond 2^53 is rounded.
/// For numeric dtypes and bool.
double toDouble(const Tensor &tensor, int64_t i);
std::complex<double> toComplex(const Tensor &tensor, int64_t i);

/// Stores a number as element `i`, rounded to the precision of the dtype. For floating-point and
/// complex dtypes.
void storeFloating(Tensor &tensor, int64_t i, std::complex<double> value);
/// Stores an integer as element `i`; returns false if it is out of range for the dtype (an integer
/// dtype or bool).
bool storeInteger(Tensor &tensor, int64_t i, __int128 value);

/// Formats element `i` as Python prints it: `1`, `0.5`, `1e-05`, `True`, `b'text'`, `(1+2j)`.
std::string elementText(const Tensor &tensor, int64_t i);

/// Formats all elements as numpy prints them, on one line, in nested brackets; if there are more
/// than 1000, only the three at each edge of each dimension.
std::string valuesText(const Tensor &tensor);

} // namespace treadle::cli
