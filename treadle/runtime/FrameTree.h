// Assigns nodes to v1 frames: the frame of a node follows from those of its inputs. Callers visit
// the nodes of a graph in topological order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace treadle {

class FrameTree {
public:
  using Index = uint32_t;
  static constexpr Index outside = 0; // the root: outside all loops

  struct Frame {
    std::string name;
    Index parent = outside;
    uint32_t depth = 0;
  };

  /// The frames of the inputs of one node, without back edges (from a NextIteration to a Merge).
  class Inputs {
  public:
    explicit Inputs(const FrameTree &tree) : tree(tree) {}

    /// Adds the frame of an input. Returns false if it conflicts with that of another input.
    bool add(Index frame) {
      bool isSame = isEmpty || frame == innermost;
      if (isEmpty || tree[frame].depth > tree[innermost].depth)
        innermost = frame;
      isEmpty = false;
      areMixed |= !isSame;
      return isSame;
    }
    /// The frame of the node. A control edge from an outer frame doesn't take the node out of its
    /// loop.
    Index frame() const { return innermost; }
    bool isMixed() const { return areMixed; }

  private:
    const FrameTree &tree;
    Index innermost = outside;
    bool isEmpty = true, areMixed = false;
  };

  const Frame &operator[](Index frame) const { return all[frame]; }
  size_t size() const { return all.size(); }

  /// Returns the frame that an Enter in `frame` opens: the child with this name, created at first
  /// use. Children have higher indices than their parents.
  Index enter(Index frame, std::string_view name) {
    auto [it, isNew] = byName.try_emplace({frame, std::string(name)}, static_cast<Index>(size()));
    if (isNew)
      all.push_back({std::string(name), frame, all[frame].depth + 1});
    return it->second;
  }
  /// Returns the frame that the output of an Exit in `frame` belongs to.
  Index exit(Index frame) const { return all[frame].parent; }

private:
  std::vector<Frame> all{{}};
  std::map<std::pair<Index, std::string>, Index> byName; // keyed by parent and name
};

} // namespace treadle
