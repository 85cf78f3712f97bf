// Shape functions of strings, encodings and files.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

// Positions and lengths are scalars, or have the shape of the strings.
ShapeResults substring(const ShapeQuery &query) {
  const Shape &input = query.shape(0);
  std::optional<Shape> both = merge(query.shape(1), query.shape(2));
  if (!both)
    return shapeError(str("positions of shape ", query.shape(1).text(), " and lengths of shape ",
                          query.shape(2).text(), " don't match"));
  if (!input.hasRank() || !both->hasRank())
    return {both->isRank(0) ? input : Shape()};
  return {broadcast(input, *both).value_or(Shape())};
}

ShapeResults fingerprints(const ShapeQuery &query) { return {Shape{query.shape(0).dim(0), 8}}; }

// As many values as the bytes of each string hold.
ShapeResults paddedRaw(const ShapeQuery &query) {
  DType type = query.typeAttr("out_type");
  int64_t size = isPlain(type) ? static_cast<int64_t>(dtypeSize(type)) : 0;
  return {query.shape(0) + Shape{dims::exactly(query.dimFrom(1), size)}};
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"[n], [] -> [?,2], [?], [2]", {"StringSplit", "StringSplitV2"}},
      {"[n], [m] -> [?], [m]", {"StringNGrams"}},
      {"*+ -> []", {"StringFormat"}},
      {"*, * -> *", {"UnicodeEncode"}},
      {"[], [], [] -> []", {"ShardedFilename"}},
      {"[], [] -> []", {"ShardedFilespec"}},
      {"[B] -> [B,?]", {"DecodeRaw"}},
      {"X -> X", {"UnicodeTranscode", "UnicodeScript"}},
      {"* -> []", {"SerializeTensor", "ReadFile"}},
      {"[] -> *", {"ParseTensor"}},
      {"[], [n], [n], *+ -> ", {"SaveV2"}},
      {"[], [n], *+ -> ", {"Save"}},
      {"[], [n], [n], *+ -> ", {"SaveSlices"}},
      {"[], [] -> *", {"Restore"}},
      {"[], [], [] -> *", {"RestoreSlice"}},
      {"*, [] -> ", {"MergeV2Checkpoints"}},
  };
  return table;
}

// A checkpoint may contain any shape; a requested slice has its own.
ShapeResults restored(const ShapeQuery &query) {
  return ShapeResults::all(query.numResults(), Shape());
}

// Offsets of each string's characters, one more than there are strings.
ShapeResults characters(const ShapeQuery &query) {
  Shape all{Shape::unknown};
  return {Shape{dims::plus(query.shape(0).count(), 1)}, all, all};
}

constexpr ShapeEntry functions[] = {
    {"UnicodeDecode", characters},  {"UnicodeDecodeWithOffsets", characters},
    {"Substr", substring},          {"Fingerprint", fingerprints},
    {"DecodePaddedRaw", paddedRaw}, {"RestoreV2", restored},
};

} // namespace

ShapeFamily stringShapes() { return {signatures(), functions}; }

} // namespace treadle
