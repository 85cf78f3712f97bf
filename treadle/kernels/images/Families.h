// Images: their files, sizes, colours and parts, and boxes on them. Tensors are [batch, height,
// width, channels].
#include "treadle/runtime/Kernel.h"

/// Non-maximum suppression for each class of each image of a batch, and the best of all classes.
TREADLE_FAMILY(combinedNonMaxSuppressionKernels)
/// Boxes cut out of images and brought to one size, and the gradients with respect to the images
/// and to the boxes.
TREADLE_FAMILY(cropAndResizeKernels)
/// Image files as tensors.
TREADLE_FAMILY(decodeImageKernels)
/// DrawBoundingBoxes: the outlines of boxes, drawn on images.
TREADLE_FAMILY(drawBoxesKernels)
/// Tensors as image files: PNG and JPEG.
TREADLE_FAMILY(encodeImageKernels)
/// ExtractGlimpse: a window on each image of a batch; what lies outside of an image is noise or
/// zero.
TREADLE_FAMILY(glimpseKernels)
/// Colours: contrast, hue and saturation, and RGB to HSV and back.
TREADLE_FAMILY(imageColorKernels)
/// Images in another size: nearest neighbour, bilinear, bicubic (Keys, "Cubic convolution
/// interpolation for digital image processing", 1981) and by area, and the gradients of these.
TREADLE_FAMILY(imageResizeKernels)
/// Images seen through a projection (eight numbers of a 3 x 3 matrix whose last is 1), and the
/// patches under a sliding window as channels.
TREADLE_FAMILY(imageTransformKernels)
/// The best boxes of many: greedily by score, without those that overlap a better one too much.
TREADLE_FAMILY(nonMaxSuppressionKernels)
/// Random parts of an image: RandomCrop, and SampleDistortedBoundingBox, which finds one that shows
/// enough of an object.
TREADLE_FAMILY(randomCropKernels)
/// Images scaled and moved by any amount, with a choice of kernels, and the gradient of that.
TREADLE_FAMILY(scaleAndTranslateKernels)
