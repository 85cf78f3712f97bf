// Splits the text of pass pipelines.
#pragma once

#include <string_view>
#include <vector>

namespace treadle {

/// Splits a pipeline into passes with their options, at commas outside of braces and parentheses.
inline std::vector<std::string_view> passesOf(std::string_view pipeline) {
  std::vector<std::string_view> passes;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < pipeline.size(); ++i) {
    char c = pipeline[i];
    depth += (c == '{' || c == '(') - (c == '}' || c == ')');
    if (c != ',' || depth > 0)
      continue;
    passes.push_back(pipeline.substr(begin, i - begin));
    begin = i + 1;
  }
  passes.push_back(pipeline.substr(begin));
  return passes;
}

} // namespace treadle
