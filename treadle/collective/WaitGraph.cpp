#include "treadle/collective/WaitGraph.h"

#include "treadle/collective/Digest.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace treadle {
namespace {

// Older edges are dropped; cycles through them end by the timeout.
constexpr size_t maxEdges = 1 << 20;

std::string_view cut(std::string_view &text, char end) {
  size_t at = std::min(text.find(end), text.size());
  std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

std::optional<size_t> indexIn(std::string_view text, size_t size) {
  size_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && number < size ? std::optional(number) : std::nullopt;
}

/// Several points together have the same name on all ranks, derived from their names.
std::string jointName(std::vector<std::string> parts) {
  std::ranges::sort(parts);
  std::string all;
  for (const std::string &part : parts)
    all += part + "\n";
  return str("+", digestOf(all));
}

std::string labelOf(std::string line) {
  std::ranges::replace(line, '\t', ' ');
  return line;
}

} // namespace

std::string textOf(const CollectiveOrder &order, const std::vector<GroupAgenda> &agendas,
                   const std::vector<std::string> &turns) {
  std::vector<std::vector<std::string>> parts(order.points.size());
  std::vector<std::string> names;
  std::string text;
  auto edge = order.edges.begin(); // sorted by target
  for (size_t i = 0; i < order.points.size(); ++i) {
    auto [agenda, line] = order.points[i];
    for (; edge != order.edges.end() && edge->second == i; ++edge)
      parts[i].push_back(names[edge->first]);
    names.push_back(agenda < 0 ? jointName(parts[i])
                               : str(turns[static_cast<size_t>(agenda)], "#", line));
    text += str(
        "p", names.back(), "\t",
        agenda < 0 ? std::string()
                   : labelOf(agendas[static_cast<size_t>(agenda)].lines[static_cast<size_t>(line)]),
        "\n");
  }
  for (auto [from, to] : order.edges)
    text += str("e", from, "\t", to, "\n");
  return text;
}

size_t WaitGraph::point(std::string_view name, std::string_view label) {
  auto found = byName.find(name);
  if (found != byName.end())
    return found->second;
  points.push_back({std::string(name), std::string(label), {}});
  byName.emplace(name, points.size() - 1);
  return points.size() - 1;
}

std::optional<std::string> WaitGraph::add(int rank, std::string_view text) {
  std::vector<size_t> own, changed;
  if (edges.size() > maxEdges)
    *this = WaitGraph();
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    std::string_view first = cut(line, '\t');
    if (first.starts_with('p'))
      own.push_back(point(first.substr(1), line));
    if (!first.starts_with('e'))
      continue;
    std::optional<size_t> from = indexIn(first.substr(1), own.size()),
                          to = indexIn(line, own.size());
    if (!from || !to)
      continue;
    // All ranks of a program send the same edge.
    if (!edges.emplace(own[*from], own[*to]).second)
      continue;
    points[own[*from]].next.push_back({own[*to], rank});
    changed.push_back(own[*from]);
  }
  return cycleFrom(changed);
}

// An iterative depth-first search; the path is on a stack.
std::optional<std::string> WaitGraph::cycleFrom(const std::vector<size_t> &starts) const {
  enum State : uint8_t { New, OnPath, Done };
  std::vector<State> states(points.size(), New);
  struct Step {
    size_t at;
    size_t taken;
  };
  for (size_t start : starts) {
    std::vector<Step> path;
    if (states[start] == New)
      path.push_back({start, 0});
    while (!path.empty()) {
      Step &step = path.back();
      states[step.at] = OnPath;
      if (step.taken == points[step.at].next.size()) {
        states[step.at] = Done;
        path.pop_back();
        continue;
      }
      size_t to = points[step.at].next[step.taken++].to;
      if (states[to] == New)
        path.push_back({to, 0});
      if (states[to] != OnPath)
        continue;
      std::vector<Edge> circle;
      for (auto it = std::ranges::find(path, to, &Step::at); it != path.end(); ++it)
        circle.push_back(points[it->at].next[it->taken - 1]);
      return describe(std::move(circle));
    }
  }
  return std::nullopt;
}

std::string WaitGraph::describe(std::vector<Edge> circle) const {
  // A point that combines several others is replaced by the one that closes the cycle.
  std::erase_if(circle, [&](const Edge &edge) { return points[edge.to].label.empty(); });
  // The description is the same on all ranks.
  auto first = std::ranges::min_element(
      circle, {}, [&](const Edge &edge) -> const std::string & { return points[edge.to].name; });
  std::ranges::rotate(circle, first);
  std::string text;
  for (size_t i = 0; i < circle.size(); ++i)
    text += str(i == 0 ? "" : ", ", "on rank ", circle[i].rank, " ", points[circle[i].to].label,
                " waits for ", points[circle[(i + circle.size() - 1) % circle.size()].to].label);
  return text;
}

} // namespace treadle
