// Shape functions of quantized values with their ranges, record readers, and remapping of rows by
// vocabularies.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"X, R, R -> X, R, R", {"QuantizeV2"}},
      {"X, *, * -> X", {"Dequantize"}},
      {"X, *, *, [], [] -> X, [], []", {"Requantize"}},
      {"X, *, * -> [], []", {"RequantizationRange"}},
      {"X, *, * -> X", {"UniformDequantize", "UniformQuantize"}},
      {"X, *, *, *, * -> X", {"UniformQuantizedClipByValue", "UniformRequantize"}},
      {"X, [], [] -> X, [], []", {"QuantizeDownAndShrinkRange", "QuantizedRelu", "QuantizedRelu6"}},
      {"X, [], [], [] -> X, [], []", {"QuantizedReluX"}},
      {"[B,n], [n], [], [], [], [] -> [B,n], [], []", {"QuantizedBiasAdd"}},

      {"-> [2]",
       {"FixedLengthRecordReader", "IdentityReader", "TFRecordReader", "TextLineReader",
        "WholeFileReader"}},
      {"-> []",
       {"FixedLengthRecordReaderV2", "IdentityReaderV2", "TFRecordReaderV2", "TextLineReaderV2",
        "WholeFileReaderV2"}},
      {"*, * -> [], []", {"ReaderRead", "ReaderReadV2"}},
      {"*, *, [] -> [?], [?]", {"ReaderReadUpTo", "ReaderReadUpToV2"}},
      {"* -> []",
       {"ReaderNumRecordsProduced", "ReaderNumRecordsProducedV2", "ReaderNumWorkUnitsCompleted",
        "ReaderNumWorkUnitsCompletedV2", "ReaderSerializeState", "ReaderSerializeStateV2"}},
      {"* -> ", {"ReaderReset", "ReaderResetV2"}},
      {"*, [] -> ", {"ReaderRestoreState", "ReaderRestoreStateV2"}},

      {"[], [] -> [{num_new_vocab}], []", {"GenerateVocabRemapping"}},
      {"*, *, [r], *, * -> [r,{num_cols}]", {"LoadAndRemapMatrix"}},
  };
  return table;
}

} // namespace

ShapeFamily quantizedShapes() { return {signatures(), {}}; }

} // namespace treadle
