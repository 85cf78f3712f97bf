// JSON values for LLVM's writer.
#pragma once

#include "llvm/Support/JSON.h"

namespace treadle {

namespace json = llvm::json;

/// Makes an object from alternating names and values.
inline json::Object object() { return {}; }
template <typename Value, typename... Others>
json::Object object(llvm::StringRef name, Value &&value, Others &&...others) {
  json::Object out = object(std::forward<Others>(others)...);
  out.try_emplace(name, std::forward<Value>(value));
  return out;
}

/// Makes an array of `make(item)` for each item.
template <typename Items, typename Make> json::Array listOf(const Items &items, Make make) {
  json::Array out;
  for (const auto &item : items)
    out.push_back(make(item));
  return out;
}

} // namespace treadle
