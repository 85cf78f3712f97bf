// Shape functions of image resizing, cropping, colors, patches and boxes.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

ShapeResults patches(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  std::vector<int64_t> sizes = query.intsAttr("ksizes"), strides = query.intsAttr("strides"),
                       rates = query.intsAttr("rates");
  std::string padding = query.textAttr("padding");
  int64_t rank = query.op() == "ExtractVolumePatches" ? 5 : 4;
  auto fits = [&](const std::vector<int64_t> &values) {
    return static_cast<int64_t>(values.size()) == rank;
  };
  if (rates.empty())
    rates.assign(rank, 1);
  if (!fits(sizes) || !fits(strides) || !fits(rates) || (input.hasRank() && input.rank() != rank))
    return {Shape::ofRank(rank)};
  Shape out = input.hasRank() ? input : Shape::ofRank(rank);
  int64_t depth = input.dim(-1);
  for (int64_t i = 1; i < rank - 1; ++i) {
    depth = dims::times(depth, sizes[i]);
    int64_t size = input.dim(i),
            reach = dims::plus(dims::times(dims::minus(sizes[i], 1), rates[i]), 1);
    int64_t rest = padding == "SAME" ? dims::minus(size, 1) : dims::minus(size, reach);
    bool isKnown = dims::isKnown(rest) && strides[i] > 0;
    out.setDim(i, isKnown ? rest / strides[i] + 1 : size == 0 && padding == "SAME" ? 0 : -1);
  }
  return {out.with(-1, depth)};
}

// An index for each selected box: at most, or exactly, the requested number.
ShapeResults nonMaxSuppression(const ShapeQuery &query) {
  bool isPadded = query.boolAttr("pad_to_max_output_size");
  Shape indices{isPadded ? query.dimFrom(2) : Shape::unknown};
  if (query.op() == "NonMaxSuppressionV5")
    return {indices, indices, Shape::scalar()};
  return {indices, Shape::scalar()};
}

ShapeResults nonMaxSuppressionByClass(const ShapeQuery &query) {
  const Shape &boxes = query.shape(0), &scores = query.shape(1);
  int64_t batch = dims::meet(boxes.dim(0), scores.dim(0)), count = query.dimFrom(3);
  if (query.boolAttr("pad_per_class")) {
    int64_t all = dims::times(scores.dim(2), query.dimFrom(2));
    count = dims::isKnown(all) && dims::isKnown(count) ? std::min(all, count) : Shape::unknown;
  }
  return {Shape{batch, count, 4}, Shape{batch, count}, Shape{batch, count}, Shape{batch}};
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"[b,h,w,c], [2] -> [b,$1.0,$1.1,c]",
       {"ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"}},
      {"[b,?,?,c], [b,h,w,c] -> [b,h,w,c]", {"ResizeBilinearGrad", "ResizeBicubicGrad"}},
      {"[b,?,?,c], [2] -> [b,$1.0,$1.1,c]", {"ResizeNearestNeighborGrad"}},
      {"[b,h,w,c], [2], [2], [2] -> [b,$1.0,$1.1,c]", {"ScaleAndTranslate"}},
      {"[b,?,?,c], [b,h,w,c], [2], [2] -> [b,h,w,c]", {"ScaleAndTranslateGrad"}},
      {"[?,?,?,c], [n,4], [n], [2] -> [n,$3.0,$3.1,c]", {"CropAndResize"}},
      {"[n,?,?,c], [n,4], [n], [4] -> =3", {"CropAndResizeGradImage"}},
      {"[n,?,?,c], [?,?,?,c], [n,4], [n] -> [n,4]", {"CropAndResizeGradBoxes"}},
      {"[b,h,w,c], [?,8], [2] -> [b,$2.0,$2.1,c]", {"ImageProjectiveTransformV2"}},
      {"[b,h,w,c], [?,8], [2], [] -> [b,$2.0,$2.1,c]", {"ImageProjectiveTransformV3"}},
      {"[B,h,w,3], [] -> [B,h,w,3]", {"AdjustHue", "AdjustSaturation"}},
      {"[B,h,w,c], [] -> [B,h,w,c]", {"AdjustContrastv2"}},
      {"[B,3] -> [B,3]", {"RGBToHSV", "HSVToRGB"}},
      {"[n,4], [n], [] -> [?]", {"NonMaxSuppression"}},
      {"[n,4], [n], [], [] -> [?]", {"NonMaxSuppressionV2"}},
      {"[n,4], [n], [], [], [] -> [?]", {"NonMaxSuppressionV3"}},
      {"[n,n], [n], [], [], [] -> [?]", {"NonMaxSuppressionWithOverlaps"}},
  };
  return table;
}

constexpr ShapeEntry functions[] = {
    {"ExtractImagePatches", patches},
    {"ExtractVolumePatches", patches},
    {"NonMaxSuppressionV4", nonMaxSuppression},
    {"NonMaxSuppressionV5", nonMaxSuppression},
    {"CombinedNonMaxSuppression", nonMaxSuppressionByClass},
};

} // namespace

ShapeFamily imageShapes() { return {signatures(), functions}; }

} // namespace treadle
