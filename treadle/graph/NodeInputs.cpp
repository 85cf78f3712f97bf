#include "treadle/graph/NodeInputs.h"

#include <algorithm>

namespace treadle {

std::vector<size_t> inputCounts(const OpDef &def, size_t total, const AttrMap &attrs) {
  std::vector<std::optional<size_t>> stated;
  size_t known = 0;
  for (const ArgDef &input : def.inputs()) {
    std::optional<size_t> count;
    if (!input.numberAttr().empty()) {
      if (auto number = attrs.get<int64_t>(input.numberAttr()))
        count = std::max<int64_t>(*number, 0);
    } else if (!input.typeListAttr().empty()) {
      if (auto types = attrs.get<std::vector<TypeAttr>>(input.typeListAttr()))
        count = types->size();
    } else {
      count = 1;
    }
    known += count.value_or(0);
    stated.push_back(count);
  }
  std::vector<size_t> counts;
  for (std::optional<size_t> count : stated)
    counts.push_back(count.value_or(total - std::min(total, known)));
  return counts;
}

void inferAttrs(const OpDef &def, std::span<const DType> dtypes, AttrMap &attrs) {
  std::vector<size_t> counts = inputCounts(def, dtypes.size(), attrs);
  size_t next = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const ArgDef &input = def.inputs()[i];
    auto own = dtypes.subspan(std::min(next, dtypes.size()));
    own = own.first(std::min(counts[i], own.size()));
    next += counts[i];
    if (!input.numberAttr().empty() && !attrs.has(input.numberAttr()))
      attrs.set(input.numberAttr(), static_cast<int64_t>(counts[i]));
    bool isWhole = std::ranges::find(own, DType::Invalid) == own.end();
    if (!input.typeListAttr().empty() && !attrs.has(input.typeListAttr()) && isWhole) {
      std::vector<TypeAttr> types;
      for (DType dtype : own)
        types.push_back({dtype});
      attrs.set(input.typeListAttr(), types);
    }
    auto first = std::ranges::find_if(own, [](DType d) { return d != DType::Invalid; });
    if (!input.typeAttr().empty() && !attrs.has(input.typeAttr()) && first != own.end())
      attrs.set(input.typeAttr(), TypeAttr{*first});
  }
}

} // namespace treadle
