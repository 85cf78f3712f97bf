// Applies orders that users request, and schedules that overlap communication with computation.
#include "treadle/Schedule.h"

#include "treadle/graph/EditIndex.h"
#include "treadle/transforms/preserve_order/PreserveOrder.h"
#include "treadle/transforms/schedule_communication/ScheduleCommunication.h"

namespace treadle {

Expected<Schedule> scheduleCommunication(Graph &graph, const ScheduleRequest &request) {
  tfg::ScheduleOptions options;
  options.ranks = request.ranks;
  options.memoryLimit = request.memoryLimit;
  options.bucketBytes = request.bucketBytes;
  options.jitter = request.jitter;
  if (!request.costs.empty()) {
    tfg::CostModel costs = TREADLE_TRY(tfg::CostModel::read(request.costs));
    options.costs = std::move(costs);
  }
  unshareGraph(graph);
  tfg::GraphOp nodes = indexOf(*graph.impl).graph;
  if (!nodes)
    return Unexpected(
        Error{Code::FailedPrecondition, "the module has only functions, and no graph to schedule"});
  tfg::Schedule found = tfg::scheduleCommunication(nodes.getNodes().front(), options);
  graph.impl->editIndex.reset(); // the pass replaced nodes
  Schedule schedule{.unscheduled = found.before.seconds,
                    .scheduled = found.after.seconds,
                    .compute = found.after.compute,
                    .communication = found.after.communication,
                    .hidden = found.after.hidden,
                    .hiddenShare = found.hiddenShare(),
                    .edges = found.edges,
                    .buckets = found.buckets,
                    .lines = {},
                    .text = found.text()};
  for (tfg::Schedule::Line &line : found.lines)
    schedule.lines.push_back(
        {std::move(line.name), std::move(line.op), line.isCommunication, line.begin, line.end});
  return schedule;
}

Expected<std::vector<Following>> preserveOrder(Graph &graph, const std::vector<Following> &order,
                                               bool soft) {
  unshareGraph(graph);
  EditIndex &index = indexOf(*graph.impl);
  if (!index.graph)
    return Unexpected(
        Error{Code::FailedPrecondition, "the module has only functions, and no graph to order"});
  std::vector<tfg::Following> wishes;
  wishes.reserve(order.size());
  for (const Following &wish : order)
    wishes.push_back({wish.node, wish.after});
  auto contradicted = TREADLE_TRY(tfg::preserveOrder(index.graph.getNodes().front(), wishes, soft));
  index.mayHaveSoftEdges |= soft;
  std::vector<Following> leftOut;
  leftOut.reserve(contradicted.size());
  for (const tfg::Following &wish : contradicted)
    leftOut.push_back({wish.node, wish.after});
  return leftOut;
}

} // namespace treadle
