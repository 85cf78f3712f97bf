// Kernels for signals: Fourier transforms, sound files, spectrograms.
#include "treadle/runtime/Kernel.h"

/// Discrete Fourier transforms of the last one, two or three dimensions, of complex and of real
/// data.
TREADLE_FAMILY(fourierKernels)
/// Features for speech recognition: AudioSpectrogram, and Mfcc, its mel-frequency cepstral
/// coefficients (S. B. Davis and P. Mermelstein, 1980).
TREADLE_FAMILY(spectrogramKernels)
/// WAV files of 16-bit samples: decoding to and encoding from audio of [samples,channels].
TREADLE_FAMILY(wavFileKernels)
