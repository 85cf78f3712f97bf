// A filter in the order in which a plan reads it.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <vector>

namespace treadle {

class OrderedFilter {
public:
  std::vector<float> factor;
  Tensor panels;
  int64_t panelsOfGroup = 0;
};

} // namespace treadle
