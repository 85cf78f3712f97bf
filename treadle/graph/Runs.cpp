#include "treadle/graph/Runs.h"

#include "treadle/tensor/Error.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;

namespace treadle {

void Runs::add(std::string name, ArrayRef<Operation *> asked) {
  for (Operation *op : asked)
    requestedBy[op].push_back(static_cast<unsigned>(allNames.size()));
  allNames.push_back(std::move(name));
}

Runs Runs::ofSinks(Block &graph) {
  Runs runs;
  runs.hasCycles = true;
  for (Operation &op : graph)
    if (tfg::Node::isNode(&op) && op.use_empty())
      runs.add(str("'", tfg::Node(&op).name().str(), "'"), &op);
  return runs;
}

// Walks from the node to its users: few nodes are queried, and most graphs are deep.
const Runs::Numbers &Runs::runsOf(Operation *op) const {
  auto [entry, isNew] = known.try_emplace(op);
  if (!isNew)
    return entry->second;
  llvm::DenseSet<Operation *> seen = {op};
  SmallVector<Operation *> work = {op};
  Numbers found;
  while (!work.empty()) {
    Operation *from = work.pop_back_val();
    if (auto it = requestedBy.find(from); it != requestedBy.end())
      llvm::append_range(found, it->second);
    for (Operation *user : from->getUsers()) {
      while (user->getBlock() != op->getBlock()) // the user is in a region of a node of this block
        user = user->getParentOp();
      if (seen.insert(user).second)
        work.push_back(user);
    }
  }
  if (found.empty() && hasCycles)
    found.push_back(static_cast<unsigned>(allNames.size()));
  llvm::sort(found);
  found.erase(llvm::unique(found), found.end());
  return known[op] = std::move(found);
}

bool Runs::shareRun(Operation *a, Operation *b) const {
  Numbers first = runsOf(a); // copied: the second lookup may rehash
  const Numbers &second = runsOf(b);
  return llvm::any_of(first, [&](unsigned run) { return llvm::is_contained(second, run); });
}

std::string Runs::runWithout(Operation *node, Operation *other) const {
  Numbers own = runsOf(node);
  const Numbers &others = runsOf(other);
  for (unsigned run : own)
    if (run < allNames.size() && !std::ranges::binary_search(others, run))
      return allNames[run];
  return "";
}

} // namespace treadle
