// The overlap of two boxes. A box is two opposite corners, y1, x1, y2, x2, in any order.
#pragma once

#include <algorithm>

namespace treadle {

struct BoxCorners {
  float yMin, xMin, yMax, xMax;

  template <typename T> static BoxCorners of(const T *box) {
    float y1(box[0]), x1(box[1]), y2(box[2]), x2(box[3]);
    return {std::min(y1, y2), std::min(x1, x2), std::max(y1, y2), std::max(x1, x2)};
  }
  float area() const { return (yMax - yMin) * (xMax - xMin); }
};

/// Returns the intersection over union; 0 if a box is empty.
template <typename T> float overlapOf(const T *boxA, const T *boxB) {
  BoxCorners a = BoxCorners::of(boxA), b = BoxCorners::of(boxB);
  if (a.area() <= 0 || b.area() <= 0)
    return 0;
  float height = std::max(std::min(a.yMax, b.yMax) - std::max(a.yMin, b.yMin), 0.0f);
  float width = std::max(std::min(a.xMax, b.xMax) - std::max(a.xMin, b.xMin), 0.0f);
  return height * width / (a.area() + b.area() - height * width);
}

} // namespace treadle
