// Translates calls, conditionals and loops.
#include "treadle/codegen/Rc.h"
#include "treadle/codegen/Translator.h"
#include "treadle/lowering/Attributes.h"
#include "treadle/ops/OpTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace treadle::codegen {

/// Maximum number of attempts to find fixed types of the loop variables.
static constexpr int maxRounds = 8;

Expected<tfg::FuncOp> Translator::functionIn(tfg::Node node, Attribute attr) {
  auto name = dyn_cast_or_null<tf_type::FuncAttr>(attr);
  tfg::FuncOp function = name ? find(name.getName().getRootReference().getValue()) : tfg::FuncOp();
  if (!function || function.getGeneric() || function->getRegion(0).empty())
    return Unexpected(unsupported(node, "a function that it calls is missing or generic"));
  return function;
}

Expected<Values> Translator::call(tfg::Node node, Attribute name, ArrayRef<TracedValue> inputs) {
  tfg::FuncOp function = TREADLE_TRY(functionIn(node, name));
  return inlineFunction(function, inputs);
}

/// Converts a scalar to i1. Fails for strings, which the interpreter converts, and for other
/// dtypes, for which the interpreter reports the error.
Expected<Value> Translator::truth(tfg::Node node, const TracedValue &condition) {
  Value value = condition.value;
  if (isTensor(value.getType()))
    return Unexpected(unsupported(node, "its condition may not be a scalar"));
  if (!value.getType().isSignlessInteger() && !value.getType().isF32() && !value.getType().isF64())
    return Unexpected(
        unsupported(node, "its condition has a dtype that can't be converted to bool"));
  if (value.getType().isInteger(1))
    return value;
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(value.getType()));
  if (isa<FloatType>(value.getType()))
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, value, zero).getResult();
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero).getResult();
}

/// Selects `branch` if `selector` chooses it, otherwise one of the following branches. Both sides
/// are translated first, since the common types of their results are only known then.
Expected<Values> Translator::conditional(tfg::Node node, ArrayRef<tfg::FuncOp> branches,
                                         size_t branch, Value selector,
                                         ArrayRef<TracedValue> inputs) {
  if (branch + 1 == branches.size())
    return inlineFunction(branches[branch], inputs);
  Value chosen = selector;
  if (!selector.getType().isInteger(1)) {
    Value number = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(branch));
    chosen = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, selector, number);
  }
  auto sides = scf::IfOp::create(b, loc, TypeRange(), chosen, /*withElseRegion=*/true);
  Values results[2], after[2];
  const Values before = cells;
  for (int side : {0, 1}) {
    cells = before;
    OpBuilder::InsertionGuard guard(b);
    Block &block = sides->getRegion(side).front();
    block.clear();
    b.setInsertionPointToStart(&block);
    Values given =
        TREADLE_TRY(side == 0 ? inlineFunction(branches[branch], inputs)
                              : conditional(node, branches, branch + 1, selector, inputs));
    results[side] = std::move(given);
    after[side] = cells;
  }
  if (results[0].size() != results[1].size())
    return Unexpected(unsupported(node, "its branches return different numbers of results"));
  // The variables that a branch may have changed are additional results.
  const size_t numResults = results[0].size();
  SmallVector<size_t> changed;
  for (size_t i = 0; i < before.size(); ++i)
    if (after[0][i].value != before[i].value || after[1][i].value != before[i].value) {
      changed.push_back(i);
      for (int side : {0, 1})
        results[side].push_back(after[side][i]);
    }
  SmallVector<Form> forms;
  SmallVector<Type> types;
  for (auto [a, c] : llvm::zip(results[0], results[1])) {
    std::optional<Form> form = joined(Form::of(a), Form::of(c));
    if (!form)
      return Unexpected(unsupported(node, "its branches return different dtypes"));
    llvm::append_range(types, form->parts());
    forms.push_back(std::move(*form));
  }
  auto typed = scf::IfOp::create(b, loc, types, chosen, /*withElseRegion=*/true);
  for (int side : {0, 1}) {
    Region &region = typed->getRegion(side);
    region.takeBody(sides->getRegion(side));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&region.front());
    SmallVector<Value> yielded;
    for (auto [result, form] : llvm::zip(results[side], forms))
      split(result, form, yielded);
    scf::YieldOp::create(b, loc, yielded);
  }
  sides.erase();
  Values out;
  ValueRange rest = typed.getResults();
  for (auto [i, form] : llvm::enumerate(forms)) {
    size_t count = form.parts().size();
    out.push_back(
        joinedFrom(form, rest.take_front(count), join(results[0][i].known, results[1][i].known)));
    rest = rest.drop_front(count);
  }
  cells = before;
  for (auto [i, value] : llvm::zip(changed, ArrayRef(out).drop_front(numResults)))
    cells[i] = value;
  out.truncate(numResults);
  return out;
}

Expected<Values> Translator::branches(tfg::Node node, const Values &inputs) {
  SmallVector<Attribute> names;
  bool isIf = hasBoolSelector(opKind(node.opType()));
  if (isIf)
    names = {node.attr("then_branch"), node.attr("else_branch")};
  else if (auto list = node.attr<ArrayAttr>("branches"))
    names.append(list.begin(), list.end());
  SmallVector<tfg::FuncOp> functions;
  for (Attribute name : names) {
    tfg::FuncOp function = TREADLE_TRY(functionIn(node, name));
    functions.push_back(function);
  }
  if (functions.empty() || inputs.empty())
    return Unexpected(unsupported(node, "it has no branches"));
  Value selector = inputs[0].value;
  if (isIf) {
    Value holds = TREADLE_TRY(truth(node, inputs[0]));
    selector = holds;
  } else if (isTensor(selector.getType()) ||
             !getElementTypeOrSelf(node.data()[0].getType()).isSignlessInteger(32)) {
    return Unexpected(unsupported(node, "its branch index may not be an int32 scalar"));
  }
  return conditional(node, functions, 0, selector, ArrayRef(inputs).drop_front());
}

/// For each result of a loop body: whether it returns the corresponding argument, which is then
/// loop-invariant.
static SmallVector<bool> invariantsOf(tfg::FuncOp body) {
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

/// Translates a loop. Its variables first get the types of their initial values; if an iteration
/// returns other types, the loop is translated again with the types that both have in common. Cells
/// that an iteration changes become loop variables.
Expected<Values> Translator::loop(tfg::Node node, Values inputs) {
  tfg::FuncOp cond = TREADLE_TRY(functionIn(node, node.attr("cond")));
  tfg::FuncOp body = TREADLE_TRY(functionIn(node, node.attr("body")));
  SmallVector<bool> isInvariant = invariantsOf(body);
  if (isInvariant.size() != inputs.size())
    return Unexpected(unsupported(node, "its body returns a different number of values"));
  const size_t numValues = inputs.size();
  inputs.append(cells);
  SmallVector<size_t> variables;
  // Values change between iterations, even if they are initially constant.
  auto forgetValue = [](KnownValue known) {
    known.constant = Tensor();
    known.integers.reset();
    return known;
  };
  SmallVector<Form> forms;
  Values now = inputs;
  auto addVariable = [&](size_t i) {
    variables.push_back(i);
    forms.push_back(Form::of(inputs[i]));
    now[i].known = forgetValue(now[i].known);
  };
  for (auto [i, invariant] : llvm::enumerate(isInvariant))
    if (!invariant)
      addVariable(i);
  const auto wantedBefore = wanted;
  for (int round = 0; round < maxRounds; ++round) {
    SmallVector<Value> begin;
    SmallVector<Type> types;
    for (auto [i, form] : llvm::zip(variables, forms)) {
      split(inputs[i], form, begin);
      llvm::append_range(types, form.parts());
    }
    auto made = scf::WhileOp::create(b, loc, types, begin);
    Values given = TREADLE_TRY(iteration(node, made, cond, body, variables, forms, now));
    bool isStable = true;
    SmallVector<size_t> changed;
    for (size_t i = numValues; i < inputs.size(); ++i)
      if (!llvm::is_contained(variables, i) && given[i].value != inputs[i].value)
        changed.push_back(i);
    for (auto [i, form] : llvm::zip(variables, forms)) {
      TracedValue next = given[i];
      std::optional<Form> both = joined(form, Form::of(next));
      if (!both)
        return Unexpected(unsupported(node, "a loop variable changes its dtype"));
      KnownValue known = forgetValue(join(now[i].known, next.known));
      isStable &= *both == form && known == now[i].known;
      form = std::move(*both);
      now[i].known = std::move(known);
    }
    if (isStable && changed.empty()) {
      endIteration(made, variables, given, forms);
      return splitCells(withVariables(now, variables, forms, made.getResults()), numValues);
    }
    llvm::for_each(changed, addVariable);
    erase(made);
    wanted = wantedBefore;
  }
  return Unexpected(unsupported(node, "its loop variables keep changing their types"));
}

Values Translator::withVariables(const Values &now, ArrayRef<size_t> variables,
                                 ArrayRef<Form> forms, ValueRange parts) {
  Values values = now;
  for (auto [i, form] : llvm::zip(variables, forms)) {
    size_t count = form.parts().size();
    values[i] = joinedFrom(form, parts.take_front(count), now[i].known);
    parts = parts.drop_front(count);
  }
  return values;
}

/// Splits off the trailing values of cells, and stores them in the cells.
Values Translator::splitCells(Values values, size_t numValues) {
  cells.assign(values.begin() + numValues, values.end());
  values.truncate(numValues);
  return values;
}

/// Passes the results of the body to the next iteration.
void Translator::endIteration(scf::WhileOp made, ArrayRef<size_t> variables, const Values &given,
                              ArrayRef<Form> forms) {
  OpBuilder::InsertionGuard guard(b);
  auto inside = enter(made);
  b.setInsertionPointToEnd(&made.getAfter().front());
  SmallVector<Value> yielded;
  for (auto [i, form] : llvm::zip(variables, forms))
    split(given[i], form, yielded);
  scf::YieldOp::create(b, loc, yielded);
}

/// Fills the regions of a loop except for the terminator; returns the results of the body.
Expected<Values> Translator::iteration(tfg::Node node, scf::WhileOp made, tfg::FuncOp cond,
                                       tfg::FuncOp body, ArrayRef<size_t> variables,
                                       ArrayRef<Form> forms, const Values &now) {
  OpBuilder::InsertionGuard guard(b);
  auto inside = enter(made);
  llvm::SaveAndRestore at(
      loopOrigin, options.metered ? static_cast<int>(cast<FileLineColLoc>(loc).getLine()) - 1 : -1);
  SmallVector<Location> locations(made.getNumResults(), loc);
  auto argumentsOf = [&](Region &region) {
    Block *block = b.createBlock(&region, {}, made.getResultTypes(), locations);
    return splitCells(withVariables(now, variables, forms, block->getArguments()),
                      now.size() - cells.size());
  };
  Values tested = argumentsOf(made.getBefore());
  const Values before = cells;
  Values decision = TREADLE_TRY(inlineFunction(cond, tested));
  if (!llvm::equal(before, cells,
                   [](const TracedValue &a, const TracedValue &c) { return a.value == c.value; }))
    return Unexpected(unsupported(node, "its condition changes a variable"));
  if (decision.size() != 1)
    return Unexpected(unsupported(node, "its condition returns more than one value"));
  Value shouldContinue = TREADLE_TRY(truth(node, decision.front()));
  scf::ConditionOp::create(b, loc, shouldContinue, made.getBefore().getArguments());

  Values arguments = argumentsOf(made.getAfter());
  checkRunning();
  Expected<Values> given = inlineFunction(body, arguments);
  if (given)
    given->append(cells);
  return given;
}

/// Entries keyed by the address of an erased value must be removed as well.
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

} // namespace treadle::codegen
