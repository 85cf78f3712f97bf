// The variant value of OptionalFromValue and OptionalNone.
#pragma once

#include "treadle/kernels/Variants.h"

#include <vector>

namespace treadle {

/// Either nothing or a tuple of tensors. Immutable.
class OptionalObject final : public VariantObject {
public:
  static constexpr std::string_view kindName = "optional";
  std::string_view kind() const override { return kindName; }

  OptionalObject() : hasValue(false) {}
  explicit OptionalObject(std::vector<Tensor> components)
      : hasValue(true), components(std::move(components)) {}

  const bool hasValue;
  const std::vector<Tensor> components;
};

} // namespace treadle
