// A window along one dimension.
#pragma once

#include <cstdint>

namespace treadle::stablehlo {

struct WindowDim {
  int64_t size, stride = 1, low = 0, high = 0, baseDilation = 1, dilation = 1;
  /// Returns the number of positions of the window; unknown if the size is unknown or on overflow.
  /// A window of one element has as many positions as the padded base has elements.
  int64_t places(int64_t base) const;
};

} // namespace treadle::stablehlo
