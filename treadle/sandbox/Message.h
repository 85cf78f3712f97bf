// Messages between the two processes: sequences of numbers, strings and tensors.
#pragma once

#include "treadle/Graph.h"
#include "treadle/sandbox/Ring.h"

#include <optional>
#include <vector>

namespace treadle::sandbox {

/// Writes to a ring. Small values are buffered; `finish` flushes the buffer. The first error is
/// kept and returned by `finish`.
class MessageWriter {
public:
  MessageWriter(RingWriter &ring, const WaitPolicy &waitPolicy)
      : ring(ring), waitPolicy(waitPolicy) {}

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void number(T value) {
    bytes(std::as_bytes(std::span(&value, 1)));
  }
  void text(std::string_view text);
  void texts(const std::vector<std::string> &texts);
  /// The dtype must satisfy `canPass`.
  void tensor(const Tensor &tensor);
  void value(const Graph::Value &value);
  Expected<void> finish();

private:
  void bytes(std::span<const std::byte> data);
  void flush();

  RingWriter &ring;
  const WaitPolicy &waitPolicy;
  std::vector<std::byte> collected;
  Expected<void> outcome;
};

/// Whether values of a dtype are meaningful in another process.
bool canPass(DType dtype);

/// Reads from a ring without trusting its content: each number is copied before it is checked, and
/// everything that is read must fit into a budget of bytes. DataLoss for malformed messages.
/// ResourceExhausted if the budget or memory is exhausted; if it was memory, the value is skipped,
/// and the next one can be read.
class MessageReader {
public:
  MessageReader(RingReader &ring, const WaitPolicy &waitPolicy, uint64_t budget)
      : ring(ring), waitPolicy(waitPolicy), left(budget) {}

  /// All bit patterns of T must be valid.
  template <typename T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
  Expected<T> number() {
    T value{};
    TREADLE_TRY(bytes(std::as_writable_bytes(std::span(&value, 1))));
    return value;
  }
  /// Reads a number below `end`.
  Expected<uint64_t> below(uint64_t end, const char *what);
  Expected<bool> flag() {
    return below(2, "flag").map([](uint64_t value) { return value == 1; });
  }
  Expected<std::string> text();
  /// Reads a text for people: replaces control characters by question marks, and truncates long
  /// texts.
  Expected<std::string> message();
  /// Reads a name: DataLoss if it has control characters or is too long to show.
  Expected<std::string> name();
  Expected<std::vector<std::string>> texts();
  Expected<Tensor> tensor();
  Expected<Graph::Value> value();

private:
  Expected<void> bytes(std::span<std::byte> data);
  Expected<void> charge(uint64_t size);
  Expected<void> skip(uint64_t size);
  Expected<Tensor> elements(DType dtype, std::span<const int64_t> dims);
  Expected<void> skipElements(DType dtype, int64_t count);

  RingReader &ring;
  const WaitPolicy &waitPolicy;
  uint64_t left;
};

} // namespace treadle::sandbox
