// Test support: builds nodes as GraphDef text.
#pragma once

#include "treadle/tensor/Error.h"

#include <string>
#include <vector>

namespace treadle {

inline std::string typed(std::string_view key, std::string_view dtype) {
  return str(" attr { key: '", key, "' value { type: ", dtype, " } }");
}

inline std::string placeholder(std::string_view name, std::string_view dtype,
                               std::string_view shape = "") {
  return str("node { name: '", name, "' op: 'Placeholder'", typed("dtype", dtype),
             " attr { key: 'shape' value { shape { ", shape, " } } } }\n");
}

inline std::string constant(std::string_view name, int value) {
  return str("node { name: '", name, "' op: 'Const'", typed("dtype", "DT_INT32"),
             " attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape {} int_val: ",
             value, " } } } }\n");
}

inline std::string node(std::string_view name, std::string_view op, std::vector<std::string> inputs,
                        std::string_view attrs = typed("T", "DT_INT32")) {
  std::string out = str("node { name: '", name, "' op: '", op, "'");
  for (const std::string &input : inputs)
    out += str(" input: '", input, "'");
  return str(out, attrs, " }\n");
}

} // namespace treadle
