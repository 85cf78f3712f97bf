// A filter in the layout of a plan.
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
