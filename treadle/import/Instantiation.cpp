#include "treadle/import/Instantiation.h"

#include "treadle/import/Keywords.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::graphdef;

/// Returns the dictionary of an argument or result of the signature.
static DictionaryAttr dictionaryAt(tfg::FuncOp function, ArrayAttr attrs, unsigned index) {
  if (attrs && index < attrs.size())
    if (auto dictionary = dyn_cast<DictionaryAttr>(attrs[index]))
      return dictionary;
  return DictionaryAttr::get(function.getContext());
}

SmallVector<StringAttr> graphdef::parametersOf(tfg::FuncOp generic) {
  llvm::SmallSetVector<Attribute, 4> found;
  if (auto defs = generic->getAttrOfType<DictionaryAttr>(funcAttrsKey))
    for (NamedAttribute def : defs)
      found.insert(def.getName());
  for (ArrayAttr all : {generic.getArgAttrsAttr(), generic.getResAttrsAttr()})
    for (Attribute one : all ? all.getValue() : ArrayRef<Attribute>())
      for (StringRef key : {argTypeAttrKey, argNumberAttrKey, argTypeListAttrKey})
        if (auto name = cast<DictionaryAttr>(one).getAs<StringAttr>(key))
          found.insert(name);
  for (Operation &op : generic.getEntry())
    for (NamedAttribute attr : op.getDiscardableAttrDictionary())
      attr.getValue().walk([&](tf_type::PlaceholderAttr hole) {
        found.insert(StringAttr::get(generic.getContext(), hole.getValue()));
      });
  SmallVector<StringAttr> names;
  for (Attribute name : found)
    names.push_back(cast<StringAttr>(name));
  llvm::sort(names, [](StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); });
  return names;
}

namespace {

/// One function under construction.
class InstanceBuilder {
public:
  InstanceBuilder(ImportState &state, tfg::FuncOp generic, DictionaryAttr attrs)
      : state(state), generic(generic), builder(generic->getContext()) {
    for (StringAttr parameter : parametersOf(generic))
      if (Attribute value = attrs.get(parameter))
        known.set(parameter, value);
      else if (Attribute value = defaultOf(parameter))
        known.set(parameter, value);
  }

  Expected<tfg::FuncOp> make(StringRef name) {
    builder.setInsertionPointAfter(generic);
    TREADLE_TRY(makeSignature(name));
    llvm::scope_exit discard([&] { function->erase(); });
    TREADLE_TRY(makeNodes());
    TREADLE_TRY(connectNodes());
    TREADLE_TRY(makeReturn());
    discard.release();
    return function;
  }

private:
  /// The values of a list in order; usually one value.
  using Values = SmallVector<Value, 1>;

  Attribute defaultOf(StringAttr parameter) {
    auto defs = generic->getAttrOfType<DictionaryAttr>(funcAttrsKey);
    auto def = defs ? defs.getAs<DictionaryAttr>(parameter) : nullptr;
    return def ? def.get("default_value") : nullptr;
  }

  Expected<Attribute> valueOf(StringRef parameter) {
    if (Attribute value = known.get(parameter))
      return value;
    return Unexpected(invalidArgument("attribute '", parameter.str(),
                                      "' is missing in the call and has no default"));
  }

  //===--- the signature

  Expected<Type> elementType(DictionaryAttr arg) {
    Attribute type = arg.get(argTypeKey);
    if (auto parameter = arg.getAs<StringAttr>(argTypeAttrKey)) {
      Attribute value = TREADLE_TRY(valueOf(parameter));
      type = value;
    }
    if (auto stated = dyn_cast_or_null<mlir::TypeAttr>(type))
      return stated.getValue();
    return Unexpected(
        invalidArgument("has no dtype: the attribute that specifies it isn't a type"));
  }

  Expected<SmallVector<Type>> expand(DictionaryAttr arg) {
    SmallVector<Type> types;
    auto add = [&](Type element) {
      types.push_back(arg.contains(argIsRefKey) ? state.types.referenceTensor(element)
                                                : state.types.tensor(element));
    };
    if (auto parameter = arg.getAs<StringAttr>(argTypeListAttrKey)) {
      Attribute value = TREADLE_TRY(valueOf(parameter));
      auto list = dyn_cast<ArrayAttr>(value);
      if (!list || !llvm::all_of(list, llvm::IsaPred<mlir::TypeAttr>))
        return Unexpected(
            invalidArgument("attribute '", parameter.str(), "' isn't a list of types"));
      for (Attribute type : list)
        add(cast<mlir::TypeAttr>(type).getValue());
      return types;
    }
    Type element = TREADLE_TRY(elementType(arg));
    int64_t count = 1;
    if (auto parameter = arg.getAs<StringAttr>(argNumberAttrKey)) {
      Attribute value = TREADLE_TRY(valueOf(parameter));
      auto number = dyn_cast<IntegerAttr>(value);
      if (!number || number.getInt() < 0 || number.getInt() > maxValues)
        return Unexpected(invalidArgument("attribute '", parameter.str(),
                                          "' isn't a number from 0 to ", maxValues));
      count = number.getInt();
    }
    for (int64_t i = 0; i < count; ++i)
      add(element);
    return types;
  }

  /// Returns the parts of an argument's dictionary that remain once its types are known.
  Expected<DictionaryAttr> closedAttrs(DictionaryAttr arg, StringRef suffix) {
    NamedAttrList closed;
    for (NamedAttribute attr : arg) {
      StringRef key = attr.getName();
      if (key == argTypeKey || key == argTypeAttrKey || key == argNumberAttrKey ||
          key == argTypeListAttrKey || key == argIsRefKey || key == argRestKey)
        continue;
      Attribute value = TREADLE_TRY(substitute(attr.getValue()));
      if (key == argAttrsKey)
        for (NamedAttribute own : cast<DictionaryAttr>(value))
          closed.append((attrPrefix + own.getName().getValue()).str(), own.getValue());
      else
        closed.append(attr.getName(), value);
    }
    if (auto name = arg.getAs<StringAttr>(state.dialect->argNameKey); name && !suffix.empty())
      closed.set(state.dialect->argNameKey, builder.getStringAttr(name.getValue() + suffix));
    return closed.getDictionary(state.context);
  }

  /// Calls `take` with the type and dictionary of each value in a list of arguments.
  Expected<unsigned> expandArg(DictionaryAttr arg, function_ref<void(Type, DictionaryAttr)> take) {
    SmallVector<Type> types = TREADLE_TRY(expand(arg));
    bool isList = arg.contains(argTypeListAttrKey) || arg.contains(argNumberAttrKey);
    for (auto [i, type] : llvm::enumerate(types)) {
      DictionaryAttr attrs = TREADLE_TRY(closedAttrs(arg, isList ? str("_", i) : ""));
      take(type, attrs);
    }
    return types.size();
  }

  Expected<void> makeSignature(StringRef name) {
    SmallVector<Type> argTypes, resultTypes;
    SmallVector<Attribute> argAttrs, resultAttrs;
    SmallVector<unsigned> counts;
    for (unsigned i = 0, e = generic.getNumDataArguments(); i < e; ++i) {
      auto take = [&](Type type, DictionaryAttr attrs) {
        argTypes.append({type, state.dialect->controlType});
        argAttrs.append({attrs, builder.getDictionaryAttr({})});
      };
      auto count = expandArg(dictionaryAt(generic, generic.getArgAttrsAttr(), 2 * i), take);
      if (!count)
        return Unexpected(invalidArgument("argument '", generic.getDataArgumentName(i).str(),
                                          "': ", count.error().message));
      counts.push_back(*count);
    }
    for (unsigned i = 0, e = generic.getResultTypes().size(); i < e; ++i) {
      auto take = [&](Type type, DictionaryAttr attrs) {
        resultTypes.push_back(type);
        resultAttrs.push_back(attrs);
      };
      if (auto ok = expandArg(dictionaryAt(generic, generic.getResAttrsAttr(), i), take); !ok)
        return Unexpected(invalidArgument("result ", i, ": ", ok.error().message));
    }
    function = tfg::FuncOp::create(builder, generic->getLoc(), name,
                                   builder.getFunctionType(argTypes, resultTypes));
    function.setArgAttrsAttr(builder.getArrayAttr(argAttrs));
    function.setResAttrsAttr(builder.getArrayAttr(resultAttrs));
    function.setIsStateful(generic.getIsStateful());
    for (NamedAttribute attr : generic->getDiscardableAttrs())
      if (attr.getName().strref().starts_with(attrPrefix))
        function->setDiscardableAttr(attr.getName(), attr.getValue());
    mapArguments(counts);
    return {};
  }

  void mapArguments(ArrayRef<unsigned> counts) {
    unsigned next = 0;
    for (auto [i, count] : llvm::enumerate(counts)) {
      BlockArgument list = generic.getDataArgument(i);
      Values &tokens = values[tfg::FuncOp::getControlTokenOf(list)];
      Values &data = values[list];
      for (unsigned k = 0; k < count; ++k, ++next) {
        data.push_back(function.getDataArgument(next));
        tokens.push_back(tfg::FuncOp::getControlTokenOf(function.getDataArgument(next)));
      }
    }
  }

  //===--- the body

  /// Returns the attribute with all placeholders substituted.
  Expected<Attribute> substitute(Attribute attr) {
    std::string missing;
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](tf_type::PlaceholderAttr hole) -> std::optional<Attribute> {
      Attribute value = known.get(hole.getValue());
      if (!value)
        missing = hole.getValue().str();
      return value ? std::optional(value) : std::nullopt;
    });
    Attribute filled = replacer.replace(attr);
    if (!missing.empty())
      return Unexpected(valueOf(missing).error());
    return filled;
  }

  Expected<void> makeNode(tfg::Node node) {
    SmallVector<NamedAttribute> attrs;
    for (NamedAttribute attr : node.attrs()) {
      Attribute value = TREADLE_TRY(substitute(attr.getValue()));
      // It holds spellings of the inputs, which change here.
      if (attr.getName() != state.restKey)
        attrs.emplace_back(attr.getName(), value);
    }
    const OpSignature &signature = state.signatures.lookup(node.opType());
    if (!signature.isKnown())
      return Unexpected(invalidArgument("op '", node.opType().str(), "' is unknown"));
    SmallVector<Type> types;
    TREADLE_TRY(state.signatures.checkAttrs(signature, attrs));
    TREADLE_TRY(state.signatures.outputTypes(signature, attrs, types));
    types.push_back(state.dialect->controlType);
    OperationState made(node->getLoc(), node->getName());
    made.addTypes(types);
    made.addAttributes(attrs);
    Operation *op = builder.create(made);
    values[node->getResult(0)].assign(op->result_begin(), std::prev(op->result_end()));
    values[node.controlResult()].push_back(op->getResults().back());
    nodes[node.getOperation()] = op;
    return {};
  }

  Expected<void> makeNodes() {
    builder.setInsertionPointToEnd(&function.getEntry());
    for (Operation &op : generic.getEntry())
      if (tfg::Node::isNode(&op))
        if (Expected<void> ok = makeNode(tfg::Node(&op)); !ok)
          return Unexpected(
              Error(ok.error()).atNode(tfg::Node(&op).name().str(), tfg::Node(&op).opType().str()));
    return {};
  }

  Expected<Value> pick(tfg::GetResultOp op) {
    Operation *from = nodes.lookup(op.getValue().getDefiningOp());
    tfg::Node node(from);
    const OpSignature &signature = state.signatures.lookup(node.opType());
    std::optional<unsigned> index = op.getNumber();
    if (!op.getName().empty()) {
      auto range = state.signatures.outputRange(signature, node.attrs(), op.getName());
      index = range && op.getNumber() < range->size ? std::optional(range->begin + op.getNumber())
                                                    : std::nullopt;
    }
    if (index && *index < node.numResults())
      return from->getResult(*index);
    return Unexpected(invalidArgument("'", node.name().str(), "' (", node.opType().str(),
                                      ") has no output '", op.getName().str(), ":", op.getNumber(),
                                      "'"));
  }

  Expected<void> append(Value outer, SmallVectorImpl<Value> &to) {
    if (auto op = outer.getDefiningOp<tfg::GetResultOp>()) {
      Value value = TREADLE_TRY(pick(op));
      to.push_back(value);
    } else {
      llvm::append_range(to, values[outer]);
    }
    return {};
  }

  Expected<void> connectNode(tfg::Node node, Operation *op) {
    SmallVector<Value> operands;
    for (Value operand : node->getOperands())
      TREADLE_TRY(append(operand, operands));
    op->setOperands(operands);
    SmallVector<Type> expected;
    const OpSignature &signature = state.signatures.lookup(node.opType());
    TREADLE_TRY(state.signatures.inputTypes(signature, tfg::Node(op).attrs(), expected));
    tfg::Node made(op);
    if (expected.size() != made.numData())
      return Unexpected(
          invalidArgument("has ", made.numData(), " data inputs, expected ", expected.size()));
    for (auto [i, value, type] : llvm::enumerate(made.data(), expected))
      if (!tf_type::areCompatible(cast<TensorType>(value.getType()), type))
        return Unexpected(
            invalidArgument("input ", i, " doesn't have the dtype that its op requires"));
    return {};
  }

  Expected<void> connectNodes() {
    for (Operation &op : generic.getEntry())
      if (Operation *inner = nodes.lookup(&op))
        if (Expected<void> ok = connectNode(tfg::Node(&op), inner); !ok)
          return Unexpected(
              Error(ok.error()).atNode(tfg::Node(&op).name().str(), tfg::Node(&op).opType().str()));
    return {};
  }

  Expected<void> makeReturn() {
    SmallVector<Value> data, control;
    for (Value value : generic.getReturn().getData())
      TREADLE_TRY(append(value, data));
    for (Value token : generic.getReturn().getControl())
      control.push_back(values[token].front());
    if (TypeRange(ValueRange(data)) != TypeRange(function.getResultTypes()))
      return Unexpected(invalidArgument("its results don't have the types in its signature"));
    tfg::ReturnOp::create(builder, generic->getLoc(), data, control,
                          generic.getReturn().getControlRetAttrs());
    return {};
  }

  /// Limits the length of lists; longer ones are considered malformed.
  static constexpr int64_t maxValues = 65'536;

  ImportState &state;
  tfg::FuncOp generic, function;
  OpBuilder builder;
  NamedAttrList known;
  llvm::DenseMap<Value, Values> values; // by those of the generic function
  llvm::DenseMap<Operation *, Operation *> nodes;
};

} // namespace

Instantiator::Instantiator(ModuleOp module) : state(module.getContext()) {
  for (auto function : module.getOps<tfg::FuncOp>())
    add(function);
}

Expected<tfg::FuncOp> Instantiator::instantiate(tfg::FuncOp generic, DictionaryAttr attrs,
                                                StringRef name) {
  Expected<tfg::FuncOp> made = InstanceBuilder(state, generic, attrs).make(name);
  if (!made)
    return Unexpected(Error{made.error().code, str("function '", generic.getName().str(),
                                                   "': ", made.error().message)});
  add(*made);
  return made;
}
