// Internal to the collective folder: circles in which ranks would wait for each other.
#pragma once

#include "treadle/collective/Communicator.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace treadle {

/// An order as ranks send it: a line for each point, with a name that means the same on all ranks
/// and a text for messages, and one for each edge. `turns` names the turn that each agenda has in
/// its group.
std::string textOf(const CollectiveOrder &order, const std::vector<GroupAgenda> &agendas,
                   const std::vector<std::string> &turns);

/// What ranks said of what waits for what. A collective ends when all of its ranks have come
/// to it; so a circle of what waits, though each edge is of another rank, never ends. Not
/// thread-safe.
class WaitGraph {
public:
  /// What a rank says (`textOf`); text that isn't of that form counts for nothing. The circle that
  /// it closes, in words, if there is one.
  std::optional<std::string> add(int rank, std::string_view text);

private:
  struct Edge {
    size_t to;
    int rank; // that says so
  };
  struct Point {
    std::string name, label; // no label: several things together
    std::vector<Edge> next;
  };

  size_t point(std::string_view name, std::string_view label);
  std::optional<std::string> circleFrom(const std::vector<size_t> &starts) const;
  std::string inWords(std::vector<Edge> circle) const;

  std::vector<Point> points;
  std::map<std::string, size_t, std::less<>> byName;
  std::set<std::pair<size_t, size_t>> edges;
};

} // namespace treadle
