// A stack machine for the opcodes in pickles of numpy's object arrays (protocols 3 to 5). Calls
// become opaque values; the result is the list of strings that the last BUILD sets.
#include "treadle/npy/Pickle.h"

#include <cstdint>
#include <memory>

namespace treadle {
namespace {

struct PickleValue {
  enum Kind : uint8_t { Opaque, Text, List, Tuple, Mark } kind = Opaque;
  std::string text;
  std::vector<std::shared_ptr<PickleValue>> items;
};
using Ref = std::shared_ptr<PickleValue>;

class PickleMachine {
public:
  explicit PickleMachine(std::string_view bytes) : bytes(bytes) {}
  Expected<std::vector<std::string>> run();

private:
  Expected<std::vector<std::string>> copyTexts() const;
  /// Executes one opcode. Returns false at the end or on an error.
  bool step();
  bool stepContainer(char op);
  bool stepMemo(char op);

  bool fail(Error e) {
    error = std::move(e);
    return false;
  }
  bool failDamaged() {
    return fail(invalidArgument("object array: its pickle is corrupted at byte ", at));
  }
  bool read(size_t count, uint64_t &number);
  bool readText(size_t lengthBytes);
  bool skip(size_t count);
  bool skipLine();
  void push(PickleValue::Kind kind) {
    push(std::make_shared<PickleValue>(PickleValue{kind, {}, {}}));
  }
  void push(Ref value) { stack.push_back(std::move(value)); }
  /// Replaces the top `count` values by one opaque value.
  bool replaceTop(size_t count);
  bool popToMark(std::vector<Ref> &items);
  bool collectTuple(size_t count);
  bool append(std::vector<Ref> items);
  bool build();
  bool recall(uint64_t index);

  std::string_view bytes;
  size_t at = 0;
  std::vector<Ref> stack, memo;
  Ref elements;
  Error error;
  bool isDone = false;
};

bool PickleMachine::read(size_t count, uint64_t &number) {
  if (bytes.size() - at < count)
    return failDamaged();
  number = 0;
  for (size_t i = 0; i < count; ++i)
    number |= uint64_t(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  at += count;
  return true;
}

bool PickleMachine::skip(size_t count) {
  if (bytes.size() - at < count)
    return failDamaged();
  at += count;
  return true;
}

bool PickleMachine::readText(size_t lengthBytes) {
  uint64_t length = 0;
  if (!read(lengthBytes, length))
    return false;
  size_t start = at;
  if (!skip(length))
    return false;
  push(std::make_shared<PickleValue>(
      PickleValue{PickleValue::Text, std::string(bytes.substr(start, length)), {}}));
  return true;
}

bool PickleMachine::skipLine() {
  size_t end = bytes.find('\n', at);
  if (end == bytes.npos)
    return failDamaged();
  at = end + 1;
  return true;
}

bool PickleMachine::replaceTop(size_t count) {
  if (stack.size() < count)
    return failDamaged();
  stack.resize(stack.size() - count);
  push(PickleValue::Opaque);
  return true;
}

bool PickleMachine::popToMark(std::vector<Ref> &items) {
  size_t mark = stack.size();
  while (mark && stack[mark - 1]->kind != PickleValue::Mark)
    --mark;
  if (!mark)
    return failDamaged();
  items.assign(stack.begin() + static_cast<ptrdiff_t>(mark), stack.end());
  stack.resize(mark - 1);
  return true;
}

bool PickleMachine::collectTuple(size_t count) {
  if (stack.size() < count)
    return failDamaged();
  auto tuple = std::make_shared<PickleValue>(PickleValue{PickleValue::Tuple, {}, {}});
  tuple->items.assign(stack.end() - static_cast<ptrdiff_t>(count), stack.end());
  // Nested tuples hold no elements, and deep nesting would overflow the stack.
  for (Ref &item : tuple->items)
    if (item->kind == PickleValue::Tuple)
      item = std::make_shared<PickleValue>();
  stack.resize(stack.size() - count);
  push(std::move(tuple));
  return true;
}

bool PickleMachine::append(std::vector<Ref> items) {
  if (stack.empty() || stack.back()->kind != PickleValue::List)
    return failDamaged();
  // A list that contains a container (perhaps itself) isn't a list of strings, and could be a
  // cycle.
  for (Ref &item : items) {
    if (item->kind != PickleValue::Text)
      return fail(unimplemented(
          "object array: has elements other than bytes or str; only strings can be read"));
    stack.back()->items.push_back(std::move(item));
  }
  return true;
}

bool PickleMachine::build() {
  if (stack.size() < 2)
    return failDamaged();
  Ref state = std::move(stack.back());
  stack.pop_back();
  // An array's state is (version, shape, dtype, whether in Fortran order, elements).
  if (state->kind == PickleValue::Tuple && state->items.size() == 5 &&
      state->items[4]->kind == PickleValue::List)
    elements = state->items[4];
  return true;
}

bool PickleMachine::recall(uint64_t index) {
  if (index >= memo.size() || !memo[index])
    return failDamaged();
  push(memo[index]);
  return true;
}

bool PickleMachine::stepContainer(char op) {
  std::vector<Ref> items;
  switch (op) {
  case '(':
    push(PickleValue::Mark);
    return true;
  case ']':
    push(PickleValue::List);
    return true;
  case ')':
    return collectTuple(0);
  case '\x85':
    return collectTuple(1);
  case '\x86':
    return collectTuple(2);
  case '\x87':
    return collectTuple(3);
  case 't':
    return popToMark(items) && (stack.insert(stack.end(), items.begin(), items.end()), true) &&
           collectTuple(items.size());
  case 'e':
    return popToMark(items) && append(std::move(items));
  case 'a':
    if (stack.size() < 2)
      return failDamaged();
    items.push_back(std::move(stack.back()));
    stack.pop_back();
    return append(std::move(items));
  default:
    return fail(unimplemented("object array: its pickle uses opcode ", int{(unsigned char)op},
                              "; only arrays of bytes and str can be read"));
  }
}

bool PickleMachine::stepMemo(char op) {
  uint64_t index = memo.size();
  bool isStore = op == '\x94' || op == 'q' || op == 'r';
  if (op != '\x94' && !read(op == 'q' || op == 'h' ? 1 : 4, index))
    return false;
  if (!isStore)
    return recall(index);
  if (stack.empty() || index > bytes.size())
    return failDamaged();
  if (memo.size() <= index)
    memo.resize(index + 1);
  memo[index] = stack.back();
  return true;
}

bool PickleMachine::step() {
  if (at >= bytes.size())
    return failDamaged();
  switch (char op = bytes[at++]) {
  case '\x80':
    return skip(1);
  case '\x95':
    return skip(8);
  case '.':
    isDone = true;
    return false;
  case 'c':
    push(PickleValue::Opaque);
    return skipLine() && skipLine();
  case '\x93':
  case 'R':
    return replaceTop(2);
  case 'b':
    return build();
  case 'N':
  case '\x88':
  case '\x89':
    push(PickleValue::Opaque);
    return true;
  case 'K':
    push(PickleValue::Opaque);
    return skip(1);
  case 'M':
    push(PickleValue::Opaque);
    return skip(2);
  case 'J':
    push(PickleValue::Opaque);
    return skip(4);
  case 'C':
  case '\x8c':
    return readText(1);
  case 'B':
  case 'X':
    return readText(4);
  case '\x8d':
  case '\x8e':
    return readText(8);
  case '\x94':
  case 'q':
  case 'r':
  case 'h':
  case 'j':
    return stepMemo(op);
  default:
    return stepContainer(op);
  }
}

Expected<std::vector<std::string>> PickleMachine::run() {
  while (step()) {
  }
  if (!isDone)
    return Unexpected(std::move(error));
  if (!elements)
    return Unexpected(invalidArgument("object array: its pickle contains no array"));
  return copyTexts();
}

/// The pickle may store a string once that occurs many times in the array.
Expected<std::vector<std::string>> PickleMachine::copyTexts() const {
  constexpr size_t alwaysAllowed = 64 << 20, maxTimes = 256;
  size_t left = alwaysAllowed + maxTimes * bytes.size();
  std::vector<std::string> texts;
  for (const Ref &item : elements->items) {
    if (item->text.size() > left)
      return Unexpected(invalidArgument("object array: its pickle of ", bytes.size(),
                                        " bytes has implausibly much text"));
    left -= item->text.size();
    texts.push_back(item->text);
  }
  return texts;
}

} // namespace

Expected<std::vector<std::string>> readPickledStrings(std::string_view pickle) {
  return PickleMachine(pickle).run();
}

} // namespace treadle
