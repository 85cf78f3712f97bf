// What the two processes tell each other: numbers, texts and tensors, one after the other.
#pragma once

#include "treadle/Graph.h"
#include "treadle/sandbox/Ring.h"

#include <optional>
#include <vector>

namespace treadle::sandbox {

/// Writes into a ring. Small things are collected; `finish` sends the rest. The first error stays,
/// and is what `finish` gives.
class MessageWriter {
public:
  MessageWriter(RingWriter &ring, const Patience &patience) : ring(ring), patience(patience) {}

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void number(T value) {
    bytes(std::as_bytes(std::span(&value, 1)));
  }
  void text(std::string_view text);
  void texts(const std::vector<std::string> &texts);
  /// Of a dtype that `canPass`.
  void tensor(const Tensor &tensor);
  void value(const Graph::Value &value);
  Expected<void> finish();

private:
  void bytes(std::span<const std::byte> data);
  void flush();

  RingWriter &ring;
  const Patience &patience;
  std::vector<std::byte> collected;
  Expected<void> outcome;
};

/// Whether values of a dtype mean anything in another process.
bool canPass(DType dtype);

/// Reads from a ring, and believes nothing: each number is copied out first and checked then, and
/// all that is read together must fit into a budget of bytes. DataLoss for what no honest writer
/// sends. ResourceExhausted where the budget or memory is too small; if it was memory, what there
/// was none for is skipped, and what comes next can be read.
class MessageReader {
public:
  MessageReader(RingReader &ring, const Patience &patience, uint64_t budget)
      : ring(ring), patience(patience), left(budget) {}

  /// Of a plain type that all bit patterns are values of.
  template <typename T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
  Expected<T> number() {
    T value{};
    TREADLE_TRY(bytes(std::as_writable_bytes(std::span(&value, 1))));
    return value;
  }
  /// A number below `end`.
  Expected<uint64_t> below(uint64_t end, const char *what);
  Expected<bool> flag() {
    return below(2, "flag").map([](uint64_t value) { return value == 1; });
  }
  Expected<std::string> text();
  /// A text for people: control characters become question marks, and what is too long is cut.
  Expected<std::string> message();
  /// A text without control characters, which isn't too long to be shown.
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
  const Patience &patience;
  uint64_t left;
};

} // namespace treadle::sandbox
