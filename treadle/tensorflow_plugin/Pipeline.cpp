// Passes with the options that make them keep nodes.
#include "treadle/tensorflow_plugin/Pipeline.h"

#include "treadle/graph/PipelineText.h"

#include <algorithm>

namespace treadle::tensorflow {
namespace {

constexpr std::string_view placeholder = "{names}";

struct DefaultOptions {
  std::string_view pass, options;
};

/// Default options of passes. Names may be fed or fetched: TensorFlow doesn't say which.
constexpr DefaultOptions rows[] = {
    {"tfg-default", "keep={names} keep-effects=true keep-functions=true"},
    {"tfg-cleanup", "keep={names} keep-effects=true keep-functions=true"},
    {"tfg-inline-all", "keep={names} keep-effects=true keep-functions=true"},
    {"tfg-prune", "targets={names} keep-effects=true functions=false"},
    {"tfg-cse", "keep={names} feeds={names}"},
    {"tfg-dedupe-constants", "keep={names} feeds={names}"},
    {"tfg-constant-folding", "feeds={names}"},
    {"tfg-shape-inference", "feeds={names}"},
    {"tfg-prune-arguments", "keep={names}"},
    {"tfg-name-compress", "keep={names}"},
    {"tfg-v1-to-functional", "keep={names}"},
};

std::string_view optionsOf(std::string_view pass) {
  for (const DefaultOptions &row : rows)
    if (row.pass == pass)
      return row.options;
  return {};
}

/// Omits options with an empty list: `keep=` would name a node ''.
std::string expandNames(std::string_view options, const std::string &names) {
  std::string out(options);
  for (size_t at; (at = out.find(placeholder)) != std::string::npos;)
    if (!names.empty()) {
      out.replace(at, placeholder.size(), names);
    } else {
      size_t key = out.find_last_of("{ ", at - 1) + 1;
      out.erase(key, at + placeholder.size() - key);
    }
  return out;
}

std::string_view trim(std::string_view text) {
  while (text.starts_with(' '))
    text.remove_prefix(1);
  while (text.ends_with(' '))
    text.remove_suffix(1);
  return text;
}

} // namespace

std::string withKeptNodes(std::string_view pipeline, const std::vector<std::string> &names) {
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : ",") + name;
  std::string out;
  for (std::string_view element : passesOf(pipeline)) {
    std::string_view pass = trim(element);
    out += out.empty() ? "" : ",";
    out += expandNames(pass, list);
    if (std::string options = expandNames(optionsOf(pass), list); !options.empty())
      out += "{" + options + "}";
  }
  return out;
}

} // namespace treadle::tensorflow
