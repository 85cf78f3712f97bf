#include "treadle/runtime/NextWeightsPool.h"

#include <mutex>
#include <vector>

namespace treadle {

std::shared_ptr<NextWeights> makeNextWeights() {
  struct Spare {
    std::mutex mutex;
    std::vector<NextWeights *> list;
  };
  static auto *spare = new Spare; // never destroyed: nodes may outlive any static object
  auto giveBack = [](NextWeights *node) {
    std::lock_guard lock(spare->mutex);
    spare->list.push_back(node);
  };
  std::lock_guard lock(spare->mutex);
  if (spare->list.empty())
    return {new NextWeights, giveBack};
  NextWeights *node = spare->list.back();
  spare->list.pop_back();
  node->set({});
  return {node, giveBack};
}

} // namespace treadle
