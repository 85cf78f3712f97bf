// Adds calls of a SavedModel's functions as nodes to its graph.
#include "treadle/graph/GraphImpl.h"
#include "treadle/graph/ObjectValues.h"

#include "treadle/lowering/Attributes.h"
#include "treadle/runtime/ValueName.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <set>

using namespace mlir;

namespace treadle {
namespace {

using Traced = ModelFunction::Variant;

/// Plans the nodes of all calls. They are added at the end, because edits would invalidate the
/// index.
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

  /// Returns the library function after checking that it matches the signature in the object graph.
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
          body.getResultTypes().size(), " results, but the model's objects declare ", numInputs,
          " and ", signature.outputs.size()));
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
      return Unexpected(unimplemented("'", stated.first, "' has dtype ", dtypeName(found),
                                      ", which isn't supported as an argument or result yet"));
    return found == stated.second.dtype
               ? Expected<void>()
               : Unexpected(invalidArgument("'", stated.first, "' of function '", signature.name,
                                            "' has dtype ", dtypeName(found),
                                            ", but the model's objects declare another dtype"));
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
      return Unexpected(invalidArgument("it captures object ", id, ", but the model has ",
                                        functions.objects.size()));
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
                 ? createdResource(id, object)
                 : Unexpected(invalidArgument("it captures variable '", object.name,
                                              "', which can't be matched to a node of the graph"));
    default:
      return Unexpected(
          unimplemented("it captures ", object.name.empty() ? "a function" : object.name));
    }
  }

  Expected<std::string> existing(const std::string &name, std::string_view what) const {
    tfg::Node node = index.node(name);
    if (!node || node.results().empty())
      return Unexpected(
          invalidArgument("it captures ", what, " '", name, "', which isn't in the graph"));
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

  /// Returns the call of the function that creates a table; each table has one.
  Expected<std::string> createdResource(int id, const ModelObject &object) {
    if (auto made = resourceNodes.find(id); made != resourceNodes.end())
      return made->second;
    auto child = object.children.find("_create_resource");
    auto creator = child == object.children.end() ? functions.creators.end()
                                                  : functions.creators.find(child->second);
    tfg::FuncOp body =
        creator == functions.creators.end() ? tfg::FuncOp() : index.function(creator->second);
    if (!body || body.isExternal() || body.getNumDataArguments() != 0 ||
        body.getResultTypes().size() != 1)
      return Unexpected(unimplemented("it captures a resource without a function that creates it"));
    std::string name = str("_function/resource_", id);
    nodes.push_back(callOf(body, name, {}));
    return resourceNodes[id] = name;
  }

  const ModuleIndex &index;
  ObjectFunctions &functions;
  const std::map<std::string, std::string> assets; // paths by tensor name
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
