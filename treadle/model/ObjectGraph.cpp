// checkpointedVariables: SavedModels' objects and those of their checkpoints.
#include "treadle/model/ObjectGraph.h"

#include <unordered_map>

namespace treadle {

namespace {

using pb::TrackableObjectGraph;

constexpr const char *objectsKey = "_CHECKPOINTABLE_OBJECT_GRAPH";
constexpr const char *valueAttribute = "VARIABLE_VALUE";

Expected<TrackableObjectGraph> readObjects(const BundleReader &checkpoint) {
  Tensor bytes = TREADLE_TRY(checkpoint.read(objectsKey));
  TrackableObjectGraph objects;
  if (bytes.dtype() != DType::String || bytes.count() != 1 ||
      !objects.ParseFromString(*bytes.data<std::string>()))
    return Unexpected(dataLoss("the checkpoint's tensor '", objectsKey,
                               "' is no list of objects, as it should be"));
  return objects;
}

std::string keyOf(const TrackableObjectGraph::TrackableObject &object) {
  for (const auto &attribute : object.attributes())
    if (attribute.name() == valueAttribute)
      return attribute.checkpoint_key();
  return {};
}

} // namespace

Expected<std::vector<CheckpointedVariable>> checkpointedVariables(const pb::MetaGraphDef &meta,
                                                                  const BundleReader &checkpoint) {
  std::vector<CheckpointedVariable> variables;
  const auto &saved = meta.object_graph_def().nodes();
  if (saved.empty() || !checkpoint.index().entries.contains(objectsKey))
    return variables;
  TrackableObjectGraph objects = TREADLE_TRY(readObjects(checkpoint));

  // By the model's object, the checkpoint's.
  std::vector<int> partner(saved.size(), -1);
  std::vector<int> reached;
  auto pair = [&](int ours, int theirs) {
    if (ours < 0 || ours >= saved.size() || theirs < 0 || theirs >= objects.nodes_size() ||
        partner[ours] >= 0)
      return;
    partner[ours] = theirs;
    reached.push_back(ours);
  };
  pair(0, 0);
  for (size_t i = 0; i < reached.size(); ++i) {
    std::unordered_map<std::string_view, int> edges;
    for (const auto &child : objects.nodes(partner[reached[i]]).children())
      edges.emplace(child.local_name(), child.node_id());
    for (const auto &child : saved[reached[i]].children())
      if (auto edge = edges.find(child.local_name()); edge != edges.end())
        pair(child.node_id(), edge->second);
  }
  for (int ours : reached)
    if (saved[ours].has_variable())
      if (std::string key = keyOf(objects.nodes(partner[ours])); !key.empty())
        variables.push_back({saved[ours].variable().name(), std::move(key)});
  return variables;
}

} // namespace treadle
