// Exports signatures of functions, their attributes and their results.
#include "treadle/export/FunctionDef.h"

#include "treadle/import/Keywords.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

namespace {

/// Exports one function.
class FunctionExporter {
public:
  FunctionExporter(ExportState &state, tfg::FuncOp func, pb::FunctionDef &def)
      : state(state), func(func), def(def), signature(*def.mutable_signature()),
        nodes(state, func.getEntry(), func) {}

  Expected<void> run() {
    for (auto step : {&FunctionExporter::exportSignature, &FunctionExporter::exportAttrs,
                      &FunctionExporter::exportNodes, &FunctionExporter::exportResults,
                      &FunctionExporter::exportControlResults, &FunctionExporter::mergeRest})
      TREADLE_TRY((this->*step)());
    return {};
  }

private:
  static DictionaryAttr dictionary(ArrayAttr attrs, unsigned index) {
    if (attrs && index < attrs.size())
      if (auto dictionary = dyn_cast<DictionaryAttr>(attrs[index]))
        return dictionary;
    return {};
  }

  std::string nameOfResult(unsigned index) {
    DictionaryAttr attrs = dictionary(func.getResAttrsAttr(), index);
    auto name = attrs ? attrs.getAs<StringAttr>(state.dialect->argNameKey) : StringAttr();
    return name ? name.str() : str("result", index);
  }

  Expected<void> exportHandleData(ArrayAttr types, pb::OpDef::ArgDef &arg) {
    for (Attribute attr : types) {
      auto typeAttr = dyn_cast<mlir::TypeAttr>(attr);
      auto type = typeAttr ? dyn_cast<TensorType>(typeAttr.getValue()) : TensorType();
      if (!type)
        return Unexpected(
            invalidArgument("the handle data of '", arg.name(), "' aren't tensor types"));
      auto &data = *arg.add_handle_data();
      pb::DataType dtype = TREADLE_TRY(exportType(type.getElementType()));
      data.set_dtype(dtype);
      exportShape(tf_type::ShapeAttr::get(type), *data.mutable_shape());
    }
    return {};
  }

  Expected<void> exportArgType(Type type, DictionaryAttr attrs, pb::OpDef::ArgDef &arg) {
    if (auto tensor = dyn_cast<TensorType>(type)) {
      Type element = tensor.getElementType();
      arg.set_is_ref(tf_type::isReference(element));
      pb::DataType dtype = TREADLE_TRY(exportType(tf_type::dereference(element)));
      arg.set_type(dtype);
    } else if (auto stated = attrs.getAs<mlir::TypeAttr>(argTypeKey)) {
      pb::DataType dtype = TREADLE_TRY(exportType(stated.getValue()));
      arg.set_type(dtype);
    }
    return {};
  }

  Expected<void> exportArg(const std::string &name, Type type, DictionaryAttr attrs,
                           pb::OpDef::ArgDef &arg) {
    arg.set_name(name);
    if (!attrs)
      attrs = DictionaryAttr::get(state.context);
    TREADLE_TRY(exportArgType(type, attrs, arg));
    auto stringOf = [&](StringRef key) {
      auto attr = attrs.getAs<StringAttr>(key);
      return attr ? attr.str() : std::string();
    };
    arg.set_description(stringOf(argDescriptionKey));
    arg.set_type_attr(stringOf(argTypeAttrKey));
    arg.set_number_attr(stringOf(argNumberAttrKey));
    arg.set_type_list_attr(stringOf(argTypeListAttrKey));
    if (attrs.contains(argIsRefKey))
      arg.set_is_ref(true);
    if (auto fullType = attrs.getAs<tf_type::FullTypeAttr>(argFullTypeKey))
      exportFullType(fullType, *arg.mutable_experimental_full_type());
    if (auto data = attrs.getAs<ArrayAttr>(argHandleDataKey))
      TREADLE_TRY(exportHandleData(data, arg));
    if (Attribute rest = attrs.get(argRestKey))
      return mergeMessage(rest, "ArgDef", arg);
    return {};
  }

  /// Exports the argument's own attributes: they have a prefix, or are in a dictionary if the
  /// function is generic.
  Expected<void> exportArgAttrs(unsigned index, DictionaryAttr attrs) {
    if (!attrs)
      return {};
    if (auto own = attrs.getAs<DictionaryAttr>(argAttrsKey); own && !own.empty())
      if (auto ok = graphdef::exportAttrs(own, *(*def.mutable_arg_attr())[index].mutable_attr());
          !ok)
        return ok;
    for (NamedAttribute attr : attrs) {
      StringRef key = attr.getName().getValue();
      if (!key.consume_front(attrPrefix))
        continue;
      auto &map = *(*def.mutable_arg_attr())[index].mutable_attr();
      TREADLE_TRY(exportAttr(attr.getValue(), map[key.str()]));
    }
    return {};
  }

  Expected<void> exportSignature() {
    signature.set_name(func.getSymName().str());
    signature.set_description(func.getDescription().value_or("").str());
    signature.set_is_stateful(func.getIsStateful());
    for (unsigned i = 0, e = func.getNumDataArguments(); i < e; ++i) {
      DictionaryAttr attrs = dictionary(func.getArgAttrsAttr(), 2 * i);
      BlockArgument argument = func.getDataArgument(i);
      Expected<void> ok = exportArg(nodes.nameOf(argument).str(), argument.getType(), attrs,
                                    *signature.add_input_arg());
      if (ok)
        ok = exportArgAttrs(i, attrs);
      if (!ok)
        return ok;
    }
    for (auto [index, type] : llvm::enumerate(func.getResultTypes()))
      TREADLE_TRY(exportArg(nameOfResult(index), type, dictionary(func.getResAttrsAttr(), index),
                            *signature.add_output_arg()));
    return {};
  }

  Expected<void> exportAttrs() {
    for (NamedAttribute attr : func->getDiscardableAttrs()) {
      StringRef key = attr.getName().getValue();
      if (!key.consume_front(attrPrefix))
        continue;
      if (auto ok = exportAttr(attr.getValue(), (*def.mutable_attr())[key.str()]); !ok)
        return ok;
    }
    auto keys = func.getResourceArgUniqueIdsKeysAttr();
    auto values = func.getResourceArgUniqueIdsValuesAttr();
    if (keys && values)
      for (auto [key, value] : llvm::zip(keys.getValues<int32_t>(), values.getValues<int32_t>()))
        (*def.mutable_resource_arg_unique_id())[static_cast<uint32_t>(key)] =
            static_cast<uint32_t>(value);
    return {};
  }

  Expected<void> exportNodes() {
    for (Operation &op : func.getEntry())
      if (tfg::Node::isNode(&op))
        if (auto ok = nodes.exportNode(tfg::Node(&op), *def.add_node_def()); !ok)
          return ok;
    return {};
  }

  Expected<void> exportResults() {
    for (auto [index, value] : llvm::enumerate(func.getReturn().getData())) {
      std::string source = TREADLE_TRY(nodes.spell(value));
      (*def.mutable_ret())[nameOfResult(index)] = source;
    }
    return {};
  }

  Expected<void> exportControlResults() {
    tfg::ReturnOp returnOp = func.getReturn();
    ArrayAttr stated = func.getControlOutputAttr();
    for (auto [index, value] : llvm::enumerate(returnOp.getControl())) {
      DictionaryAttr attrs = dictionary(returnOp.getControlRetAttrs(), index);
      auto name = attrs ? attrs.getAs<StringAttr>(state.dialect->argNameKey) : StringAttr();
      if (!name && stated && index < stated.size())
        name = cast<StringAttr>(stated[index]);
      std::string source = nodes.nameOf(value).str();
      std::string key = name ? name.str() : source;
      bool isNew = !def.control_ret().contains(key);
      (*def.mutable_control_ret())[key] = source;
      if (!stated && isNew)
        signature.add_control_output(key);
    }
    // Passes may have removed some of them.
    for (Attribute name : stated ? stated.getValue() : ArrayRef<Attribute>())
      if (std::string key = cast<StringAttr>(name).str(); def.control_ret().contains(key))
        signature.add_control_output(key);
    return {};
  }

  /// Exports definitions of attributes that weren't kept as a message.
  Expected<void> exportAttrDefs() {
    auto defs = func->getAttrOfType<DictionaryAttr>(funcAttrsKey);
    if (!defs)
      return {};
    for (NamedAttribute attr : defs) {
      auto &attrDef = *signature.add_attr();
      attrDef.set_name(attr.getName().str());
      auto fields = dyn_cast<DictionaryAttr>(attr.getValue());
      if (!fields)
        continue;
      if (auto type = fields.getAs<StringAttr>("function_type"))
        attrDef.set_type(type.str());
      if (auto description = fields.getAs<StringAttr>("description"))
        attrDef.set_description(description.str());
      if (auto minimum = fields.getAs<IntegerAttr>("minimum")) {
        attrDef.set_has_minimum(true);
        attrDef.set_minimum(minimum.getInt());
      }
      if (Attribute value = fields.get("default_value"))
        TREADLE_TRY(exportAttr(value, *attrDef.mutable_default_value()));
      if (Attribute values = fields.get("allowed_values"))
        TREADLE_TRY(exportAttr(values, *attrDef.mutable_allowed_values()));
    }
    return {};
  }

  /// Restores the original spelling of results that are unchanged.
  void restoreResultSpelling(const pb::FunctionDef &rest) {
    for (auto [index, value] : llvm::enumerate(func.getReturn().getData())) {
      auto it = rest.ret().find(nameOfResult(index));
      if (it != rest.ret().end() && nodes.isSpelling(it->second, value))
        (*def.mutable_ret())[it->first] = it->second;
    }
  }

  Expected<void> mergeRest() {
    pb::FunctionDef rest;
    if (Attribute attr = func->getDiscardableAttr(state.restKey))
      TREADLE_TRY(mergeMessage(attr, "FunctionDef", rest));
    restoreResultSpelling(rest);
    rest.clear_ret();
    if (rest.signature().attr_size() == 0)
      TREADLE_TRY(exportAttrDefs());
    def.MergeFrom(rest);
    return {};
  }

  ExportState &state;
  tfg::FuncOp func;
  pb::FunctionDef &def;
  pb::OpDef &signature;
  NodeExporter nodes;
};

} // namespace

Expected<void> graphdef::exportFunctionDef(ExportState &state, tfg::FuncOp func,
                                           pb::FunctionDef &def) {
  Expected<void> ok = FunctionExporter(state, func, def).run();
  if (!ok)
    return Unexpected(Error{ok.error().code,
                            str("function '", func.getSymName().str(), "': ", ok.error().message)});
  return ok;
}
