#include "treadle/tools/cli/Perfetto.h"

#include "treadle/tensor/Wire.h"
#include "treadle/tools/cli/Command.h"
#include "treadle/tools/cli/ExternalPrograms.h"
#include "treadle/tools/cli/PageServer.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

namespace treadle::cli {
namespace {

// ---- protobuf encoding

std::string number(uint32_t field, uint64_t value) {
  std::string out;
  putNumberAlways(out, field, value);
  return out;
}

std::string bytes(uint32_t field, std::string_view value) {
  std::string out;
  putBytes(out, field, value);
  return out;
}

// Fields of TracePacket, TrackDescriptor and TrackEvent.
constexpr uint32_t packetField = 1, timestamp = 8, sequence = 10, trackEvent = 11, descriptor = 60;
constexpr uint32_t uuid = 1, trackName = 2, parent = 5;
constexpr uint32_t annotations = 4, eventType = 9, trackOfEvent = 11, eventName = 23;
constexpr uint32_t annotationNumber = 4, annotationText = 6, annotationName = 10;
constexpr uint64_t beginsSlice = 1, endsSlice = 2;

// ---- conversion

struct Slice {
  uint64_t begin, end; // ns
  std::string name, arguments;
};

class Packets {
public:
  Expected<std::string> write(std::string_view json) {
    llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(json);
    const llvm::json::Array *events = nullptr;
    if (!parsed)
      llvm::consumeError(parsed.takeError());
    else if (const llvm::json::Object *object = parsed->getAsObject())
      events = object->getArray("traceEvents");
    if (!events)
      return Unexpected(invalidArgument("the file is not a trace, expected JSON with traceEvents"));
    for (const llvm::json::Value &event : *events)
      if (const llvm::json::Object *object = event.getAsObject())
        read(*object);
    for (const auto &[track, name] : names)
      addTrack(track, name);
    for (auto &[track, list] : slices)
      addSlices(track, list);
    return std::move(out);
  }

private:
  /// The id of a process (a group of tracks) and of a track in it.
  using Track = std::pair<int64_t, int64_t>;
  static constexpr int64_t group = -1;

  static uint64_t idOf(Track track) {
    return static_cast<uint64_t>(track.first) << 32 | static_cast<uint32_t>(track.second + 2);
  }

  void read(const llvm::json::Object &event) {
    auto text = [&](llvm::StringRef key) { return event.getString(key).value_or("").str(); };
    int64_t process = event.getInteger("pid").value_or(0),
            thread = event.getInteger("tid").value_or(0);
    const llvm::json::Object *arguments = event.getObject("args");
    if (text("ph") == "M") {
      bool isGroup = text("name") == "process_name";
      names[{process, isGroup ? group : thread}] =
          arguments ? arguments->getString("name").value_or("").str() : "";
      return;
    }
    if (text("ph") != "X")
      return;
    constexpr double perMicrosecond = 1000;
    double begin = event.getNumber("ts").value_or(0) * perMicrosecond,
           length = event.getNumber("dur").value_or(0) * perMicrosecond;
    if (begin < 0 || length < 0 || begin + length > 1e18)
      return;
    std::string notes;
    if (arguments)
      for (const auto &[key, value] : *arguments)
        notes += bytes(annotations, bytes(annotationName, key.str()) + valueOf(value));
    slices[{process, thread}].push_back({static_cast<uint64_t>(std::llround(begin)),
                                         static_cast<uint64_t>(std::llround(begin + length)),
                                         text("name"), notes});
  }

  static std::string valueOf(const llvm::json::Value &value) {
    if (auto integer = value.getAsInteger(); integer && *integer >= 0)
      return number(annotationNumber, static_cast<uint64_t>(*integer));
    if (auto text = value.getAsString())
      return bytes(annotationText, text->str());
    std::string text;
    llvm::raw_string_ostream(text) << value;
    return bytes(annotationText, text);
  }

  void addPacket(const std::string &fields) {
    out += bytes(packetField, fields + number(sequence, 1));
  }

  void addTrack(Track track, const std::string &name) {
    std::string about = number(uuid, idOf(track)) + bytes(trackName, name);
    if (track.second != group)
      about += number(parent, idOf({track.first, group}));
    addPacket(bytes(descriptor, about));
  }

  void addEvent(uint64_t time, Track track, uint64_t type, const std::string &more) {
    addPacket(
        number(timestamp, time) +
        bytes(trackEvent, number(eventType, type) + number(trackOfEvent, idOf(track)) + more));
  }

  /// Slices nest: the one that began last ends first.
  void addSlices(Track track, std::vector<Slice> &list) {
    std::ranges::sort(list, [](const Slice &a, const Slice &b) {
      return std::pair(a.begin, b.end) < std::pair(b.begin, a.end);
    });
    std::vector<uint64_t> open;
    auto close = [&](uint64_t before) {
      for (; !open.empty() && open.back() <= before; open.pop_back())
        addEvent(open.back(), track, endsSlice, "");
    };
    for (const Slice &slice : list) {
      close(slice.begin);
      addEvent(slice.begin, track, beginsSlice, bytes(eventName, slice.name) + slice.arguments);
      open.push_back(open.empty() ? slice.end : std::min(slice.end, open.back()));
    }
    close(~uint64_t{0});
  }

  std::map<Track, std::string> names;
  std::map<Track, std::vector<Slice>> slices;
  std::string out;
};

} // namespace

Expected<std::string> perfettoTrace(std::string_view json) { return Packets().write(json); }

bool isPerfettoName(std::string_view path) {
  return path.ends_with(".pftrace") || path.ends_with(".perfetto-trace");
}

bool looksLikeTrace(std::string_view bytes) {
  // A trace of packets begins with its first packet, whose first field is a track descriptor or a
  // timestamp.
  constexpr size_t head = 4096;
  return bytes.substr(0, head).find("\"traceEvents\"") != bytes.npos;
}

int openInPerfetto(const std::string &bytes, bool opensBrowser) {
  constexpr int port = 9001; // the only origin that Perfetto's content security policy allows
  constexpr std::string_view page = "https://ui.perfetto.dev";
  PageServer server = TREADLE_OR_REPORT(PageServer::listen(port));
  std::string path = str("/", server.token(), "/trace"),
              address = str(page, "/#!/?url=http://127.0.0.1:", port, path);
  print(address + "\n");
  std::fflush(stdout);
  if (!opensBrowser || !openBrowser(address))
    note("open this address in a browser on this machine; the trace stays on it");
  server.serve([&](std::string_view head) {
    return head.starts_with(str("GET ", path, " "))
               ? httpReply("200 OK", "application/octet-stream", bytes, page)
               : httpReply("404 Not Found", "text/plain", "not found\n", page);
  });
}

} // namespace treadle::cli
