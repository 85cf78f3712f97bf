// Splits a serialized GraphDef into the graph and its functions.
#include "treadle/tensorflow_plugin/WithheldFunctions.h"

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

Expected<std::string> WithheldFunctions::removeFrom(std::string_view bytes) {
  withheld.clear();
  pb::GraphDef graph = TREADLE_TRY(parse(bytes));
  if (!std::ranges::any_of(graph.library().function(), isDeclaration))
    return std::string(bytes);
  withheld = graph.library().SerializeAsString();
  graph.clear_library();
  return graph.SerializeAsString();
}

Expected<std::string> WithheldFunctions::restoreTo(std::string bytes) const {
  if (withheld.empty())
    return bytes;
  pb::GraphDef graph = TREADLE_TRY(parse(bytes));
  if (!graph.mutable_library()->ParseFromString(withheld))
    return Unexpected(internal("the functions of the graph can't be restored"));
  return graph.SerializeAsString();
}

} // namespace treadle::tensorflow
