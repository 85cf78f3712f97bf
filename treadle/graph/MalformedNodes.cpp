#include "treadle/graph/MalformedNodes.h"

#include "treadle/import/NodeErrorCollector.h"

#include <tuple>

namespace treadle {

std::vector<Error> malformedNodes(const std::string &path, size_t most) {
  NodeErrorCollector faults(most);
  std::ignore = Graph::fromFile(path);
  return faults.all();
}

} // namespace treadle
