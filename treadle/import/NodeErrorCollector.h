// Collects the errors of all malformed nodes in a file instead of only the first.
#pragma once

#include "treadle/tensor/Error.h"

#include <vector>

namespace treadle {

/// While an instance lives, importers of GraphDefs on its thread continue after a malformed node
/// and record the error here; the import still fails. Users of a malformed node aren't counted as
/// malformed.
class NodeErrorCollector {
public:
  explicit NodeErrorCollector(size_t most);
  ~NodeErrorCollector();
  NodeErrorCollector(const NodeErrorCollector &) = delete;
  NodeErrorCollector &operator=(const NodeErrorCollector &) = delete;

  const std::vector<Error> &all() const { return noted; }

  /// Records an error, at most one for each node; returns false if no instance is collecting, or if
  /// the limit is reached.
  static bool note(const Error &error);

private:
  std::vector<Error> noted;
  size_t most;
};

} // namespace treadle
