#include "treadle/runtime/DenormalScope.h"

#include <utility>

namespace treadle {

std::function<void()> inModeOfCaller(std::function<void()> task) {
  return [task = std::move(task), denormals = DenormalScope::current()] {
    DenormalScope scope(denormals);
    task();
  };
}

} // namespace treadle
