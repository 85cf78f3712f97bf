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

#endif // TREADLE_TRANSFORMS_PASSES
