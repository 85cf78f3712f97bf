// Memory that objects hold outside of tensors, such as their containers, charged to the session's
// memory budget.
#pragma once

#include "treadle/tensor/MemoryBudget.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace treadle {

/// The budget account that was open when an object was made; the object's containers are charged to
/// it. Must be declared before those containers among the object's members, so that it outlives
/// them. Throws OverBudget if the budget is exhausted. Without a budget it costs one atomic load.
class MemoryShare {
public:
  MemoryShare() : account(MemoryBudget::opened()) {
    if (account) [[unlikely]]
      account->takeOrThrow(object);
  }
  ~MemoryShare() {
    if (account) [[unlikely]]
      account->give(object);
  }
  MemoryShare(const MemoryShare &) = delete;
  MemoryShare &operator=(const MemoryShare &) = delete;

private:
  template <typename T> friend class BudgetedAllocator;
  friend class MemoryCharge;
  /// The approximate size of an object itself. Charging it also keeps the account alive.
  static constexpr int64_t object = 64;

  MemoryBudget::Account *const account;
};

/// An allocator that charges to the account of a MemoryShare; throws OverBudget if that has too
/// little left. Containers that are moved or swapped must have the same share.
template <typename T> class BudgetedAllocator {
public:
  using value_type = T;

  BudgetedAllocator(const MemoryShare &share) : account(share.account) {}
  template <typename U>
  BudgetedAllocator(const BudgetedAllocator<U> &other) noexcept : account(other.account) {}

  T *allocate(size_t count) {
    if (!account) [[likely]]
      return std::allocator<T>().allocate(count);
    account->takeOrThrow(bytes(count));
    try {
      return std::allocator<T>().allocate(count);
    } catch (...) {
      account->give(bytes(count));
      throw;
    }
  }
  void deallocate(T *memory, size_t count) {
    std::allocator<T>().deallocate(memory, count);
    if (account) [[unlikely]]
      account->give(bytes(count));
  }
  template <typename U> bool operator==(const BudgetedAllocator<U> &other) const {
    return account == other.account;
  }

private:
  template <typename U> friend class BudgetedAllocator;
  static int64_t bytes(size_t count) {
    int64_t all;
    return __builtin_mul_overflow(count, sizeof(T), &all) ? INT64_MAX : all;
  }

  MemoryBudget::Account *account;
};

/// A charge to the account of a MemoryShare for memory that was allocated without
/// BudgetedAllocator. Throws OverBudget if the account has too little left.
class MemoryCharge {
public:
  MemoryCharge(const MemoryShare &share, size_t bytes)
      : account(share.account), bytes(static_cast<int64_t>(bytes)) {
    if (account) [[unlikely]]
      account->takeOrThrow(this->bytes);
  }
  MemoryCharge(MemoryCharge &&other) noexcept
      : account(std::exchange(other.account, nullptr)), bytes(other.bytes) {}
  MemoryCharge &operator=(MemoryCharge &&other) noexcept {
    std::swap(account, other.account);
    std::swap(bytes, other.bytes);
    return *this;
  }
  ~MemoryCharge() {
    if (account) [[unlikely]]
      account->give(bytes);
  }

private:
  MemoryBudget::Account *account;
  int64_t bytes;
};

/// Calls `action`. If that throws std::bad_alloc, calls `undo` and rethrows.
template <typename Action, typename Undo> auto callOrUndo(Action &&action, Undo &&undo) {
  try {
    return action();
  } catch (const std::bad_alloc &) {
    undo();
    throw;
  }
}

template <typename T> using BudgetedVector = std::vector<T, BudgetedAllocator<T>>;
using BudgetedString = std::basic_string<char, std::char_traits<char>, BudgetedAllocator<char>>;

} // namespace treadle
