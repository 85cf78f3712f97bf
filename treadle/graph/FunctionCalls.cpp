// Calls of a SavedModel's functions as nodes of its graph.
#include "treadle/graph/GraphImpl.h"
#include "treadle/graph/ObjectFunctions.h"

#include "treadle/lowering/Attributes.h"
#include "treadle/runtime/ValueName.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <set>

using namespace mlir;

namespace treadle {
namespace {

using Traced = ModelFunction::Variant;

/// Which values of the graph the objects are: what is restored from an object's place in the
/// checkpoint is its variable, and what a call of a concrete function gets is what that captures.
/// Names alone don't tell where several variables have the same.
class ObjectValues {
public:
  ObjectValues(const Graph &graph, const SavedModelFiles &files, const ObjectFunctions &functions)
      : index(graph.impl->index()), files(files), functions(functions) {
    if (tfg::GraphOp body = index.graph())
      for (Operation &op : body.getNodes().front())
        if (tfg::Node::isNode(&op))
          visit(tfg::Node(&op));
  }

  /// `v:0`; empty if none is known.
  std::string of(int object) const {
    auto found = values.find(object);
    return found == values.end() ? byName(functions.objects[static_cast<size_t>(object)])
                                 : found->second;
  }

private:
  void visit(tfg::Node node) {
    if (node.opType() == "VarHandleOp")
      if (auto shared = node.attr<StringAttr>("shared_name"))
        variables[shared.getValue()] = node.name().str();
    if (node.opType() == "RestoreV2")
      visitRestore(node, tfg::Node());
    auto callee = node.attr<tf_type::FuncAttr>("f");
    tfg::FuncOp body = callee ? index.function(callee.getName().getRootReference()) : tfg::FuncOp();
    if (!body || body.isExternal())
      return;
    visitCaptures(node, body.getName());
    if (node.name() == nodeOf(files.meta.saver_def().restore_op_name()))
      for (Operation &op : body.getEntry())
        if (tfg::Node::isNode(&op) && tfg::Node(&op).opType() == "RestoreV2")
          visitRestore(tfg::Node(&op), node);
  }

  void visitCaptures(tfg::Node call, StringRef callee) {
    auto captured = functions.captures.find(std::string_view(callee));
    if (captured == functions.captures.end() || captured->second.size() > call.data().size())
      return;
    auto inputs = call.data().take_back(captured->second.size());
    for (auto [object, input] : llvm::zip(captured->second, inputs))
      note(object, input);
  }

  void note(int object, Value value) {
    auto result = dyn_cast<OpResult>(value);
    if (object >= 0 && result)
      values.emplace(object,
                     str(tfg::Node(result.getOwner()).name().str(), ":", result.getResultNumber()));
  }

  /// `call`: of the function that the op is in, if it is in one.
  void visitRestore(tfg::Node restore, tfg::Node call) {
    Operation *names = restore.data().size() == 3 ? restore.data()[1].getDefiningOp() : nullptr;
    Attribute value = names ? tfg::Node(names).attr("value") : Attribute();
    Expected<AttrValue> converted =
        value ? convertAttribute(value) : Expected<AttrValue>(std::monostate());
    const auto *keys = converted ? std::get_if<Tensor>(&*converted) : nullptr;
    if (!keys || keys->dtype() != DType::String)
      return;
    size_t count = std::min(static_cast<size_t>(keys->count()), restore.results().size());
    for (size_t i = 0; i < count; ++i)
      if (Value handle = assignedBy(restore.results()[i], call))
        note(objectOfKey(keys->data<std::string>()[i]), handle);
  }

  /// The handle of the variable that the value becomes, by way of Identities.
  static Value assignedBy(Value value, tfg::Node call) {
    constexpr int mostSteps = 4;
    for (int step = 0; value && step < mostSteps; ++step) {
      Value next;
      for (Operation *user : value.getUsers()) {
        tfg::Node node = tfg::Node::isNode(user) ? tfg::Node(user) : tfg::Node();
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

  /// In the graph, of a handle there or in the function that is called.
  static Value handleOf(Value handle, tfg::Node call) {
    auto argument = dyn_cast<BlockArgument>(handle);
    if (!argument)
      return call ? Value() : handle;
    size_t place = argument.getArgNumber() / 2; // each has its token behind it
    return call && place < call.data().size() ? call.data()[place] : Value();
  }

  /// Of `encoder/w/.ATTRIBUTES/VARIABLE_VALUE`; in names, `.` and `/` are `..` and `.S`.
  int objectOfKey(std::string_view key) const {
    size_t end = key.find("/.ATTRIBUTES/");
    return end == key.npos ? -1 : functions.objectAt(unescaped(key.substr(0, end)), separator);
  }

  static constexpr char separator = '\0';

  static std::string unescaped(std::string_view path) {
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

  std::string byName(const ModelObject &object) const {
    if (object.kind != ModelObject::Variable)
      return "";
    auto isAlike = [&](const ModelObject &other) {
      return other.kind == ModelObject::Variable && other.name == object.name;
    };
    auto node = variables.find(object.name);
    return node != variables.end() && std::ranges::count_if(functions.objects, isAlike) == 1
               ? withOutput(node->second)
               : "";
  }

  const ModuleIndex &index;
  const SavedModelFiles &files;
  const ObjectFunctions &functions;
  llvm::StringMap<std::string> variables; // nodes by the name that they share
  std::map<int, std::string> values;
};

/// Plans the nodes of all calls. They are added at the end: edits move what was found before.
class CallPlanner {
public:
  CallPlanner(const Graph &graph, const SavedModelFiles &files, ObjectFunctions &functions,
              std::map<std::string, std::string> assets)
      : index(graph.impl->index()), functions(functions), assets(std::move(assets)),
        values(graph, files, functions) {}

  std::vector<Graph::NodeInfo> plan() {
    for (ModelFunction &function : functions.functions)
      for (size_t i = 0; i < function.variants.size(); ++i)
        if (Traced &variant = function.variants[i]; variant.problem.empty())
          if (Expected<void> ok = planCall(variant, prefixOf(function.name, i)); !ok)
            variant.problem = ok.error().message;
    return std::move(nodes);
  }

private:
  std::string prefixOf(const std::string &function, size_t variant) {
    std::string name = str("_function/", function, "/", variant);
    for (char &c : name)
      c = llvm::isAlnum(c) || c == '/' || c == '.' ? c : '_';
    while (!prefixes.insert(name).second)
      name += "_";
    return name;
  }

  /// That the function of the library is what the objects say of it.
  Expected<tfg::FuncOp> bodyOf(const Graph::Signature &signature, size_t numCaptures) const {
    tfg::FuncOp body = index.function(signature.name);
    if (!body || body.isExternal())
      return Unexpected(
          invalidArgument("the graph's library has no function '", signature.name, "'"));
    size_t numInputs = signature.inputs.size() + numCaptures;
    if (body.getNumDataArguments() != numInputs ||
        body.getResultTypes().size() != signature.outputs.size())
      return Unexpected(invalidArgument(
          "function '", signature.name, "' has ", body.getNumDataArguments(), " arguments and ",
          body.getResultTypes().size(), " results, but the objects say ", numInputs, " and ",
          signature.outputs.size()));
    for (size_t i = 0; i < signature.inputs.size(); ++i)
      TREADLE_TRY(checkType(signature, signature.inputs[i],
                            body.getDataArgument(static_cast<unsigned>(i)).getType()));
    for (size_t i = 0; i < signature.outputs.size(); ++i)
      TREADLE_TRY(checkType(signature, signature.outputs[i], body.getResultTypes()[i]));
    return body;
  }

  static Expected<void> checkType(const Graph::Signature &signature,
                                  const std::pair<std::string, Graph::Value> &stated, Type type) {
    DType found = valueTypeOf(type).dtype;
    if (found == DType::Resource || found == DType::Variant)
      return Unexpected(unimplemented("'", stated.first, "' is of dtype ", dtypeName(found),
                                      ", which can't be given or had yet"));
    return found == stated.second.dtype
               ? Expected<void>()
               : Unexpected(invalidArgument("'", stated.first, "' of function '", signature.name,
                                            "' is of ", dtypeName(found),
                                            ", but the objects say otherwise"));
  }

  Expected<void> planCall(Traced &variant, const std::string &prefix) {
    Graph::Signature &signature = variant.signature;
    const std::vector<int> &captured = functions.captures[signature.name];
    tfg::FuncOp body = TREADLE_TRY(bodyOf(signature, captured.size()));
    std::vector<std::string> inputs;
    inputs.reserve(signature.inputs.size() + captured.size());
    for (size_t i = 0; i < signature.inputs.size(); ++i)
      inputs.push_back(str(prefix, "/", i));
    for (int object : captured)
      inputs.push_back(TREADLE_TRY(captureValue(object)));
    for (size_t i = 0; i < signature.inputs.size(); ++i)
      planInput(inputs[i], signature.inputs[i].second);
    variant.call = prefix;
    for (size_t i = 0; i < signature.outputs.size(); ++i)
      signature.outputs[i].second.name = str(prefix, ":", i);
    nodes.push_back(callOf(body, prefix, std::move(inputs)));
    return {};
  }

  void planInput(const std::string &name, Graph::Value &input) {
    Graph::NodeInfo node{name, "Placeholder", {}, {}, {}, {}};
    node.attrs.set("dtype", TypeAttr{input.dtype});
    node.attrs.set("shape", PartialShape{input.hasRank, input.dims});
    nodes.push_back(std::move(node));
    input.name = name + ":0";
  }

  static Graph::NodeInfo callOf(tfg::FuncOp body, const std::string &name,
                                std::vector<std::string> inputs) {
    std::vector<TypeAttr> in, out;
    for (unsigned i = 0; i < body.getNumDataArguments(); ++i)
      in.push_back({valueTypeOf(body.getDataArgument(i).getType()).dtype});
    for (Type type : body.getResultTypes())
      out.push_back({valueTypeOf(type).dtype});
    Graph::NodeInfo node{name, "StatefulPartitionedCall", {}, std::move(inputs), {}, {}};
    node.attrs.set("Tin", std::move(in));
    node.attrs.set("Tout", std::move(out));
    node.attrs.set("f", FunctionRef{body.getName().str(), nullptr});
    return node;
  }

  Expected<std::string> captureValue(int id) {
    if (id < 0 || static_cast<size_t>(id) >= functions.objects.size())
      return Unexpected(
          invalidArgument("it captures object ", id, ", but there are ", functions.objects.size()));
    const ModelObject &object = functions.objects[static_cast<size_t>(id)];
    switch (object.kind) {
    case ModelObject::Constant:
      return existing(object.name, "constant");
    case ModelObject::Asset:
      return assetPath(object.name);
    case ModelObject::Variable:
    case ModelObject::Resource:
      if (std::string value = values.of(id); !value.empty())
        return value;
      return object.kind == ModelObject::Resource
                 ? madeResource(id, object)
                 : Unexpected(invalidArgument("it captures variable '", object.name,
                                              "', and which of the graph's nodes that is isn't "
                                              "stated"));
    default:
      return Unexpected(
          unimplemented("it captures ", object.name.empty() ? "a function" : object.name));
    }
  }

  Expected<std::string> existing(const std::string &name, std::string_view what) const {
    tfg::Node node = index.node(name);
    if (!node || node.results().empty())
      return Unexpected(
          invalidArgument("it captures ", what, " '", name, "', which the graph hasn't"));
    return withOutput(name);
  }

  Expected<std::string> assetPath(const std::string &tensor) {
    auto path = assets.find(tensor);
    if (path == assets.end())
      return Unexpected(invalidArgument("it captures an asset that the model doesn't list"));
    auto [made, isNew] = assetNodes.try_emplace(tensor, str("_function/asset_", assetNodes.size()));
    if (isNew) {
      Graph::NodeInfo node{made->second, "Const", {}, {}, {}, {}};
      node.attrs.set("dtype", TypeAttr{DType::String});
      node.attrs.set("value", Tensor::scalarString(path->second));
      nodes.push_back(std::move(node));
    }
    return made->second;
  }

  /// A table is made by a function of its own, again and again the same one.
  Expected<std::string> madeResource(int id, const ModelObject &object) {
    if (auto made = resourceNodes.find(id); made != resourceNodes.end())
      return made->second;
    auto child = object.children.find("_create_resource");
    auto creator = child == object.children.end() ? functions.creators.end()
                                                  : functions.creators.find(child->second);
    tfg::FuncOp body =
        creator == functions.creators.end() ? tfg::FuncOp() : index.function(creator->second);
    if (!body || body.isExternal() || body.getNumDataArguments() != 0 ||
        body.getResultTypes().size() != 1)
      return Unexpected(unimplemented("it captures a resource that no function makes"));
    std::string name = str("_function/resource_", id);
    nodes.push_back(callOf(body, name, {}));
    return resourceNodes[id] = name;
  }

  const ModuleIndex &index;
  ObjectFunctions &functions;
  const std::map<std::string, std::string> assets; // paths by tensor
  const ObjectValues values;
  std::set<std::string> prefixes;
  std::map<std::string, std::string> assetNodes;
  std::map<int, std::string> resourceNodes;
  std::vector<Graph::NodeInfo> nodes;
};

} // namespace

Expected<Graph> withFunctionCalls(Graph graph, const SavedModelFiles &files,
                                  ObjectFunctions &functions) {
  std::map<std::string, std::string> paths;
  for (const SavedModelFiles::Asset &asset : TREADLE_TRY(files.assets()))
    paths[asset.tensor] = asset.path;
  std::vector<Graph::NodeInfo> nodes =
      CallPlanner(graph, files, functions, std::move(paths)).plan();
  for (Graph::NodeInfo &node : nodes)
    TREADLE_TRY(graph.addNode(std::move(node)));
  return graph;
}

Expected<FunctionGraph> FunctionGraph::of(const Graph &graph, std::string_view name) {
  ObjectFunctions functions = ObjectFunctions::of(graph);
  const ModelFunction *function = TREADLE_TRY(functions.find(name));
  SavedModelFiles files = TREADLE_TRY(SavedModelFiles::of(graph.impl->module, {}));
  FunctionGraph found{TREADLE_TRY(withFunctionCalls(graph, files, functions)), {}};
  for (const Traced &variant : function->variants)
    if (variant.problem.empty())
      found.calls.push_back(variant.call);
  if (found.calls.empty())
    return Unexpected(unimplemented("function '", function->name,
                                    "' can't be called: ", function->variants.front().problem));
  return found;
}

} // namespace treadle
