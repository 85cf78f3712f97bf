// Shape functions of datasets and iterators: handles are scalars; elements have the shapes in the
// node's attributes.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"*+ -> []",
       {"BatchDataset",
        "BatchDatasetV2",
        "CacheDataset",
        "CacheDatasetV2",
        "ConcatenateDataset",
        "DatasetCardinality",
        "FinalizeDataset",
        "IteratorGetNextAsOptional",
        "MaxIntraOpParallelismDataset",
        "ModelDataset",
        "OptimizeDataset",
        "OptimizeDatasetV2",
        "OptionsDataset",
        "PaddedBatchDataset",
        "PaddedBatchDatasetV2",
        "ParallelBatchDataset",
        "PrefetchDataset",
        "PrivateThreadPoolDataset",
        "RangeDataset",
        "RepeatDataset",
        "RewriteDataset",
        "ShardDataset",
        "SkipDataset",
        "TakeDataset",
        "TensorDataset",
        "TensorSliceDataset",
        "UnbatchDataset",
        "WindowDataset",
        "ZipDataset"}},
      {"-> []",
       {"AnonymousIterator", "AnonymousIteratorV3", "DummyMemoryCache", "Iterator", "IteratorV2"}},
      {"-> [], []", {"AnonymousIteratorV2"}},
      {"*, * -> ", {"DeleteIterator", "MakeIterator"}},
      {"* -> {output_shapes}+", {"DatasetToSingleElement"}},
  };
  return table;
}

} // namespace

ShapeFamily datasetShapes() { return {signatures(), {}}; }

} // namespace treadle
