#include "treadle/transforms/tfg_to_tf_executor/Attributes.h"

#include "treadle/import/DerivedAttributes.h"
#include "treadle/import/TfOps.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

// --- nodes that tf_executor can represent ------------------------------------------------------

static bool isTensorOf(Value value, unsigned width) {
  return getElementTypeOrSelf(value.getType()).isSignlessInteger(width);
}

/// Returns whether the types fit: `Enter` returns no reference, `RefEnter` does.
static bool forwards(tfg::Node node, Value input, Value output) {
  auto isRef = [](Value value) { return tf_type::isReference(getElementTypeOrSelf(value)); };
  return isa<TensorType>(input.getType()) && isa<TensorType>(output.getType()) &&
         tf_type::areCompatible(input.getType(), output.getType()) &&
         isRef(output) == node.opType().starts_with("Ref") && (isRef(input) || !isRef(output));
}

static bool isForwarding(tfg::Node node, unsigned numInputs, unsigned numResults) {
  return node.numData() == numInputs && node.numResults() == numResults &&
         llvm::all_of(node.results(),
                      [&](Value output) { return forwards(node, node.data()[0], output); });
}

template <typename Attr> static bool isAbsentOr(tfg::Node node, StringRef key) {
  return !node.attr(key) || node.attr<Attr>(key);
}

static bool isValidSwitchN(tfg::Node node) {
  auto numOuts = node.attr<IntegerAttr>("num_outs");
  return node.numResults() != 0 && isForwarding(node, 2, node.numResults()) && numOuts &&
         numOuts.getType().isSignlessInteger(64) && numOuts.getInt() == node.numResults() &&
         isTensorOf(node.data()[1], 32);
}

static bool fitsMerge(tfg::Node node) {
  return node.numData() != 0 && node.numResults() == 2 && isTensorOf(node.results()[1], 32) &&
         llvm::all_of(node.data(),
                      [&](Value input) { return forwards(node, input, node.results()[0]); });
}

static bool fitsEnter(tfg::Node node) {
  auto parallel = node.attr<IntegerAttr>("parallel_iterations");
  return isForwarding(node, 1, 1) && node.attr<StringAttr>("frame_name") &&
         isAbsentOr<BoolAttr>(node, "is_constant") &&
         isAbsentOr<IntegerAttr>(node, "parallel_iterations") &&
         (!parallel || parallel.getType().isSignlessInteger(64));
}

StringRef treadle::executorFormOf(tfg::Node node) {
  StringRef op = executorOp(node.opType());
  using Fits = bool (*)(tfg::Node);
  const std::pair<StringRef, Fits> rows[] = {
      {"Switch", [](tfg::Node n) { return isForwarding(n, 2, 2) && isTensorOf(n.data()[1], 1); }},
      {"_SwitchN", isValidSwitchN},
      {"Merge", fitsMerge},
      {"Enter", fitsEnter},
      {"Exit", [](tfg::Node n) { return isForwarding(n, 1, 1); }},
      {"NextIteration", [](tfg::Node n) { return isForwarding(n, 1, 1); }},
      {"LoopCond",
       [](tfg::Node n) {
         return n.numData() == 1 && n.numResults() == 1 && isTensorOf(n.data()[0], 1) &&
                isTensorOf(n.results()[0], 1);
       }},
      {"ControlTrigger", [](tfg::Node n) { return n.numData() == 0 && n.numResults() == 0; }}};
  for (auto [name, fits] : rows)
    if (name == op)
      return fits(node) ? op : StringRef();
  return {};
}

// --- attributes ---------------------------------------------------------------------------------

/// Returns the node's own attributes and its device.
static NamedAttrList ownAttrs(tfg::Node node) {
  NamedAttrList attrs;
  for (NamedAttribute attr : node.attrs())
    if (attr.getName() != node.dialect().nameKey && attr.getName() != node.dialect().deviceKey)
      attrs.append(attr);
  Builder builder(node->getContext());
  // TensorFlow always has a device attribute.
  attrs.set("device", builder.getStringAttr(node.device()));
  return attrs;
}

/// Lists the attributes that types imply or that have a default in tf_executor, but that the node
/// omits.
static void listOmitted(tfg::Node node, const NamedAttrList &derived, ArrayRef<StringRef> others,
                        NamedAttrList &attrs) {
  Builder builder(node->getContext());
  SmallVector<Attribute> omitted;
  for (NamedAttribute attr : derived)
    if (!node.attr(attr.getName()))
      omitted.push_back(attr.getName());
  for (StringRef key : others)
    if (!node.attr(key))
      omitted.push_back(builder.getStringAttr(key));
  if (!omitted.empty())
    attrs.set(omittedKey, builder.getArrayAttr(omitted));
}

static NamedAttrList derive(const OpDef &def, tfg::Node node, const NamedAttrList &stated) {
  return deriveAttributes(def, node.data().getTypes(), node.results().getTypes(), stated,
                          node->getContext());
}

NamedAttrList treadle::executorAttrsOf(tfg::Node node) {
  NamedAttrList attrs = ownAttrs(node);
  NamedAttrList derived;
  if (const OpDef *def = lookupOp(node.opType()))
    derived = derive(*def, node, attrs);
  bool isEnter = executorOp(node.opType()) == "Enter";
  SmallVector<StringRef> withDefault;
  if (isEnter)
    withDefault = {"is_constant", "parallel_iterations"};
  listOmitted(node, derived, withDefault, attrs);
  return attrs;
}

/// Removes attributes that the importer derives again, and adds the segment sizes that this needs.
static void dropDerived(const OpDef &def, tfg::Node node, NamedAttrList &attrs) {
  NamedAttrList kept = attrs;
  if (auto sizes = segmentSizes(def.inputs(), attrs, node->getContext()))
    kept.set(operandSegmentsKey, sizes);
  if (auto sizes = segmentSizes(def.outputs(), attrs, node->getContext()))
    kept.set(resultSegmentsKey, sizes);
  for (NamedAttribute attr : derive(def, node, kept))
    if (attrs.get(attr.getName()) == attr.getValue())
      kept.erase(attr.getName());
  // The remaining attributes must determine all others.
  NamedAttrList derived = derive(def, node, kept);
  bool isComplete = llvm::all_of(attrs, [&](NamedAttribute attr) {
    return kept.get(attr.getName()) || derived.get(attr.getName()) == attr.getValue();
  });
  if (isComplete)
    attrs = std::move(kept);
  listOmitted(node, derived, {}, attrs);
}

/// Converts #tf_type.func<@f, {}> to @f, in lists too; returns other attributes unchanged.
static Attribute toSymbol(Attribute attr) {
  if (auto func = dyn_cast<tf_type::FuncAttr>(attr)) {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(func.getName());
    return symbol && !symbol.getValue().empty() && func.getAttrs().empty() ? Attribute(symbol)
                                                                           : attr;
  }
  auto list = dyn_cast<ArrayAttr>(attr);
  if (!list || list.empty() || !llvm::all_of(list, llvm::IsaPred<tf_type::FuncAttr>))
    return attr;
  return ArrayAttr::get(attr.getContext(), llvm::map_to_vector(list, toSymbol));
}

/// Converts {f = #tf_type.func<@f, {x = 1}>} to {f = @f, f.x = 1}.
static void splitFuncs(NamedAttrList &attrs) {
  NamedAttrList result;
  for (NamedAttribute attr : attrs) {
    auto func = dyn_cast<tf_type::FuncAttr>(attr.getValue());
    std::string prefix = (attr.getName().getValue() + ".").str();
    bool isTaken = llvm::any_of(attrs, [&](NamedAttribute other) {
      return other.getName().getValue().starts_with(prefix);
    });
    if (!func || func.getAttrs().empty() || isTaken || attr.getName().getValue().contains('.')) {
      result.append(attr.getName(), toSymbol(attr.getValue()));
      continue;
    }
    Attribute bare = toSymbol(tf_type::FuncAttr::get(func.getContext(), func.getName(),
                                                     DictionaryAttr::get(func.getContext())));
    if (isa<tf_type::FuncAttr>(bare)) {
      result.append(attr);
      continue;
    }
    result.append(attr.getName(), bare);
    for (NamedAttribute own : func.getAttrs())
      result.append(prefix + own.getName().str(), own.getValue());
  }
  attrs = std::move(result);
}

TfForm treadle::tfFormOf(tfg::Node node, const llvm::StringSet<> &functions) {
  Builder builder(node->getContext());
  TfForm form{node.opType().str(), ownAttrs(node)};
  const OpDef *def = functions.contains(form.op) ? nullptr : lookupOp(form.op);
  if (def)
    dropDerived(*def, node, form.attrs);
  splitFuncs(form.attrs);
  if (functions.contains(form.op) && !node.attr("f")) {
    form.attrs.append("f", FlatSymbolRefAttr::get(builder.getContext(), form.op));
    form.op = legacyCallOp;
  }
  StringRef twin = form.op;
  bool isStateless = twin.consume_front("Stateless");
  if (hasStatelessVariant(twin) && !node.attr("is_stateless")) {
    form.attrs.append("is_stateless", builder.getBoolAttr(isStateless));
    form.op = twin.str();
  }
  return form;
}
