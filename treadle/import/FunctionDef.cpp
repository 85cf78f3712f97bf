// Imports signatures of functions, their attributes and their results.
#include "treadle/import/FunctionDef.h"

#include "treadle/import/Keywords.h"
#include "treadle/import/UnknownFields.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

static bool hasPlaceholder(const pb::AttrValue &value);

static bool hasPlaceholder(const pb::NameAttrList &func) {
  return llvm::any_of(func.attr(), [](const auto &attr) { return hasPlaceholder(attr.second); });
}

static bool hasPlaceholder(const pb::AttrValue &value) {
  if (value.value_case() == pb::AttrValue::kPlaceholder)
    return true;
  if (value.value_case() == pb::AttrValue::kFunc)
    return hasPlaceholder(value.func());
  return llvm::any_of(value.list().func(),
                      [](const pb::NameAttrList &func) { return hasPlaceholder(func); });
}

bool graphdef::isGeneric(const pb::FunctionDef &function) {
  auto isOpen = [](const pb::OpDef::ArgDef &arg) {
    return !arg.type_attr().empty() || !arg.number_attr().empty() || !arg.type_list_attr().empty();
  };
  auto isTemplate = [](const pb::NodeDef &node) {
    return llvm::any_of(node.attr(), [](const auto &attr) { return hasPlaceholder(attr.second); });
  };
  const pb::OpDef &signature = function.signature();
  return llvm::any_of(signature.input_arg(), isOpen) ||
         llvm::any_of(signature.output_arg(), isOpen) ||
         llvm::any_of(function.node_def(), isTemplate);
}

namespace {

/// Imports one function.
class FunctionImporter {
public:
  FunctionImporter(ImportState &state, ModuleOp module, const pb::FunctionDef &function)
      : state(state), module(module), function(function), signature(function.signature()),
        builder(OpBuilder::atBlockEnd(module.getBody())), generic(isGeneric(function)) {}

  Expected<tfg::FuncOp> run() {
    TREADLE_TRY(checkNames());
    TREADLE_TRY(convertSignature());
    TREADLE_TRY(convertFunctionAttrs());
    convertRest();
    TREADLE_TRY(convertBody());
    return func;
  }

private:
  using ArgDefs = google::protobuf::RepeatedPtrField<pb::OpDef::ArgDef>;

  Expected<void> checkNames() {
    for (const pb::OpDef::ArgDef &arg : signature.input_arg())
      argumentNames.insert(arg.name());
    llvm::StringSet<> seen;
    for (const pb::OpDef::ArgDef &arg : signature.output_arg())
      if (!seen.insert(arg.name()).second)
        return Unexpected(invalidArgument("result '", arg.name(),
                                          "' is given twice in the "
                                          "signature; names must be unique, rename one of them"));
    for (const std::string &name : signature.control_output())
      if (!controlNames.insert(name).second)
        return Unexpected(invalidArgument("control result '", name,
                                          "' is given twice in the "
                                          "signature; names must be unique, rename one of them"));
    return {};
  }

  Expected<Type> convertType(const pb::OpDef::ArgDef &arg) {
    if (generic)
      return state.dialect->opaqueTensorType;
    Type type = state.types.element(arg.type());
    if (!type || arg.type() == pb::DT_INVALID)
      return Unexpected(invalidArgument("'", arg.name(), "' has dtype ", int(arg.type()),
                                        ", expected a known dtype, or an attribute that holds it"));
    return arg.is_ref() ? state.types.referenceTensor(type) : state.types.tensor(type);
  }

  /// Returns [tensor types of (dtype, shape)]; null if an array of types can't represent the handle
  /// data.
  Expected<Attribute> convertHandleData(const pb::OpDef::ArgDef &arg) {
    SmallVector<Attribute> types;
    for (const pb::ResourceHandleProto::DtypeAndShape &data : arg.handle_data()) {
      Type type = state.types.element(data.dtype());
      if (!type || data.dtype() == pb::DT_INVALID)
        return Unexpected(invalidArgument("the handle data of '", arg.name(), "' has dtype ",
                                          int(data.dtype()), ", expected a known dtype"));
      tf_type::ShapeAttr shape = state.attributes.convert(data.shape());
      if (!shape || !data.has_shape() || hasUnknownFields(data))
        return Attribute();
      types.push_back(mlir::TypeAttr::get(shape.tensorOf(type)));
    }
    return builder.getArrayAttr(types);
  }

  void addString(NamedAttrList &attrs, StringRef key, const std::string &value) {
    if (!value.empty())
      attrs.append(key, state.attributes.string(value));
  }

  /// Returns the dictionary of an argument or result; fields that it can't represent are kept as a
  /// message.
  Expected<NamedAttrList> convertArg(const pb::OpDef::ArgDef &arg) {
    NamedAttrList attrs;
    pb::OpDef::ArgDef rest;
    copyUnknownFields(arg, rest);
    attrs.append(state.dialect->argNameKey, state.attributes.string(arg.name()));
    addString(attrs, argDescriptionKey, arg.description());
    addString(attrs, argTypeAttrKey, arg.type_attr());
    addString(attrs, argNumberAttrKey, arg.number_attr());
    addString(attrs, argTypeListAttrKey, arg.type_list_attr());
    if (generic && arg.type() != pb::DT_INVALID) {
      if (mlir::TypeAttr type = state.types.attr(arg.type()))
        attrs.append(argTypeKey, type);
      else
        rest.set_type(arg.type());
    }
    if (arg.is_ref())
      attrs.append(argIsRefKey, builder.getUnitAttr());
    if (arg.handle_data_size() != 0) {
      Attribute data = TREADLE_TRY(convertHandleData(arg));
      if (data)
        attrs.append(argHandleDataKey, data);
      else
        *rest.mutable_handle_data() = arg.handle_data();
    }
    if (arg.has_experimental_full_type()) {
      if (tf_type::FullTypeAttr type = state.attributes.convert(arg.experimental_full_type()))
        attrs.append(argFullTypeKey, type);
      else
        *rest.mutable_experimental_full_type() = arg.experimental_full_type();
    }
    if (rest.ByteSizeLong() != 0)
      attrs.append(argRestKey, state.attributes.message("ArgDef", rest));
    return attrs;
  }

  /// Adds the argument's own attributes, which aren't in the signature.
  Expected<void> addArgAttrs(unsigned index, NamedAttrList &attrs) {
    auto it = function.arg_attr().find(index);
    if (it == function.arg_attr().end())
      return {};
    DictionaryAttr own = TREADLE_TRY(state.attributes.convert(it->second.attr()));
    if (generic && !own.empty())
      attrs.append(argAttrsKey, own);
    if (!generic)
      for (NamedAttribute attr : own)
        attrs.append((attrPrefix + attr.getName().getValue()).str(), attr.getValue());
    return {};
  }

  Expected<void> convertSignature() {
    SmallVector<Type> argTypes, resultTypes;
    SmallVector<Attribute> argAttrs, resultAttrs;
    for (const auto &[index, arg] : llvm::enumerate(signature.input_arg())) {
      Type type = TREADLE_TRY(convertType(arg));
      NamedAttrList attrs = TREADLE_TRY(convertArg(arg));
      if (Expected<void> ok = addArgAttrs(index, attrs); !ok)
        return Unexpected(invalidArgument("argument '", arg.name(), "': ", ok.error().message));
      argTypes.append({type, state.dialect->controlType});
      argAttrs.append({attrs.getDictionary(state.context), builder.getDictionaryAttr({})});
    }
    for (const pb::OpDef::ArgDef &arg : signature.output_arg()) {
      Type type = TREADLE_TRY(convertType(arg));
      NamedAttrList attrs = TREADLE_TRY(convertArg(arg));
      resultTypes.push_back(type);
      resultAttrs.push_back(attrs.getDictionary(state.context));
    }
    func = tfg::FuncOp::create(builder, state.location, signature.name(),
                               builder.getFunctionType(argTypes, resultTypes), generic);
    func.setArgAttrsAttr(builder.getArrayAttr(argAttrs));
    func.setResAttrsAttr(builder.getArrayAttr(resultAttrs));
    return {};
  }

  /// {name = {function_type = "type", default_value = ...}}, as far as they are known.
  Expected<void> convertAttrDefs() {
    NamedAttrList defs;
    for (const pb::OpDef::AttrDef &attr : signature.attr()) {
      if (attr.name().empty())
        return Unexpected(invalidArgument("an attribute of its signature has an empty name, "
                                          "expected every attribute to have one"));
      NamedAttrList def;
      addString(def, "function_type", attr.type());
      addString(def, "description", attr.description());
      if (attr.has_minimum())
        def.append("minimum", builder.getI32IntegerAttr(static_cast<int32_t>(attr.minimum())));
      for (auto [key, has, value] :
           {std::tuple("default_value", attr.has_default_value(), &attr.default_value()),
            std::tuple("allowed_values", attr.has_allowed_values(), &attr.allowed_values())}) {
        if (!has)
          continue;
        Attribute converted = TREADLE_TRY(state.attributes.convert(*value));
        def.append(key, converted);
      }
      defs.set(attr.name(), def.getDictionary(state.context));
    }
    if (!defs.empty())
      func->setAttr(funcAttrsKey, defs.getDictionary(state.context));
    return {};
  }

  Expected<void> convertFunctionAttrs() {
    DictionaryAttr attrs = TREADLE_TRY(state.attributes.convert(function.attr()));
    for (NamedAttribute attr : attrs)
      func->setDiscardableAttr((attrPrefix + attr.getName().getValue()).str(), attr.getValue());
    if (!signature.description().empty())
      func.setDescription(signature.description());
    func.setIsStateful(signature.is_stateful());
    if (function.resource_arg_unique_id_size() != 0)
      convertResourceIds();
    return convertAttrDefs();
  }

  void convertResourceIds() {
    std::map<uint32_t, uint32_t> sorted(function.resource_arg_unique_id().begin(),
                                        function.resource_arg_unique_id().end());
    SmallVector<int32_t> keys, values;
    for (auto [key, value] : sorted) {
      keys.push_back(static_cast<int32_t>(key));
      values.push_back(static_cast<int32_t>(value));
    }
    func.setResourceArgUniqueIdsKeysAttr(builder.getI32TensorAttr(keys));
    func.setResourceArgUniqueIdsValuesAttr(builder.getI32TensorAttr(values));
  }

  bool isCanonicalReturn(const std::string &source) {
    std::optional<Endpoint> endpoint = parseEndpoint(source);
    if (!endpoint || endpoint->output.empty() != !endpoint->hasIndex)
      return false;
    if (!endpoint->output.empty())
      return endpoint->isPlainIndex;
    // In a generic function, a bare name may also be a node.
    return generic || argumentNames.contains(endpoint->node);
  }

  void convertRest() {
    pb::FunctionDef rest;
    copyUnknownFields(function, rest);
    pb::OpDef &restSignature = *rest.mutable_signature();
    copyUnknownFields(signature, restSignature);
    // The dictionary of attribute definitions has no order and lacks some of their fields.
    *restSignature.mutable_attr() = signature.attr();
    if (signature.has_deprecation())
      *restSignature.mutable_deprecation() = signature.deprecation();
    restSignature.set_summary(signature.summary());
    restSignature.set_is_commutative(signature.is_commutative());
    restSignature.set_is_aggregate(signature.is_aggregate());
    restSignature.set_allows_uninitialized_input(signature.allows_uninitialized_input());
    restSignature.set_is_distributed_communication(signature.is_distributed_communication());
    if (restSignature.ByteSizeLong() == 0)
      rest.clear_signature();
    for (const auto &[index, own] : function.arg_attr())
      if (index >= static_cast<uint32_t>(signature.input_arg_size()) || own.attr().empty() ||
          hasUnknownFields(own))
        (*rest.mutable_arg_attr())[index] = own;
    for (const auto &[name, source] : function.ret())
      if (!isCanonicalReturn(source))
        (*rest.mutable_ret())[name] = source;
    if (rest.ByteSizeLong() != 0)
      func->setDiscardableAttr(state.restKey, state.attributes.message("FunctionDef", rest));
  }

  Expected<SmallVector<NodeImporter::Return>> dataReturns() {
    SmallVector<NodeImporter::Return> returns;
    llvm::StringSet<> stated;
    for (auto [arg, type] : llvm::zip(signature.output_arg(), func.getResultTypes())) {
      auto it = function.ret().find(arg.name());
      if (it == function.ret().end())
        return Unexpected(
            invalidArgument("result '", arg.name(), "' has no entry in 'ret', expected one"));
      returns.push_back({arg.name(), it->second, type});
      stated.insert(arg.name());
    }
    for (const auto &[name, source] : function.ret())
      if (!stated.contains(name))
        return Unexpected(invalidArgument("'ret' has an entry for result '", name,
                                          "', which is not in the signature"));
    return returns;
  }

  Expected<SmallVector<NodeImporter::Return>> controlReturns() {
    SmallVector<NodeImporter::Return> returns;
    auto add = [&](const std::string &name, const std::string &source) -> Expected<void> {
      if (source.empty())
        return Unexpected(invalidArgument("control result '", name,
                                          "' has an empty value, expected the name of a node"));
      returns.push_back({name, source, Type()});
      return {};
    };
    for (const std::string &name : signature.control_output()) {
      auto it = function.control_ret().find(name);
      if (it == function.control_ret().end())
        return Unexpected(invalidArgument("control result '", name,
                                          "' has no entry in 'control_ret', expected one"));
      TREADLE_TRY(add(name, it->second));
    }
    // Old graphs omit the control outputs from the signature.
    std::map<std::string, std::string> unlisted;
    for (const auto &[name, source] : function.control_ret())
      if (!controlNames.contains(name))
        unlisted.emplace(name, source);
    if (!unlisted.empty() || generic) {
      SmallVector<StringRef> listed(signature.control_output().begin(),
                                    signature.control_output().end());
      if (!listed.empty() || !unlisted.empty())
        func.setControlOutputAttr(builder.getStrArrayAttr(listed));
    }
    for (const auto &[name, source] : unlisted) {
      auto it = function.control_ret().find(name);
      TREADLE_TRY(add(it->first, it->second));
    }
    return returns;
  }

  Expected<void> convertBody() {
    NodeImporter nodes(state, func.getEntry(), generic ? Scope::GenericFunction : Scope::Function,
                       signature.name());
    for (unsigned i = 0, e = func.getNumDataArguments(); i < e; ++i)
      TREADLE_TRY(nodes.addArgument(func.getDataArgumentName(i), func.getDataArgument(i)));
    for (const pb::NodeDef &node : function.node_def())
      TREADLE_TRY(nodes.addNode(node));
    SmallVector<NodeImporter::Return> data = TREADLE_TRY(dataReturns());
    SmallVector<NodeImporter::Return> control = TREADLE_TRY(controlReturns());
    SmallVector<Attribute> controlAttrs;
    for (const NodeImporter::Return &entry : control)
      controlAttrs.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr(state.dialect->argNameKey, builder.getStringAttr(entry.name))));
    TREADLE_TRY(nodes.addReturn(data, control, builder.getArrayAttr(controlAttrs)));
    return nodes.finish();
  }

  ImportState &state;
  ModuleOp module;
  const pb::FunctionDef &function;
  const pb::OpDef &signature;
  OpBuilder builder;
  bool generic;
  llvm::StringSet<> argumentNames, controlNames;
  tfg::FuncOp func;
};

} // namespace

Expected<tfg::FuncOp> graphdef::importFunctionDef(ImportState &state, ModuleOp module,
                                                  const pb::FunctionDef &function) {
  const std::string &name = function.signature().name();
  if (name.empty())
    return Unexpected(invalidArgument("a function of the library has an empty name, expected every "
                                      "function to have one"));
  Expected<tfg::FuncOp> func = FunctionImporter(state, module, function).run();
  if (!func)
    return Unexpected(
        Error{func.error().code, str("function '", name, "': ", func.error().message)});
  return func;
}
