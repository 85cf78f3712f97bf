// Shape functions of image and audio decoding, spectrograms, boxes, whole files and summaries.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

// The requested number of channels; 0 means that of the file.
ShapeResults decodedImage(const ShapeQuery &query) {
  int64_t channels = query.intAttr("channels");
  return {Shape{Shape::unknown, Shape::unknown, channels > 0 ? channels : Shape::unknown}};
}

// A GIF has a dimension of frames, other images don't. Without `expand_animations` the result is
// one image.
ShapeResults decodedAnyImage(const ShapeQuery &query) {
  return query.boolAttr("expand_animations", true) ? ShapeResults() : decodedImage(query);
}

ShapeResults decodedAudio(const ShapeQuery &query) {
  Shape out{query.intAttr("desired_samples", -1), query.intAttr("desired_channels", -1)};
  return {out, Shape::scalar()};
}

ShapeResults spectrogram(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  int64_t window = query.intAttr("window_size"), stride = query.intAttr("stride");
  if (window < 2 || stride < 1)
    return {Shape::ofRank(3)};
  int64_t length = input.dim(0), frequencies = 1;
  while (frequencies < window && frequencies < (int64_t{1} << 40))
    frequencies *= 2;
  int64_t rest = dims::minus(length, window), steps = Shape::unknown;
  if (dims::isKnown(length))
    steps = dims::isKnown(rest) ? rest / stride + 1 : 0;
  return {Shape{input.dim(1), steps, frequencies / 2 + 1}};
}

ShapeResults cepstrum(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  return {Shape{input.dim(0), input.dim(1), query.intAttr("dct_coefficient_count", 13)}};
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"[] -> [?,?,?,3]", {"DecodeGif"}},
      {"[] -> *", {"DecodeWebP"}},
      {"X -> []", {"EncodeJpeg"}},
      {"*, [] -> []", {"EncodeJpegVariableQuality"}},
      {"[B,h,w,c] -> [B]", {"EncodePng"}},
      {"[] -> [3]", {"ExtractJpegShape"}},
      {"[s,c], [] -> []", {"EncodeWav"}},
      {"[], [] -> ", {"WriteFile"}},
      {"*+ -> []",
       {"HistogramSummary", "ImageSummary", "MergeSummary", "ScalarSummary", "TensorSummary",
        "TensorSummaryV2", "SummaryWriter"}},
      {"*+ -> ",
       {"CloseSummaryWriter", "CreateSummaryFileWriter", "FlushSummaryWriter", "ImportEvent",
        "WriteGraphSummary", "WriteHistogramSummary", "WriteRawProtoSummary", "WriteScalarSummary",
        "WriteSummary", "WriteImageSummary"}},
      {"* -> [?]", {"MatchingFiles"}},
      {"[b,h,w,c], [b,n,4] -> [b,h,w,c]", {"DrawBoundingBoxes"}},
      {"[b,h,w,c], [b,n,4], [m,d] -> [b,h,w,c]", {"DrawBoundingBoxesV2"}},
      {"[b,h,w,c], [2], [b,2] -> [b,$1.0,$1.1,c]", {"ExtractGlimpse", "ExtractGlimpseV2"}},
      {"[h,w,c], [2] -> [$1.0,$1.1,c]", {"RandomCrop"}},
      {"[3], * -> [3], [3], [1,1,4]", {"SampleDistortedBoundingBox"}},
      {"[3], *, [] -> [3], [3], [1,1,4]", {"SampleDistortedBoundingBoxV2"}},
      {"[3], *, [], [2] -> [3], [3], [1,1,4]", {"StatelessSampleDistortedBoundingBox"}},
      {"[B,h,w,c], [], [], [] -> [B,h,w,c]", {"AdjustContrast"}},
  };
  return table;
}

constexpr ShapeEntry functions[] = {
    {"DecodeJpeg", decodedImage},      {"DecodePng", decodedImage},
    {"DecodeBmp", decodedImage},       {"DecodeAndCropJpeg", decodedImage},
    {"DecodeImage", decodedAnyImage},  {"DecodeWav", decodedAudio},
    {"AudioSpectrogram", spectrogram}, {"Mfcc", cepstrum},
};

} // namespace

ShapeFamily mediaShapes() { return {signatures(), functions}; }

} // namespace treadle
