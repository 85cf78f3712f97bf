#include "treadle/analysis/effects/Effects.h"

#include "treadle/dialect/FunctionNames.h"
#include "treadle/dialect/Regions.h"
#include "treadle/ops/OpTable.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <deque>

using namespace mlir;

namespace treadle::tfg {
namespace {

/// The shared_name of a resource whose handle can't be obtained by other nodes.
constexpr llvm::StringLiteral anonymousName = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

Type elementTypeOf(Value value) { return getElementTypeOrSelf(value.getType()); }

bool isHandle(Value value) {
  Type type = elementTypeOf(value);
  return isa<tf_type::ResourceType, tf_type::VariantType>(type) || tf_type::isReference(type);
}

/// Before resource handles existed, handles were strings.
bool isString(Value value) { return isa<tf_type::StringType>(elementTypeOf(value)); }

StringRef text(Node node, StringRef key) {
  auto attr = node.attr<StringAttr>(key);
  return attr ? attr.getValue() : StringRef();
}

std::string where(Node node) {
  auto function = node->getParentOfType<FuncOp>();
  return function ? (" in '" + function.getName() + "'").str() : "";
}

/// Returns whether the node is a random op without seeds: its results are random in any order.
bool isUnseeded(Node node) {
  auto isZero = [&](StringRef key) {
    auto seed = node.attr<IntegerAttr>(key);
    return seed && seed.getInt() == 0;
  };
  const OpDef *def = lookupOp(node.opType());
  bool hasSeeds = def && def->findAttr("seed") && def->findAttr("seed2");
  return hasSeeds && (isZero("seed") || !node.attr("seed")) &&
         (isZero("seed2") || !node.attr("seed2"));
}

bool isWhile(StringRef op) { return carriesArguments(opKind(op)); }

/// Returns the number of operands before the callee's arguments; nullopt if operands and arguments
/// don't correspond one to one.
std::optional<unsigned> operandsBeforeArguments(StringRef op) {
  const OpDef *def = lookupOp(op);
  int first = def ? def->facts().firstArgument : -1;
  return first < 0 ? std::nullopt : std::optional<unsigned>(first);
}

/// Returns whether data operand `index` is taken as a reference. A reference that isn't is read.
bool takesReference(Node node, unsigned index) {
  const OpDef *def = lookupOp(node.opType());
  if (!def)
    return true;
  for (const ArgDef &input : def->inputs()) {
    bool isList = !input.numberAttr().empty() || !input.typeListAttr().empty();
    if (isList || index == 0)
      return input.isRef();
    --index;
  }
  return false;
}

void sortAndUnique(SmallVectorImpl<Effect> &effects) {
  auto order = [](Effect e) { return std::tuple(e.resource, e.part, e.writes); };
  llvm::sort(effects, [&](Effect a, Effect b) { return order(a) < order(b); });
  effects.erase(llvm::unique(effects), effects.end());
}

} // namespace

// --- resources ----------------------------------------------------------------------------------

ResourceId EffectAnalysis::intern(Resource resource, StringRef key) {
  auto [entry, isNew] = byKey.try_emplace(key, resources.size());
  if (isNew)
    resources.push_back(std::move(resource));
  return entry->second;
}

ResourceId EffectAnalysis::originating(Resource::Kind kind, Operation *origin, unsigned index,
                                       std::string text) {
  auto [entry, isNew] = byOrigin.try_emplace({origin, index}, resources.size());
  if (isNew)
    resources.push_back({kind, std::move(text), origin, index});
  return entry->second;
}

// Arguments with one unique id are one resource, that of the first.
ResourceId EffectAnalysis::argument(FuncOp function, unsigned index) {
  auto keys = function.getResourceArgUniqueIdsKeys();
  auto values = function.getResourceArgUniqueIdsValues();
  if (keys && values) {
    SmallVector<int32_t> args(keys->getValues<int32_t>()), ids(values->getValues<int32_t>());
    auto own = llvm::find(args, static_cast<int32_t>(index));
    if (own != args.end() && args.size() == ids.size())
      for (auto [arg, id] : llvm::zip(args, ids))
        if (id == ids[own - args.begin()] && arg >= 0)
          index = std::min(index, static_cast<unsigned>(arg));
  }
  return originating(Resource::Argument, function, index,
                     ("argument '" + function.getDataArgumentName(index) + "'").str());
}

ResourceId EffectAnalysis::made(Node node, StringRef family) {
  StringRef name = text(node, "shared_name"), container = text(node, "container");
  bool canBeShared = node.attr<StringAttr>("shared_name") != nullptr;
  if (!canBeShared || name == anonymousName || node.opType().starts_with("Anonymous") ||
      family == "stack" || family == "tensor array") {
    ResourceId id = originating(Resource::Created, node.getOperation(), 0,
                                (family + " created by '" + node.name() + "'" + where(node)).str());
    resources[id].hasPlaces = family == "tensor array";
    return id;
  }
  if (name.empty())
    name = node.name();
  std::string key = (family + " '" + name + "'").str();
  if (!container.empty())
    key += (" in container '" + container + "'").str();
  Resource resource{Resource::Named, key};
  resource.isFifo = family == "queue";
  return intern(std::move(resource), key);
}

/// Returns the resource of the array of gradients of an array's elements: a separate object with
/// the same lifetime.
ResourceId EffectAnalysis::gradientsOf(ResourceId array) {
  Resource made = resources[array];
  if (made.kind != Resource::Created || !made.hasPlaces)
    return array;
  ResourceId id =
      originating(made.kind, made.origin, made.argument + 1, "gradients of " + made.text);
  resources[id].hasPlaces = true;
  return id;
}

bool EffectAnalysis::mayAlias(ResourceId a, ResourceId b) const {
  if (a == b)
    return true;
  if (a == world || b == world)
    return false;
  auto isAnything = [&](ResourceId id) {
    return resources[id].kind == Resource::Unknown || anything.contains(id);
  };
  if (isAnything(a) || isAnything(b))
    return true;
  auto others = aliases.find(a);
  return others != aliases.end() && others->second.contains(b);
}

bool EffectAnalysis::conflict(Effect a, Effect b) const {
  if (!(a.writes || b.writes) || !mayAlias(a.resource, b.resource))
    return false;
  bool arePuts = a.part == ResourceEnd::In && b.part == ResourceEnd::In;
  if (arePuts && a.resource == b.resource && resources[a.resource].hasPlaces)
    return false;
  bool meets = static_cast<unsigned>(a.part) & static_cast<unsigned>(b.part);
  return meets || a.resource != b.resource || !resources[a.resource].isFifo;
}

bool EffectAnalysis::add(IdSet &set, ArrayRef<ResourceId> ids) {
  size_t before = set.size();
  for (ResourceId id : ids) {
    auto place = llvm::lower_bound(set, id);
    if (place == set.end() || *place != id)
      set.insert(place, id);
  }
  return set.size() != before;
}

ArrayRef<ResourceId> EffectAnalysis::handles(Value value) const {
  auto entry = held.find(value);
  return entry == held.end() ? ArrayRef<ResourceId>() : entry->second;
}

ArrayRef<Effect> EffectAnalysis::of(Node node) const {
  auto entry = effects.find(node.getOperation());
  return entry == effects.end() ? ArrayRef<Effect>() : entry->second;
}

// --- calls --------------------------------------------------------------------------------------

EffectAnalysis::Call EffectAnalysis::bind(Node node, FuncOp function) {
  Call call{function, {}};
  if (!function || function.isExternal() || function.getGeneric())
    return {};
  bool isByName = functions.contains(node.opType());
  std::optional<unsigned> first = isByName ? 0 : operandsBeforeArguments(node.opType());
  call.binding.resize(function.getNumDataArguments());
  for (unsigned i = 0; i < call.binding.size(); ++i) {
    if (!first) {
      for (Value input : node.data())
        add(call.binding[i], handles(input));
      continue;
    }
    if (*first + i < node.numData())
      add(call.binding[i], handles(node.data()[*first + i]));
    if (isWhile(node.opType()) && i < node.numResults())
      add(call.binding[i], handles(node.results()[i]));
  }
  return call;
}

std::vector<EffectAnalysis::Call> EffectAnalysis::callsOf(Node node) {
  std::vector<Call> calls;
  if (auto function = functions.find(node.opType()); function != functions.end())
    calls.push_back(bind(node, function->second));
  forEachFunctionName(node, [&](StringRef name) {
    if (!name.empty())
      calls.push_back(bind(node, functions.lookup(name)));
  });
  return calls;
}

EffectAnalysis::IdSet EffectAnalysis::substitute(ArrayRef<ResourceId> ids, FuncOp callee,
                                                 const Binding &binding) const {
  IdSet out;
  for (ResourceId id : ids) {
    const Resource &resource = resources[id];
    bool isArgument = resource.kind == Resource::Argument && resource.origin == callee;
    llvm::append_range(out, isArgument ? ArrayRef<ResourceId>(binding[resource.argument])
                                       : ArrayRef<ResourceId>(id));
  }
  llvm::sort(out);
  out.erase(llvm::unique(out), out.end());
  return out;
}

// --- propagation of handles ---------------------------------------------------------------------

EffectAnalysis::IdSet EffectAnalysis::resultHandles(Node node, unsigned index,
                                                    ArrayRef<Call> calls) {
  IdSet out;
  Value result = node.results()[index];
  bool hasStringHandle = llvm::any_of(
      node.data(), [&](Value input) { return isString(input) && !handles(input).empty(); });
  StringRef family = resourceFamily(node.opType());
  if (!isHandle(result) && !(isString(result) && (hasStringHandle || !family.empty())))
    return out;
  if (!family.empty()) {
    add(out, made(node, family));
    return out;
  }
  if (node.opType() == "IdentityN" || isWhile(node.opType())) {
    if (index < node.numData())
      add(out, handles(node.data()[index]));
  }
  if (node.opType() == "IdentityN")
    return out;
  bool isUnknown = !lookupOp(node.opType()) && calls.empty();
  for (const Call &call : calls) {
    if (!call.function) {
      isUnknown = true;
      continue;
    }
    const Summary &summary = summaries[call.function];
    if (index < summary.results.size())
      add(out, substitute(summary.results[index], call.function, call.binding));
  }
  bool isDeferred = lookupEffects(node.opType()).isDeferred;
  if (isDeferred)
    for (const Call &call : calls)
      if (call.function)
        for (Effect effect : summaries[call.function].effects)
          add(out, substitute(effect.resource, call.function, call.binding));
  const OpDef *def = lookupOp(node.opType());
  bool isOfGradients = def && def->facts().returnsGradientAccumulators;
  bool comesFromNowhere = node->getNumOperands() == 0 || (def && def->isStateful());
  if (isUnknown || (calls.empty() && comesFromNowhere && !isDeferred &&
                    isa<tf_type::ResourceType>(elementTypeOf(result)) && !isOfGradients))
    add(out,
        originating(Resource::Unknown, node.getOperation(), 0,
                    ("the resource of the handle from '" + node.name() + "'" + where(node)).str()));
  if (isUnknown || calls.empty() || isDeferred)
    for (Value input : node.data())
      for (ResourceId id : SmallVector<ResourceId>(handles(input)))
        add(out, isOfGradients ? gradientsOf(id) : id);
  return out;
}

// Propagates handles from yields to results and around loops.
bool EffectAnalysis::transferRegions(Node node) {
  bool changed = false;
  auto carry = [&](Value from, Value to) {
    if (IdSet ids(handles(from)); !ids.empty())
      changed |= add(held[to], ids);
  };
  auto carryAll = [&](auto from, auto to) {
    for (auto [source, target] : llvm::zip(from, to))
      carry(source, target);
  };
  auto valuesAtEnd = [&](unsigned region) {
    return Node(&node->getRegion(region).front().back()).data();
  };
  switch (*regionFormOf(node.getOperation())) {
  case RegionForm::If:
  case RegionForm::Case:
    for (unsigned i = 0, e = node->getNumRegions(); i < e; ++i)
      carryAll(valuesAtEnd(i), node.results());
    break;
  case RegionForm::While: {
    Region &condition = node->getRegion(0), &body = node->getRegion(1);
    carryAll(node.data(), dataArguments(condition));
    carryAll(valuesAtEnd(1), dataArguments(condition));
    carryAll(valuesAtEnd(0).drop_front(), dataArguments(body));
    carryAll(valuesAtEnd(0).drop_front(), node.results());
    break;
  }
  case RegionForm::For: {
    auto arguments = dataArguments(node->getRegion(0)).drop_front();
    for (OperandRange values : {node.data().drop_front(3), valuesAtEnd(0)}) {
      carryAll(values, arguments);
      carryAll(values, node.results());
    }
    break;
  }
  }
  return changed;
}

bool EffectAnalysis::transferOnce(Node node) {
  if (hasRegions(node))
    return transferRegions(node);
  // Skips nodes without handles, which most are.
  auto matters = [&](Value value) { return isHandle(value) || isString(value); };
  if (llvm::none_of(node.results(), matters))
    return false;
  std::vector<Call> calls = callsOf(node);
  bool changed = false;
  for (unsigned i = 0, e = node.numResults(); i < e; ++i)
    if (IdSet ids = resultHandles(node, i, calls); !ids.empty())
      changed |= add(held[node.results()[i]], ids);
  return changed;
}

bool EffectAnalysis::transfer(Node node) {
  bool changed = false;
  while (transferOnce(node)) { // results of a While are its arguments as well
    changed = true;
    if (!isWhile(node.opType()))
      break;
  }
  return changed;
}

void EffectAnalysis::flow(Block &body) {
  std::deque<Operation *> work;
  llvm::DenseSet<Operation *> waiting;
  auto push = [&](Operation *op) {
    if (isa<YieldOp, ConditionOp>(op))
      op = op->getParentOp();
    if (Node::isNode(op) && waiting.insert(op).second)
      work.push_back(op);
  };
  auto pushUsers = [&](auto values) {
    for (Value value : values)
      for (Operation *user : value.getUsers())
        push(user);
  };
  body.walk(push);
  while (!work.empty()) {
    Operation *op = work.front();
    work.pop_front();
    waiting.erase(op);
    if (!transfer(Node(op)))
      continue;
    pushUsers(Node(op).results());
    for (Region &region : op->getRegions())
      pushUsers(dataArguments(region));
  }
}

/// An op that gets elements from an iterator accesses the resources that the iterator's dataset
/// uses.
bool EffectAnalysis::noteContents(Node node) {
  if (node.numData() < 2 || !opFacts(node.opType()).startsIterator)
    return false;
  bool changed = false;
  for (ResourceId iterator : handles(node.data()[1]))
    changed |= add(contents[iterator], handles(node.data()[0]));
  return changed;
}

// --- effects ------------------------------------------------------------------------------------

void EffectAnalysis::addHandleEffects(Node node, Access access, EffectSet &out) {
  for (auto [i, input] : llvm::enumerate(node.data())) {
    ArrayRef<ResourceId> ids = handles(input);
    if (ids.empty())
      continue;
    Access here = access;
    if (tf_type::isReference(elementTypeOf(input)) && !takesReference(node, i))
      here = {Access::Read, ResourceEnd::Whole};
    if (here.kind == Access::None)
      continue;
    bool writes = here.kind == Access::Write;
    for (ResourceId id : ids) {
      out.push_back({id, here.part, writes});
      if (auto inside = contents.find(id); writes && inside != contents.end())
        for (ResourceId reached : inside->second)
          out.push_back({reached, ResourceEnd::Whole, true});
    }
  }
}

void EffectAnalysis::addReach(Node node, const OpEffects &known, EffectSet &out) {
  Resource resource{Resource::Named, ""};
  resource.isFifo = true;
  switch (known.reach) {
  case OpEffects::Reach::Nothing:
    return;
  case OpEffects::Reach::World:
    out.push_back({world, ResourceEnd::Whole, known.reached.kind == Access::Write});
    return;
  case OpEffects::Reach::Own:
    if (isUnseeded(node))
      return;
    resource.text = ("the state of '" + node.name() + "'" + where(node)).str();
    break;
  case OpEffects::Reach::Named: {
    StringRef name = text(node, "shared_name");
    resource.text = ("staging area '" + text(node, "container") + "/" +
                     (name.empty() ? node.name() : name) + "'")
                        .str();
    break;
  }
  case OpEffects::Reach::Channel:
    resource.text = ("channel '" + text(node, "tensor_name") + "' from '" +
                     text(node, "send_device") + "' to '" + text(node, "recv_device") + "'")
                        .str();
    break;
  }
  std::string key = resource.text;
  out.push_back(
      {intern(std::move(resource), key), known.reached.part, known.reached.kind == Access::Write});
}

/// Adds the effects that the node's attribute declares. The node may do anything to the resources
/// of its operands.
void EffectAnalysis::addStated(Node node, OpTraitsAttr stated, EffectSet &out) {
  addHandleEffects(node, {Access::Write, ResourceEnd::Whole}, out);
  if (stated.getTouchesWorld().getValue())
    out.push_back({world, ResourceEnd::Whole, true});
  auto add = [&](ArrayAttr names, bool writes) {
    for (auto name : names.getAsRange<StringAttr>()) {
      std::string text = ("resource '" + name.getValue() + "'").str();
      out.push_back({intern({Resource::Named, text}, text), ResourceEnd::Whole, writes});
    }
  };
  add(stated.getReads(), false);
  add(stated.getWrites(), true);
  sortAndUnique(out);
}

EffectAnalysis::EffectSet EffectAnalysis::effectsOf(Node node) {
  EffectSet out;
  if (OpTraitsAttr stated = statedTraits(node); stated && mayDeclareEffects(node.opType())) {
    addStated(node, stated, out);
    return out;
  }
  if (hasRegions(node)) {
    for (Region &region : node->getRegions())
      for (Operation &op : region.front())
        if (Node::isNode(&op))
          llvm::append_range(out, effectsOf(Node(&op)));
    sortAndUnique(out);
    return out;
  }
  std::vector<Call> calls = callsOf(node);
  bool isByName = functions.contains(node.opType());
  OpEffects known = isByName ? OpEffects{} : lookupEffects(node.opType());
  addHandleEffects(node, known.handles, out);
  addReach(node, known, out);
  for (const Call &call : known.isDeferred ? std::vector<Call>{} : calls) {
    if (!call.function) {
      addHandleEffects(node, {Access::Write, ResourceEnd::Whole}, out);
      out.push_back({world, ResourceEnd::Whole, true});
      continue;
    }
    for (Effect effect : summaries[call.function].effects)
      for (ResourceId id : substitute(effect.resource, call.function, call.binding))
        out.push_back({id, effect.part, effect.writes});
  }
  sortAndUnique(out);
  return out;
}

EffectAnalysis::Summary EffectAnalysis::summarize(FuncOp function) {
  Summary summary;
  for (Value result : function.getReturn().getData())
    summary.results.emplace_back(handles(result));
  // A caller only sees a resource that the call creates if it gets a handle to it.
  auto isSeen = [&](ResourceId id) {
    return resources[id].kind != Resource::Created ||
           llvm::any_of(summary.results,
                        [&](const IdSet &ids) { return llvm::is_contained(ids, id); });
  };
  for (Operation &op : function.getEntry())
    if (Node::isNode(&op))
      for (Effect effect : effectsOf(Node(&op)))
        if (isSeen(effect.resource))
          summary.effects.push_back(effect);
  sortAndUnique(summary.effects);
  return summary;
}

// --- aliases ------------------------------------------------------------------------------------

bool EffectAnalysis::addAlias(ResourceId a, ResourceId b) {
  return a != b && aliases[a].insert(b) && aliases[b].insert(a);
}

// Arguments may alias if a call passes the same object to both, or two objects that may be the
// same.
bool EffectAnalysis::noteAliases(const Call &call) {
  llvm::MapVector<ResourceId, SmallVector<ResourceId, 1>> receivers;
  bool changed = false;
  for (auto [i, ids] : llvm::enumerate(call.binding))
    for (ResourceId id : ids) {
      ResourceId arg = argument(call.function, i);
      if (resources[id].kind == Resource::Unknown || anything.contains(id))
        changed |= anything.insert(arg).second;
      if (resources[id].kind == Resource::Named)
        changed |= addAlias(arg, id);
      receivers[id].push_back(arg);
    }
  auto join = [&](ArrayRef<ResourceId> some, ArrayRef<ResourceId> others) {
    for (ResourceId a : some)
      for (ResourceId b : others)
        changed |= addAlias(a, b);
  };
  for (auto &[id, args] : receivers) {
    join(args, args);
    auto known = aliases.find(id);
    if (known == aliases.end())
      continue;
    if (resources[id].kind ==
        Resource::Named) { // its aliases are arguments, of any number of calls
      for (auto &[other, others] : receivers)
        if (aliases.find(id)->second.contains(other))
          join(args, others);
      continue;
    }
    for (ResourceId other : SmallVector<ResourceId>(known->second.begin(), known->second.end())) {
      if (auto others = receivers.find(other); others != receivers.end())
        join(args, others->second);
      // If the caller's argument may be a named resource, so may the callee's argument that it is
      // passed to.
      if (resources[other].kind == Resource::Named)
        join(args, other);
    }
  }
  return changed;
}

// --- the module ---------------------------------------------------------------------------------

std::vector<Block *> EffectAnalysis::bodiesCalleesFirst(ModuleOp module) {
  std::vector<Block *> order;
  llvm::DenseSet<Operation *> entered;
  SmallVector<std::pair<Operation *, bool>> stack; // whether its callees were visited
  auto enter = [&](Operation *op) {
    auto function = dyn_cast_or_null<FuncOp>(op);
    if (function && (function.isExternal() || function.getGeneric()))
      return;
    if (op && entered.insert(op).second)
      stack.push_back({op, false});
  };
  for (Operation &top : *module.getBody()) {
    enter(isa<GraphOp, FuncOp>(top) ? &top : nullptr);
    while (!stack.empty()) {
      auto &[op, isDone] = stack.back();
      Block &body = op->getRegion(0).front();
      if (isDone) {
        order.push_back(&body);
        stack.pop_back();
        continue;
      }
      isDone = true;
      body.walk([&](Operation *node) {
        forEachCallee(node, [&](StringRef name) { enter(functions.lookup(name)); });
      });
    }
  }
  return order;
}

// Callers and callees depend on each other if functions recurse: iterates to a fixed point.
void EffectAnalysis::summarizeAll(ArrayRef<Block *> bodies) {
  for (bool changed = true; changed;) {
    changed = false;
    for (Block *body : bodies) {
      flow(*body);
      body->walk([&](Operation *op) { changed |= Node::isNode(op) && noteContents(Node(op)); });
      auto function = dyn_cast<FuncOp>(body->getParentOp());
      if (!function)
        continue;
      Summary summary = summarize(function);
      if (summary == summaries[function])
        continue;
      summaries[function] = std::move(summary);
      changed = true;
    }
  }
}

EffectAnalysis::EffectAnalysis(ModuleOp module) {
  intern({Resource::World, "the world"}, "the world");
  for (FuncOp function : module.getOps<FuncOp>()) {
    functions[function.getName()] = function;
    if (function.isExternal() || function.getGeneric())
      continue;
    for (unsigned i = 0, e = function.getNumDataArguments(); i < e; ++i)
      if (Value arg = function.getDataArgument(i); isHandle(arg))
        add(held[arg], argument(function, i));
  }
  std::vector<Block *> bodies = bodiesCalleesFirst(module);
  summarizeAll(bodies);
  std::vector<Call> calls;
  for (Block *body : bodies)
    body->walk([&](Operation *op) {
      if (!Node::isNode(op))
        return;
      if (EffectSet set = effectsOf(Node(op)); !set.empty())
        effects[op] = std::move(set);
      for (Call &call : callsOf(Node(op)))
        if (call.function)
          calls.push_back(std::move(call));
    });
  for (bool changed = true; changed;) {
    changed = false;
    for (const Call &call : calls)
      changed |= noteAliases(call);
  }
}

} // namespace treadle::tfg
