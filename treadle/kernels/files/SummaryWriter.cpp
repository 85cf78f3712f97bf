// Ops that write summaries to an event file.
#include "treadle/kernels/Handles.h"
#include "treadle/kernels/RunFileAccess.h"
#include "treadle/kernels/files/EventsFile.h"
#include "treadle/kernels/files/Summary.h"

#include "treadle/tensor/Wire.h"

#include <chrono>

namespace treadle {
namespace {

/// A summary writer. Has no file before `open` and after `close`. Thread-safe.
class SummaryWriter final : public Resource {
public:
  static constexpr std::string_view kindName = "summary writer";
  std::string_view kind() const override { return kindName; }

  /// Does nothing if a file is open.
  Expected<void> open(const std::string &folder, std::string_view suffix, int64_t maxWaiting,
                      std::chrono::milliseconds maxAge, const FileAccess &files) {
    std::lock_guard lock(mutex);
    if (file)
      return {};
    EventsFile made = TREADLE_TRY(EventsFile::create(folder, suffix, files));
    file.emplace(std::move(made));
    longestLine = maxWaiting;
    longestAge = maxAge;
    waiting = 0;
    return {};
  }

  /// Calls `put` with the file.
  template <typename Put> Expected<void> write(Put put) {
    std::lock_guard lock(mutex);
    if (!file)
      return Unexpected(notOpenError());
    put(*file);
    if (waiting++ == 0)
      oldest = std::chrono::steady_clock::now();
    bool isDue = waiting > longestLine || std::chrono::steady_clock::now() - oldest >= longestAge;
    return isDue ? flushLocked() : Expected<void>();
  }

  Expected<void> flush() {
    std::lock_guard lock(mutex);
    return file ? flushLocked() : Expected<void>(Unexpected(notOpenError()));
  }

  Expected<void> close() {
    std::lock_guard lock(mutex);
    if (!file)
      return Unexpected(notOpenError());
    Expected<void> flushed = flushLocked();
    file.reset();
    return flushed;
  }

private:
  static Error notOpenError() {
    return notFound("the summary writer has no file; run CreateSummaryFileWriter first");
  }
  Expected<void> flushLocked() {
    waiting = 0;
    return file->flush();
  }

  std::mutex mutex;
  std::optional<EventsFile> file;
  int64_t waiting = 0, longestLine = 0;
  std::chrono::steady_clock::time_point oldest;
  std::chrono::milliseconds longestAge{0};
};

void succeed(OpContext &ctx, Expected<void> result) {
  if (!result)
    ctx.fail(std::move(result.error()));
}

// --- the writer --------------------------------------------------------------------------------

struct MakeState {
  ResourceName resource;
  CachedHandle handle = {};
};

void make(OpContext &ctx) {
  const auto &state = ctx.state<MakeState>();
  ResourceManager &resources = ctx.run().resources;
  ctx.setOutput(0, state.handle.get(resources, [&] {
    return makeHandle(resources.lookupOrCreate<SummaryWriter>(
        state.resource.container, state.resource.name, [] { return makeRef<SummaryWriter>(); }));
  }));
}

Expected<BoundKernel> bindMake(const BindContext &node) {
  return boundWith(make, MakeState{ResourceName::ofOrNode(node)});
}

/// Whether inputs 1 to the last have one element each.
bool areScalars(OpContext &ctx) {
  for (int i = 1; i < ctx.numInputs(); ++i)
    if (ctx.input(i).count() != 1) {
      ctx.fail(invalidArgument("input ", i, " is ", tensorTypeText(ctx.input(i)),
                               ", expected a scalar"));
      return false;
    }
  return true;
}

const std::string &stringInput(OpContext &ctx, int i) { return *ctx.input(i).data<std::string>(); }

// Inputs: writer, folder, maximum queue length, flush interval in milliseconds, suffix.
void open(OpContext &ctx) {
  auto *writer = resourceInput<SummaryWriter>(ctx, 0);
  if (writer && areScalars(ctx))
    succeed(ctx,
            writer->open(stringInput(ctx, 1), stringInput(ctx, 4), *ctx.input(2).data<int32_t>(),
                         std::chrono::milliseconds(*ctx.input(3).data<int32_t>()), filesOf(ctx)));
}

template <Expected<void> (SummaryWriter::*act)()> void callWriter(OpContext &ctx) {
  if (auto *writer = resourceInput<SummaryWriter>(ctx, 0))
    succeed(ctx, (writer->*act)());
}

// --- events ------------------------------------------------------------------------------------

/// Writes an event of the step in input 1.
void writeEvent(OpContext &ctx, EventsFile::Field field, std::string_view bytes) {
  auto *writer = TREADLE_OR_RETURN(resourceInput<SummaryWriter>(ctx, 0));
  const Tensor &step = ctx.input(1);
  if (step.count() != 1)
    return ctx.fail(invalidArgument("the step is ", tensorTypeText(step), ", expected a scalar"));
  succeed(ctx,
          writer->write([&](EventsFile &file) { file.add(*step.data<int64_t>(), field, bytes); }));
}

const std::string *tagInput(OpContext &ctx, int i) {
  if (ctx.input(i).count() == 1)
    return &stringInput(ctx, i);
  ctx.fail(invalidArgument("input ", i, " is ", tensorTypeText(ctx.input(i)),
                           ", expected a string scalar"));
  return nullptr;
}

// Inputs: writer, step, tag, value.
void writeScalar(OpContext &ctx) {
  const std::string *tag = TREADLE_OR_RETURN(tagInput(ctx, 2));
  if (ctx.input(3).count() != 1)
    return ctx.fail(
        invalidArgument("the value is ", tensorTypeText(ctx.input(3)), ", expected a scalar"));
  writeEvent(ctx, EventsFile::Summary, scalarSummary(*tag, realAt(ctx.input(3), 0)));
}

// Inputs: writer, step, tag, values.
void writeHistogram(OpContext &ctx) {
  const std::string *tag = tagInput(ctx, 2);
  auto summary = tag ? ctx.check(histogramSummary(*tag, ctx.input(3))) : std::nullopt;
  if (summary)
    writeEvent(ctx, EventsFile::Summary, *summary);
}

// Inputs: writer, step, tag, images, color of non-finite pixels.
void writeImages(OpContext &ctx) {
  const std::string *tag = tagInput(ctx, 2);
  auto summary =
      tag ? ctx.check(imageSummary(*tag, ctx.input(3), ctx.state<int64_t>(), ctx.input(4)))
          : std::nullopt;
  if (summary)
    writeEvent(ctx, EventsFile::Summary, *summary);
}

Expected<BoundKernel> bindWriteImages(const BindContext &node) {
  return boundWith(writeImages, node.attrs.getOr<int64_t>("max_images", 3));
}

// Inputs: writer, step, tensor, tag, metadata.
void writeTensor(OpContext &ctx) {
  const std::string *tag = tagInput(ctx, 3), *metadata = tag ? tagInput(ctx, 4) : nullptr;
  if (metadata)
    writeEvent(ctx, EventsFile::Summary,
               tensorSummary(*tag, ctx.input(2), *metadata, /*keepsEmptyMetadata=*/false));
}

bool isMessage(std::string_view bytes) {
  WireReader reader(bytes);
  for (WireReader::Field field; reader.next(field);)
    ;
  return reader.isGood();
}

/// Fails the op unless all elements are serialized messages.
bool areMessages(OpContext &ctx, int input, std::string_view what) {
  auto texts = ctx.input(input).values<std::string>();
  for (size_t i = 0; i < texts.size(); ++i)
    if (!isMessage(texts[i])) {
      ctx.fail(dataLoss("element ", i, " of input ", input, " is not the bytes of a ", what));
      return false;
    }
  return true;
}

// Inputs: writer, step, summaries.
void writeSummaries(OpContext &ctx) {
  if (!areMessages(ctx, 2, "Summary"))
    return;
  std::string joined;
  for (const std::string &summary : ctx.input(2).values<std::string>())
    joined += summary;
  writeEvent(ctx, EventsFile::Summary, joined);
}

// Inputs: writer, step, serialized graph.
void writeGraph(OpContext &ctx) {
  const std::string *graph = tagInput(ctx, 2);
  if (graph && areMessages(ctx, 2, "GraphDef"))
    writeEvent(ctx, EventsFile::Graph, *graph);
}

// Inputs: writer, serialized event.
void importEvent(OpContext &ctx) {
  auto *writer = resourceInput<SummaryWriter>(ctx, 0);
  const std::string *event = writer ? tagInput(ctx, 1) : nullptr;
  if (event && areMessages(ctx, 1, "Event"))
    succeed(ctx, writer->write([&](EventsFile &file) { file.addEvent(*event); }));
}

const KernelEntry summaryWriterTable[] = {
    {"CloseSummaryWriter", bindPlain<callWriter<&SummaryWriter::close>>},
    {"CreateSummaryFileWriter", bindPlain<open>},
    {"FlushSummaryWriter", bindPlain<callWriter<&SummaryWriter::flush>>},
    {"ImportEvent", bindPlain<importEvent>},
    {"SummaryWriter", bindMake},
    {"WriteGraphSummary", bindPlain<writeGraph>},
    {"WriteHistogramSummary", bindPlain<writeHistogram>},
    {"WriteImageSummary", bindWriteImages},
    {"WriteRawProtoSummary", bindPlain<writeSummaries>},
    {"WriteScalarSummary", bindPlain<writeScalar>},
    {"WriteSummary", bindPlain<writeTensor>},
};

} // namespace

std::span<const KernelEntry> summaryWriterKernels() { return summaryWriterTable; }

} // namespace treadle
