// A window's place along one dimension.
#pragma once

#include <cstdint>

namespace treadle::stablehlo {

struct WindowDim {
  int64_t size, stride = 1, low = 0, high = 0, baseDilation = 1, dilation = 1;
  /// How often it fits in; unknown in an unknown size, and where that can't be counted. A window of
  /// one element fits in as often as the base has places with its padding.
  int64_t places(int64_t base) const;
};

} // namespace treadle::stablehlo
