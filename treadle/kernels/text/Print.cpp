// Print and PrintV2: write to a stream, or to the session's print function if there is one.
#include "treadle/kernels/Handles.h"
#include "treadle/kernels/RunFileAccess.h"
#include "treadle/kernels/text/TensorText.h"
#include "treadle/runtime/Run.h"

#include <algorithm>
#include <atomic>
#include <cstdio>

namespace treadle {
namespace {

void write(OpContext &ctx, std::string_view text, std::string_view stream) {
  if (ctx.run().print)
    ctx.run().print(text, stream);
  else
    std::fwrite(text.data(), 1, text.size(), stream == "stdout" ? stdout : stderr);
}

// --- Print -------------------------------------------------------------------------------------

/// The number of times that a node has printed. Kept in the session, since plans are rebuilt.
class PrintCount : public Resource {
public:
  static constexpr std::string_view kindName = "print count";
  std::string_view kind() const override { return kindName; }

  std::atomic<int64_t> printed{0};
};

struct PrintState {
  std::string node, message;
  int64_t firstN, summarize;
  CachedHandle count = {};

  bool isOver(ResourceManager &manager) const {
    if (firstN < 0)
      return false;
    Tensor handle = count.get(manager, [&] {
      return makeHandle(manager.lookupOrCreate<PrintCount>("", str(node, "/", message),
                                                           [] { return makeRef<PrintCount>(); }));
    });
    Resource &own = *handle.data<ResourceHandle>()->resource; // the session's count
    return static_cast<PrintCount &>(own).printed.fetch_add(1) >= firstN;
  }
};

void print(OpContext &ctx) {
  const auto &state = ctx.state<PrintState>();
  if (!state.isOver(ctx.run().resources)) {
    std::string text = state.message;
    for (int i = 1; i < ctx.numInputs(); ++i)
      text += str("[", flatText(ctx.input(i), state.summarize), "]");
    write(ctx, text + "\n", "stderr");
  }
  ctx.setOutput(0, ctx.takeInput(0));
}

Expected<BoundKernel> bindPrint(const BindContext &node) {
  return boundWith(print, PrintState{.node = std::string(node.node),
                                     .message = node.attrs.getOr("message", std::string()),
                                     .firstN = node.attrs.getOr<int64_t>("first_n", -1),
                                     .summarize = node.attrs.getOr<int64_t>("summarize", 3)});
}

// --- PrintV2 -----------------------------------------------------------------------------------

struct PrintV2State {
  std::string stream, file, end;
};

constexpr std::string_view streams[] = {"stdout", "stderr", "log(info)", "log(warning)",
                                        "log(error)"};
constexpr std::string_view filePrefix = "file://";

void appendToFile(OpContext &ctx, const std::string &file, const std::string &text) {
  if (Expected<void> allowed = filesOf(ctx).mayWrite(file); !allowed)
    return ctx.fail(std::move(allowed.error()));
  FILE *out = std::fopen(file.c_str(), "ab");
  bool isWritten = out && std::fwrite(text.data(), 1, text.size(), out) == text.size();
  bool isClosed = out && std::fclose(out) == 0;
  if (!isWritten || !isClosed)
    ctx.fail(unavailable("file '", file, "' can't be written; check that its folder exists"));
}

void printV2(OpContext &ctx) {
  const auto &state = ctx.state<PrintV2State>();
  const Tensor &input = ctx.input(0);
  if (!input.isScalar())
    return ctx.fail(invalidArgument("the text must be a scalar, found ", tensorTypeText(input)));
  std::string text = input.scalarValue<std::string>() + state.end;
  if (!state.file.empty())
    return appendToFile(ctx, state.file, text);
  write(ctx, text, state.stream);
}

Expected<BoundKernel> bindPrintV2(const BindContext &node) {
  std::string stream = node.attrs.getOr("output_stream", std::string("stderr"));
  PrintV2State state{stream, "", node.attrs.getOr("end", std::string("\n"))};
  if (stream.starts_with(filePrefix)) {
    state.file = stream.substr(filePrefix.size());
  } else if (std::ranges::find(streams, stream) == std::end(streams)) {
    return Unexpected(invalidArgument("output_stream is '", stream,
                                      "', expected stdout, stderr, log(info), log(warning), "
                                      "log(error) or file://<path>"));
  }
  return boundWith(printV2, std::move(state));
}

const KernelEntry printTable[] = {
    {"Print", bindPrint},
    {"PrintV2", bindPrintV2},
};

} // namespace

std::span<const KernelEntry> printKernels() { return printTable; }

} // namespace treadle
