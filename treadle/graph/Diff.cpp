#include "treadle/graph/Diff.h"

#include "treadle/graph/GraphImpl.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace mlir;

namespace treadle {
namespace {

std::string text(Attribute attr) {
  if (!attr)
    return "none";
  std::string out;
  llvm::raw_string_ostream(out) << attr;
  constexpr size_t longest = 80;
  return out.size() > longest ? out.substr(0, longest) + "..." : out;
}

/// Numbers attributes across contexts: equal attributes get the same number.
class AttributeNumbers {
public:
  unsigned of(Attribute attr) {
    auto [known, isNew] = numbers.try_emplace(attr.getAsOpaquePointer(), 0);
    if (isNew)
      known->second = byContent.try_emplace(contentOf(attr), byContent.size()).first->second;
    return known->second;
  }

private:
  static std::string contentOf(Attribute attr) {
    std::string content;
    llvm::raw_string_ostream out(content);
    if (auto dense = dyn_cast_if_present<DenseIntOrFPElementsAttr>(attr)) {
      ArrayRef<char> bytes = dense.getRawData(); // the text would be twice as long
      out << dense.getType() << StringRef(bytes.data(), bytes.size());
    } else if (attr) {
      out << attr;
    }
    return content;
  }

  llvm::DenseMap<const void *, unsigned> numbers;
  llvm::StringMap<unsigned> byContent;
};

class BodyDiff {
public:
  BodyDiff(Block &before, Block &after, std::string function, AttributeNumbers &numbers,
           std::vector<Difference> &out)
      : old(nodesOf(before)), current(nodesOf(after)), function(std::move(function)),
        numbers(numbers), out(out) {}

  void run() {
    for (auto &[name, node] : old)
      if (current.contains(name))
        counterpart[node.getOperation()] = current[name];
    matchByStructure();
    std::set<Operation *> found;
    for (auto &[name, node] : old) {
      tfg::Node other = counterpart.lookup(node.getOperation());
      if (!other) {
        add("removed", name, str(node.opType().str(), " is gone"));
        continue;
      }
      found.insert(other.getOperation());
      if (other.name() != name)
        add("renamed", other.name(), str("was '", name.str(), "'"));
      compare(node, other);
    }
    for (auto &[name, node] : current)
      if (!found.contains(node.getOperation()))
        add("added", name, str(node.opType().str(), " is new"));
  }

private:
  using Nodes = llvm::MapVector<StringRef, tfg::Node>;

  static Nodes nodesOf(Block &body) {
    Nodes nodes;
    for (Operation &op : body)
      if (tfg::Node::isNode(&op))
        nodes[tfg::Node(&op).name()] = tfg::Node(&op);
    return nodes;
  }

  void add(std::string kind, StringRef node, std::string message) {
    out.push_back({std::move(kind), function, node.str(), std::move(message)});
  }

  static std::string output(tfg::Node node, mlir::Value value) {
    if (tfg::isControl(value))
      return "^" + node.name().str();
    return str(node.name().str(), ":", cast<OpResult>(value).getResultNumber());
  }

  /// Returns an input by its name in the second graph; marked as removed if it isn't there.
  std::string inputText(mlir::Value value, bool isOld) const {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return str("argument ", argument.getArgNumber());
    tfg::Node node(value.getDefiningOp());
    if (!tfg::Node::isNode(node.getOperation()))
      return "an output of a generic node";
    tfg::Node other = isOld ? counterpart.lookup(node.getOperation()) : node;
    return other ? output(other, value) : output(node, value) + " (removed)";
  }

  std::vector<std::string> data(tfg::Node node, bool isOld) const {
    std::vector<std::string> names;
    for (mlir::Value value : node.data())
      names.push_back(inputText(value, isOld));
    return names;
  }
  std::set<std::string> control(tfg::Node node, bool isOld) const {
    std::set<std::string> names;
    for (mlir::Value value : node.control())
      names.insert(inputText(value, isOld));
    return names;
  }

  static std::string joined(const auto &names) {
    std::string out;
    for (const std::string &name : names)
      out += (out.empty() ? "" : ", ") + name;
    return "[" + out + "]";
  }

  /// Returns a text that is equal for nodes that compute the same, in terms of the second graph's
  /// names.
  std::string signature(tfg::Node node, bool isOld) const {
    std::string out =
        str(node.opType().str(), joined(data(node, isOld)), joined(control(node, isOld)));
    for (NamedAttribute attr : node.attrs())
      if (attr.getName() != node.dialect().nameKey)
        out += str("|", attr.getName().str(), "=", numbers.of(attr.getValue()));
    return out;
  }

  /// Matches nodes whose inputs have been matched, in the order of the first graph.
  void matchByStructure() {
    llvm::StringMap<SmallVector<tfg::Node, 1>> candidates; // the first is the last
    for (auto &[name, node] : llvm::reverse(current))
      if (!old.contains(name))
        candidates[signature(node, /*isOld=*/false)].push_back(node);
    if (candidates.empty())
      return;
    llvm::DenseMap<Operation *, size_t> places, unmatched; // its inputs from unmatched nodes
    std::set<std::pair<size_t, Operation *>> ready;
    for (auto &[name, node] : old) {
      size_t place = places[node.getOperation()] = places.size();
      size_t count = unmatched[node.getOperation()] =
          llvm::count_if(node->getOperands(), [&](mlir::Value input) { return waitsFor(input); });
      if (count == 0 && !counterpart.contains(node.getOperation()))
        ready.insert({place, node.getOperation()});
    }
    while (!ready.empty()) {
      Operation *op = ready.extract(ready.begin()).value().second;
      auto found = candidates.find(signature(tfg::Node(op), /*isOld=*/true));
      if (found == candidates.end() || found->second.empty())
        continue;
      counterpart[op] = found->second.pop_back_val();
      for (Operation *user : op->getUsers())
        if (auto place = places.find(user);
            place != places.end() && --unmatched[user] == 0 && !counterpart.contains(user))
          ready.insert({place->second, user});
    }
  }

  bool waitsFor(mlir::Value input) const {
    Operation *op = input.getDefiningOp();
    return op && tfg::Node::isNode(op) && !counterpart.contains(op);
  }

  void compare(tfg::Node node, tfg::Node other) {
    StringRef name = other.name();
    if (node.opType() != other.opType())
      add("changed", name, str("op is ", other.opType().str(), ", was ", node.opType().str()));
    std::vector<std::string> was = data(node, true), is = data(other, false);
    if (was != is)
      add("changed", name, str("inputs are ", joined(is), ", were ", joined(was)));
    std::set<std::string> waited = control(node, true), waits = control(other, false);
    if (waited != waits)
      add("changed", name, str("control inputs are ", joined(waits), ", were ", joined(waited)));
    std::set<StringRef> keys;
    for (tfg::Node each : {node, other})
      for (NamedAttribute attr : each.attrs())
        if (attr.getName() != each.dialect().nameKey)
          keys.insert(attr.getName().getValue());
    for (StringRef key : keys)
      if (Attribute before = node.attr(key), after = other.attr(key);
          numbers.of(before) != numbers.of(after))
        add("changed", name, str(field(node, key), " is ", text(after), ", was ", text(before)));
  }

  static std::string field(tfg::Node node, StringRef key) {
    const tfg::TfgDialect &tfg = node.dialect();
    if (key == tfg.deviceKey.getValue())
      return "device";
    if (key == tfg.assignedDeviceKey.getValue())
      return "assigned device";
    if (key == tfg.fullTypeKey.getValue())
      return "full type";
    return str("attribute '", key.str(), "'");
  }

  Nodes old, current;
  std::string function;
  AttributeNumbers &numbers;
  std::vector<Difference> &out;
  llvm::DenseMap<Operation *, tfg::Node> counterpart; // of a node of the first graph
};

std::vector<std::string> returned(tfg::FuncOp function) {
  std::vector<std::string> names;
  for (mlir::Value value : function.getReturn().getOperands()) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto result = dyn_cast<OpResult>(value);
    names.push_back(
        argument ? str("argument ", argument.getArgNumber())
                 : str(tfg::Node(result.getOwner()).name().str(), ":", result.getResultNumber()));
  }
  return names;
}

void diffFunctions(tfg::FuncOp before, tfg::FuncOp after, AttributeNumbers &numbers,
                   std::vector<Difference> &out) {
  std::string name = after.getName().str();
  if (numbers.of(before->getAttrDictionary()) != numbers.of(after->getAttrDictionary()))
    out.push_back({"changed", name, "", "the signature or its attributes changed"});
  if (before.isExternal() || after.isExternal())
    return;
  BodyDiff(before.getEntry(), after.getEntry(), name, numbers, out).run();
  if (returned(before) != returned(after))
    out.push_back({"changed", name, "", "the returned values changed"});
}

void diffModules(ModuleOp before, ModuleOp after, std::vector<Difference> &out) {
  ModuleIndex old(before), current(after);
  Block none;
  Block &oldNodes = old.graph() ? old.graph().getNodes().front() : none;
  Block &newNodes = current.graph() ? current.graph().getNodes().front() : none;
  AttributeNumbers numbers;
  if (old.graph() && current.graph() &&
      numbers.of(old.graph().getVersion()) != numbers.of(current.graph().getVersion()))
    out.push_back({"changed", "", "",
                   str("version is ", text(current.graph().getVersion()), ", was ",
                       text(old.graph().getVersion()))});
  BodyDiff(oldNodes, newNodes, "", numbers, out).run();
  for (tfg::FuncOp function : before.getOps<tfg::FuncOp>())
    if (tfg::FuncOp other = current.function(function.getName()))
      diffFunctions(function, other, numbers, out);
    else
      out.push_back({"removed", function.getName().str(), "", "the function was removed"});
  for (tfg::FuncOp function : after.getOps<tfg::FuncOp>())
    if (!old.function(function.getName()))
      out.push_back({"added", function.getName().str(), "", "the function was added"});
}

} // namespace

Expected<std::vector<Difference>> diffGraphs(const Graph &before, const Graph &after) {
  Expected<Graph> plainBefore = withoutRegions(before), plainAfter = withoutRegions(after);
  if (!plainBefore || !plainAfter)
    return Unexpected(plainBefore ? plainAfter.error() : plainBefore.error());
  std::vector<Difference> differences;
  diffModules(*plainBefore->impl->module, *plainAfter->impl->module, differences);
  return differences;
}

std::string formatDifference(const Difference &difference) {
  std::string_view sign = difference.kind == "added"     ? "+"
                          : difference.kind == "removed" ? "-"
                                                         : "~";
  std::string where =
      difference.function.empty() ? "" : str("function '", difference.function, "'");
  if (!difference.node.empty())
    where = str("node '", difference.node, "'", where.empty() ? "" : " in " + where);
  return str(sign, " ", where.empty() ? "graph" : where, ": ", difference.message);
}

} // namespace treadle
