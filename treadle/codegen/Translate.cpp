// From the nodes of a function to tensor code.
//
// A value is a scalar of a native type, or a tensor: ranked where its rank is known. Dimensions
// that have to be equal are checked when the code runs; a check that doesn't hold hands the cluster
// back to the interpreter, so that errors, and shapes that nobody foresaw, are its business.
#include "treadle/codegen/Cluster.h"
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/Frame.h"
#include "treadle/codegen/Rc.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/lowering/Lowering.h"
#include "treadle/ops/OpTable.h"
#include "treadle/transforms/constants/Constants.h"
#include "treadle/transforms/outline_clusters/Compilable.h"
#include "treadle/transforms/shape_inference/NodeShapes.h"
#include "treadle/transforms/shape_inference/TypeShapes.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// A value of the graph: what computes it, and what is known of it.
struct Typed {
  Value value;
  KnownValue known;
};

using Values = SmallVector<Typed>;

/// Functions inside functions, beyond which a cluster is left to the interpreter.
constexpr int maxDepth = 32;
/// Register allocation takes more than linear time; a thousand operations are half a second.
constexpr int64_t maxOps = 1000;
/// Attempts to find types that a loop's variables keep.
constexpr int maxRounds = 8;

class Translator {
public:
  Translator(const FindFunction &find, MLIRContext &context)
      : find(find), b(&context), loc(b.getUnknownLoc()) {}

  Expected<TensorProgram> run(tfg::FuncOp function, ArrayRef<ArgumentClass> arguments);

private:
  using Results = Expected<Values>;

  // Functions and control flow.
  Results inlineFunction(tfg::FuncOp function, ArrayRef<Typed> arguments);
  Results translateNode(tfg::Node node, Values inputs);
  Results call(tfg::Node node, Attribute function, ArrayRef<Typed> inputs);
  Results conditional(tfg::Node node, ArrayRef<tfg::FuncOp> branches, size_t branch, Value selector,
                      ArrayRef<Typed> inputs);
  Results loop(tfg::Node node, Values inputs);
  Results iteration(tfg::Node node, scf::WhileOp made, tfg::FuncOp cond, tfg::FuncOp body,
                    ArrayRef<size_t> variables, const Values &now);
  void erase(Operation *op);
  Expected<tfg::FuncOp> functionIn(tfg::Node node, Attribute attr);
  Expected<Value> truth(tfg::Node node, const Typed &condition);

  // Nodes.
  Typed constant(tfg::Node node, const Tensor &tensor);
  Expected<std::optional<Values>> elementwise(tfg::Node node, const Values &inputs);
  Results kernel(tfg::Node node, const Values &inputs);

  // Values.
  Value boxed(Value value);
  Typed unboxed(Value value, KnownValue known);
  Value coerce(Value value, Type type);
  Value dim(Value value, int64_t index);
  Type joined(Type a, Type b);
  void check(Value condition) { rc::CheckOp::create(b, loc, condition); }

  Error unsupported(tfg::Node node, std::string_view why) const {
    return unimplemented(why).atNode(node.name().str(), node.opType().str());
  }

  const FindFunction &find;
  OpBuilder b;
  Location loc;
  tfg::Constants constants;
  ClusterTables tables;
  func::FuncOp cluster;
  DenseMap<std::pair<Value, int64_t>, Value> dims;
  int depth = 0;
};

Type elementOf(Type type) { return getElementTypeOrSelf(type); }
bool isTensor(Type type) { return isa<TensorType>(type); }

// --- values ------------------------------------------------------------------------------------

Value Translator::boxed(Value value) {
  if (isTensor(value.getType()))
    return value;
  return tensor::FromElementsOp::create(b, loc, RankedTensorType::get({}, value.getType()), value);
}

/// Scalars of native types are held in registers.
Typed Translator::unboxed(Value value, KnownValue known) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && type.getRank() == 0 && isNative(type.getElementType()))
    value = tensor::ExtractOp::create(b, loc, value, ValueRange());
  return {value, std::move(known)};
}

/// The value as one of a type that says less; or says more, which is checked.
Value Translator::coerce(Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (!isTensor(type))
    return tensor::ExtractOp::create(b, loc, coerce(value, RankedTensorType::get({}, type)),
                                     ValueRange());
  value = boxed(value);
  if (value.getType() == type)
    return value;
  return tensor::CastOp::create(b, loc, type, value);
}

/// A dimension, told right after the value is made: it is there wherever the value is.
Value Translator::dim(Value value, int64_t index) {
  auto type = cast<RankedTensorType>(value.getType());
  Value &known = dims[{value, index}];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(value);
  if (type.isDynamicDim(index))
    known = tensor::DimOp::create(b, loc, value, index);
  else
    known = arith::ConstantIndexOp::create(b, loc, type.getDimSize(index));
  return known;
}

/// The type that says what both say.
Type Translator::joined(Type a, Type b) {
  if (a == b)
    return a;
  auto shape = [](Type type) { return isTensor(type) ? tfg::shapeOf(type) : Shape::scalar(); };
  return tfg::tensorOf(join(shape(a), shape(b)), elementOf(a));
}

// --- nodes -------------------------------------------------------------------------------------

Typed Translator::constant(tfg::Node node, const Tensor &tensor) {
  KnownValue known = tfg::shapesOf(node, {}).values.front();
  RankedTensorType type = tfg::typeOf(tensor, b.getContext());
  Type element = type.getElementType();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&cluster.front());
  if (type.getRank() == 0 && isNative(element)) {
    TypedAttr attr;
    if (element.isF32())
      attr = b.getF32FloatAttr(tensor.scalarValue<float>());
    else if (element.isF64())
      attr = b.getF64FloatAttr(tensor.scalarValue<double>());
    else if (element.isInteger(1))
      attr = b.getBoolAttr(tensor.scalarValue<bool>());
    else
      attr = b.getIntegerAttr(element, element.isInteger(32) ? tensor.scalarValue<int32_t>()
                                                             : tensor.scalarValue<int64_t>());
    return {arith::ConstantOp::create(b, loc, attr), std::move(known)};
  }
  int32_t index = static_cast<int32_t>(tables.constants.size());
  tables.constants.push_back(tensor);
  return {rc::ConstantOp::create(b, loc, type, index), std::move(known)};
}

/// An op over elements: nothing if this node isn't one that is compiled.
Expected<std::optional<Values>> Translator::elementwise(tfg::Node node, const Values &inputs) {
  if (node.numResults() != 1 || inputs.empty())
    return std::nullopt;
  SmallVector<Type> elements;
  int64_t rank = 0;
  for (const Typed &input : inputs) {
    Type type = input.value.getType();
    if (isa<UnrankedTensorType>(type))
      return std::nullopt;
    if (auto ranked = dyn_cast<RankedTensorType>(type))
      rank = std::max(rank, ranked.getRank());
    elements.push_back(elementOf(type));
  }
  Type result = elementOf(node->getResult(0).getType());
  const ElementwiseOp *op = isNative(result) ? findElementwise(node, elements) : nullptr;
  if (!op)
    return std::nullopt;
  bool areScalars =
      llvm::none_of(inputs, [](const Typed &in) { return isTensor(in.value.getType()); });
  SmallVector<Value> values;
  for (const Typed &input : inputs)
    values.push_back(input.value);
  std::vector<const KnownValue *> known;
  for (const Typed &input : inputs)
    known.push_back(&input.known);
  KnownValue outcome = tfg::shapesOf(node, known).values.front();
  if (areScalars) {
    if (!op->isDefinedForAll(elements[0], result))
      check(op->isDefined(b, loc, values, result));
    return Values{{op->emit(b, loc, values, result), std::move(outcome)}};
  }
  if (!op->isDefinedForAll(elements[0], result))
    return std::nullopt;
  // The first form of Select has a rule of its own for vectors of conditions.
  if (node.opType() == "Select")
    if (auto condition = dyn_cast<RankedTensorType>(values[0].getType());
        condition && condition.getRank() != rank)
      return std::nullopt;

  SmallVector<int64_t> shape(rank, 1);
  SmallVector<Value> sizes(rank);
  // The first input with a dimension that may be other than 1 says how large it is.
  for (Value value : values)
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      for (int64_t i = 0; i < type.getRank(); ++i) {
        int64_t at = rank - type.getRank() + i, size = type.getDimSize(i);
        if (size == 1)
          continue;
        if (!sizes[at]) {
          sizes[at] = dim(value, i);
          shape[at] = size;
          continue;
        }
        bool isKnown = size != ShapedType::kDynamic;
        if (isKnown && shape[at] != ShapedType::kDynamic && shape[at] != size)
          return std::nullopt; // fails
        Value own = dim(value, i);
        if (own != sizes[at] && !(isKnown && shape[at] == size))
          check(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, own, sizes[at]));
        if (isKnown) {
          sizes[at] = own;
          shape[at] = size;
        }
      }
  SmallVector<AffineMap> maps;
  SmallVector<Value> operands;
  for (Value value : values) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      continue; // used as it is
    SmallVector<AffineExpr> exprs;
    for (int64_t i = 0; i < type.getRank(); ++i) {
      int64_t at = rank - type.getRank() + i;
      bool isRepeated = type.getDimSize(i) == 1 && shape[at] != 1;
      exprs.push_back(isRepeated ? b.getAffineConstantExpr(0) : b.getAffineDimExpr(at));
    }
    maps.push_back(AffineMap::get(rank, 0, exprs, b.getContext()));
    operands.push_back(value);
  }
  maps.push_back(b.getMultiDimIdentityMap(rank));
  SmallVector<Value> dynamic;
  for (int64_t i = 0; i < rank; ++i)
    if (shape[i] == ShapedType::kDynamic)
      dynamic.push_back(sizes[i]);
  Value empty = tensor::EmptyOp::create(b, loc, shape, result, dynamic);
  auto generic = linalg::GenericOp::create(
      b, loc, TypeRange(empty.getType()), operands, ValueRange(empty), maps,
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location at, ValueRange arguments) {
        SmallVector<Value> scalars;
        size_t next = 0;
        for (Value value : values)
          scalars.push_back(isTensor(value.getType()) ? arguments[next++] : value);
        linalg::YieldOp::create(inner, at, op->emit(inner, at, scalars, result));
      });
  Value out = generic.getResult(0);
  for (int64_t i = 0; i < rank; ++i)
    if (shape[i] == ShapedType::kDynamic)
      dims[{out, i}] = sizes[i];
  outcome.shape = meet(outcome.shape, tfg::shapeOf(out.getType()));
  return Values{{out, std::move(outcome)}};
}

Expected<Values> Translator::kernel(tfg::Node node, const Values &inputs) {
  const OpDef *def = lookupOp(node.opType());
  if (!def)
    return Unexpected(unsupported(node, "its op isn't known"));
  if (def->isStateful() && !tfg::readsVariablesOnly(node.opType()))
    return Unexpected(unsupported(node, "its op has effects, or sees what others have"));
  if (inputs.size() > maxKernelInputs)
    return Unexpected(unsupported(node, "it has too many inputs"));
  Expected<AttrMap> attrs = tfg::kernelAttributes(node);
  if (!attrs)
    return Unexpected(std::move(attrs.error()));
  for (const auto &[name, value] : *attrs)
    if (std::holds_alternative<FunctionRef>(value) ||
        std::holds_alternative<std::vector<FunctionRef>>(value))
      return Unexpected(unsupported(node, "its op calls functions"));
  KernelCall entry{
      node.name().str(), node.opType().str(), node.device().str(), std::move(*attrs), {}, {}, {}};
  SmallVector<Value> operands;
  std::vector<const KnownValue *> known;
  for (const Typed &input : inputs) {
    operands.push_back(boxed(input.value));
    known.push_back(&input.known);
    entry.inputTypes.push_back(valueTypeOf(elementOf(input.value.getType())).dtype);
  }
  ShapeResults shapes = tfg::shapesOf(node, known);
  shapes.values.resize(node.numResults());
  SmallVector<Type> types;
  for (auto [result, value] : llvm::zip(node.results(), shapes.values)) {
    Type element = elementOf(result.getType());
    ValueType type = valueTypeOf(element);
    if (type.isRef)
      return Unexpected(unsupported(node, "it gives a reference to a variable"));
    entry.outputTypes.push_back(type.dtype);
    types.push_back(tfg::tensorOf(value.shape, element));
    ExpectedShape expected{value.shape.hasRank()};
    for (int64_t dim : value.shape.all())
      expected.dims.push_back(dim == Shape::unknown ? -1 : dim);
    entry.outputs.push_back(std::move(expected));
  }
  int32_t index = static_cast<int32_t>(tables.kernels.size());
  tables.kernels.push_back(std::move(entry));
  auto op = rc::KernelOp::create(b, loc, types, operands, index, node.opType(), nullptr);
  Values results;
  for (auto [result, value] : llvm::zip(op.getOutputs(), shapes.values))
    results.push_back(unboxed(result, std::move(value)));
  return results;
}

// --- control flow ------------------------------------------------------------------------------

Expected<tfg::FuncOp> Translator::functionIn(tfg::Node node, Attribute attr) {
  auto name = dyn_cast_or_null<tf_type::FuncAttr>(attr);
  tfg::FuncOp function = name ? find(name.getName().getRootReference().getValue()) : tfg::FuncOp();
  if (!function || function.getGeneric() || function->getRegion(0).empty())
    return Unexpected(unsupported(node, "a function that it calls isn't there, or is generic"));
  return function;
}

Expected<Values> Translator::call(tfg::Node node, Attribute name, ArrayRef<Typed> inputs) {
  Expected<tfg::FuncOp> function = functionIn(node, name);
  if (!function)
    return Unexpected(std::move(function.error()));
  return inlineFunction(*function, inputs);
}

/// Whether a condition holds: scalars only, and strings are left to the interpreter.
Expected<Value> Translator::truth(tfg::Node node, const Typed &condition) {
  Value value = condition.value;
  if (isTensor(value.getType()))
    return Unexpected(unsupported(node, "its condition may be no scalar"));
  if (value.getType().isInteger(1))
    return value;
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(value.getType()));
  if (isa<FloatType>(value.getType()))
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, value, zero).getResult();
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero).getResult();
}

/// Branch `branch` where `selector` chooses it, else the others. Both sides are made first: what
/// types their results have in common is known only then.
Expected<Values> Translator::conditional(tfg::Node node, ArrayRef<tfg::FuncOp> branches,
                                         size_t branch, Value selector, ArrayRef<Typed> inputs) {
  if (branch + 1 == branches.size())
    return inlineFunction(branches[branch], inputs);
  Value chosen = selector;
  if (!selector.getType().isInteger(1)) {
    Value number = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(branch));
    chosen = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, selector, number);
  }
  auto sides = scf::IfOp::create(b, loc, TypeRange(), chosen, /*withElseRegion=*/true);
  Values results[2];
  for (int side : {0, 1}) {
    OpBuilder::InsertionGuard guard(b);
    Block &block = sides->getRegion(side).front();
    block.clear();
    b.setInsertionPointToStart(&block);
    Expected<Values> given = side == 0 ? inlineFunction(branches[branch], inputs)
                                       : conditional(node, branches, branch + 1, selector, inputs);
    if (!given)
      return given;
    results[side] = std::move(*given);
  }
  if (results[0].size() != results[1].size())
    return Unexpected(unsupported(node, "its branches give different numbers of results"));
  SmallVector<Type> types;
  for (auto [a, c] : llvm::zip(results[0], results[1])) {
    if (elementOf(a.value.getType()) != elementOf(c.value.getType()))
      return Unexpected(unsupported(node, "its branches give different dtypes"));
    types.push_back(joined(a.value.getType(), c.value.getType()));
  }
  auto typed = scf::IfOp::create(b, loc, types, chosen, /*withElseRegion=*/true);
  for (int side : {0, 1}) {
    Region &region = typed->getRegion(side);
    region.takeBody(sides->getRegion(side));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&region.front());
    SmallVector<Value> yielded;
    for (auto [result, type] : llvm::zip(results[side], types))
      yielded.push_back(coerce(result.value, type));
    scf::YieldOp::create(b, loc, yielded);
  }
  sides.erase();
  Values out;
  for (auto [i, result] : llvm::enumerate(typed.getResults()))
    out.push_back({result, join(results[0][i].known, results[1][i].known)});
  return out;
}

/// Which results of a body are its own arguments, for each result: they are the same in all
/// iterations.
SmallVector<bool> invariantsOf(tfg::FuncOp body) {
  SmallVector<bool> invariant;
  OperandRange results = body.getReturn().getOperands();
  for (auto [i, value] : llvm::enumerate(results)) {
    if (tfg::isControl(value))
      break;
    Value from = value;
    while (tfg::Node node = tfg::definingNode(from)) {
      if (node.opType() != "Identity")
        break;
      from = node->getOperand(0);
    }
    auto argument = dyn_cast<BlockArgument>(from);
    invariant.push_back(argument && argument.getArgNumber() == 2 * i);
  }
  return invariant;
}

/// A loop whose variables are first taken to be as they begin. Where an iteration gives them other
/// types, the loop is made again with what both have in common.
Expected<Values> Translator::loop(tfg::Node node, Values inputs) {
  Expected<tfg::FuncOp> cond = functionIn(node, node.attr("cond"));
  if (!cond)
    return Unexpected(std::move(cond.error()));
  Expected<tfg::FuncOp> body = functionIn(node, node.attr("body"));
  if (!body)
    return Unexpected(std::move(body.error()));
  SmallVector<bool> isInvariant = invariantsOf(*body);
  if (isInvariant.size() != inputs.size())
    return Unexpected(unsupported(node, "its body gives another number of values"));
  SmallVector<size_t> variables;
  for (auto [i, invariant] : llvm::enumerate(isInvariant))
    if (!invariant)
      variables.push_back(i);
  // Values differ from iteration to iteration, be they constants to begin with.
  auto forgetValue = [](KnownValue known) {
    known.constant = Tensor();
    known.integers.reset();
    return known;
  };
  SmallVector<Type> types;
  Values now = inputs;
  for (size_t i : variables) {
    types.push_back(inputs[i].value.getType());
    now[i].known = forgetValue(now[i].known);
  }
  SmallVector<Location> locations(types.size(), loc);
  for (int round = 0; round < maxRounds; ++round) {
    SmallVector<Value> begin;
    for (auto [i, type] : llvm::zip(variables, types))
      begin.push_back(coerce(inputs[i].value, type));
    auto made = scf::WhileOp::create(b, loc, types, begin);
    Expected<Values> given = iteration(node, made, *cond, *body, variables, now);
    if (!given)
      return given;
    bool isStable = true;
    for (auto [i, type] : llvm::zip(variables, types)) {
      Type next = (*given)[i].value.getType();
      if (elementOf(next) != elementOf(type))
        return Unexpected(unsupported(node, "a loop variable changes its dtype"));
      KnownValue both = forgetValue(join(now[i].known, (*given)[i].known));
      isStable &= joined(type, next) == type && both == now[i].known;
      type = joined(type, next);
      now[i].known = std::move(both);
    }
    if (isStable) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(&made.getAfter().front());
      SmallVector<Value> yielded;
      for (auto [i, type] : llvm::zip(variables, types))
        yielded.push_back(coerce((*given)[i].value, type));
      scf::YieldOp::create(b, loc, yielded);
      for (auto [i, result] : llvm::zip(variables, made.getResults()))
        now[i].value = result;
      return now;
    }
    erase(made);
  }
  return Unexpected(unsupported(node, "its loop variables keep changing their types"));
}

/// Fills a loop's regions but for the end; gives what the body gives.
Expected<Values> Translator::iteration(tfg::Node node, scf::WhileOp made, tfg::FuncOp cond,
                                       tfg::FuncOp body, ArrayRef<size_t> variables,
                                       const Values &now) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Location> locations(variables.size(), loc);
  auto argumentsOf = [&](Region &region) {
    Block *block = b.createBlock(&region, {}, made.getResultTypes(), locations);
    Values arguments = now;
    for (auto [i, argument] : llvm::zip(variables, block->getArguments()))
      arguments[i].value = argument;
    return arguments;
  };
  Expected<Values> decision = inlineFunction(cond, argumentsOf(made.getBefore()));
  if (!decision)
    return decision;
  if (decision->size() != 1)
    return Unexpected(unsupported(node, "its condition gives more than one value"));
  Expected<Value> goesOn = truth(node, decision->front());
  if (!goesOn)
    return Unexpected(std::move(goesOn.error()));
  scf::ConditionOp::create(b, loc, *goesOn, made.getBefore().getArguments());

  Values arguments = argumentsOf(made.getAfter());
  check(rc::RunningOp::create(b, loc, b.getI1Type()));
  return inlineFunction(body, arguments);
}

/// What is known by address of values that go must go as well.
void Translator::erase(Operation *op) {
  op->walk([&](Operation *inner) {
    auto forget = [&](Value value) {
      if (auto type = dyn_cast<RankedTensorType>(value.getType()))
        for (int64_t i = 0; i < type.getRank(); ++i)
          dims.erase({value, i});
    };
    llvm::for_each(inner->getResults(), forget);
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), forget);
  });
  op->erase();
}

// --- functions ---------------------------------------------------------------------------------

Expected<Values> Translator::translateNode(tfg::Node node, Values inputs) {
  StringRef op = node.opType();
  if (op == "While" || op == "StatelessWhile")
    return loop(node, std::move(inputs));
  if (op == "PartitionedCall" || op == "StatefulPartitionedCall")
    return call(node, node.attr("f"), inputs);
  if (tfg::FuncOp function = find(op))
    return inlineFunction(function, inputs);
  bool isIf = op == "If" || op == "StatelessIf", isCase = op == "Case" || op == "StatelessCase";
  if (isIf || isCase) {
    SmallVector<Attribute> names;
    if (isIf)
      names = {node.attr("then_branch"), node.attr("else_branch")};
    else if (auto list = node.attr<ArrayAttr>("branches"))
      names.append(list.begin(), list.end());
    SmallVector<tfg::FuncOp> branches;
    for (Attribute name : names) {
      Expected<tfg::FuncOp> function = functionIn(node, name);
      if (!function)
        return Unexpected(std::move(function.error()));
      branches.push_back(*function);
    }
    if (branches.empty() || inputs.empty())
      return Unexpected(unsupported(node, "it has no branches"));
    Value selector = inputs[0].value;
    if (isIf) {
      Expected<Value> holds = truth(node, inputs[0]);
      if (!holds)
        return Unexpected(std::move(holds.error()));
      selector = *holds;
    } else if (isTensor(selector.getType()) || !selector.getType().isInteger(32)) {
      return Unexpected(unsupported(node, "its branch index may be no scalar"));
    }
    return conditional(node, branches, 0, selector, ArrayRef(inputs).drop_front());
  }
  if (op == "Const" || op == "HostConst") {
    Tensor value = constants.valueOf(node->getResult(0));
    if (!value)
      return Unexpected(unsupported(node, "its value can't be told"));
    return Values{constant(node, value)};
  }
  if (op == "IdentityN")
    return inputs;
  if (op == "Identity" && !inputs.empty() &&
      !valueTypeOf(elementOf(node->getOperand(0).getType())).isRef)
    return Values{std::move(inputs[0])};
  Expected<std::optional<Values>> simple = elementwise(node, inputs);
  if (!simple)
    return Unexpected(std::move(simple.error()));
  if (*simple)
    return std::move(**simple);
  return kernel(node, inputs);
}

/// The nodes that the results of a body need.
DenseSet<Operation *> neededNodes(Block &body) {
  DenseSet<Operation *> needed;
  SmallVector<Operation *> work = {body.getTerminator()};
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    for (Value value : op->getOperands())
      if (Operation *def = value.getDefiningOp(); def && !tfg::isControl(value))
        if (needed.insert(def).second)
          work.push_back(def);
  }
  return needed;
}

Expected<Values> Translator::inlineFunction(tfg::FuncOp function, ArrayRef<Typed> arguments) {
  if (function.getGeneric() || function->getRegion(0).empty())
    return Unexpected(
        unimplemented("function '", function.getName().str(), "' has no body, or is generic"));
  if (function.getNumDataArguments() != arguments.size())
    return Unexpected(invalidArgument("function '", function.getName().str(), "' has ",
                                      function.getNumDataArguments(), " arguments, is given ",
                                      arguments.size()));
  if (depth == maxDepth)
    return Unexpected(unimplemented("function '", function.getName().str(),
                                    "' is called at a depth of ", maxDepth, " calls"));
  ++depth;
  llvm::scope_exit leave([&] { --depth; });
  Block &body = function.getEntry();
  DenseMap<Value, Typed> values;
  for (auto [i, argument] : llvm::enumerate(arguments))
    values[function.getDataArgument(i)] = argument;
  DenseSet<Operation *> needed = neededNodes(body);
  auto inputsOf = [&](OperandRange operands) {
    Values inputs;
    for (Value operand : operands)
      if (!tfg::isControl(operand))
        inputs.push_back(values.lookup(operand));
    return inputs;
  };
  for (Operation *op : tfg::topologicalOrder(body)) {
    if (!needed.contains(op))
      continue;
    tfg::Node node(op);
    if (op->getNumRegions())
      return Unexpected(unsupported(node, "it has regions"));
    Values inputs = inputsOf(node.data());
    if (llvm::any_of(inputs, [](const Typed &input) { return !input.value; }))
      return Unexpected(unsupported(node, "it is part of a cycle"));
    Expected<Values> results = translateNode(node, std::move(inputs));
    if (!results)
      return results;
    if (results->size() != node.numResults())
      return Unexpected(unsupported(node, "the function gives another number of results"));
    for (auto [result, value] : llvm::zip(node.results(), *results))
      values[result] = value;
  }
  return inputsOf(function.getReturn()->getOperands());
}

Expected<TensorProgram> Translator::run(tfg::FuncOp function, ArrayRef<ArgumentClass> arguments) {
  if (function.getNumDataArguments() != arguments.size())
    return Unexpected(invalidArgument("function '", function.getName().str(), "' has ",
                                      function.getNumDataArguments(), " arguments, is given ",
                                      arguments.size()));
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  SmallVector<Type> types;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    Type element = elementOf(function.getDataArgument(i).getType());
    SmallVector<int64_t> shape;
    for (bool isOne : argument.isOne)
      shape.push_back(isOne ? 1 : ShapedType::kDynamic);
    types.push_back(argument.isRanked ? Type(RankedTensorType::get(shape, element))
                                      : UnrankedTensorType::get(element));
  }
  b.setInsertionPointToEnd(module->getBody());
  cluster = func::FuncOp::create(b, loc, "cluster", b.getFunctionType(types, {}));
  b.setInsertionPointToStart(cluster.addEntryBlock());
  Values values;
  for (Value argument : cluster.getArguments())
    values.push_back(unboxed(argument, KnownValue(tfg::shapeOf(argument.getType()))));
  Expected<Values> results = inlineFunction(function, values);
  if (!results)
    return Unexpected(std::move(results.error()));
  SmallVector<Value> returned;
  for (const Typed &result : *results)
    returned.push_back(boxed(result.value));
  func::ReturnOp::create(b, loc, returned);
  cluster.setFunctionType(b.getFunctionType(types, ValueRange(returned).getTypes()));
  int64_t numOps = 0;
  cluster.walk([&](Operation *) { ++numOps; });
  if (numOps > maxOps)
    return Unexpected(unimplemented("function '", function.getName().str(),
                                    "' is too large: ", numOps, " operations, and ", maxOps,
                                    " are what compiles in useful time"));
  return TensorProgram{std::move(module), std::move(tables)};
}

} // namespace

ArgumentClass ArgumentClass::of(const Tensor &tensor) {
  ArgumentClass result{tensor.dtype(), true, {}};
  for (int64_t dim : tensor.dims())
    result.isOne.push_back(dim == 1);
  return result;
}

Expected<TensorProgram> translate(tfg::FuncOp function, ArrayRef<ArgumentClass> arguments,
                                  const FindFunction &find, MLIRContext &context) {
  context.loadDialect<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                      math::MathDialect, scf::SCFDialect, tensor::TensorDialect, rc::RcDialect>();
  return Translator(find, context).run(function, arguments);
}

} // namespace treadle::codegen
