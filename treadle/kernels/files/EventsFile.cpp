#include "treadle/kernels/files/EventsFile.h"

#include "treadle/checkpoint/Crc32c.h"
#include "treadle/tensor/Wire.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <unistd.h>

namespace treadle {
namespace {

enum EventField : uint32_t { eventTime = 1, eventStep = 2, eventSource = 10 };

std::string eventOfNow(int64_t step) {
  using namespace std::chrono;
  std::string event;
  putTag(event, eventTime, WireType::Fixed64);
  putFixed(event, duration<double>(system_clock::now().time_since_epoch()).count());
  putNumber(event, eventStep, static_cast<uint64_t>(step));
  return event;
}

std::string hostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 && *name ? name : "localhost";
}

std::string fileName(std::string_view suffix) {
  static std::atomic<uint64_t> count{0};
  std::string seconds = std::to_string(std::time(nullptr));
  seconds.insert(0, seconds.size() < 10 ? 10 - seconds.size() : 0, '0');
  return str("events.out.tfevents.", seconds, ".", hostName(), ".", getpid(), ".", count++, suffix);
}

} // namespace

std::string tfRecord(std::string_view bytes) {
  std::string record;
  putFixed(record, static_cast<uint64_t>(bytes.size()));
  putFixed(record, maskCrc(crc32c(record)));
  record += bytes;
  putFixed(record, maskCrc(crc32c(bytes)));
  return record;
}

Expected<EventsFile> EventsFile::create(const std::string &folder, std::string_view suffix,
                                        const FileAccess &files) {
  TREADLE_TRY(files.mayWrite(folder));
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code)
    return Unexpected(
        permissionDenied("the folder '", folder, "' can't be created: ", code.message()));
  std::string path = (std::filesystem::path(folder) / fileName(suffix)).string();
  std::ofstream stream(path, std::ios::binary);
  if (!stream)
    return Unexpected(permissionDenied("the events file '", path, "' can't be created"));
  EventsFile file(std::move(stream), std::move(path));
  std::string event = eventOfNow(0), source;
  putBytes(event, Version, "brain.Event:2");
  putBytes(source, 1, "treadle");
  putBytes(event, eventSource, source);
  file.addEvent(event);
  return file.flush().map([&] { return std::move(file); });
}

void EventsFile::add(int64_t step, Field field, std::string_view bytes) {
  std::string event = eventOfNow(step);
  putBytes(event, field, bytes);
  addEvent(event);
}

void EventsFile::addEvent(std::string_view event) { file << tfRecord(event); }

Expected<void> EventsFile::flush() {
  if (file.flush())
    return {};
  return Unexpected(unavailable("the events file '", path, "' can't be written to"));
}

} // namespace treadle
