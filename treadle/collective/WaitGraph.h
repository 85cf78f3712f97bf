// Internal to the collective folder: detects cycles in which ranks would wait for each other.
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

/// Serializes an order: a line for each point, with a name that is the same on all ranks and a
/// label for messages, and a line for each edge. `turns` identifies each agenda's turn in its
/// group.
std::string textOf(const CollectiveOrder &order, const std::vector<GroupAgenda> &agendas,
                   const std::vector<std::string> &turns);

/// The dependencies between collectives that all ranks have sent. A collective ends only when all
/// its ranks have reached it, so a cycle is a deadlock, even if each edge is from a different rank.
/// Not thread-safe.
class WaitGraph {
public:
  /// Adds the order of a rank (see `textOf`); ignores malformed text. Returns a description of the
  /// cycle that it closes, if any.
  std::optional<std::string> add(int rank, std::string_view text);

private:
  struct Edge {
    size_t to;
    int rank; // that sent the edge
  };
  struct Point {
    std::string name, label; // no label: several points together
    std::vector<Edge> next;
  };

  size_t point(std::string_view name, std::string_view label);
  std::optional<std::string> cycleFrom(const std::vector<size_t> &starts) const;
  std::string describe(std::vector<Edge> circle) const;

  std::vector<Point> points;
  std::map<std::string, size_t, std::less<>> byName;
  std::set<std::pair<size_t, size_t>> edges;
};

} // namespace treadle
