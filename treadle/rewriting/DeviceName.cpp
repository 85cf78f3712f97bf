#include "treadle/rewriting/DeviceName.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace treadle::tfg {

static bool parseNumber(llvm::StringRef text, std::optional<int64_t> &number) {
  if (text == "*")
    return true;
  int64_t value = 0;
  if (text.getAsInteger(10, value) || value < 0)
    return false;
  number = value;
  return true;
}

static bool parseDevice(llvm::StringRef text, DeviceName &out) {
  auto [type, id] = text.split(':');
  if (type.empty())
    return false;
  if (type != "*")
    out.type = type.upper();
  return !text.contains(':') || parseNumber(id, out.id);
}

static bool parsePart(llvm::StringRef part, DeviceName &out) {
  if (part.consume_front("job:")) {
    if (part != "*")
      out.job = part.str();
    return !part.empty();
  }
  if (part.consume_front("replica:"))
    return parseNumber(part, out.replica);
  if (part.consume_front("task:"))
    return parseNumber(part, out.task);
  part.consume_front("device:");
  return parseDevice(part, out);
}

std::optional<DeviceName> DeviceName::parse(llvm::StringRef text) {
  DeviceName out;
  if (text.empty())
    return out;
  if (!text.consume_front("/"))
    return std::nullopt;
  llvm::SmallVector<llvm::StringRef, 4> parts;
  text.split(parts, '/');
  for (llvm::StringRef part : parts)
    if (!parsePart(part, out))
      return std::nullopt;
  return out;
}

std::string DeviceName::str() const {
  std::string out;
  if (job)
    out += "/job:" + *job;
  if (replica)
    out += "/replica:" + llvm::itostr(*replica);
  if (task)
    out += "/task:" + llvm::itostr(*task);
  if (type || id)
    out += "/device:" + type.value_or("*") + ":" + (id ? llvm::itostr(*id) : "*");
  return out;
}

void DeviceName::fillFrom(const DeviceName &other) {
  if (!job)
    job = other.job;
  if (!replica)
    replica = other.replica;
  if (!task)
    task = other.task;
  if (!type && !id) {
    type = other.type;
    id = other.id;
  }
}

template <typename T> static bool agree(const std::optional<T> &a, const std::optional<T> &b) {
  return !a || !b || *a == *b;
}

bool DeviceName::agreesWith(const DeviceName &other) const {
  return agree(job, other.job) && agree(replica, other.replica) && agree(task, other.task) &&
         agree(type, other.type) && agree(id, other.id);
}

} // namespace treadle::tfg
