// Signals over time: Fourier transforms, sound files, spectrograms.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Discrete Fourier transforms of the last one, two or three dimensions, of complex and of real
/// data.
std::span<const KernelEntry> fourierKernels();
/// What speech is recognised by: AudioSpectrogram, and Mfcc, the cepstral coefficients of one on
/// the mel scale (S. B. Davis and P. Mermelstein, 1980).
std::span<const KernelEntry> spectrogramKernels();
/// WAV files of 16-bit samples as audio of [samples,channels], and back.
std::span<const KernelEntry> wavFileKernels();

inline constexpr KernelFamily signalsFamilies[] = {TREADLE_FAMILY(fourierKernels),
                                                   TREADLE_FAMILY(spectrogramKernels),
                                                   TREADLE_FAMILY(wavFileKernels)};

} // namespace treadle
