#include "treadle/runtime/OpTraits.h"

#include "treadle/ops/OpTable.h"

namespace treadle {

const OpTraits *OpTraitsTable::find(std::string_view op, std::string_view token) const {
  auto it = byName.find(opFacts(op).runsPython ? token : op);
  return it == byName.end() ? nullptr : &it->second;
}

} // namespace treadle
