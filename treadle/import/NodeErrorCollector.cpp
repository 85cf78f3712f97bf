#include "treadle/import/NodeErrorCollector.h"

#include <algorithm>

namespace treadle {

static thread_local NodeErrorCollector *current = nullptr;

NodeErrorCollector::NodeErrorCollector(size_t most) : most(most) { current = this; }
NodeErrorCollector::~NodeErrorCollector() { current = nullptr; }

bool NodeErrorCollector::note(const Error &error) {
  if (!current)
    return false;
  std::vector<Error> &noted = current->noted;
  if (std::ranges::find(noted, error.message, &Error::message) != noted.end())
    return true;
  if (noted.size() >= current->most)
    return false;
  noted.push_back(error);
  return true;
}

} // namespace treadle
