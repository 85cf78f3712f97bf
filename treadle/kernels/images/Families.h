// Image ops: files, resizing, colors, crops, and bounding boxes. Tensors are [batch, height, width,
// channels].
#include "treadle/runtime/Kernel.h"

/// Non-maximum suppression for each class of each image of a batch, and the best boxes of all
/// classes.
TREADLE_FAMILY(combinedNonMaxSuppressionKernels)
/// Crops of images by boxes, resized to a common size, and the gradients with respect to the images
/// and the boxes.
TREADLE_FAMILY(cropAndResizeKernels)
/// Decoding of image files.
TREADLE_FAMILY(decodeImageKernels)
/// DrawBoundingBoxes: the outlines of boxes, drawn on images.
TREADLE_FAMILY(drawBoxesKernels)
/// Encoding of image files: PNG and JPEG.
TREADLE_FAMILY(encodeImageKernels)
/// ExtractGlimpse: a window of each image of a batch, filled with noise or zeros outside the image.
TREADLE_FAMILY(glimpseKernels)
/// Colors: contrast, hue and saturation, and RGB to HSV and back.
TREADLE_FAMILY(imageColorKernels)
/// Image resizing: nearest neighbor, bilinear, bicubic (Keys, "Cubic convolution interpolation for
/// digital image processing", 1981) and area, and the gradients of these.
TREADLE_FAMILY(imageResizeKernels)
/// Projective transforms of images (eight numbers of a 3 x 3 matrix whose last is 1), and image
/// patches as channels.
TREADLE_FAMILY(imageTransformKernels)
/// Non-maximum suppression: selects the best boxes greedily by score, without those that overlap a
/// better one too much.
TREADLE_FAMILY(nonMaxSuppressionKernels)
/// Random crops: RandomCrop, and SampleDistortedBoundingBox, which finds one that shows enough of
/// an object.
TREADLE_FAMILY(randomCropKernels)
/// Images scaled and translated by any amount with a choice of kernels, and the gradient.
TREADLE_FAMILY(scaleAndTranslateKernels)
