#include "treadle/transforms/schedule_communication/CostModel.h"

#include "treadle/ops/OpTable.h"
#include "treadle/runtime/PlainLocale.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>

using namespace mlir;

namespace treadle::tfg {
namespace {

/// The multiples of the latency, and of the time that the bytes of the input take on the link.
struct Pattern {
  double latencies;
  double (*share)(double ranks);
};
double part(double n) { return (n - 1) / n; }
double twoParts(double n) { return 2 * (n - 1) / n; }
double all(double n) { return n - 1; }
double once(double) { return 1; }

OpCost costOf(Node node) {
  const OpDef *def = lookupOp(node.opType());
  return def ? def->facts().cost : OpCost::Compute;
}

std::optional<Pattern> patternOf(Node node) {
  switch (costOf(node)) {
  case OpCost::Compute:
  case OpCost::Free:
    return std::nullopt;
  case OpCost::AllReduce:
    return Pattern{2, twoParts};
  case OpCost::ReduceScatter:
  case OpCost::AllToAll:
    return Pattern{1, part};
  case OpCost::AllGather:
  case OpCost::Broadcast:
    return Pattern{1, all};
  case OpCost::Transfer:
    return Pattern{1, once};
  }
  return std::nullopt;
}

double median(SmallVector<double> &values) {
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void parseTrace(const llvm::json::Array &events, CostModel &model) {
  constexpr double microseconds = 1e-6;
  // The duration of a collective is the time that it was in flight, not the time that its node
  // occupied a thread.
  llvm::StringMap<SmallVector<double>> durations, exchanges;
  for (const llvm::json::Value &value : events)
    if (const auto *event = value.getAsObject())
      if (auto name = event->getString("name"), phase = event->getString("ph");
          name && phase && *phase == "X")
        if (std::optional<double> duration = event->getNumber("dur")) {
          const auto *args = event->getObject("args");
          bool isExchange = args && args->getBoolean("exchange").value_or(false);
          (isExchange ? exchanges : durations)[*name].push_back(*duration * microseconds);
        }
  for (auto *table : {&durations, &exchanges})
    for (auto &entry : *table)
      model.nodes[entry.getKey()] = median(entry.getValue());
}

Expected<void> parseSeconds(const llvm::json::Object &object, StringRef key,
                            llvm::StringMap<double> &seconds) {
  const llvm::json::Value *table = object.get(key);
  if (!table)
    return {};
  const auto *rows = table->getAsObject();
  if (!rows)
    return Unexpected(invalidArgument("costs: '", key.str(), "' is not a table of seconds"));
  for (const auto &[name, value] : *rows) {
    std::optional<double> number = value.getAsNumber();
    if (!number || !(*number >= 0))
      return Unexpected(invalidArgument("costs: '", key.str(), "' of '", name.str(),
                                        "' is not a non-negative number of seconds"));
    seconds[name] = *number;
  }
  return {};
}

Expected<void> parseNumber(const llvm::json::Object &object, StringRef key, bool mayBeZero,
                           double &out) {
  const llvm::json::Value *value = object.get(key);
  if (!value)
    return {};
  std::optional<double> number = value->getAsNumber();
  if (!number || !(mayBeZero ? *number >= 0 : *number > 0))
    return Unexpected(invalidArgument("costs: '", key.str(), "' is not a ",
                                      mayBeZero ? "non-negative" : "positive", " number"));
  out = *number;
  return {};
}

/// Rejects unknown keys, so that misspelled ones aren't ignored.
Expected<void> checkKeys(const llvm::json::Object &object, ArrayRef<StringRef> known) {
  for (const auto &[key, value] : object)
    if (StringRef name = key; !llvm::is_contained(known, name))
      return Unexpected(invalidArgument("costs: unknown key '", name.str(), "', expected ",
                                        llvm::join(known, ", ")));
  return {};
}

Expected<void> parseLink(const llvm::json::Object &object, CostModel &model) {
  const llvm::json::Value *value = object.get("link");
  if (!value)
    return {};
  const auto *link = value->getAsObject();
  if (!link)
    return Unexpected(
        invalidArgument("costs: 'link' is not a table with latency and bytes_per_second"));
  return checkKeys(*link, {"latency", "bytes_per_second"})
      .and_then([&] { return parseNumber(*link, "latency", true, model.latency); })
      .and_then(
          [&] { return parseNumber(*link, "bytes_per_second", false, model.bytesPerSecond); });
}

/// Returns whether brackets are nested deeper than in any cost table, because LLVM's parser is
/// recursive.
bool isTooDeep(StringRef json) {
  constexpr int deepest = 64;
  int depth = 0;
  bool isText = false;
  for (size_t i = 0; i < json.size() && depth <= deepest; ++i) {
    char c = json[i];
    if (isText && c == '\\')
      ++i;
    else if (c == '"')
      isText = !isText;
    else if (!isText)
      depth += (c == '[' || c == '{') - (c == ']' || c == '}');
  }
  return depth > deepest;
}

} // namespace

Expected<CostModel> CostModel::parse(StringRef json) {
  CostModel model;
  return model.take(json).map([&] { return model; });
}

Expected<void> CostModel::take(StringRef json) {
  if (isTooDeep(json))
    return Unexpected(invalidArgument("costs: brackets are nested too deep"));
  PlainLocale locale; // for the numbers that LLVM's parser returns
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(json);
  if (!value)
    return Unexpected(invalidArgument("costs: ", llvm::toString(value.takeError())));
  const auto *object = value->getAsObject();
  if (const auto *events = object ? object->getArray("traceEvents") : value->getAsArray()) {
    parseTrace(*events, *this);
    return {};
  }
  if (!object)
    return Unexpected(invalidArgument(
        "costs: expected a table, as in {\"ops\": {\"MatMul\": 0.001}}, or a trace"));
  return checkKeys(*object, {"nodes", "ops", "default", "link"})
      .and_then([&] { return parseSeconds(*object, "nodes", nodes); })
      .and_then([&] { return parseSeconds(*object, "ops", ops); })
      .and_then([&] { return parseNumber(*object, "default", true, other); })
      .and_then([&] { return parseLink(*object, *this); });
}

Expected<CostModel> CostModel::read(StringRef paths) {
  CostModel model;
  for (StringRef path : llvm::split(paths, ',')) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer)
      return Unexpected(
          notFound("costs: '", path.str(), "' can't be read: ", buffer.getError().message()));
    TREADLE_TRY(model.take((*buffer)->getBuffer()));
  }
  return model;
}

double CostModel::compute(Node node) const {
  if (auto known = nodes.find(node.name()); known != nodes.end())
    return known->second;
  if (auto known = ops.find(node.opType()); known != ops.end())
    return known->second;
  return costOf(node) == OpCost::Free ? 0 : other;
}

double CostModel::communicate(Node node, int64_t ranks) const {
  if (auto known = nodes.find(node.name()); known != nodes.end())
    return known->second;
  std::optional<Pattern> pattern = patternOf(node);
  Value carried = !opFacts(node.opType()).receives ? node->getOperand(0)
                  : node.numResults()              ? Value(node.results()[0])
                                                   : Value();
  std::optional<int64_t> bytes = carried ? bytesOf(carried) : std::nullopt;
  auto n = static_cast<double>(ranksOf(node, ranks));
  if (!pattern || (n <= 1 && pattern->share(2) != once(2)))
    return 0;
  return pattern->latencies * latency +
         pattern->share(n) * static_cast<double>(bytes.value_or(0)) / bytesPerSecond;
}

bool isCommunication(Node node) { return patternOf(node).has_value(); }

std::optional<int64_t> bytesOf(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return std::nullopt;
  return type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
}

int64_t ranksOf(Node node, int64_t fallback) {
  if (auto size = node.attr<IntegerAttr>("group_size"))
    return size.getInt();
  ExchangeKeys keys = opFacts(node.opType()).keys;
  unsigned index = keys == ExchangeKeys::Inputs ? 0 : 1;
  bool hasCommunicator = keys == ExchangeKeys::Communicator;
  bool hasInputs =
      keys == ExchangeKeys::Inputs || keys == ExchangeKeys::AfterValue || hasCommunicator;
  if (!hasInputs || index >= node.numData())
    return fallback;
  Node source = definingNode(node.data()[index]);
  if (hasCommunicator && source && source.opType() == "CollectiveInitializeCommunicator")
    source = definingNode(source.data()[2]);
  auto value = source && source.opType() == "Const" ? source.attr<DenseIntElementsAttr>("value")
                                                    : DenseIntElementsAttr();
  return value && value.isSplat() ? value.getSplatValue<APInt>().getSExtValue() : fallback;
}

} // namespace treadle::tfg
