// A node for tests of shape functions: an op, attributes and a number of results.
#pragma once

#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {

class TestNode final : public NodeView {
public:
  TestNode(std::string op, size_t results, AttrMap attrs = {}, DType type = DType::Int32)
      : name(std::move(op)), results(results), attrs(std::move(attrs)), type(type) {}

  std::string_view op() const override { return name; }
  size_t numResults() const override { return results; }
  DType resultType(size_t index) const override { return index < results ? type : DType::Invalid; }
  std::optional<AttrValue> attr(std::string_view key) const override {
    const AttrValue *value = attrs.find(key);
    return value ? std::optional(*value) : std::nullopt;
  }
  KnownValue constant(std::string_view key) const override {
    const AttrValue *value = attrs.find(key);
    const Tensor *tensor = value ? std::get_if<Tensor>(value) : nullptr;
    return tensor ? knownOf(*tensor) : KnownValue();
  }
  int64_t producer() const override { return 0; }

private:
  std::string name;
  size_t results;
  AttrMap attrs;
  DType type;
};

} // namespace treadle
