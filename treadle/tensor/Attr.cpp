// Attribute maps and partial shapes.
#include "treadle/tensor/Attr.h"

#include <algorithm>

namespace treadle {

bool PartialShape::isFullyKnown() const {
  return hasRank && std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; });
}

bool PartialShape::accepts(Dims other) const {
  if (!hasRank)
    return true;
  return std::equal(dims.begin(), dims.end(), other.begin(), other.end(),
                    [](int64_t want, int64_t have) { return want < 0 || want == have; });
}

std::string PartialShape::text() const {
  if (!hasRank)
    return "<unknown rank>";
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    out += i ? "," : "";
    out += dims[i] < 0 ? "?" : std::to_string(dims[i]);
  }
  return out + "]";
}

bool FunctionRef::operator==(const FunctionRef &other) const {
  bool isPlain = !attrs || attrs->isEmpty();
  bool otherIsPlain = !other.attrs || other.attrs->isEmpty();
  return name == other.name && (attrs == other.attrs || (isPlain && otherIsPlain));
}

void AttrMap::set(std::string_view name, AttrValue value) {
  for (auto &[key, old] : entries)
    if (key == name) {
      old = std::move(value);
      return;
    }
  entries.emplace_back(std::string(name), std::move(value));
}

const AttrValue *AttrMap::find(std::string_view name) const {
  for (const auto &[key, value] : entries)
    if (key == name)
      return &value;
  return nullptr;
}

} // namespace treadle
