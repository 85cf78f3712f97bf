#include "treadle/import/Faults.h"

#include <algorithm>

namespace treadle {

static thread_local Faults *current = nullptr;

Faults::Faults(size_t most) : most(most) { current = this; }
Faults::~Faults() { current = nullptr; }

bool Faults::note(const Error &error) {
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
