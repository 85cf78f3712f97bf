// Finds the functions that a SavedModel's object graph offers.
#include "treadle/graph/ObjectFunctions.h"

#include "treadle/export/SavedModel.h"
#include "treadle/graph/CompositeTensors.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/import/SavedModel.h"
#include "treadle/tensor/Suggestions.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>

namespace treadle {
namespace {

using Fixed = ModelFunction::Fixed;
using Structure = ModelFunction::Structure;
using Traced = ModelFunction::Variant;
using Value = pb::StructuredValue;

// --- Python values ------------------------------------------------------------------------------

std::string formatNumber(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  for (int digits = 1; digits < 17; ++digits) {
    char shorter[40];
    std::snprintf(shorter, sizeof shorter, "%.*g", digits, value);
    if (std::strtod(shorter, nullptr) == value) {
      std::string found = shorter;
      return found.find_first_of(".einf") == found.npos ? found + ".0" : found;
    }
  }
  return text;
}

/// Formats a value that isn't a tensor as Python does.
std::string formatPythonValue(const Value &value) {
  switch (value.kind_case()) {
  case Value::kNoneValue:
    return "None";
  case Value::kFloat64Value:
    return formatNumber(value.float64_value());
  case Value::kInt64Value:
    return std::to_string(value.int64_value());
  case Value::kStringValue:
    return "'" + value.string_value() + "'";
  case Value::kBoolValue:
    return value.bool_value() ? "True" : "False";
  case Value::kTensorDtypeValue:
    return std::string(dtypeName(static_cast<DType>(value.tensor_dtype_value())));
  default:
    return "...";
  }
}

/// Returns the tensors of a leaf of a signature: one, or the components of a composite tensor.
/// Returns nullopt if it isn't a tensor.
std::optional<NamedValues> tensorsOf(const std::string &name, const Value &value) {
  if (value.has_tensor_spec_value())
    return NamedValues{
        {name, typedValue(value.tensor_spec_value(), value.tensor_spec_value().shape())}};
  if (value.has_bounded_tensor_spec_value())
    return NamedValues{{name, typedValue(value.bounded_tensor_spec_value(),
                                         value.bounded_tensor_spec_value().shape())}};
  if (value.has_type_spec_value())
    return componentsOf(name, value.type_spec_value());
  return std::nullopt;
}

/// Returns the elements of a nested value with their keys, in TensorFlow's flattening order.
std::optional<std::vector<std::pair<std::string, const Value *>>> elementsOf(const Value &value) {
  std::vector<std::pair<std::string, const Value *>> parts;
  auto addAll = [&](const auto &values) {
    for (int i = 0; i < values.size(); ++i)
      parts.emplace_back(std::to_string(i), &values[i]);
  };
  switch (value.kind_case()) {
  case Value::kListValue:
    addAll(value.list_value().values());
    return parts;
  case Value::kTupleValue:
    addAll(value.tuple_value().values());
    return parts;
  case Value::kNamedTupleValue:
    for (const auto &part : value.named_tuple_value().values())
      parts.emplace_back(part.key(), &part.value());
    return parts;
  case Value::kDictValue:
    for (const auto &[key, part] : value.dict_value().fields())
      parts.emplace_back(key, &part);
    std::ranges::sort(parts, {}, [](const auto &part) { return part.first; });
    return parts;
  default:
    return std::nullopt;
  }
}

Structure::Kind kindOf(const Value &value) {
  switch (value.kind_case()) {
  case Value::kListValue:
    return Structure::List;
  case Value::kDictValue:
    return Structure::Dict;
  case Value::kTupleValue:
  case Value::kNamedTupleValue:
    return Structure::Tuple;
  default:
    return Structure::None;
  }
}

// --- arguments and results ----------------------------------------------------------------------

/// The names of a Python function's arguments.
struct ArgumentNames {
  std::vector<std::string> names;
  std::string rest; // `args` of `*args`
  std::map<std::string, std::string> defaults;

  static ArgumentNames of(const pb::FunctionSpec &spec);
  std::string at(size_t place) const {
    if (place < names.size())
      return names[place];
    return rest.empty() ? str("arg", place) : str(rest, "_", place - names.size());
  }
};

ArgumentNames ArgumentNames::of(const pb::FunctionSpec &spec) {
  ArgumentNames found;
  std::map<std::string, const Value *> fields;
  for (const auto &part : spec.fullargspec().named_tuple_value().values())
    fields[part.key()] = &part.value();
  auto field = [&](const char *name) -> const Value & {
    auto it = fields.find(name);
    return it == fields.end() ? Value::default_instance() : *it->second;
  };
  for (const Value &name : field("args").list_value().values())
    found.names.push_back(name.string_value());
  if (spec.is_method() && !found.names.empty())
    found.names.erase(found.names.begin());
  found.rest = field("varargs").string_value();
  auto defaults = elementsOf(field("defaults"));
  for (size_t i = 0, count = defaults ? defaults->size() : 0; i < count; ++i)
    if (found.names.size() + i >= count)
      found.defaults[found.names[found.names.size() + i - count]] =
          formatPythonValue(*(*defaults)[i].second);
  for (const auto &[name, value] : field("kwonlydefaults").dict_value().fields())
    found.defaults[name] = formatPythonValue(value);
  return found;
}

/// Flattens the signature of one concrete function.
class VariantReader {
public:
  VariantReader(Traced &variant, const ArgumentNames &arguments, bool isBare)
      : variant(variant), arguments(arguments), isBare(isBare) {}

  void read(const pb::SavedConcreteFunction &function) {
    readInputs(function.canonicalized_input_signature());
    readResults(function.output_signature());
    for (const auto *values : {&variant.signature.inputs, &variant.signature.outputs}) {
      std::set<std::string_view> seen;
      for (const auto &[key, value] : *values)
        if (!seen.insert(key).second)
          fail(str("it has two values named '", key, "'"));
    }
  }

private:
  void fail(std::string why) {
    if (variant.problem.empty())
      variant.problem = std::move(why);
  }

  void readInputs(const Value &signature) {
    const auto &both = signature.tuple_value().values();
    if (both.size() != 2)
      return fail("its arguments aren't declared");
    const auto byPlace = elementsOf(both[0]);
    for (size_t i = 0; byPlace && i < byPlace->size(); ++i)
      readInput(arguments.at(i), *(*byPlace)[i].second);
    const auto byName = elementsOf(both[1]);
    for (size_t i = 0; byName && i < byName->size(); ++i)
      readInput((*byName)[i].first, *(*byName)[i].second);
  }

  void readInput(const std::string &name, const Value &value) {
    if (auto parts = elementsOf(value)) {
      for (const auto &[key, part] : *parts)
        readInput(name + "_" + key, *part);
      return;
    }
    if (std::optional<NamedValues> tensors = tensorsOf(name, value))
      return std::ranges::move(*tensors, std::back_inserter(variant.signature.inputs)), void();
    if (value.has_type_spec_value())
      return fail(str("argument '", name, "' is a ", specName(value.type_spec_value()),
                      ", which isn't supported as an argument yet"));
    if (isBare)
      return;
    std::string text = formatPythonValue(value);
    auto stated = arguments.defaults.find(name);
    variant.fixed.push_back(
        {name, text, stated != arguments.defaults.end() && stated->second == text});
  }

  static std::string specName(const pb::TypeSpecProto &spec) {
    return spec.type_spec_class_name().empty() ? "custom type" : spec.type_spec_class_name();
  }

  void readResults(const Value &value) { variant.result = readResult("", value); }

  Structure readResult(const std::string &name, const Value &value) {
    auto parts = elementsOf(value);
    Structure structure{kindOf(value), {}, {}};
    if (parts) {
      for (const auto &[key, part] : *parts) {
        structure.keys.push_back(key);
        structure.parts.push_back(
            readResult(elementName(name, key, structure.kind == Structure::Dict), *part));
      }
      return structure;
    }
    if (auto tensors = tensorsOf(name.empty() ? "result" : name, value)) {
      structure.kind = Structure::Value;
      std::ranges::move(*tensors, std::back_inserter(variant.signature.outputs));
    } else if (value.has_type_spec_value())
      fail(str("it gives a ", specName(value.type_spec_value()),
               ", which isn't supported as a result yet"));
    return structure;
  }

  static std::string elementName(const std::string &name, const std::string &key, bool isInDict) {
    if (!name.empty())
      return name + "_" + key;
    return isInDict ? key : "result_" + key;
  }

  Traced &variant;
  const ArgumentNames &arguments;
  const bool isBare;
};

// --- objects ------------------------------------------------------------------------------------

ModelObject objectOf(const pb::MetaGraphDef &meta, const pb::SavedObject &node) {
  ModelObject object;
  for (const auto &child : node.children())
    if (child.node_id() >= 0 && child.node_id() < meta.object_graph_def().nodes_size())
      object.children.emplace(child.local_name(), child.node_id());
  switch (node.kind_case()) {
  case pb::SavedObject::kVariable:
    object.kind = ModelObject::Variable;
    object.name = node.variable().name();
    break;
  case pb::SavedObject::kConstant:
    object.kind = ModelObject::Constant;
    object.name = node.constant().operation();
    break;
  case pb::SavedObject::kAsset: {
    object.kind = ModelObject::Asset;
    int file = node.asset().asset_file_def_index();
    if (file >= 0 && file < meta.asset_file_def_size())
      object.name = meta.asset_file_def(file).tensor_info().name();
    break;
  }
  case pb::SavedObject::kResource:
    object.kind = ModelObject::Resource;
    break;
  case pb::SavedObject::kFunction:
  case pb::SavedObject::kBareConcreteFunction:
    object.kind = ModelObject::Function;
    break;
  case pb::SavedObject::kCapturedTensor:
    object.name = "a tensor of another function";
    break;
  default:
    object.name = "an object of a custom class";
  }
  return object;
}

/// Finds functions from the root: the shortest path to a function is its name.
class ObjectReader {
public:
  explicit ObjectReader(const pb::MetaGraphDef &meta)
      : meta(meta), nodes(meta.object_graph_def().nodes()) {}

  ObjectFunctions read() {
    static_cast<ModelObjects &>(found) = ModelObjects::of(meta);
    visitAll();
    sortByName();
    addAliases();
    return std::move(found);
  }

private:
  /// Whether to search the object. TensorFlow's internal objects are skipped: signatures are read
  /// elsewhere, a function's traces are its variants, and tables are created and filled on load.
  bool shouldSearch(int id) const {
    const ModelObject &object = found.objects[static_cast<size_t>(id)];
    return object.kind != ModelObject::Function && object.kind != ModelObject::Resource &&
           nodes[id].user_object().identifier() != "signature_map";
  }

  void visitAll() {
    std::vector<std::pair<int, std::string>> reached;
    std::set<int> seen;
    if (!nodes.empty() && seen.insert(0).second)
      reached.emplace_back(0, "");
    for (size_t i = 0; i < reached.size(); ++i) {
      auto [id, path] = reached[i];
      if (found.objects[static_cast<size_t>(id)].kind == ModelObject::Function && id != 0)
        addFunction(id, path);
      if (!shouldSearch(id))
        continue;
      for (const auto &[name, child] : found.objects[static_cast<size_t>(id)].children)
        if (seen.insert(child).second)
          reached.emplace_back(child, path.empty() ? name : path + "." + name);
    }
  }

  void addFunction(int id, const std::string &path) {
    const pb::SavedObject &node = nodes[id];
    ModelFunction function{path, {}, {}};
    if (node.has_function()) {
      auto arguments = ArgumentNames::of(node.function().function_spec());
      function.arguments = arguments.names;
      for (const std::string &name : node.function().concrete_functions())
        addVariant(function, name, arguments, /*isBare=*/false);
    } else {
      const pb::SavedBareConcreteFunction &bare = node.bare_concrete_function();
      function.arguments = {bare.argument_keywords().begin(), bare.argument_keywords().end()};
      addVariant(function, bare.concrete_function_name(), ArgumentNames::of(bare.function_spec()),
                 /*isBare=*/true);
    }
    if (function.variants.empty())
      return;
    functionObjects.push_back(id);
    found.functions.push_back(std::move(function));
  }

  void addVariant(ModelFunction &function, const std::string &name, const ArgumentNames &arguments,
                  bool isBare) {
    const auto &all = meta.object_graph_def().concrete_functions();
    auto concrete = all.find(name);
    if (concrete == all.end())
      return;
    Traced variant;
    variant.signature.name = name;
    VariantReader(variant, arguments, isBare).read(concrete->second);
    function.variants.push_back(std::move(variant));
  }

  void sortByName() {
    std::vector<size_t> order(found.functions.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::ranges::sort(order, {}, [&](size_t i) { return found.functions[i].name; });
    std::vector<ModelFunction> sorted;
    for (size_t i : order) {
      found.functionOfObject[functionObjects[i]] = sorted.size();
      sorted.push_back(std::move(found.functions[i]));
    }
    found.functions = std::move(sorted);
  }

  void addAliases() {
    const auto &aliases = meta.meta_info_def().function_aliases();
    for (size_t i = 0; i < found.functions.size(); ++i)
      for (const Traced &variant : found.functions[i].variants)
        if (auto alias = aliases.find(variant.signature.name); alias != aliases.end()) {
          auto [it, isNew] = found.aliases.emplace(alias->second, i);
          // A trace that is also an attribute of its own has the alias too; the function with all
          // traces takes precedence.
          if (!isNew &&
              found.functions[i].variants.size() > found.functions[it->second].variants.size())
            it->second = i;
        }
  }

  const pb::MetaGraphDef &meta;
  const google::protobuf::RepeatedPtrField<pb::SavedObject> &nodes;
  std::vector<int> functionObjects; // by function
  ObjectFunctions found;
};

} // namespace

ModelObjects ModelObjects::of(const pb::MetaGraphDef &meta) {
  ModelObjects found;
  for (const pb::SavedObject &node : meta.object_graph_def().nodes()) {
    if (node.function().concrete_functions_size() == 1)
      found.creators[static_cast<int>(found.objects.size())] =
          node.function().concrete_functions(0);
    found.objects.push_back(objectOf(meta, node));
  }
  for (const auto &[name, function] : meta.object_graph_def().concrete_functions())
    found.captures[name].assign(function.bound_inputs().begin(), function.bound_inputs().end());
  return found;
}

ObjectFunctions ObjectFunctions::of(const pb::MetaGraphDef &meta) {
  return ObjectReader(meta).read();
}

ObjectFunctions ObjectFunctions::of(const Graph &graph) {
  auto modules = metaGraphs(*graph.impl->module);
  if (modules.size() != 1)
    return {};
  Expected<pb::MetaGraphDef> meta = exportMetaGraphHeader(modules.front());
  return meta ? of(*meta) : ObjectFunctions();
}

int ModelObjects::objectAt(std::string_view path, char separator) const {
  if (objects.empty())
    return -1;
  int at = 0;
  while (!path.empty()) {
    const auto &children = objects[static_cast<size_t>(at)].children;
    size_t end = path.find(separator);
    auto child = children.find(path.substr(0, end));
    while (child == children.end() && end != path.npos) {
      end = path.find(separator, end + 1);
      child = children.find(path.substr(0, end));
    }
    if (child == children.end())
      return -1;
    at = child->second;
    path.remove_prefix(end == path.npos ? path.size() : end + 1);
  }
  return at;
}

Expected<const ModelFunction *> ObjectFunctions::find(std::string_view name) const {
  std::vector<std::string_view> names;
  std::string list;
  for (const ModelFunction &function : functions) {
    if (function.name == name)
      return &function;
    names.push_back(function.name);
    list += str(list.empty() ? "'" : ", '", function.name, "'");
  }
  if (auto function = functionOfObject.find(name.empty() ? -1 : objectAt(name, '.'));
      function != functionOfObject.end())
    return &functions[function->second];
  if (auto alias = aliases.find(name); alias != aliases.end())
    return &functions[alias->second];
  return Unexpected(notFound("the model has no function '", name, "'", didYouMean(name, names),
                             list.empty() ? "; it has no functions, only signatures"
                                          : "; its functions are " + list));
}

std::string functionText(const ModelFunction &function, const Traced &variant) {
  auto typeText = [](const Graph::Value &value) {
    return str(dtypeName(value.dtype), PartialShape{value.hasRank, value.dims}.text());
  };
  std::string inputs, outputs;
  for (const auto &[key, value] : variant.signature.inputs)
    inputs += str(inputs.empty() ? "" : ", ", key, ": ", typeText(value));
  for (const Fixed &fixed : variant.fixed)
    inputs += str(inputs.empty() ? "" : ", ", fixed.name, "=", fixed.value);
  for (const auto &[key, value] : variant.signature.outputs)
    outputs += str(outputs.empty() ? "" : ", ", key, ": ", typeText(value));
  return str(function.name, "(", inputs, ") -> (", outputs, ")");
}

} // namespace treadle
