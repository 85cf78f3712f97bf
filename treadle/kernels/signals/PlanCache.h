// Internal to this folder: a node's cache of plans.
#pragma once

#include "treadle/kernels/signals/FourierPlan.h"

#include <array>
#include <atomic>
#include <mutex>

namespace treadle::fourier {

/// The plans of the first few lengths that a node uses, read without a lock, so that concurrent
/// calls don't contend. Plans of further lengths come from a cache of all nodes, under a lock.
template <typename Plan> class PlanCache {
public:
  /// Returns a plan that is valid as long as `borrowed` and the node.
  const Plan &of(size_t length, std::shared_ptr<const Plan> &borrowed) const {
    for (const Slot &slot : slots)
      if (const Plan *plan = slot.plan.load(std::memory_order_acquire);
          plan && plan->length() == length)
        return *plan;
    borrowed = sharedPlan<Plan>(length);
    keep(borrowed);
    return *borrowed;
  }

private:
  struct Slot {
    std::atomic<const Plan *> plan = nullptr;
    std::shared_ptr<const Plan> owner;
  };

  void keep(const std::shared_ptr<const Plan> &plan) const {
    std::lock_guard lock(mutex);
    for (Slot &slot : slots)
      if (!slot.owner || slot.owner->length() == plan->length()) {
        slot.owner = slot.owner ? slot.owner : plan;
        slot.plan.store(slot.owner.get(), std::memory_order_release);
        return;
      }
  }

  mutable std::array<Slot, 4> slots;
  mutable std::mutex mutex;
};

} // namespace treadle::fourier
