#include "treadle/session/Pipelines.h"

#include "treadle/runtime/ValueName.h"

namespace treadle {

/// A pipeline's list of names; empty where there are none.
static std::string option(std::string_view name, const std::vector<std::string> &values) {
  std::string text;
  for (const std::string &value : values)
    text += str(text.empty() ? str(name, "=") : ",", value);
  return text.empty() ? text : text + " ";
}

std::string pruningTo(const Request &request, bool functions) {
  return str("tfg-prune{", option("fetches", request.fetches), option("targets", request.targets),
             option("feeds", request.feeds), "functions=", functions ? "true}" : "false}");
}

std::string clusterPipeline(const Request &request, bool prunes) {
  auto nodesOf = [](const std::vector<std::string> &values) {
    std::vector<std::string> nodes;
    for (const std::string &value : values)
      nodes.push_back(nodeOf(value));
    return nodes;
  };
  std::vector<std::string> fed = nodesOf(request.feeds), asked = nodesOf(request.fetches);
  asked.insert(asked.end(), request.targets.begin(), request.targets.end());
  std::vector<std::string> all = fed;
  all.insert(all.end(), asked.begin(), asked.end());
  std::string prune = prunes ? pruningTo(request) + "," : "";
  return str(prune, "tfg-v1-to-functional{", option("keep", all), "},tfg-outline-clusters{",
             option("keep", fed), option("fetches", asked), "}");
}

} // namespace treadle
