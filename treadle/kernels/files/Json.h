// Internal to the folder: texts in JSON, as protocol buffers' own reader takes them: names may
// stand without quotes, strings in single ones, and commas may end lists.
#pragma once

#include "treadle/tensor/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace treadle::json {

struct Value {
  enum class Kind : uint8_t { Null, Bool, Number, String, List, Object };
  Kind kind = Kind::Null;
  std::string text = {}; // a string, or a number or a bool as it is written
  std::vector<Value> items = {};
  std::vector<std::string> names = {}; // of an object's items
};

/// The value that is the whole text. InvalidArgument, with the place, where it is none.
Expected<Value> parse(std::string_view text);

} // namespace treadle::json
