// Readers of records, and ops on them.
#include "treadle/kernels/Compression.h"
#include "treadle/kernels/exchange/Queue.h"
#include "treadle/kernels/files/Reader.h"

#include "treadle/checkpoint/Crc32c.h"
#include "treadle/checkpoint/Files.h"
#include "treadle/tensor/Wire.h"

#include <algorithm>

namespace treadle {
namespace {

// --- types of readers --------------------------------------------------------------------------

/// Each unit of work is a record: its name.
class IdentityReader final : public FileReader {
  Expected<ReadResult> next(const std::string &work, const FileAccess &) override {
    return ReadResult{Record{work, work}, true};
  }
  bool hasState() const override { return true; }
};

/// Each file is a record.
class WholeFileReader final : public FileReader {
  Expected<ReadResult> next(const std::string &work, const FileAccess &files) override {
    return readWholeFile(work, files).map([&](std::string content) {
      return ReadResult{Record{work, std::move(content)}, true};
    });
  }
  bool hasState() const override { return true; }
};

/// Base class for readers whose records are parts of a file.
class PartReader : public FileReader {
protected:
  Expected<void> start(const std::string &work, const FileAccess &files) override {
    std::string read = TREADLE_TRY(readWholeFile(work, files));
    content = std::move(read);
    at = 0;
    count = 0;
    isDamaged = windowBits && !inflate();
    return opened(work);
  }
  virtual Expected<void> opened(const std::string &) { return {}; }

  explicit PartReader(int windowBits = 0) : windowBits(windowBits) {}

  std::string_view rest() const { return std::string_view(content).substr(at); }
  ReadResult end() {
    content.clear();
    return {std::nullopt, true};
  }

  std::string content;
  size_t at = 0;     // offset of the next part
  int64_t count = 0; // number of parts before it
  bool isDamaged = false;

private:
  bool inflate() {
    std::string inflated;
    bool isGood = inflateAll(content, windowBits, inflated);
    content = std::move(inflated);
    return isGood;
  }

  const int windowBits; // for compressed files
};

/// Reads lines without their ends. Drops all carriage returns.
class TextLineReader final : public PartReader {
public:
  explicit TextLineReader(int64_t skipped) : skipped(skipped) {}

private:
  Expected<ReadResult> next(const std::string &work, const FileAccess &) override {
    while (count < skipped && at < content.size())
      takeLine();
    if (at >= content.size())
      return end();
    std::string line(takeLine());
    std::erase(line, '\r');
    return ReadResult{Record{str(work, ":", count), std::move(line)}, false};
  }
  std::string_view takeLine() {
    std::string_view line = rest().substr(0, rest().find('\n'));
    at += line.size() + 1;
    ++count;
    return line;
  }

  const int64_t skipped;
};

/// Reads records of fixed size between a header and a footer.
class FixedLengthReader final : public PartReader {
public:
  struct RecordLayout {
    int64_t header, record, footer, hop;
    int windowBits; // for compressed files
  };
  explicit FixedLengthReader(const RecordLayout &layout)
      : PartReader(layout.windowBits), layout(layout) {}

private:
  Expected<void> opened(const std::string &work) override {
    if (std::ssize(content) < layout.header)
      return Unexpected(outOfRange("'", work, "' has ", content.size(), " bytes, expected ",
                                   layout.header, " or more for its header"));
    at = layout.header;
    content.resize(std::max(std::ssize(content) - layout.footer, layout.header));
    return {};
  }
  Expected<ReadResult> next(const std::string &work, const FileAccess &) override {
    if (std::ssize(rest()) < layout.record)
      return end();
    Record record{str(work, ":", count++), std::string(rest().substr(0, layout.record))};
    at = std::min<size_t>(at + (layout.hop ? layout.hop : layout.record), content.size());
    return ReadResult{std::move(record), false};
  }

  const RecordLayout layout;
};

/// Reads TFRecord files: records with sizes and checksums.
class TFRecordReader final : public PartReader {
public:
  explicit TFRecordReader(int windowBits) : PartReader(windowBits) {}

private:
  static constexpr size_t headSize = 12, footSize = 4;

  static Error damaged(const std::string &work, size_t at) {
    return dataLoss("the record at byte ", at, " of '", work, "' doesn't match its checksum");
  }
  // A truncated record ends the file.
  Expected<ReadResult> next(const std::string &work, const FileAccess &) override {
    std::string_view left = rest();
    if (isDamaged && left.size() < headSize)
      return Unexpected(dataLoss("'", work, "' is not compressed as the reader expects"));
    if (left.size() < headSize)
      return end();
    if (maskCrc(crc32c(left.substr(0, 8))) != fixedAt<uint32_t>(left, 8))
      return Unexpected(damaged(work, at));
    auto size = fixedAt<uint64_t>(left, 0);
    left.remove_prefix(headSize);
    if (left.size() < footSize || size > left.size() - footSize)
      return end();
    std::string_view bytes = left.substr(0, size);
    if (maskCrc(crc32c(bytes)) != fixedAt<uint32_t>(left, size))
      return Unexpected(damaged(work, at));
    Record record{str(work, ":", at), std::string(bytes)};
    at += headSize + size + footSize;
    return ReadResult{std::move(record), false};
  }
};

// --- creation ----------------------------------------------------------------------------------

struct MakeState {
  std::function<Ref<FileReader>()> make;
  ResourceName resource;
  DType handleDType;
  CachedHandle handle = {};
};

void make(OpContext &ctx) {
  const auto &state = ctx.state<MakeState>();
  ResourceManager &resources = ctx.run().resources;
  ctx.setOutput(0, state.handle.get(resources, [&] {
    Ref<FileReader> reader = resources.lookupOrCreate<FileReader>(state.resource.container,
                                                                  state.resource.name, state.make);
    return makeHandleFor(state.handleDType, state.handleDType == DType::String, std::move(reader),
                         state.resource);
  }));
}

BoundKernel bindMake(const BindContext &node, std::function<Ref<FileReader>()> maker) {
  return boundWith(make,
                   MakeState{std::move(maker), ResourceName::ofOrNode(node), node.outputTypes[0]});
}

template <typename Kind> Expected<BoundKernel> bindSimple(const BindContext &node) {
  return bindMake(node, [] { return makeRef<Kind>(); });
}

Expected<BoundKernel> bindTextLine(const BindContext &node) {
  auto skipped = node.attrs.getOr<int64_t>("skip_header_lines", 0);
  if (skipped < 0)
    return Unexpected(invalidArgument("skip_header_lines is ", skipped, ", expected at least 0"));
  return bindMake(node, [skipped] { return makeRef<TextLineReader>(skipped); });
}

Expected<BoundKernel> bindFixedLength(const BindContext &node) {
  auto size = [&](const char *attr) { return node.attrs.getOr<int64_t>(attr, 0); };
  auto encoding = node.attrs.getOr("encoding", std::string());
  auto windowBits = windowBitsOf(encoding);
  FixedLengthReader::RecordLayout layout{size("header_bytes"), size("record_bytes"),
                                         size("footer_bytes"), size("hop_bytes"),
                                         windowBits.value_or(0)};
  if (layout.header < 0 || layout.record <= 0 || layout.footer < 0 || layout.hop < 0 || !windowBits)
    return Unexpected(invalidArgument(
        "header_bytes is ", layout.header, ", record_bytes ", layout.record, ", footer_bytes ",
        layout.footer, ", hop_bytes ", layout.hop, " and encoding '", encoding,
        "', expected sizes of at least 0 (of records: 1), and ZLIB, GZIP or ''"));
  return bindMake(node, [layout] { return makeRef<FixedLengthReader>(layout); });
}

Expected<BoundKernel> bindTFRecord(const BindContext &node) {
  int windowBits = windowBitsOf(node.attrs.getOr("compression_type", std::string())).value_or(0);
  return bindMake(node, [windowBits] { return makeRef<TFRecordReader>(windowBits); });
}

// --- reading -----------------------------------------------------------------------------------

void read(OpContext &ctx) {
  auto *reader = resourceInput<FileReader>(ctx, 0);
  auto *queue = reader ? resourceInput<Queue>(ctx, 1) : nullptr;
  auto record = queue ? reader->read(ctx, *queue) : std::nullopt;
  if (!record)
    return;
  ctx.setOutput(0, Tensor::scalarString(std::move(record->key)));
  ctx.setOutput(1, Tensor::scalarString(std::move(record->value)));
}

void readUpTo(OpContext &ctx) {
  auto *reader = resourceInput<FileReader>(ctx, 0);
  auto *queue = TREADLE_OR_RETURN(reader ? resourceInput<Queue>(ctx, 1) : nullptr);
  const Tensor &count = ctx.input(2);
  if (count.count() != 1)
    return ctx.fail(
        invalidArgument("num_records is ", tensorTypeText(count), ", expected a scalar"));
  auto records = reader->readUpTo(ctx, *queue, *count.data<int64_t>());
  auto size = records ? std::ssize(*records) : 0;
  Tensor *keys = records ? ctx.allocateOutput(0, DType::String, {size}) : nullptr;
  Tensor *values = keys ? ctx.allocateOutput(1, DType::String, {size}) : nullptr;
  for (int64_t i = 0; values && i < size; ++i) {
    keys->data<std::string>()[i] = std::move((*records)[i].key);
    values->data<std::string>()[i] = std::move((*records)[i].value);
  }
}

template <int64_t (FileReader::*count)()> void counted(OpContext &ctx) {
  if (auto *reader = resourceInput<FileReader>(ctx, 0))
    ctx.setOutput(0, Tensor::scalar(DType::Int64, (reader->*count)()));
}

void reset(OpContext &ctx) {
  if (auto *reader = resourceInput<FileReader>(ctx, 0))
    reader->reset();
}

void serialize(OpContext &ctx) {
  auto *reader = resourceInput<FileReader>(ctx, 0);
  auto state = reader ? ctx.check(reader->serializedState()) : std::nullopt;
  if (state)
    ctx.setOutput(0, Tensor::scalarString(std::move(*state)));
}

void restore(OpContext &ctx) {
  auto *reader = TREADLE_OR_RETURN(resourceInput<FileReader>(ctx, 0));
  const Tensor &state = ctx.input(1);
  if (state.rank() != 0)
    return ctx.fail(
        invalidArgument("the state is ", tensorTypeText(state), ", expected a string scalar"));
  if (auto restored = reader->restoreState(state.scalarValue<std::string>()); !restored)
    ctx.fail(std::move(restored.error()));
}

// Binds an op that may wait for work, so that it runs on a separate thread if possible.
template <KernelFn fn> Expected<BoundKernel> bindReading(const BindContext &) {
  return expensive({.fn = fn});
}

const KernelEntry readerTable[] = {
    {"FixedLengthRecordReader", bindFixedLength},
    {"FixedLengthRecordReaderV2", bindFixedLength},
    {"IdentityReader", bindSimple<IdentityReader>},
    {"IdentityReaderV2", bindSimple<IdentityReader>},
    {"ReaderNumRecordsProduced", bindPlain<counted<&FileReader::recordsProduced>>},
    {"ReaderNumRecordsProducedV2", bindPlain<counted<&FileReader::recordsProduced>>},
    {"ReaderNumWorkUnitsCompleted", bindPlain<counted<&FileReader::workFinished>>},
    {"ReaderNumWorkUnitsCompletedV2", bindPlain<counted<&FileReader::workFinished>>},
    {"ReaderRead", bindReading<read>},
    {"ReaderReadUpTo", bindReading<readUpTo>},
    {"ReaderReadUpToV2", bindReading<readUpTo>},
    {"ReaderReadV2", bindReading<read>},
    {"ReaderReset", bindPlain<reset>},
    {"ReaderResetV2", bindPlain<reset>},
    {"ReaderRestoreState", bindPlain<restore>},
    {"ReaderRestoreStateV2", bindPlain<restore>},
    {"ReaderSerializeState", bindPlain<serialize>},
    {"ReaderSerializeStateV2", bindPlain<serialize>},
    {"TFRecordReader", bindTFRecord},
    {"TFRecordReaderV2", bindTFRecord},
    {"TextLineReader", bindTextLine},
    {"TextLineReaderV2", bindTextLine},
    {"WholeFileReader", bindSimple<WholeFileReader>},
    {"WholeFileReaderV2", bindSimple<WholeFileReader>},
};

} // namespace

std::span<const KernelEntry> readerKernels() { return readerTable; }

} // namespace treadle
