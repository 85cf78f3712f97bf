// An operand in the form that a computation wants, kept from call to call.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/tensor/TensorInFile.h"
#include "treadle/tensor/ThreadSlots.h"

#include <memory>
#include <mutex>
#include <utility>

namespace treadle {

/// The form of an operand that stays what it is from call to call, as weights do. Thread-safe: a
/// thread that finds what it found before takes no lock, and counts no references that others do.
template <typename Form> class KeptForm {
public:
  /// What `make` gave for this tensor, now or in an earlier call, if it still `suits`; null where
  /// the operand isn't known to stay. A tensor that is kept here has an owner more, so that nobody
  /// writes over it.
  template <typename Suits, typename Make>
  std::shared_ptr<const Form> find(const Tensor &operand, const Suits &suits,
                                   const Make &make) const {
    if (isHopeless.load(std::memory_order_relaxed))
      return nullptr;
    bool isSecond = false;
    if (auto own = slots.tryTake()) {
      if (own->operand == operand.get() && own->age == age.load(std::memory_order_acquire) &&
          suits(*own->form))
        return own->form;
      isSecond = std::exchange(own->seen, operand.raw()) == operand.raw();
    }
    if (!isSecond && !isKeeping.load(std::memory_order_relaxed))
      return nullptr;
    uint64_t ageThen = 0;
    std::shared_ptr<const Form> share = ownShare(findKept(operand, isSecond, suits, make, ageThen));
    if (auto own = slots.tryTake(); own && share)
      *own = {operand.get(), ageThen, share, operand.raw()};
    return share;
  }

  template <typename Make>
  std::shared_ptr<const Form> find(const Tensor &operand, const Make &make) const {
    return find(operand, [](const Form &) { return true; }, make);
  }

private:
  static constexpr int maxDisappointments = 3;

  /// What a thread found, good while `age` is what it was; and where the operand of its last call
  /// was.
  struct Found {
    const TensorBlock *operand = nullptr;
    uint64_t age = 0;
    std::shared_ptr<const Form> form;
    const void *seen = nullptr;
  };

  template <typename Suits, typename Make>
  std::shared_ptr<const Form> findKept(const Tensor &operand, bool isSecond, const Suits &suits,
                                       const Make &make, uint64_t &ageThen) const {
    std::lock_guard lock(mutex);
    if (kept && kept.get() != operand.get())
      letGo();
    if (!kept && (!isSecond || disappointments >= maxDisappointments || !mayBeKept(operand)))
      return nullptr;
    ageThen = age.load(std::memory_order_relaxed);
    if (!form || !suits(*form))
      form = make();
    if (form) {
      kept = operand;
      isKeeping.store(true, std::memory_order_relaxed);
    }
    return form;
  }

  /// With the lock. The operand did not stay: whoever wrote it had to copy.
  void letGo() const {
    age.fetch_add(1, std::memory_order_release); // before the block can be another's
    isKeeping.store(false, std::memory_order_relaxed);
    kept.reset();
    form.reset();
    slots.forEach([](Found &found) { found.form.reset(), found.operand = nullptr; });
    if (++disappointments >= maxDisappointments)
      isHopeless.store(true, std::memory_order_relaxed);
  }

  // A caller's own memory is behind a view, and may change without our knowing.
  static bool mayBeKept(const Tensor &t) { return (!t.get()->owner && !t.isRef()) || isInFile(t); }

  ThreadSlots<Found> slots;
  mutable std::atomic<uint64_t> age{0}; // how many operands were let go of
  mutable std::atomic<bool> isKeeping{false}, isHopeless{false};
  alignas(64) mutable std::mutex mutex; // guards what follows
  mutable Tensor kept;
  mutable std::shared_ptr<const Form> form;
  mutable int disappointments = 0;
};

} // namespace treadle
