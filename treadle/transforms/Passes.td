// Every pass over graphs. A pass lives in a folder of its own, with its tests.

#ifndef TREADLE_TRANSFORMS_PASSES
#define TREADLE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def TopologicalSort : Pass<"tfg-toposort", "::mlir::ModuleOp"> {
  let summary = "order nodes so that they stand after what they use";
  let description = [{
    The order is stable: a node moves only where it has to. Cycles (the loops of v1 control flow) are
    cut at the inputs that come from NextIteration; a node on another cycle keeps its place.
  }];
}

def CommonSubexpressions : Pass<"tfg-cse", "::mlir::ModuleOp"> {
  let summary = "make one node of pure nodes that compute the same";
  let description = [{
    Nodes are the same if they have equal ops, attributes, devices, data inputs and control inputs;
    names don't count. The first one in the order of the graph stays, and with it its name. What
    waited for the other waits for it. Names to preserve are those that the `keep` option lists.

    ```mlir
    %a, %c0 = Neg(%x) name("a") : (tensor<f32>) -> (tensor<f32>)
    %b, %c1 = Neg(%x) name("b") : (tensor<f32>) -> (tensor<f32>)
    %s, %c2 = Sub(%a, %b) [%c1] name("s") : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
    // becomes
    %a, %c0 = Neg(%x) name("a") : (tensor<f32>) -> (tensor<f32>)
    %s, %c2 = Sub(%a, %a) [%c0] name("s") : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
    ```
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "names of nodes that must stay">
  ];
}

def Prune : Pass<"tfg-prune", "::mlir::ModuleOp"> {
  let summary = "remove what nothing needs";
  let description = [{
    Of the graph stays what the fetches and targets need over data and control edges, as in a run of a
    session; feeds cut it off. Without fetches and targets the graph stays whole, since any node of it
    may be asked for. A node that is only there to be fed becomes a Placeholder of its name.

    Of a function stays what its results and control results need, and what has effects. A function
    goes if neither the graph nor a function that stays names it.

    ```mlir
    // fetches=y:0 feeds=x:0
    %a, %c0 = Const name("a") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
    %x, %c1 = Neg(%a) name("x") : (tensor<f32>) -> (tensor<f32>)
    %y, %c2 = Abs(%x) name("y") : (tensor<f32>) -> (tensor<f32>)
    %z, %c3 = Abs(%a) name("z") : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %x, %c1 = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
    %y, %c2 = Abs(%x) name("y") : (tensor<f32>) -> (tensor<f32>)
    ```

    It does not look into conditions that are constant, and leaves generic functions alone.
  }];
  let options = [
    ListOption<"fetches", "fetches", "std::string", "values that runs ask for (x or x:0)">,
    ListOption<"targets", "targets", "std::string", "nodes that runs ask for">,
    ListOption<"feeds", "feeds", "std::string", "values that runs give">,
    Option<"keepEffects", "keep-effects", "bool", "false",
           "keep nodes of the graph that have effects as if they were targets">,
    Option<"functions", "functions", "bool", "true", "remove functions that nothing names">
  ];
}

#endif // TREADLE_TRANSFORMS_PASSES
