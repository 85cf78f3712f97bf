// Explores the schedules of a run with the reference machine.
#include "treadle/explain/RunExperiment.h"

namespace treadle {

static std::string firingText(const GraphSpec &graph, const reference::Instance &instance) {
  std::string text = graph.nodes[static_cast<size_t>(instance.node)].name;
  for (const auto &[frame, iteration] : instance.tag)
    text += str("@", iteration);
  return text;
}

Expected<Exploration> explore(const Graph &graph, const ExploreRequest &request) {
  auto experiment = TREADLE_TRY(RunExperiment::of(graph, request));
  reference::Findings found = reference::explore(*experiment, request.limit);
  if (experiment->error)
    return Unexpected(std::move(*experiment->error));
  if (experiment->lastFailure && found.isComplete && found.difference.empty()) // all schedules fail
    return Unexpected(std::move(*experiment->lastFailure));
  Exploration out{found.schedules,  found.isComplete, found.isAmbiguous, found.isRandom, {},
                  experiment->notes};
  for (const reference::Schedule &schedule : found.difference) {
    Exploration::Schedule &text = out.difference.emplace_back();
    text.outcome = schedule.outcome;
    if (!schedule.failure.empty())
      text.outcome += ": " + schedule.failure;
    for (const reference::Instance &instance : schedule.instances)
      text.firings.push_back(firingText(experiment->spec(), instance));
  }
  return out;
}

} // namespace treadle
