// How much memory the tensors of a session may take.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <atomic>
#include <cstdint>
#include <new>

namespace treadle {

/// Thrown where a budget has less left.
struct OverBudget : std::bad_alloc {
  OverBudget(int64_t bytes, int64_t limit) : bytes(bytes), limit(limit) {}
  int64_t bytes, limit;
};

/// ResourceExhausted: that there is no memory, or of whose budget there is none.
Error memoryError(const std::bad_alloc &thrown);

/// Counts the memory of blocks that are made while the budget is open on their thread, and refuses
/// more than its limit. What a block took comes back when it is freed, on whichever thread and
/// however late that is. Thread-safe.
class MemoryBudget {
public:
  explicit MemoryBudget(int64_t limit) : account(new Account(limit)) { ++count; }
  ~MemoryBudget() {
    --count;
    account->give(Account::owner);
  }
  MemoryBudget(const MemoryBudget &) = delete;
  MemoryBudget &operator=(const MemoryBudget &) = delete;

  int64_t used() const { return account->taken.load(std::memory_order_relaxed) - Account::owner; }

  /// Lives until its owner and all blocks that were charged to it are gone.
  struct Account {
    /// What the owner takes, so that the account stays while it is there.
    static constexpr int64_t owner = 1;

    explicit Account(int64_t limit) : limit(limit) {}
    /// False, having taken nothing, if less is left.
    bool take(int64_t bytes);
    /// OverBudget for that.
    void takeOrThrow(int64_t bytes) {
      if (!take(bytes))
        throw OverBudget(bytes, limit);
    }
    void give(int64_t bytes) {
      if (taken.fetch_sub(bytes, std::memory_order_acq_rel) == bytes)
        delete this;
    }

    const int64_t limit;
    std::atomic<int64_t> taken{owner};
  };
  Account &get() const { return *account; }

  /// Opens an account on this thread; null closes what is open.
  class Scope {
  public:
    explicit Scope(Account *account);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    Account *before;
  };
  /// The account that is open on this thread; null: none.
  static Account *opened() { return count.load(std::memory_order_relaxed) ? open : nullptr; }

private:
  static constinit thread_local Account *open;
  static std::atomic<int> count; // of the process; a look at it is cheaper than at `open`

  Account *account;
};

/// Charges what the texts of new tensors of strings take, beside their blocks, to the budget that
/// these were charged to. ResourceExhausted where less is left.
Expected<void> chargeTexts(std::span<const Tensor> made);

/// Whether there are tensors of strings among some.
inline bool holdTexts(std::span<const Tensor> tensors) {
  for (const Tensor &tensor : tensors)
    if (tensor && tensor.dtype() == DType::String) [[unlikely]]
      return true;
  return false;
}

} // namespace treadle
