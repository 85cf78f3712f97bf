// Maps a SavedModel's objects to values of its graph.
#include "treadle/graph/ObjectValues.h"

#include "treadle/graph/GraphImpl.h"
#include "treadle/graph/VariableName.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/runtime/ValueName.h"

#include <array>

using namespace mlir;

namespace treadle {
namespace {

using tfg::Node;

/// Returns the node that defines a value if it has that op.
Node sourceOf(Value value, StringRef op) {
  Operation *source = value.getDefiningOp();
  Node node = source && Node::isNode(source) ? Node(source) : Node();
  return node && node.opType() == op ? node : Node();
}

/// Returns the op of a variable handle that has a name; null for other values.
Operation *namedHandle(Value value) {
  Node node = sourceOf(value, "VarHandleOp");
  auto name = node ? node.attr<StringAttr>("shared_name") : StringAttr();
  return name && !name.empty() ? node.getOperation() : nullptr;
}

/// Parses `encoder/w/.ATTRIBUTES/VARIABLE_VALUE` without its suffix; in names, `.` and `/` are
/// escaped as `..` and `.S`.
constexpr char separator = '\0';

std::string pathOf(std::string_view key) {
  std::string_view path = key.substr(0, std::min(key.find("/.ATTRIBUTES/"), key.size()));
  std::string text;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '/')
      text += separator;
    else if (path[i] == '.' && i + 1 < path.size())
      text += path[++i] == 'S' ? '/' : path[i];
    else
      text += path[i];
  }
  return text;
}

/// Returns the variable that a copy was initialized from: the handle that its only initial value is
/// read from.
Operation *originalOf(Operation *copy) {
  for (Operation *user : copy->getUsers()) {
    Node assign = Node::isNode(user) ? Node(user) : Node();
    if (!assign || assign.opType() != "AssignVariableOp" || assign.data().size() != 2 ||
        assign.data()[0].getDefiningOp() != copy)
      continue;
    if (Node read = sourceOf(assign.data()[1], "ReadVariableOp"))
      return namedHandle(read.data()[0]);
  }
  return nullptr;
}

} // namespace

/// Reads the mapping from the graph: first all captures, then the restored variables, which may be
/// copies.
class ObjectValues::Reader {
public:
  Reader(ObjectValues &found, const Graph &graph, const SavedModelFiles &files,
         const ModelObjects &objects)
      : found(found), index(graph.impl->index()), files(files), objects(objects) {}

  void read() {
    forEachNode([&](Node node) { visitCaptures(node); });
    captured = found.values;
    forEachNode([&](Node node) { visitRestores(node); });
    for (auto [object, copy] : restored)
      preferOriginal(object, copy);
    forEachNode([&](Node node) { recordName(node); });
    for (int object = 0; object < std::ssize(objects.objects); ++object)
      findByName(object);
  }

private:
  template <typename Visit> void forEachNode(Visit visit) {
    if (tfg::GraphOp body = index.graph())
      for (Operation &op : body.getNodes().front())
        if (Node::isNode(&op))
          visit(Node(&op));
  }

  tfg::FuncOp bodyOf(Node call) const {
    auto callee = call.attr<tf_type::FuncAttr>("f");
    tfg::FuncOp body = callee ? index.function(callee.getName().getRootReference()) : tfg::FuncOp();
    return body && !body.isExternal() ? body : tfg::FuncOp();
  }

  void visitCaptures(Node call) {
    tfg::FuncOp body = bodyOf(call);
    auto bound =
        body ? objects.captures.find(std::string_view(body.getName())) : objects.captures.end();
    if (bound == objects.captures.end() || bound->second.size() > call.data().size())
      return;
    auto inputs = call.data().take_back(bound->second.size());
    for (auto [object, input] : llvm::zip(bound->second, inputs))
      claim(object, input);
  }

  void claim(int object, Value value) {
    if (object < 0 || !isa<OpResult>(value))
      return;
    auto [it, isNew] = found.values.emplace(object, value);
    Operation *handle = namedHandle(value), *first = namedHandle(it->second);
    if (handle)
      claimed.insert(handle);
    if (handle && first)
      aliasHandles(first, handle);
  }

  /// Makes both handles refer to the first one's variable.
  void aliasHandles(Operation *first, Operation *second) {
    first = found.canonicalHandle(first), second = found.canonicalHandle(second);
    if (first != second && Node(first).attr("dtype") == Node(second).attr("dtype"))
      found.canonicalHandles[second] = first;
  }

  void visitRestores(Node node) {
    if (node.opType() == "RestoreV2")
      visitRestore(node, Node());
    if (node.name() != nodeOf(files.meta.saver_def().restore_op_name()))
      return;
    if (tfg::FuncOp body = bodyOf(node))
      for (Operation &op : body.getEntry())
        if (Node::isNode(&op) && Node(&op).opType() == "RestoreV2")
          visitRestore(Node(&op), node);
  }

  /// `call` is the call of the function that contains the op; null if the op is in the graph.
  void visitRestore(Node restore, Node call) {
    Operation *names = restore.data().size() == 3 ? restore.data()[1].getDefiningOp() : nullptr;
    Attribute value = names ? Node(names).attr("value") : Attribute();
    Expected<AttrValue> converted =
        value ? convertAttribute(value) : Expected<AttrValue>(std::monostate());
    const auto *keys = converted ? std::get_if<Tensor>(&*converted) : nullptr;
    if (!keys || keys->dtype() != DType::String)
      return;
    size_t count = std::min(static_cast<size_t>(keys->count()), restore.results().size());
    for (size_t i = 0; i < count; ++i)
      if (Value handle = assignedBy(restore.results()[i], call)) {
        int object = objects.objectAt(pathOf(keys->data<std::string>()[i]), separator);
        claim(object, handle);
        if (Operation *named = object >= 0 ? namedHandle(handle) : nullptr)
          restored.emplace_back(object, named);
      }
  }

  /// Returns the handle of the variable that the value is assigned to, possibly through Identity
  /// nodes.
  static Value assignedBy(Value value, Node call) {
    constexpr int maxSteps = 4;
    for (int step = 0; value && step < maxSteps; ++step) {
      Value next;
      for (Operation *user : value.getUsers()) {
        Node node = Node::isNode(user) ? Node(user) : Node();
        if (node && node.opType() == "Identity" && node.data().size() == 1)
          next = node.results()[0];
        if (node && node.opType() == "AssignVariableOp" && node.data().size() == 2 &&
            node.data()[1] == value)
          return handleOf(node.data()[0], call);
      }
      value = next;
    }
    return {};
  }

  /// Maps a handle in the graph or in the called function to the graph.
  static Value handleOf(Value handle, Node call) {
    auto argument = dyn_cast<BlockArgument>(handle);
    if (!argument)
      return call ? Value() : handle;
    size_t place = argument.getArgNumber() / 2; // each data argument is followed by its token
    return call && place < call.data().size() ? call.data()[place] : Value();
  }

  /// If only a copy is restored, the object gets the name of the variable that it was copied from,
  /// unless another object claims that variable.
  void preferOriginal(int object, Operation *copy) {
    Operation *original = captured.contains(object) ? nullptr : originalOf(copy);
    if (!original || !claimed.insert(original).second)
      return;
    aliasHandles(original, copy);
    found.values[object] = original->getResult(0);
  }

  void recordName(Node node) {
    if (Operation *handle = node.numResults() ? namedHandle(node->getResult(0)) : nullptr)
      handlesByName[node.attr<StringAttr>("shared_name").getValue()] = handle;
  }

  /// Falls back to the variable of the same name if neither is mapped yet.
  void findByName(int object) {
    const ModelObject &variable = objects.objects[static_cast<size_t>(object)];
    if (variable.kind != ModelObject::Variable || found.values.contains(object))
      return;
    Operation *handle = handlesByName.lookup(variable.name);
    if (handle && claimed.insert(handle).second)
      found.values.emplace(object, handle->getResult(0));
  }

  ObjectValues &found;
  const ModuleIndex &index;
  const SavedModelFiles &files;
  const ModelObjects &objects;
  std::map<int, Value> captured;
  std::vector<std::pair<int, Operation *>> restored; // objects and handles
  llvm::DenseSet<Operation *> claimed;               // handles that are mapped to an object
  llvm::StringMap<Operation *> handlesByName;
};

ObjectValues::ObjectValues(const Graph &graph, const SavedModelFiles &files,
                           const ModelObjects &objects) {
  Reader(*this, graph, files, objects).read();
}

Operation *ObjectValues::canonicalHandle(Operation *handle) const {
  while (Operation *other = canonicalHandles.lookup(handle))
    handle = other;
  return handle;
}

std::string ObjectValues::of(int object) const {
  auto it = values.find(object);
  if (it == values.end())
    return "";
  auto result = cast<OpResult>(it->second);
  return str(Node(canonicalHandle(result.getOwner())).name().str(), ":", result.getResultNumber());
}

std::vector<std::pair<Operation *, Operation *>> ObjectValues::copies() const {
  std::vector<std::pair<Operation *, Operation *>> all;
  for (auto [handle, other] : canonicalHandles)
    all.emplace_back(handle, canonicalHandle(other));
  return all;
}

Expected<Graph> withUnifiedHandles(Graph graph, const SavedModelFiles &files) {
  std::vector<std::array<std::string, 3>> changes; // nodes, with container and name
  auto text = [](Operation *op, StringRef key) {
    auto attr = Node(op).attr<StringAttr>(key);
    return attr ? attr.getValue().str() : std::string();
  };
  for (auto [handle, other] : ObjectValues(graph, files, ModelObjects::of(files.meta)).copies())
    changes.push_back(
        {Node(handle).name().str(), text(other, "container"), text(other, "shared_name")});
  for (const auto &[node, container, name] : changes) {
    TREADLE_TRY(graph.setNodeAttr(node, "container", container));
    TREADLE_TRY(graph.setNodeAttr(node, "shared_name", name));
  }
  return graph;
}

} // namespace treadle
