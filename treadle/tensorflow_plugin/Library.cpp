// Splits a serialized GraphDef into the graph and its functions.
#include "treadle/tensorflow_plugin/Library.h"

#include "treadle/proto/graph.pb.h"

#include <algorithm>
#include <climits>

namespace treadle::tensorflow {

static bool isDeclaration(const pb::FunctionDef &function) {
  return function.node_def().empty() && function.ret().empty() &&
         !function.signature().output_arg().empty();
}

static Expected<pb::GraphDef> parse(std::string_view bytes) {
  pb::GraphDef graph;
  if (bytes.size() > INT_MAX || !graph.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Unexpected(invalidArgument("the bytes don't parse as a GraphDef"));
  return graph;
}

Expected<std::string> Library::takeFrom(std::string_view bytes) {
  taken.clear();
  pb::GraphDef graph = TREADLE_TRY(parse(bytes));
  if (!std::ranges::any_of(graph.library().function(), isDeclaration))
    return std::string(bytes);
  taken = graph.library().SerializeAsString();
  graph.clear_library();
  return graph.SerializeAsString();
}

Expected<std::string> Library::putBackInto(std::string bytes) const {
  if (taken.empty())
    return bytes;
  pb::GraphDef graph = TREADLE_TRY(parse(bytes));
  if (!graph.mutable_library()->ParseFromString(taken))
    return Unexpected(internal("the functions of the graph can't be restored"));
  return graph.SerializeAsString();
}

} // namespace treadle::tensorflow
