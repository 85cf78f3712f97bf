// Converts stacks to locations lazily, when the first node needs them.
#include "treadle/import/DebugInfo.h"

#include "treadle/dialect/SourceLocation.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <algorithm>

using namespace mlir;

namespace treadle::graphdef {

DebugInfo::DebugInfo(MLIRContext *context, const pb::GraphDebugInfo &info)
    : context(context), info(info),
      isEmpty(info.traces().empty() && info.name_to_trace_id().empty()) {}

std::optional<Location> DebugInfo::frame(const pb::GraphDebugInfo::FileLineCol &line) {
  if (line.file_index() < 0 || line.file_index() >= info.files_size())
    return std::nullopt;
  auto place = FileLineColLoc::get(StringAttr::get(context, info.files(line.file_index())),
                                   std::max(line.line(), 0), std::max(line.col(), 0));
  return stackFrame(place, StringAttr::get(context, line.func()));
}

void DebugInfo::addFrames(const pb::GraphDebugInfo::StackTrace &trace,
                          SmallVectorImpl<Location> &frames) {
  for (uint64_t id : trace.frame_id())
    if (auto it = info.frames_by_id().find(id); it != info.frames_by_id().end())
      if (std::optional<Location> made = frame(it->second))
        frames.push_back(*made);
  for (const pb::GraphDebugInfo::FileLineCol &line : trace.file_line_cols())
    if (std::optional<Location> made = frame(line))
      frames.push_back(*made);
  // The message lists the outermost frame first.
  std::ranges::reverse(frames);
}

std::optional<Location> DebugInfo::find(const std::string &node, StringRef function) {
  std::string key = node + "@" + function.str();
  const pb::GraphDebugInfo::StackTrace *trace = nullptr;
  if (auto named = info.name_to_trace_id().find(key); named != info.name_to_trace_id().end()) {
    if (auto it = info.traces_by_id().find(named->second); it != info.traces_by_id().end())
      trace = &it->second;
  } else if (auto it = info.traces().find(key); it != info.traces().end()) {
    trace = &it->second;
  }
  if (!trace)
    return std::nullopt;
  auto [it, isNew] = stacks.try_emplace(trace);
  if (isNew)
    addFrames(*trace, it->second);
  if (it->second.empty())
    return std::nullopt;
  return definedAt(StringAttr::get(context, key), it->second);
}

Location DebugInfo::locationOf(const pb::NodeDef &node, StringRef function) {
  if (isEmpty)
    return UnknownLoc::get(context);
  if (std::optional<Location> own = find(node.name(), function))
    return *own;
  SmallVector<Location> originals;
  const pb::NodeDef::ExperimentalDebugInfo &made = node.experimental_debug_info();
  for (int i = 0; i < made.original_node_names_size(); ++i) {
    StringRef from;
    if (i < made.original_func_names_size())
      from = made.original_func_names(i);
    if (std::optional<Location> original = find(made.original_node_names(i), from))
      originals.push_back(*original);
  }
  return originals.empty() ? Location(UnknownLoc::get(context))
                           : FusedLoc::get(originals, Attribute(), context);
}

} // namespace treadle::graphdef
