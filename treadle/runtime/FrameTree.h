// The rule of v1 frames: which frame a node is in, told from the frames of its inputs. Whoever
// wants to know goes over the nodes of a graph in the order of their edges.
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
  static constexpr Index outside = 0; // of all loops

  struct Frame {
    std::string name;
    Index parent = outside;
    uint32_t depth = 0;
  };

  /// The frames that the inputs of one node come from. Edges back, from a NextIteration to a Merge,
  /// are none of them.
  class Inputs {
  public:
    explicit Inputs(const FrameTree &tree) : tree(tree) {}

    /// False if another one came from another frame.
    bool add(Index frame) {
      bool isSame = isEmpty || frame == innermost;
      if (isEmpty || tree[frame].depth > tree[innermost].depth)
        innermost = frame;
      isEmpty = false;
      areMixed |= !isSame;
      return isSame;
    }
    /// Where the node is: a control edge from outside doesn't take it out of its loop.
    Index frame() const { return innermost; }
    bool isMixed() const { return areMixed; }

  private:
    const FrameTree &tree;
    Index innermost = outside;
    bool isEmpty = true, areMixed = false;
  };

  const Frame &operator[](Index frame) const { return all[frame]; }
  size_t size() const { return all.size(); }

  /// Where what an Enter gives is, one that stands in `frame`: in the frame of this name there. A
  /// frame comes after the one that it is in.
  Index enter(Index frame, std::string_view name) {
    auto [it, isNew] = byName.try_emplace({frame, std::string(name)}, static_cast<Index>(size()));
    if (isNew)
      all.push_back({std::string(name), frame, all[frame].depth + 1});
    return it->second;
  }
  /// Where what an Exit gives is, one that stands in `frame`.
  Index exit(Index frame) const { return all[frame].parent; }

private:
  std::vector<Frame> all{{}};
  std::map<std::pair<Index, std::string>, Index> byName; // by parent and name
};

} // namespace treadle
