#include "treadle/sandbox/Protocol.h"

namespace treadle::sandbox {
namespace {

constexpr uint64_t maxEntries = uint64_t{1} << 20;
constexpr uint64_t numCodes = static_cast<uint64_t>(Code::Unauthenticated) + 1;
constexpr uint64_t numReasons = static_cast<uint64_t>(Reason::MissingInput) + 1;

using Entries = std::vector<std::pair<std::string, Graph::Value>>;

void writeEntries(MessageWriter &message, const Entries &entries) {
  message.number<uint64_t>(entries.size());
  for (const auto &[key, value] : entries) {
    message.text(key);
    message.value(value);
  }
}

Expected<Entries> readEntries(MessageReader &message) {
  uint64_t count = TREADLE_TRY(message.below(maxEntries, "the number of entries"));
  Entries entries;
  while (entries.size() < count) {
    std::string key = TREADLE_TRY(message.name());
    Graph::Value value = TREADLE_TRY(message.value());
    entries.emplace_back(std::move(key), std::move(value));
  }
  return entries;
}

void writeValues(MessageWriter &message, const std::vector<Graph::Value> &values) {
  message.number<uint64_t>(values.size());
  for (const Graph::Value &value : values)
    message.value(value);
}

Expected<std::vector<Graph::Value>> readValues(MessageReader &message) {
  uint64_t count = TREADLE_TRY(message.below(maxEntries, "the number of values"));
  std::vector<Graph::Value> values;
  while (values.size() < count)
    values.push_back(TREADLE_TRY(message.value()));
  return values;
}

} // namespace

void write(MessageWriter &message, const ChildSetup &setup) {
  const SandboxOptions &options = setup.options;
  message.text(setup.version);
  message.text(setup.path);
  message.number<uint64_t>(setup.isFile);
  message.texts(options.permissions.read);
  message.texts(options.permissions.write);
  message.number<uint64_t>(options.permissions.clock);
  message.number(options.memory);
  message.number(options.timeout);
  message.number(options.threads);
  message.number<uint64_t>(options.cores.size());
  for (int core : options.cores)
    message.number(core);
  message.number(static_cast<uint64_t>(options.tier));
  message.number<uint64_t>(options.fastMath);
  message.number(static_cast<uint64_t>(options.denormals));
  message.number(static_cast<uint64_t>(options.loopOverlap));
  message.text(options.passes);
  message.texts(options.fetches);
  message.texts(options.targets);
  message.texts(options.feeds);
  message.texts(options.tags);
}

Expected<ChildSetup> readSetup(MessageReader &message) {
  ChildSetup setup;
  SandboxOptions &options = setup.options;
  setup.version = TREADLE_TRY(message.text());
  setup.path = TREADLE_TRY(message.text());
  setup.isFile = TREADLE_TRY(message.flag());
  options.permissions.read = TREADLE_TRY(message.texts());
  options.permissions.write = TREADLE_TRY(message.texts());
  options.permissions.clock = TREADLE_TRY(message.flag());
  options.memory = TREADLE_TRY(message.number<int64_t>());
  options.timeout = TREADLE_TRY(message.number<double>());
  options.threads = TREADLE_TRY(message.number<int>());
  options.cores.resize(TREADLE_TRY(message.below(maxEntries, "the number of cores")));
  for (int &core : options.cores)
    core = TREADLE_TRY(message.number<int>());
  options.tier = static_cast<Tier>(TREADLE_TRY(message.below(3, "tier")));
  options.fastMath = TREADLE_TRY(message.flag());
  options.denormals = static_cast<Denormals>(TREADLE_TRY(message.below(2, "denormals")));
  options.loopOverlap = static_cast<LoopOverlap>(TREADLE_TRY(message.below(3, "overlap")));
  options.passes = TREADLE_TRY(message.text());
  options.fetches = TREADLE_TRY(message.texts());
  options.targets = TREADLE_TRY(message.texts());
  options.feeds = TREADLE_TRY(message.texts());
  options.tags = TREADLE_TRY(message.texts());
  return setup;
}

void write(MessageWriter &message, const ModelInterface &contents) {
  message.number<uint64_t>(contents.signatures.size());
  for (const Graph::Signature &signature : contents.signatures) {
    message.text(signature.name);
    message.text(signature.method);
    message.text(signature.metaGraph);
    writeEntries(message, signature.inputs);
    writeEntries(message, signature.outputs);
  }
  writeValues(message, contents.inputs);
  writeValues(message, contents.outputs);
  message.texts(contents.notes);
}

Expected<ModelInterface> readContents(MessageReader &message) {
  uint64_t count = TREADLE_TRY(message.below(maxEntries, "the number of signatures"));
  ModelInterface contents;
  while (contents.signatures.size() < count) {
    Graph::Signature signature;
    signature.name = TREADLE_TRY(message.name());
    signature.method = TREADLE_TRY(message.name());
    signature.metaGraph = TREADLE_TRY(message.name());
    signature.inputs = TREADLE_TRY(readEntries(message));
    signature.outputs = TREADLE_TRY(readEntries(message));
    contents.signatures.push_back(std::move(signature));
  }
  contents.inputs = TREADLE_TRY(readValues(message));
  contents.outputs = TREADLE_TRY(readValues(message));
  contents.notes = TREADLE_TRY(message.texts());
  return contents;
}

void write(MessageWriter &message, const CallRequest &call) {
  message.number<uint64_t>(call.isOfSignature);
  message.text(call.signature);
  message.texts(call.fetches);
  message.texts(call.targets);
  message.number<uint64_t>(call.inputs.size());
  for (const auto &[name, tensor] : call.inputs) {
    message.text(name);
    message.tensor(tensor);
  }
}

Expected<CallRequest> readCall(MessageReader &message) {
  CallRequest call;
  call.isOfSignature = TREADLE_TRY(message.flag());
  call.signature = TREADLE_TRY(message.text());
  call.fetches = TREADLE_TRY(message.texts());
  call.targets = TREADLE_TRY(message.texts());
  uint64_t count = TREADLE_TRY(message.below(maxEntries, "the number of inputs"));
  Expected<void> outcome;
  for (uint64_t i = 0; i < count; ++i) {
    std::string name = TREADLE_TRY(message.text());
    Expected<Tensor> tensor = message.tensor();
    if (tensor)
      call.inputs.emplace_back(std::move(name), std::move(*tensor));
    else if (tensor.error().code != Code::ResourceExhausted)
      return Unexpected(std::move(tensor.error()));
    else if (outcome)
      outcome = Unexpected(std::move(tensor.error()));
  }
  return outcome.map([&] { return std::move(call); });
}

void writeOutcome(MessageWriter &message, const Expected<void> &outcome) {
  message.number(static_cast<uint64_t>(outcome ? Code::Ok : outcome.error().code));
  if (outcome)
    return;
  message.number(static_cast<uint64_t>(outcome.error().reason));
  message.text(outcome.error().message);
}

Expected<Expected<void>> readOutcome(MessageReader &message) {
  auto code = static_cast<Code>(TREADLE_TRY(message.below(numCodes, "an error's code")));
  if (code == Code::Ok)
    return Expected<void>();
  auto reason = static_cast<Reason>(TREADLE_TRY(message.below(numReasons, "an error's reason")));
  std::string text = TREADLE_TRY(message.message());
  return Expected<void>(Unexpected(Error{code, std::move(text), reason}));
}

} // namespace treadle::sandbox
