// An operand in the form that a computation wants, kept from call to call.
#pragma once

#include "treadle/kernels/Element.h"

#include <memory>
#include <mutex>
#include <utility>

namespace treadle {

/// The form of an operand that stays what it is from call to call, as weights do. Thread-safe.
template <typename Form> class KeptForm {
public:
  /// What `make` gave for this tensor, now or in an earlier call, if it still `suits`; null where
  /// the operand isn't known to stay. A tensor that is kept here has an owner more, so that nobody
  /// writes over it.
  template <typename Suits, typename Make>
  std::shared_ptr<const Form> find(const Tensor &operand, const Suits &suits,
                                   const Make &make) const {
    std::lock_guard lock(mutex);
    if (kept && kept.get() == operand.get()) {
      if (!form || !suits(*form))
        form = make();
      return form;
    }
    if (kept) { // it did not stay: whoever wrote it had to copy
      ++disappointments;
      kept.reset();
      form.reset();
    }
    bool isSecond = std::exchange(seen, operand.raw()) == operand.raw();
    if (!isSecond || disappointments >= maxDisappointments || !mayBeKept(operand))
      return nullptr;
    form = make();
    if (form)
      kept = operand;
    return form;
  }

  template <typename Make>
  std::shared_ptr<const Form> find(const Tensor &operand, const Make &make) const {
    return find(operand, [](const Form &) { return true; }, make);
  }

private:
  static constexpr int maxDisappointments = 3;

  // A caller's own memory is behind a view, and may change without our knowing.
  static bool mayBeKept(const Tensor &t) { return !t.get()->owner && !t.isRef(); }

  mutable std::mutex mutex;
  mutable const void *seen = nullptr; // where the operand of the last call was
  mutable Tensor kept;
  mutable std::shared_ptr<const Form> form;
  mutable int disappointments = 0;
};

} // namespace treadle
