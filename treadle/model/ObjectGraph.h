// Which tensor of a checkpoint each variable of a SavedModel is: what Python's loader goes by, in
// place of the saver's restore op.
#pragma once

#include "treadle/checkpoint/BundleReader.h"
#include "treadle/proto/meta_graph.pb.h"

namespace treadle {

struct CheckpointedVariable {
  std::string name; // as the graph's VarHandleOp has it
  std::string key;  // in the checkpoint
};

/// The variables that the model's objects hold and the checkpoint has. The checkpoint lists the
/// objects that it was written from: the two graphs are followed from their roots by the names of
/// their edges. Empty where either has no objects.
Expected<std::vector<CheckpointedVariable>> checkpointedVariables(const pb::MetaGraphDef &meta,
                                                                  const BundleReader &checkpoint);

} // namespace treadle
