#include "treadle/import/TfOps.h"

#include "treadle/import/DerivedAttributes.h"
#include "treadle/import/LoopInvariants.h"
#include "treadle/ops/OpTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

namespace {

constexpr StringLiteral statelessKey = "is_stateless";
constexpr StringLiteral deviceKey = "device";
constexpr StringLiteral calleeKey = "f";

/// Whether only TensorFlow's dialects have the attribute.
bool isForeign(StringRef op, StringRef key) {
  return key == notConstantKey || key == operandSegmentsKey || key == resultSegmentsKey ||
         key == omittedKey || (op == "While" && key == "shape_invariant") ||
         (op == "StringFormat" && key == "strtemplate");
}

} // namespace

bool graphdef::hasStatelessVariant(StringRef op) {
  const OpDef *def = lookupOp(op);
  return def && StringRef(def->statelessTwin()) == ("Stateless" + op).str();
}

StringRef graphdef::executorOp(StringRef op) {
  OpKind kind = opKind(op);
  if (op != "ControlTrigger" && (!isV1ControlFlow(kind) || op == "_XlaMerge"))
    return {};
  op.consume_front("Ref");
  return op;
}

// --- names --------------------------------------------------------------------------------------

static void collectNames(Location location, SmallVectorImpl<StringRef> &names) {
  if (auto named = dyn_cast<NameLoc>(location)) {
    // "Const:" is the op, not the node.
    StringRef name = named.getName().getValue().split('@').first;
    if (!name.empty() && !name.ends_with(":"))
      names.push_back(name);
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    collectNames(call.getCallee(), names);
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      collectNames(part, names);
  }
}

std::string graphdef::nameInLocation(Location location) {
  SmallVector<StringRef> names;
  collectNames(location, names);
  std::string name = llvm::join(names, ";");
  // Inputs use `:` to name outputs and `^` for control dependencies.
  llvm::replace(name, ':', '.');
  if (StringRef(name).starts_with("^"))
    name.front() = '.';
  return name;
}

std::string LocationNames::stated(StringRef name) {
  return taken.insert(name).second ? name.str() : numbered(name);
}

std::string LocationNames::made(StringRef base) {
  return !reserved.contains(base) && taken.insert(base).second ? base.str() : numbered(base);
}

std::string LocationNames::numbered(StringRef base) {
  std::string name;
  do
    name = (base + Twine(++counts[base])).str();
  while (reserved.contains(name) || !taken.insert(name).second);
  return name;
}

// --- attributes ---------------------------------------------------------------------------------

static NamedAttrList allAttrs(Operation *op) {
  NamedAttrList attrs(op->getAttrDictionary());
  // <{...}> of an unregistered operation.
  if (!op->isRegistered())
    if (auto properties = dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
      for (NamedAttribute attr : properties)
        attrs.set(attr.getName(), attr.getValue());
  return attrs;
}

/// @f -> #tf_type.func<@f, {}>, in lists too.
static Attribute toFunc(Attribute attr, DictionaryAttr attrs) {
  if (auto symbol = dyn_cast<SymbolRefAttr>(attr))
    return tf_type::FuncAttr::get(attr.getContext(), symbol, attrs);
  auto list = dyn_cast<ArrayAttr>(attr);
  if (!list || !llvm::any_of(list, llvm::IsaPred<SymbolRefAttr>))
    return attr;
  auto convert = [&](Attribute element) { return toFunc(element, attrs); };
  return ArrayAttr::get(attr.getContext(), llvm::map_to_vector(list, convert));
}

/// {f = @f, f.x = 1} -> {f = #tf_type.func<@f, {x = 1}>}
static NamedAttrList withFuncs(const NamedAttrList &attrs, MLIRContext *context) {
  llvm::StringMap<NamedAttrList> ofFuncs;
  NamedAttrList result;
  for (NamedAttribute attr : attrs) {
    auto [func, key] = attr.getName().getValue().split('.');
    if (!key.empty() && isa_and_nonnull<SymbolRefAttr>(attrs.get(func)))
      ofFuncs[func].append(key, attr.getValue());
    else
      result.append(attr);
  }
  for (NamedAttribute &attr : result) {
    auto it = ofFuncs.find(attr.getName().getValue());
    DictionaryAttr own =
        it == ofFuncs.end() ? DictionaryAttr::get(context) : it->second.getDictionary(context);
    attr.setValue(toFunc(attr.getValue(), own));
  }
  return result;
}

/// Adds the attributes that the types determine. A tensor type isn't valid where a dtype is
/// expected.
static void complete(NodeParts &parts, const NamedAttrList &stated, TypeRange inputs,
                     TypeRange outputs, MLIRContext *context) {
  const OpDef *def = lookupOp(parts.op);
  if (!def)
    return;
  auto omitted = dyn_cast_or_null<ArrayAttr>(stated.get(omittedKey));
  for (NamedAttribute attr : deriveAttributes(*def, inputs, outputs, stated, context)) {
    auto type = dyn_cast_or_null<TypeAttr>(parts.attrs.get(attr.getName()));
    bool isStated =
        type ? !isa<TensorType>(type.getValue()) : bool(parts.attrs.get(attr.getName()));
    bool isOmitted = omitted && llvm::is_contained(omitted, Attribute(attr.getName()));
    if (!isStated && !isOmitted)
      parts.attrs.set(attr.getName(), attr.getValue());
  }
}

// --- ops ----------------------------------------------------------------------------------------

static bool isReference(TypeRange types) {
  auto tensor = types.empty() ? TensorType() : dyn_cast<TensorType>(types.front());
  return tensor && tf_type::isReference(tensor.getElementType());
}

/// Returns the node's op as far as the operation's name determines it.
static std::string opOf(Operation *op, TypeRange outputs) {
  if (isa<func::CallOp>(op))
    return "StatefulPartitionedCall";
  if (isa<tf_executor::NextIterationSourceOp>(op))
    return isReference(outputs) ? "RefNextIteration" : "NextIteration";
  StringRef name = op->getName().stripDialect();
  if (isa<tf_executor::TfExecutorDialect>(op->getDialect()) &&
      executorOp("Ref" + name.str()) == name)
    return ((isReference(outputs) ? "Ref" : "") + name).str();
  return name.str();
}

NodeParts graphdef::nodePartsOf(Operation *op, TypeRange inputs, TypeRange outputs,
                                const llvm::StringSet<> &functions) {
  MLIRContext *context = op->getContext();
  auto *dialect = context->getOrLoadDialect<tfg::TfgDialect>();
  NamedAttrList stated = allAttrs(op);
  if (auto call = dyn_cast<func::CallOp>(op)) {
    stated.erase(call.getCalleeAttrName());
    stated.set(calleeKey, call.getCalleeAttr());
  }
  NodeParts parts;
  parts.op = opOf(op, outputs);
  if (auto isStateless = dyn_cast_or_null<BoolAttr>(stated.get(statelessKey));
      isStateless && hasStatelessVariant(parts.op)) {
    stated.erase(statelessKey);
    if (isStateless.getValue())
      parts.op = "Stateless" + parts.op;
  }
  if (auto callee = dyn_cast_or_null<FlatSymbolRefAttr>(stated.get(calleeKey));
      callee && parts.op == legacyCallOp && functions.contains(callee.getValue())) {
    parts.op = callee.getValue().str();
    stated.erase(calleeKey);
  }
  if (auto name = dyn_cast_or_null<StringAttr>(stated.get(dialect->nameKey)))
    parts.name = name.str();
  else
    parts.name = nameInLocation(op->getLoc());
  stated.erase(dialect->nameKey);

  StringRef shortOp = StringRef(parts.op);
  shortOp.consume_front("Stateless");
  for (NamedAttribute attr : withFuncs(stated, context)) {
    StringRef key = attr.getName().getValue();
    if (key == deviceKey && isa<StringAttr>(attr.getValue())) {
      if (!cast<StringAttr>(attr.getValue()).empty())
        parts.attrs.append(dialect->deviceKey, attr.getValue());
    } else if (!isForeign(shortOp, key)) {
      parts.attrs.append(attr);
    }
  }
  if (auto omitted = dyn_cast_or_null<ArrayAttr>(stated.get(omittedKey)))
    for (auto key : omitted.getAsRange<StringAttr>())
      parts.attrs.erase(key);
  if (!functions.contains(parts.op))
    complete(parts, stated, inputs, outputs, context);
  return parts;
}
