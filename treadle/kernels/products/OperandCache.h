// A cache of the preprocessed form of an operand, such as packed weights.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/tensor/MappedTensor.h"
#include "treadle/tensor/ThreadSlots.h"

#include <memory>
#include <mutex>
#include <utility>

namespace treadle {

/// Caches the form of an operand that is constant across calls, such as weights. Thread-safe: a
/// cache hit of a thread takes no lock and touches no shared reference count.
template <typename Form> class OperandCache {
public:
  /// Returns the form that `make` gave for this tensor, now or in an earlier call, if it still
  /// `suits`; null if the operand isn't known to be constant. The cache holds a reference to the
  /// tensor, so that nothing overwrites it in place.
  template <typename Suits, typename Make>
  std::shared_ptr<const Form> find(const Tensor &operand, const Suits &suits,
                                   const Make &make) const {
    if (isDisabled.load(std::memory_order_relaxed))
      return nullptr;
    bool isRepeated = false;
    if (auto own = slots.tryTake()) {
      if (own->operand == operand.get() && own->age == age.load(std::memory_order_acquire) &&
          suits(*own->form))
        return own->form;
      isRepeated = std::exchange(own->seen, operand.raw()) == operand.raw();
    }
    if (!isRepeated && !hasEntry.load(std::memory_order_relaxed))
      return nullptr;
    uint64_t ageThen = 0;
    std::shared_ptr<const Form> share =
        shareWithOwnCount(findCached(operand, isRepeated, suits, make, ageThen));
    if (auto own = slots.tryTake(); own && share)
      *own = {operand.get(), ageThen, share, operand.raw()};
    return share;
  }

  template <typename Make>
  std::shared_ptr<const Form> find(const Tensor &operand, const Make &make) const {
    return find(operand, [](const Form &) { return true; }, make);
  }

private:
  static constexpr int maxEvictions = 3;

  /// A thread's cached form, valid while `age` is unchanged, and the address of the operand of its
  /// last call.
  struct Found {
    const TensorBlock *operand = nullptr;
    uint64_t age = 0;
    std::shared_ptr<const Form> form;
    const void *seen = nullptr;
  };

  template <typename Suits, typename Make>
  std::shared_ptr<const Form> findCached(const Tensor &operand, bool isRepeated, const Suits &suits,
                                         const Make &make, uint64_t &ageThen) const {
    std::lock_guard lock(mutex);
    if (cachedOperand && cachedOperand.get() != operand.get())
      evict();
    if (!cachedOperand && (!isRepeated || numEvictions >= maxEvictions || !isCacheable(operand)))
      return nullptr;
    ageThen = age.load(std::memory_order_relaxed);
    if (!form || !suits(*form))
      form = make();
    if (form) {
      cachedOperand = operand;
      hasEntry.store(true, std::memory_order_relaxed);
    }
    return form;
  }

  /// Evicts the entry; the lock must be held. The operand was not constant: its writer had to copy
  /// it.
  void evict() const {
    age.fetch_add(1, std::memory_order_release); // before the block can be reused
    hasEntry.store(false, std::memory_order_relaxed);
    cachedOperand.reset();
    form.reset();
    slots.forEach([](Found &found) { found.form.reset(), found.operand = nullptr; });
    if (++numEvictions >= maxEvictions)
      isDisabled.store(true, std::memory_order_relaxed);
  }

  // A view is excluded, since it may refer to caller-owned memory that can change at any time.
  static bool isCacheable(const Tensor &t) {
    return (!t.get()->owner && !t.isRef()) || isMappedTensor(t);
  }

  ThreadSlots<Found> slots;
  mutable std::atomic<uint64_t> age{0}; // number of evictions
  mutable std::atomic<bool> hasEntry{false}, isDisabled{false};
  alignas(64) mutable std::mutex mutex; // guards the members below
  mutable Tensor cachedOperand;
  mutable std::shared_ptr<const Form> form;
  mutable int numEvictions = 0;
};

} // namespace treadle
