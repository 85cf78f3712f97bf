// Finds the resources without races quickly: those whose accesses follow each other.
#pragma once

#include "treadle/analysis/effects/Effects.h"
#include "treadle/analysis/races/FrameGraph.h"

#include "llvm/ADT/MapVector.h"

namespace treadle::tfg {

/// The resources each of whose accesses is reached by a path from those that it must follow: a
/// write from all reads since the last write, or that write; a read from the last write. Searches
/// backwards from each node until it has found them; gives up when the searches, in sum, have
/// followed several times as many edges as the graph has.
class OrderedResources {
public:
  using Index = FrameGraph::Index;

  /// `accessing`: the nodes with side effects, in the order of the graph; `position`: the place of
  /// each vertex in that order.
  OrderedResources(const FrameGraph &graph, const EffectAnalysis &effects,
                   llvm::ArrayRef<Index> accessing, llvm::ArrayRef<size_t> position);

  bool contains(ResourceId id) const {
    auto found = accesses.find(id);
    return found != accesses.end() && found->second.isOrdered;
  }

private:
  struct Accesses {
    std::vector<Index> lastWrite, reads; // since then
    bool isOrdered = true;
  };

  bool hasUnknown(llvm::ArrayRef<Index> accessing) const;
  void connect();
  void add(Index node);
  void search(Index node);

  const FrameGraph &graph;
  const EffectAnalysis &effects;
  llvm::ArrayRef<size_t> position;
  std::vector<std::vector<Index>> incoming;
  llvm::MapVector<ResourceId, Accesses> accesses;
  size_t budget = 0; // edges that may still be followed
  /// The accesses that a search looks for.
  llvm::DenseSet<Index> wanted;
  std::vector<Index> seenFrom; // by vertex: the last node from which a search came by
};

} // namespace treadle::tfg
