// Images: their files, sizes, colours and parts, and boxes on them. Tensors are [batch, height,
// width, channels].
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Non-maximum suppression for each class of each image of a batch, and the best of all classes.
std::span<const KernelEntry> combinedNonMaxSuppressionKernels();
/// Boxes cut out of images and brought to one size, and the gradients with respect to the images
/// and to the boxes.
std::span<const KernelEntry> cropAndResizeKernels();
/// Image files as tensors.
std::span<const KernelEntry> decodeImageKernels();
/// DrawBoundingBoxes: the outlines of boxes, drawn on images.
std::span<const KernelEntry> drawBoxesKernels();
/// Tensors as image files: PNG and JPEG.
std::span<const KernelEntry> encodeImageKernels();
/// ExtractGlimpse: a window on each image of a batch; what lies outside of an image is noise or
/// zero.
std::span<const KernelEntry> glimpseKernels();
/// Colours: contrast, hue and saturation, and RGB to HSV and back.
std::span<const KernelEntry> imageColorKernels();
/// Images in another size: nearest neighbour, bilinear, bicubic (Keys, "Cubic convolution
/// interpolation for digital image processing", 1981) and by area, and the gradients of these.
std::span<const KernelEntry> imageResizeKernels();
/// Images seen through a projection (eight numbers of a 3 x 3 matrix whose last is 1), and the
/// patches under a sliding window as channels.
std::span<const KernelEntry> imageTransformKernels();
/// The best boxes of many: greedily by score, without those that overlap a better one too much.
std::span<const KernelEntry> nonMaxSuppressionKernels();
/// Random parts of an image: RandomCrop, and SampleDistortedBoundingBox, which finds one that shows
/// enough of an object.
std::span<const KernelEntry> randomCropKernels();
/// Images scaled and moved by any amount, with a choice of kernels, and the gradient of that.
std::span<const KernelEntry> scaleAndTranslateKernels();

inline constexpr KernelFamily imagesFamilies[] = {TREADLE_FAMILY(combinedNonMaxSuppressionKernels),
                                                  TREADLE_FAMILY(cropAndResizeKernels),
                                                  TREADLE_FAMILY(decodeImageKernels),
                                                  TREADLE_FAMILY(drawBoxesKernels),
                                                  TREADLE_FAMILY(encodeImageKernels),
                                                  TREADLE_FAMILY(glimpseKernels),
                                                  TREADLE_FAMILY(imageColorKernels),
                                                  TREADLE_FAMILY(imageResizeKernels),
                                                  TREADLE_FAMILY(imageTransformKernels),
                                                  TREADLE_FAMILY(nonMaxSuppressionKernels),
                                                  TREADLE_FAMILY(randomCropKernels),
                                                  TREADLE_FAMILY(scaleAndTranslateKernels)};

} // namespace treadle
