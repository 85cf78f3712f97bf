// Internal to this folder: a JSON parser as lenient as protobuf's: it accepts names without quotes,
// strings in single quotes, and trailing commas.
#pragma once

#include "treadle/tensor/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace treadle::json {

struct Value {
  enum class Kind : uint8_t { Null, Bool, Number, String, List, Object };
  Kind kind = Kind::Null;
  std::string text = {}; // a string, or the source text of a number or bool
  std::vector<Value> items = {};
  std::vector<std::string> names = {}; // of an object's items
};

/// Parses a text that is a single value. InvalidArgument, with the position, if it is malformed.
Expected<Value> parse(std::string_view text);

} // namespace treadle::json
