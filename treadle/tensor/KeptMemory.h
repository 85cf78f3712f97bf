// Memory that objects keep beside tensors: what containers take counts to a session's budget.
#pragma once

#include "treadle/tensor/MemoryBudget.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace treadle {

/// What an object that lives on has of the budget that was open when it was made: its containers
/// are charged to that. Stands before them among its members, and lives as long as they do. Throws
/// OverBudget where nothing is left. Without a budget it costs a look at a number.
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
  template <typename T> friend class KeptAllocator;
  friend class MemoryCharge;
  /// About what an object takes itself. It keeps the account alive besides.
  static constexpr int64_t object = 64;

  MemoryBudget::Account *const account;
};

/// Throws OverBudget where the share's budget has less left. Containers that are moved or swapped
/// must have the same share.
template <typename T> class KeptAllocator {
public:
  using value_type = T;

  KeptAllocator(const MemoryShare &share) : account(share.account) {}
  template <typename U>
  KeptAllocator(const KeptAllocator<U> &other) noexcept : account(other.account) {}

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
  template <typename U> bool operator==(const KeptAllocator<U> &other) const {
    return account == other.account;
  }

private:
  template <typename U> friend class KeptAllocator;
  static int64_t bytes(size_t count) {
    int64_t all;
    return __builtin_mul_overflow(count, sizeof(T), &all) ? INT64_MAX : all;
  }

  MemoryBudget::Account *account;
};

/// What something took without an allocator of a share. Throws OverBudget as that does.
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

/// Does it, or, where memory ends, undoes what came before.
template <typename Action, typename Undo> auto doOrUndo(Action &&action, Undo &&undo) {
  try {
    return action();
  } catch (const std::bad_alloc &) {
    undo();
    throw;
  }
}

template <typename T> using KeptVector = std::vector<T, KeptAllocator<T>>;
using KeptString = std::basic_string<char, std::char_traits<char>, KeptAllocator<char>>;

} // namespace treadle
