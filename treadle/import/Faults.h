// All that is wrong with the nodes of a file, instead of the first of it.
#pragma once

#include "treadle/tensor/Error.h"

#include <vector>

namespace treadle {

/// While one lives, importers of GraphDefs on its thread go on after a malformed node, and note
/// here what is wrong with it; the import fails nevertheless. What uses a malformed node isn't
/// malformed for that.
class Faults {
public:
  explicit Faults(size_t most);
  ~Faults();
  Faults(const Faults &) = delete;
  Faults &operator=(const Faults &) = delete;

  const std::vector<Error> &all() const { return noted; }

  /// Notes the error, of which there is one for each node; false if nobody gathers faults, or there
  /// are enough.
  static bool note(const Error &error);

private:
  std::vector<Error> noted;
  size_t most;
};

} // namespace treadle
