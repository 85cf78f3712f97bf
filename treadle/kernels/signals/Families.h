// Signals over time: Fourier transforms, sound files, spectrograms.
#include "treadle/runtime/Kernel.h"

/// Discrete Fourier transforms of the last one, two or three dimensions, of complex and of real
/// data.
TREADLE_FAMILY(fourierKernels)
/// What speech is recognised by: AudioSpectrogram, and Mfcc, the cepstral coefficients of one on
/// the mel scale (S. B. Davis and P. Mermelstein, 1980).
TREADLE_FAMILY(spectrogramKernels)
/// WAV files of 16-bit samples as audio of [samples,channels], and back.
TREADLE_FAMILY(wavFileKernels)
