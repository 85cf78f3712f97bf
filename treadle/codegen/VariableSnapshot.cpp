#include "treadle/codegen/VariableSnapshot.h"

#include <algorithm>
#include <mutex>
#include <thread>

namespace treadle::codegen {
namespace {

/// Locks all variables without imposing an order: never waits for one while holding another.
std::vector<std::unique_lock<std::mutex>> lockAll(std::span<Variable *const> variables) {
  std::vector<std::unique_lock<std::mutex>> locks;
  locks.reserve(variables.size());
  for (;;) {
    for (Variable *variable : variables)
      if (!locks.emplace_back(variable->mutex, std::try_to_lock))
        break;
    if (locks.empty() || locks.back())
      return locks;
    locks.clear();
    std::this_thread::yield();
  }
}

} // namespace

VariableSnapshot::VariableSnapshot(OpContext &ctx, std::span<const int> handles) : inputs(handles) {
  for (int input : handles) {
    Variable *variable = variableOfHandle(ctx.input(input));
    Tensor value = variable ? variable->read() : Tensor();
    if (!value || value.dtype() == DType::Variant || value.dtype() == DType::Resource) {
      complete = false;
      return;
    }
    // A tensor is one pointer.
    places.push_back({reinterpret_cast<TensorBlock *const *>(&variable->value), value.get()});
    variables.push_back(variable);
    values.push_back(std::move(value));
  }
}

bool VariableSnapshot::areUnchanged() const {
  for (size_t i = 0; i < values.size(); ++i)
    if (variables[i]->read().get() != values[i].get())
      return false;
  return true;
}

bool VariableSnapshot::hasAlias() const {
  std::vector<Variable *> sorted = variables;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) != sorted.end();
}

bool VariableSnapshot::write(std::span<Tensor> results) {
  auto isNew = [&](size_t i) { return results[i].get() != values[i].get(); };
  size_t numNew = 0;
  for (size_t i = 0; i < values.size(); ++i)
    numNew += isNew(i);
  if (!numNew)
    return true;
  if (hasAlias())
    return false;
  std::vector<std::unique_lock<std::mutex>> locks = lockAll(variables);
  for (size_t i = 0; i < values.size(); ++i)
    if (variables[i]->value.get() != values[i].get())
      return false;
  // The old values are released after the locks, with this object.
  for (size_t i = 0; i < values.size(); ++i)
    if (isNew(i)) {
      variables[i]->willWrite();
      variables[i]->value = std::move(results[i]);
    }
  return true;
}

} // namespace treadle::codegen
