// Internal to the folder.
#pragma once

#include <complex>
#include <span>

namespace treadle {

/// The first half of a line's discrete Fourier transform: `line.size() / 2 + 1` numbers.
void realSpectrum(std::span<const double> line, std::complex<double> *spectrum);

} // namespace treadle
