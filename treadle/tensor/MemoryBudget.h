// Limits on the memory that the tensors of a session take.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <atomic>
#include <cstdint>
#include <new>

namespace treadle {

/// Thrown if an allocation exceeds the budget. Sizes are in bytes.
struct OverBudget : std::bad_alloc {
  OverBudget(int64_t bytes, int64_t limit) : bytes(bytes), limit(limit) {}
  int64_t bytes, limit;
};

/// Returns a ResourceExhausted error that says whether the machine's memory or a budget was
/// exhausted.
Error memoryError(const std::bad_alloc &thrown);

/// Counts the memory of blocks that are made while the budget is open on their thread, and refuses
/// allocations past its limit. A block's bytes are credited when it is freed, on any thread and
/// even after the budget is destroyed. Thread-safe.
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

  /// The shared counter. Lives until the budget and all blocks that were charged to it are gone.
  struct Account {
    /// The byte that the budget itself takes, so that the account lives as long as the budget.
    static constexpr int64_t owner = 1;

    explicit Account(int64_t limit) : limit(limit) {}
    /// Charges `bytes`. Returns false, and charges nothing, if less is left.
    bool take(int64_t bytes);
    /// Charges `bytes`. Throws OverBudget if less is left.
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

  /// Opens an account on this thread for a scope; null suspends the account that is open.
  class Scope {
  public:
    explicit Scope(Account *account);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    Account *before;
  };
  /// Returns the account that is open on this thread, or null.
  static Account *opened() { return count.load(std::memory_order_relaxed) ? open : nullptr; }

private:
  static constinit thread_local Account *open;
  static std::atomic<int> count; // budgets of the process; cheaper to read than `open`

  Account *account;
};

/// Charges the heap memory of the elements of new string tensors to the budget that their blocks
/// were charged to. Returns ResourceExhausted if that has too little left.
Expected<void> chargeStringMemory(std::span<const Tensor> made);

/// Whether any of the tensors is a string tensor.
inline bool containStrings(std::span<const Tensor> tensors) {
  for (const Tensor &tensor : tensors)
    if (tensor && tensor.dtype() == DType::String) [[unlikely]]
      return true;
  return false;
}

} // namespace treadle
