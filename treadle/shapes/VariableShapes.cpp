// Shape functions of variables, by handle and by reference, and of optimizers.
#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {
namespace {

ShapeResults readAll(const ShapeQuery &query) {
  ShapeResults out;
  for (size_t i = 0; i < query.numInputs(); ++i)
    out.values.emplace_back(query.held(i));
  return out;
}

// A variable without a declared shape takes that of the assigned value.
ShapeResults assign(const ShapeQuery &query) {
  if (!query.boolAttr("validate_shape", true))
    return {query.shape(1)};
  std::optional<Shape> both = merge(query.shape(0), query.shape(1));
  if (!both)
    return shapeError(
        str("a variable of shape ", query.shape(0).text(), " is assigned ", query.shape(1).text()));
  return {*both};
}

const std::vector<SignatureEntry> &signatures() {
  static const std::vector<SignatureEntry> table = {
      {"-> []:{shape}", {"VarHandleOp"}},
      {"*:X -> X", {"ReadVariableOp"}},
      {"* -> []", {"VarIsInitializedOp", "IsVariableInitialized"}},
      {"*:X, X -> ", {"AssignAddVariableOp", "AssignSubVariableOp"}},
      {"* -> ", {"DestroyResourceOp", "DisableCopyOnRead"}},
      {"-> {shape}", {"Variable", "VariableV2", "TemporaryVariable"}},
      {"X -> X", {"DestroyTemporaryVariable"}},
      {"X, X -> X", {"AssignAdd", "AssignSub"}},
      {"[] -> []", {"CountUpTo"}},
      {"*:[] -> []", {"ResourceCountUpTo"}},

      // var, alpha, delta; by reference, the result is the variable.
      {"X, [], X -> X", {"ApplyGradientDescent"}},
      {"X, [], [], [], X -> X", {"ApplyProximalGradientDescent"}},
      {"X, X, [], X -> X", {"ApplyAdagrad"}},
      {"X, X, [], [], X -> X", {"ApplyAdagradV2"}},
      {"X, X, [], [], [], X -> X", {"ApplyProximalAdagrad"}},
      {"X, X, X, X, [], [], [], [] -> X", {"ApplyAdagradDA", "ApplyFtrl"}},
      {"X, X, X, X, [], [], [], [], [] -> X", {"ApplyFtrlV2"}},
      {"X, X, X, [], [], [], X -> X", {"ApplyAdadelta"}},
      {"X, X, [], X, [] -> X", {"ApplyMomentum"}},
      {"X, X, X, [], [], [], [], [], [], X -> X", {"ApplyAdam"}},
      {"X, X, X, [], [], [], [], [], X -> X", {"ApplyAdaMax"}},
      {"X, X, X, [], [], [], [], X -> X", {"ApplyRMSProp"}},
      {"X, X, X, X, [], [], [], [], X -> X", {"ApplyCenteredRMSProp"}},
      {"X, X, [], [], [], [], X -> X", {"ApplyAddSign", "ApplyPowerSign"}},

      {"*:X, [], X -> ", {"ResourceApplyGradientDescent"}},
      {"*:X, [], [], [], X -> ", {"ResourceApplyProximalGradientDescent"}},
      {"*:X, *:X, [], X -> ", {"ResourceApplyAdagrad"}},
      {"*:X, *:X, [], [], X -> ", {"ResourceApplyAdagradV2"}},
      {"*:X, *:X, [], [], [], X -> ", {"ResourceApplyProximalAdagrad"}},
      {"*:X, *:X, *:X, X, [], [], [], [] -> ", {"ResourceApplyAdagradDA", "ResourceApplyFtrl"}},
      {"*:X, *:X, *:X, X, [], [], [], [], [] -> ", {"ResourceApplyFtrlV2"}},
      {"*:X, *:X, *:X, [], [], [], X -> ", {"ResourceApplyAdadelta"}},
      {"*:X, *:X, [], X, [] -> ", {"ResourceApplyMomentum", "ResourceApplyKerasMomentum"}},
      {"*:X, *:X, *:X, [], [], [], [], [], [], X -> ", {"ResourceApplyAdam"}},
      {"*:X, *:X, *:X, *:X, [], [], [], [], [], [], X -> ", {"ResourceApplyAdamWithAmsgrad"}},
      {"*:X, *:X, *:X, [], [], [], [], [], X -> ", {"ResourceApplyAdaMax"}},
      {"*:X, *:X, *:X, [], [], [], [], X -> ", {"ResourceApplyRMSProp"}},
      {"*:X, *:X, *:X, *:X, [], [], [], [], X -> ", {"ResourceApplyCenteredRMSProp"}},
      {"*:X, *:X, [], [], [], [], X -> ", {"ResourceApplyAddSign", "ResourceApplyPowerSign"}},

      // Updates of some rows of the variable: a gradient for each index.
      {"[n,R], [n,R], [], [i,R], [i] -> [n,R]", {"SparseApplyAdagrad"}},
      {"[n,R], [n,R], [], [], [i,R], [i] -> [n,R]", {"SparseApplyAdagradV2"}},
      {"[n,R], [], [], [], [i,R], [i] -> [n,R]", {"SparseApplyProximalGradientDescent"}},
      {"[n,R], [n,R], [], [], [], [i,R], [i] -> [n,R]", {"SparseApplyProximalAdagrad"}},
      {"[n,R], [n,R], [n,R], [i,R], [i], [], [], [], [] -> [n,R]",
       {"SparseApplyAdagradDA", "SparseApplyFtrl"}},
      {"[n,R], [n,R], [n,R], [i,R], [i], [], [], [], [], [] -> [n,R]", {"SparseApplyFtrlV2"}},
      {"[n,R], [n,R], [n,R], [], [], [], [i,R], [i] -> [n,R]", {"SparseApplyAdadelta"}},
      {"[n,R], [n,R], [], [i,R], [i], [] -> [n,R]", {"SparseApplyMomentum"}},
      {"[n,R], [n,R], [n,R], [], [], [], [], [i,R], [i] -> [n,R]", {"SparseApplyRMSProp"}},
      {"[n,R], [n,R], [n,R], [n,R], [], [], [], [], [i,R], [i] -> [n,R]",
       {"SparseApplyCenteredRMSProp"}},
      {"*, *+ -> ",
       {"ResourceSparseApplyAdagrad", "ResourceSparseApplyAdagradV2",
        "ResourceSparseApplyProximalGradientDescent", "ResourceSparseApplyProximalAdagrad",
        "ResourceSparseApplyAdagradDA", "ResourceSparseApplyFtrl", "ResourceSparseApplyFtrlV2",
        "ResourceSparseApplyAdadelta", "ResourceSparseApplyMomentum",
        "ResourceSparseApplyKerasMomentum", "ResourceSparseApplyRMSProp",
        "ResourceSparseApplyCenteredRMSProp"}},
  };
  return table;
}

// An assigned value must have the variable's shape, unless the shape may change.
ShapeResults assignByHandle(const ShapeQuery &query) {
  if (query.boolAttr("validate_shape") && !merge(query.held(0), query.shape(1)))
    return shapeError(
        str("a variable of shape ", query.held(0).text(), " is assigned ", query.shape(1).text()));
  return {};
}

constexpr ShapeEntry functions[] = {
    {"_ReadVariablesOp", readAll},
    {"Assign", assign},
    {"AssignVariableOp", assignByHandle},
};

} // namespace

ShapeFamily variableShapes() { return {signatures(), functions}; }

} // namespace treadle
