#include "treadle/analysis/conformance/Conformance.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/tensor/Error.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

constexpr StringRef kindNames[] = {"string", "int",   "float",  "bool",
                                   "type",   "shape", "tensor", "func"};

/// Returns the kind of a single value; nullopt for serialized attributes, which may be of any kind.
std::optional<AttrKind> kindOf(Attribute attr) {
  if (isa<StringAttr>(attr))
    return AttrKind::String;
  if (isa<BoolAttr>(attr))
    return AttrKind::Bool;
  if (isa<IntegerAttr>(attr))
    return AttrKind::Int;
  if (isa<FloatAttr>(attr))
    return AttrKind::Float;
  if (isa<mlir::TypeAttr>(attr))
    return AttrKind::Type;
  if (isa<tf_type::ShapeAttr>(attr))
    return AttrKind::Shape;
  if (isa<ElementsAttr, tf_type::TensorProtoAttr>(attr))
    return AttrKind::Tensor;
  if (isa<tf_type::FuncAttr>(attr))
    return AttrKind::Func;
  return std::nullopt;
}

bool isUndecided(Attribute attr) {
  return isa<tf_type::PlaceholderAttr, tf_type::MessageAttr>(attr);
}

DType dtypeOf(Type type) {
  return type ? valueTypeOf(getElementTypeOrSelf(type)).dtype : DType::Invalid;
}

std::string textOf(const AttrDef &def, const AttrConstant &value) {
  return std::string(def.kind() == AttrKind::Type ? dtypeName(value.asType()) : value.asString());
}

bool isAllowed(const AttrDef &def, const AttrConstant &allowed, Attribute value) {
  if (auto type = dyn_cast<mlir::TypeAttr>(value))
    return allowed.asType() == dtypeOf(type.getValue());
  auto text = dyn_cast<StringAttr>(value);
  return !text || StringRef(allowed.asString()) == text.getValue();
}

std::string plural(int64_t count, StringRef thing) {
  return str(count, " ", thing.str(), count == 1 ? "" : "s");
}

class NodeChecker {
public:
  NodeChecker(Node node, const OpDef &def, int producer, bool isGeneric)
      : node(node), def(def), producer(producer), isGeneric(isGeneric) {}

  std::vector<std::string> check() {
    if (int since = def.deprecatedSince(); since && producer >= since)
      add("the op was removed in graph version ", since, ", and the graph has version ", producer);
    for (const AttrDef &attr : def.attrs())
      checkAttr(attr);
    for (NamedAttribute attr : node.attrs())
      if (StringRef name = attr.getName(); !tfg::isAboutNode(name) && !def.findAttr(name))
        add("attribute '", name.str(),
            "' isn't one of the op's attributes; those that only mean something to "
            "tools begin with '_'");
    if (isGeneric || !problems.empty())
      return std::move(problems);
    checkValues(def.inputs(), TypeRange(node.data()), "input");
    checkValues(def.outputs(), TypeRange(node.results()), "output");
    return std::move(problems);
  }

private:
  template <typename... Parts> void add(Parts &&...parts) {
    problems.push_back(str(std::forward<Parts>(parts)...));
  }

  Attribute attr(std::string_view name) const { return node.attr(StringRef(name)); }

  void checkAttr(const AttrDef &attrDef) {
    Attribute value = attr(attrDef.name());
    if (!value || isa<UnitAttr>(value)) {
      if (value || !attrDef.hasDefault())
        add("attribute '", attrDef.name(), "' (", attrDef.kindName(), ") is missing",
            value ? ": it has no value" : "");
      return;
    }
    if (isUndecided(value))
      return;
    auto list = dyn_cast<ArrayAttr>(value);
    if (attrDef.isList() != (list != nullptr)) {
      std::optional<AttrKind> kind = list ? std::nullopt : kindOf(value);
      if (list || kind)
        add("attribute '", attrDef.name(), "' is ",
            list ? "a list" : str("one ", kindNames[static_cast<int>(*kind)].str()), ", expected ",
            attrDef.kindName());
      return;
    }
    for (Attribute element : list ? list.getValue() : ArrayRef<Attribute>(value))
      if (!checkValue(attrDef, element))
        return;
    if (auto minimum = attrDef.minimum()) {
      auto number = dyn_cast<IntegerAttr>(value);
      if (list && static_cast<int64_t>(list.size()) < *minimum)
        add("attribute '", attrDef.name(), "' has ", plural(list.size(), "element"),
            ", expected at least ", *minimum);
      else if (number && number.getInt() < *minimum)
        add("attribute '", attrDef.name(), "' is ", number.getInt(), ", expected at least ",
            *minimum);
    }
  }

  bool checkValue(const AttrDef &attrDef, Attribute value) {
    std::optional<AttrKind> kind = kindOf(value);
    if (!kind || isUndecided(value))
      return true;
    if (*kind != attrDef.kind()) {
      add("attribute '", attrDef.name(), "' is a ", kindNames[static_cast<int>(*kind)].str(),
          ", expected ", attrDef.kindName());
      return false;
    }
    if (*kind != AttrKind::Type && *kind != AttrKind::String)
      return true;
    if (attrDef.allowedValues().empty() ||
        llvm::any_of(attrDef.allowedValues(), [&](const AttrConstant &allowed) {
          return isAllowed(attrDef, allowed, value);
        }))
      return true;
    std::string expected;
    for (const AttrConstant &allowed : attrDef.allowedValues())
      expected += (expected.empty() ? "" : ", ") + textOf(attrDef, allowed);
    auto type = dyn_cast<mlir::TypeAttr>(value);
    add("attribute '", attrDef.name(), "' is '",
        type ? std::string(dtypeName(dtypeOf(type.getValue())))
             : cast<StringAttr>(value).getValue().str(),
        "', expected one of ", expected);
    return false;
  }

  void checkValues(std::span<const ArgDef> args, TypeRange types, StringRef what) {
    size_t next = 0;
    for (const ArgDef &arg : args)
      for (ValueType type :
           argumentTypes(def, arg, [&](StringRef name) { return node.attr(name); })) {
        DType expected = type.dtype;
        if (next < types.size()) {
          DType found = dtypeOf(types[next]);
          bool isKnown = expected != DType::Invalid && found != DType::Invalid;
          if (isKnown && found != expected)
            add(what.str(), " ", next, " ('", arg.name(), "') is ", dtypeName(found), ", expected ",
                dtypeName(expected));
        }
        ++next;
      }
    if (next != types.size())
      add("it has ", plural(types.size(), what), ", expected ", next);
  }

  Node node;
  const OpDef &def;
  int producer;
  bool isGeneric;
  std::vector<std::string> problems;
};

size_t countOf(const OpDef &def, const ArgDef &arg, function_ref<Attribute(StringRef)> attr) {
  if (arg.numberAttr().empty())
    return 1;
  if (auto number = dyn_cast_or_null<IntegerAttr>(attr(arg.numberAttr())))
    return std::max<int64_t>(number.getInt(), 0);
  const AttrDef *attrDef = def.findAttr(arg.numberAttr());
  return attrDef && attrDef->hasDefault() ? attrDef->defaultValues()[0].asInt() : 0;
}

/// Returns the types in a type attribute or a list of types; an Invalid dtype if unknown.
std::vector<ValueType> typesIn(const OpDef &def, std::string_view name, Attribute value) {
  std::vector<ValueType> types;
  auto add = [&](Attribute element) {
    auto type = dyn_cast_or_null<mlir::TypeAttr>(element);
    types.push_back(type ? valueTypeOf(type.getValue()) : ValueType{});
  };
  if (auto list = dyn_cast_or_null<ArrayAttr>(value)) {
    llvm::for_each(list, add);
    return types;
  }
  const AttrDef *attrDef = def.findAttr(name);
  if (!value && attrDef && attrDef->hasDefault())
    for (const AttrConstant &constant : attrDef->defaultValues())
      types.push_back({constant.asType()});
  else
    add(value);
  return types;
}

} // namespace

std::vector<ValueType> argumentTypes(const OpDef &def, const ArgDef &arg,
                                     function_ref<Attribute(StringRef)> attr) {
  std::vector<ValueType> types;
  if (!arg.typeListAttr().empty())
    types = typesIn(def, arg.typeListAttr(), attr(arg.typeListAttr()));
  else if (arg.type() != DType::Invalid)
    types.assign(countOf(def, arg, attr), {arg.type()});
  else {
    std::vector<ValueType> one = typesIn(def, arg.typeAttr(), attr(arg.typeAttr()));
    types.assign(countOf(def, arg, attr), one.empty() ? ValueType{} : one.front());
  }
  for (ValueType &type : types)
    type.isRef |= arg.isRef();
  return types;
}

std::vector<Finding> checkConformance(ModuleOp module, size_t limit) {
  std::vector<Finding> findings;
  llvm::StringSet<> functions;
  int producer = 0;
  for (FuncOp function : module.getOps<FuncOp>())
    functions.insert(function.getName());
  for (GraphOp graph : module.getOps<GraphOp>())
    producer = graph.getVersion().getProducer();
  llvm::StringSet<> unknownOps;
  module.walk([&](Operation *op) {
    if (!Node::isNode(op) || findings.size() >= limit)
      return;
    Node node(op);
    auto function = op->getParentOfType<FuncOp>();
    bool isGeneric = function && function.getGeneric();
    if (functions.contains(node.opType()) || op->getNumRegions() != 0)
      return;
    const OpDef *def = lookupOp(node.opType());
    if (!def) {
      if (unknownOps.insert(node.opType()).second)
        findings.push_back(
            {node,
             str("op '", node.opType().str(), "' is neither known nor a function of the graph"),
             /*isNote=*/true});
      return;
    }
    for (std::string &problem : NodeChecker(node, *def, producer, isGeneric).check())
      findings.push_back({node, std::move(problem), false});
  });
  return findings;
}

} // namespace treadle::tfg
