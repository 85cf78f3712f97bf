// The passes over graphs. Each is implemented in a folder of its own, next to its tests.

#ifndef TREADLE_TRANSFORMS_PASSES
#define TREADLE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def TopologicalSort : Pass<"tfg-toposort", "::mlir::ModuleOp"> {
  let summary = "sort nodes topologically";
  let description = [{
    Moves each node after the nodes whose results it uses. The sort is stable: a node moves only
    if it has to. Cycles of v1 control flow are broken at the inputs that come from NextIteration.
    A node on any other cycle keeps its position.

    ```mlir
    %b, %c1 = Neg(%a) name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    %a, %c0 = Placeholder name("a") {dtype = f32} : () -> (tensor<f32>)
    // becomes
    %a, %c0 = Placeholder name("a") {dtype = f32} : () -> (tensor<f32>)
    %b, %c1 = Neg(%a) name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    ```
  }];
}

def CommonSubexpressions : Pass<"tfg-cse", "::mlir::ModuleOp"> {
  let summary = "eliminate common subexpressions";
  let description = [{
    Merges pure nodes that have equal ops, attributes, devices, data inputs and control inputs;
    names don't matter. The first one in the order of the graph is kept with its name; it replaces
    the data and control uses of the others.

    ```mlir
    %a, %c0 = Neg(%x) name("a") : (tensor<f32>) -> (tensor<f32>)
    %b, %c1 = Neg(%x) name("b") : (tensor<f32>) -> (tensor<f32>)
    %s, %c2 = Sub(%a, %b) [%c1] name("s") : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
    // becomes
    %a, %c0 = Neg(%x) name("a") : (tensor<f32>) -> (tensor<f32>)
    %s, %c2 = Sub(%a, %a) [%c0] name("s") : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
    ```

    It doesn't remove nodes that `keep` lists, and doesn't merge nodes with side effects or nodes
    whose values `feeds` lists.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "names of nodes to preserve">,
    ListOption<"feeds", "feeds", "std::string", "fed values (x or x:0)">
  ];
}

def Prune : Pass<"tfg-prune", "::mlir::ModuleOp"> {
  let summary = "remove dead nodes";
  let description = [{
    Keeps the nodes of the graph that the fetches and targets need over data and control edges, as
    a run of a session does; the inputs of fed nodes aren't followed. Without fetches and targets,
    all nodes of the graph are kept, because a later run may fetch any of them. A node whose only needed result is fed is
    replaced with a Placeholder of its name.

    In a function, it keeps the nodes that the results and control results need, and nodes with
    side effects. It removes functions that neither the graph nor a remaining function references.

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

    It doesn't resolve conditionals whose predicate is constant, and it doesn't change generic
    functions.
  }];
  let options = [
    ListOption<"fetches", "fetches", "std::string", "fetched values (x or x:0)">,
    ListOption<"targets", "targets", "std::string", "target nodes of runs">,
    ListOption<"feeds", "feeds", "std::string", "fed values (x or x:0)">,
    Option<"keepEffects", "keep-effects", "bool", "false",
           "keep nodes of the graph that have side effects, as if they were targets">,
    Option<"functions", "functions", "bool", "true", "remove unreferenced functions">
  ];
}

def Verify : Pass<"tfg-verify", "::mlir::ModuleOp"> {
  let summary = "verify nodes against their op definitions";
  let description = [{
    Checks what the verifier of the dialect doesn't: each node has the attributes that its op
    definition requires, of the right kinds and with allowed values; it has the number and types
    of inputs and outputs that the attributes imply; and every cycle is a loop, closed by an edge
    from a NextIteration to a Merge. If the op of a node is the name of a function, that function
    is the definition.

    ```mlir
    %a, %c = AddV2(%x) name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    // error: node 'a' (AddV2): has 1 data input, expected 2
    ```

    It changes nothing. It doesn't check nodes with unknown ops, or generic functions.
  }];
}

def PruneArguments : Pass<"tfg-prune-arguments", "::mlir::ModuleOp"> {
  let summary = "remove unused arguments and results of functions";
  let description = [{
    Simplifies calls, If, Case and While nodes together with the functions that they call. Removes
    arguments that no result and no side effect depends on, results without uses, and loop variables
    that only their own next value depends on, with the code that computed them. If a result is an
    argument that the function passes through unchanged, uses of the node's result use the node's
    operand instead (pure nodes only). The dependency on the producer of a removed argument is kept
    as a control input.

    ```mlir
    %w:2, %c = While(%n, %unused) name("w") {T = [i32, f32], ...}   // only %w#0 has uses
    // becomes
    %w, %c = While(%n) name("w") {T = [i32], ...}
    ```

    It doesn't change functions that are referenced by attributes of other nodes, by
    gradients or by generic functions, or bodies with v1 control flow. Nodes of the graph itself keep their results
    unless `graph` is set, since removing one renumbers the others (`w:1` would be another value).
    With `split`, calls that use different results of one function, and calls of functions that
    can't change, get copies of the function.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "names of nodes whose results to preserve">,
    Option<"graph", "graph", "bool", "false", "remove results of nodes of the graph too">,
    Option<"split", "split", "bool", "false", "copy functions whose calls use different results">
  ];
}

def DedupeConstants : Pass<"tfg-dedupe-constants", "::mlir::ModuleOp"> {
  let summary = "merge equal constants";
  let description = [{
    Merges the Const nodes of a body that have equal values and devices; other attributes don't
    matter. The constant that is kept has no control inputs; if every equal constant has some, a new
    constant is created. The control inputs of a removed constant become control inputs of its users
    (`hoist`).

    ```mlir
    %a, %c0 = Const name("a") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
    %b, %c1 = Const [%p] name("b") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
    %n, %c2 = Neg(%b) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %a, %c0 = Const name("a") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
    %n, %c2 = Neg(%a) [%p] name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    ```

    In bodies with v1 control flow, constants with control inputs aren't merged, because the control
    inputs determine their frame and branch.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "names of nodes to preserve">,
    ListOption<"feeds", "feeds", "std::string", "fed values (x or x:0)">,
    Option<"hoist", "hoist", "bool", "true", "merge constants with control inputs too">
  ];
}

def Order : Pass<"tfg-order", "::mlir::ModuleOp"> {
  let summary = "add control dependencies between nodes with conflicting side effects";
  let description = [{
    Adds automatic control dependencies. Two nodes conflict if both access one resource (a
    variable, a table, a queue, or external state: printing, Python, unknown ops) and at least one
    of them writes it. If no path of edges orders two conflicting nodes, the later one in the graph
    gets a control input from the earlier one: a read depends on the last write; a write depends on
    the last write and the reads since. A write or an assertion that no result of its function
    depends on becomes a control result of the function, so that it runs.

    The accesses of a node are found by following resource handles through the graph and the
    functions that it calls. `treadle check` uses the same analysis to report races.

    Functions are ordered; with `graph`, the graph is ordered too. Use `graph` only on a graph
    that runs as a whole. If variable initializers are listed after the reads, first prune the graph
    to the fetches of one run (tfg-prune).

    ```mlir
    %read, %c0 = ReadVariableOp(%v) name("read") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
    %c1 = AssignVariableOp(%v, %x) name("assign") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
    // becomes
    %read, %c0 = ReadVariableOp(%v) name("read") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
    %c1 = AssignVariableOp(%v, %x) [%c0] name("assign") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
    ```

    Existing edges are kept. Bodies with v1 control flow aren't changed, and a remark says so: run
    tfg-v1-to-functional first. The iterations of a While run one after the other if its body orders
    all of its side effects.
  }];
  let options = [
    Option<"graph", "graph", "bool", "false", "also order the nodes of the graph">
  ];
}

def PreserveOrder : Pass<"tfg-preserve-order", "::mlir::ModuleOp"> {
  let summary = "add control dependencies between given nodes";
  let description = [{
    For each `NODE:AFTER` in `after`, NODE gets a control input from AFTER. With `soft` it gets a
    soft edge instead: the name of AFTER in its attribute `_soft_inputs`. A soft edge is a
    scheduling hint: it keeps no node alive, and prevents a fusion only if the fusion would delay
    a collective. A node can be listed several times on either side.

    ```mlir
    // after=mm:add,mul:mm
    %add, %c0 = AddV2(%x, %one) name("add") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
    %mm, %c1 = MatMul(%y, %y) name("mm") {T = f32} : (tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>)
    %mul, %c2 = Mul(%add, %two) name("mul") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
    // becomes
    %add, %c0 = AddV2(%x, %one) name("add") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
    %mm, %c1 = MatMul(%y, %y) [%c0] name("mm") {T = f32} : (tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>)
    %mul, %c2 = Mul(%add, %two) [%c1] name("mul") {T = f32} : (tensor<f32>, tensor<f32>) -> (tensor<f32>)
    ```

    Existing edges are kept. An edge that would close a cycle is an error; a soft edge that would
    close one is skipped with a remark.
  }];
  let options = [
    ListOption<"after", "after", "std::string", "pairs of node names, NODE:AFTER">,
    Option<"soft", "soft", "bool", "false", "add soft edges instead of control inputs">,
    Option<"function", "function", "std::string", "\"\"",
           "the function that contains the nodes (default: the graph)">
  ];
}

def ScheduleCommunication : Pass<"tfg-schedule-communication", "::mlir::ModuleOp"> {
  let summary = "overlap communication with computation";
  let description = [{
    Adds soft edges (`_soft_inputs`) so that the inputs of a collective run before nodes that
    could run during it, and the users of its result run once it is complete. A cost model
    (`costs`, a file: docs/scheduling.md) and a simulated run determine the order. If the
    simulation shows no gain, no edge is added.

    ```mlir
    %long, %c0 = MatMul(%x, %x) name("long") {T = f32} : ...
    %grad, %c1 = Mul(%x, %y) name("grad") {T = f32} : ...
    %sum, %c2 = CollectiveReduceV2(%grad, %size, %group, %instance) name("sum") {...} : ...
    // becomes
    %long, %c0 = MatMul(%x, %x) name("long") {T = f32, _soft_inputs = ["grad"]} : ...
    %grad, %c1 = Mul(%x, %y) name("grad") {T = f32} : ...
    %sum, %c2 = CollectiveReduceV2(%grad, %size, %group, %instance) name("sum") {...} : ...
    ```

    Existing edges are kept. `bucket` merges all-reduces of one group that are smaller than that
    many bytes, and that no path connects, into all-reduces of at most that size. A merged
    all-reduce has the control inputs of all of its parts, and the nodes that return the parts'
    values keep their names. `memory` limits the bytes that results of collectives hold: while
    collectives that are in progress, or whose results aren't used yet, hold more, no other
    collective is scheduled to start.
  }];
  let options = [
    Option<"costs", "costs", "std::string", "\"\"", "file with costs, or a trace">,
    Option<"ranks", "ranks", "int64_t", "2",
           "number of ranks of a group whose size isn't constant">,
    Option<"memory", "memory", "int64_t", "0",
           "bytes that the results of collectives may hold (0: no limit)">,
    Option<"bucket", "bucket", "int64_t", "0",
           "maximum bytes of a merged all-reduce (0: don't merge)">,
    Option<"jitter", "jitter", "double", "0",
           "largest random delay of a task, as a fraction of its cost">,
    Option<"explain", "explain", "bool", "false", "emit the schedule as remarks">
  ];
  let statistics = [
    Statistic<"numEdges", "edges", "soft edges added">,
    Statistic<"numBuckets", "buckets", "merged all-reduces">
  ];
}

def Partition : Pass<"tfg-partition", "::mlir::ModuleOp"> {
  let summary = "extract the partition of one rank";
  let description = [{
    A node whose device names a task (`/job:worker/task:1`) runs on the rank with that number. Nodes
    without a task, constants and placeholders run on all ranks. The pass keeps the nodes that
    `rank` runs. A _Recv replaces each value or control token that comes from another rank, and a
    _Send sends each one that another rank needs. Fetched values are sent to rank 0, where they
    keep their names.

    ```mlir
    // rank=0 ranks=2
    %a, %c0 = Neg(%x) device("/job:worker/task:0") name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    %b, %c1 = Abs(%a) device("/job:worker/task:1") name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %a, %c0 = Neg(%x) device("/job:worker/task:0") name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    %c2 = _Send(%a) name("a/send") {T = f32, tensor_name = "a:0", ...} : tensor<f32>
    ```

    Functions are partitioned like the graph: loops and conditionals without a device run on all
    ranks, and values that their functions need from other ranks are exchanged in each iteration.
    v1 control flow that is assigned to a task is an error (run tfg-v1-to-functional first), and
    so is a resource handle that is used on another task.
  }];
  let options = [
    Option<"rank", "rank", "int64_t", "0", "the rank whose partition to extract">,
    Option<"ranks", "ranks", "int64_t", "1", "number of ranks">,
    ListOption<"fetches", "fetches", "std::string", "fetched values (x or x:0)">
  ];
}

def DepsToChains : Pass<"tfg-deps-to-chains", "::mlir::ModuleOp"> {
  let summary = "replace barriers between loop iterations with chains";
  let description = [{
    The iterations of a While whose body has side effects run one after the other, because the
    body's results depend on all of its side effects. The pass replaces this barrier with chains:
    loop variables that order only conflicting accesses (both access a resource, and one writes
    it) of consecutive iterations. The first access to the resource depends on the chain's value,
    and the chain's next value depends on the last access.

    - A resource that the loop only reads needs no chain.
    - If all accesses use a handle that is itself a loop variable, that variable is the chain.
    - If an iteration begins with reads, the reads after the last write of the previous one get a
      second chain, so that the reads at the beginning depend on the write only.
    - The side effects of the condition depend on the chains too, and its result depends on them.
    - Conflicting nodes of one iteration that no path orders get the edges that tfg-order would add.
    - A side effect that must complete before the loop ends, but that no chain waits for, gets a
      chain that nothing in the loop uses. So do reads, unless the value that they read flows into
      a loop variable that depends on its own previous value.

    ```mlir
    tfg.func @body(%i: tensor<i32> {tfg.name = "i"}, %v: tensor<!tf_type.resource> {tfg.name = "v"}) -> ... {
      ...
      %c = AssignAddVariableOp(%v, %one) name("add") {dtype = i32} : tensor<!tf_type.resource>, tensor<i32>
      %done = NoOp [%c] name("done")
      %r, %c1 = Identity(%next) [%done] name("r") {T = i32} : (tensor<i32>) -> (tensor<i32>)
      return(%r, %v) [%c {tfg.name = "add"} ] : ...
    // becomes
      %c = AssignAddVariableOp(%v, %one) name("add") {dtype = i32} : tensor<!tf_type.resource>, tensor<i32>
      %r, %c1 = Identity(%next) name("r") {T = i32} : (tensor<i32>) -> (tensor<i32>)
      %w, %c2 = Identity(%v) [%c] name("v/next") {T = !tf_type.resource} : (tensor<!tf_type.resource>) -> (tensor<!tf_type.resource>)
      return(%r, %w) : ...
    ```

    All other edges are kept. If the runtime calls the loop's functions one after the other, the
    loop behaves as before. Its iterations overlap once it is lowered to frames and its functions
    are inlined (tfg-overlap-loops). A function that has other callers is copied first.

    A loop doesn't change if `parallel_iterations` is 1, if `_stateful_parallelism` is false, or
    if it contains v1 control flow that tfg-v1-to-functional can't convert; a remark gives the
    reason.

    Frames and WhileRegions with side effects are converted to While nodes first, and back
    afterwards; each chain becomes a variable of the frame or region. Nodes in a frame keep their
    names, except the frame's Enter, Merge, Switch, NextIteration and Exit nodes; conditionals in it
    become If and Case nodes. If nothing orders the iterations of a frame, its nodes are ordered as
    the graph lists them.
  }];
  let options = [
    Option<"loopOverlap", "loop-overlap", "std::string", "\"auto\"",
           "off: change nothing; auto: change loops unless `_stateful_parallelism` is false; on: "
           "change those too">,
    Option<"onlyGaining", "only-gaining", "bool", "false",
           "change only loops that contain a blocking node and can overlap">
  ];
  let statistics = [
    Statistic<"numChained", "chained", "loops changed">,
    Statistic<"numKept", "kept", "loops that can't be changed">
  ];
}

def OverlapLoops : Pass<"tfg-overlap-loops", "::mlir::ModuleOp"> {
  let summary = "lower loops to frames whose iterations overlap";
  let description = [{
    Lowers While loops without side effects, or whose barriers tfg-deps-to-chains replaced, to v1
    frames as tfg-functional-to-v1 does, and inlines condition and body into the frame, so that each
    node runs as soon as its own inputs are available. Functions with such a loop are ordered first,
    as tfg-order does. Nodes that depend on the loop depend on all of its side effects.

    Without `all`, only loops that become faster are lowered: those with a blocking node (a queue,
    Python, an unknown op) during which a node of another iteration can run. An inner loop is
    lowered separately.

    ```mlir
    %w, %c = While(%x) name("while") {T = [i32], body = #tf_type.func<@double, {}>,
        cond = #tf_type.func<@small, {}>, parallel_iterations = 7} : (tensor<i32>) -> (tensor<i32>)
    // becomes (pivots and the condition omitted)
    %e, %c0 = Enter(%x) name("while/Enter_0") {frame_name = "while", parallel_iterations = 7} : (tensor<i32>) -> (tensor<i32>)
    %m:2, %c1 = Merge(%e, %n) name("while/Merge_0") : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %s:2, %c2 = Switch(%m#0, %more) name("while/Switch_0") : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
    %y, %c3 = AddV2(%s#1, %s#1) name("while/body/y") : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
    %n, %c4 = NextIteration(%y) name("while/NextIteration_0") : (tensor<i32>) -> (tensor<i32>)
    %r, %c5 = Exit(%s#0) name("while/Exit_0") : (tensor<i32>) -> (tensor<i32>)
    ```

    It doesn't inline conditionals and calls of the body: each runs when all of its inputs are
    available.
  }];
  let options = [
    Option<"all", "all", "bool", "false", "also lower loops that don't become faster">
  ];
  let statistics = [
    Statistic<"numLowered", "lowered", "loops lowered to frames">
  ];
}

def NameCompress : Pass<"tfg-name-compress", "::mlir::ModuleOp"> {
  let summary = "give nodes short names";
  let description = [{
    Names the nodes of each body a, b, and so on, in order. Placeholders, nodes that `keep` lists,
    and nodes that create a resource (whose name may identify it) keep their names.

    ```mlir
    %n, %c = Neg(%x) name("model/layer_1/neg") : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %n, %c = Neg(%x) name("a") : (tensor<f32>) -> (tensor<f32>)
    ```

    It doesn't rename functions, arguments, frames and resources.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "names of nodes of the graph to preserve">,
    Option<"graph", "graph", "bool", "true", "rename nodes of the graph, not only of functions">
  ];
}

def InlineCalls : Pass<"tfg-inline", "::mlir::ModuleOp"> {
  let summary = "inline function calls";
  let description = [{
    Inlines nodes whose op is the name of a function, PartitionedCall and StatefulPartitionedCall,
    callees first. A node `n` of the body becomes `call/n`. A body node takes the parts of the
    device name that it doesn't specify from the call. In a graph, an Identity, IdentityN or NoOp
    keeps the name of the call, so that it can still be fetched.

    Body nodes that depend on no other body node get the control inputs of the call. Nodes with a
    control input from the call get control inputs from all body nodes with side effects and from
    the control results. So do users of the call's results, unless the result depends on the side
    effect anyway: fetching a result alone still runs all side effects. In a body with v1 control
    flow, the inlined nodes run only if no input of the call is dead, like the call itself.

    ```mlir
    %a, %c0 = PartitionedCall(%x) [%init] name("a") {f = #tf_type.func<@f, {}>, ...}
        : (tensor<f32>) -> (tensor<f32>)
    tfg.func @f(%v: tensor<f32> {tfg.name = "v"}) -> (tensor<f32> {tfg.name = "y"}) {
      %n, %c = Neg(%v) name("n") : (tensor<f32>) -> (tensor<f32>)
      return(%n) : tensor<f32>
    }
    // becomes (the function is kept)
    %n, %c1 = Neg(%x) [%init] name("a/n") : (tensor<f32>) -> (tensor<f32>)
    %a, %c0 = Identity(%n) name("a") : (tensor<f32>) -> (tensor<f32>)
    ```

    A call whose attribute `_lower_as_multi_device_function` is true is inlined with TensorFlow's
    weaker dependencies: users of a result depend on that result only, control dependencies on the
    call become dependencies on the control results, and pruning may remove a side effect that
    neither needs.

    It doesn't inline calls of functions that are generic, recursive, marked `_noinline` or
    `_XlaMustCompile`, that contain a resource without a name (a copy would create another
    resource), or that have side effects after a Switch or Enter. It keeps the functions (tfg-prune
    removes them), and doesn't inline the functions of If, While and similar nodes.
  }];
  let options = [
    ListOption<"noinline", "noinline", "std::string", "functions not to inline">,
    Option<"maxNodes", "max-nodes", "uint64_t", "2000000",
           "maximum number of nodes in a body after inlining">,
    Option<"keepNames", "keep-names", "bool", "true",
           "keep a node with the name of the call in a graph">,
    Option<"dissolving", "dissolving", "bool", "false",
           "inline only calls with `_lower_as_multi_device_function`">,
    Option<"explain", "explain", "bool", "false",
           "emit a remark with the reason for each call that isn't inlined">
  ];
}

def ShapeInference : Pass<"tfg-shape-inference", "::mlir::ModuleOp"> {
  let summary = "infer shapes";
  let description = [{
    Refines the types of values with shape functions, with integer constants and values computed
    from them (`[batch, -1]`), and with the existing types. Shapes propagate through calls,
    conditionals and loops, both functional ones and Switch and Merge; dimensions that a loop
    changes become unknown. Handles of variables and tensor lists carry the shapes of their
    contents. Arguments of a function get the shape that all of its calls agree on, unless the
    function may have other callers.

    ```mlir
    %s, %c0 = Const name("s") {dtype = i32, value = dense<[2, -1]> : tensor<2xi32>} : () -> (tensor<2xi32>)
    %r, %c1 = Reshape(%x, %s) name("r") {T = f32, Tshape = i32} : (tensor<4x3xf32>, tensor<2xi32>) -> (tensor<*xf32>)
    // becomes
    %r, %c1 = Reshape(%x, %s) name("r") {T = f32, Tshape = i32} : (tensor<4x3xf32>, tensor<2xi32>) -> (tensor<2x6xf32>)
    ```

    Pure nodes with small constant inputs are evaluated if a shape depends on them. Results of ops
    without a shape function keep their types, and so do results of nodes in regions and generic
    functions. It doesn't report incompatible shapes: `treadle check` and the run do.
  }];
  let options = [
    ListOption<"feeds", "feeds", "std::string", "fed values, which may have any shape (x or x:0)">,
    Option<"outputShapes", "output-shapes", "bool", "false",
           "also set the attribute _output_shapes, which GraphDefs can express">
  ];
}

def HoistLoopInvariants : Pass<"tfg-hoist-loop-invariants", "::mlir::ModuleOp"> {
  let summary = "hoist loop-invariant nodes";
  let description = [{
    In a While loop, a pure node that depends only on invariant loop variables moves before the
    loop, and its result becomes another loop variable. Any pure node of the condition may move,
    since the condition runs at least once. A node of the body moves only if it can't fail, since
    the body may never run: the op must be total, and the shapes of binary ops must be known to be
    compatible (tfg-shape-inference infers them). Functions with other callers aren't changed.

    In a frame, a pure node whose inputs are all constant Enter nodes moves before them, and an
    Enter of its result replaces it and has its name. Nodes that can fail move too, because they ran
    in the first iteration anyway.

    ```mlir
    %a, %c0 = Enter(%x) name("a") {T = f32, frame_name = "f", is_constant = true, parallel_iterations = 10 : i64} : (tensor<f32>) -> (tensor<f32>)
    %n, %c1 = Neg(%a) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %i, %c1 = Neg(%x) name("n/invariant") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    %n, %c2 = Enter(%i) name("n") {T = f32, frame_name = "f", is_constant = true, parallel_iterations = 10 : i64} : (tensor<f32>) -> (tensor<f32>)
    ```

    It doesn't hoist reads of variables, nodes with control inputs, or constants on their own.
    tfg-prune removes unused nodes of the functions afterwards.
  }];
  let options = [
    Option<"frames", "frames", "bool", "true", "also hoist from frames of v1 control flow">
  ];
}

def Remap : Pass<"tfg-remap", "::mlir::ModuleOp"> {
  let summary = "fuse common sequences of ops";
  let description = [{
    Fuses a matrix product or a convolution with its epilogue: a bias, batch norm or factor per
    channel, then an addition, then an activation (Relu, Relu6, Elu, LeakyRelu, Tanh, Sigmoid, and
    decomposed gelu, exact or with tanh). The result is _FusedMatMul, _FusedConv2D or
    _FusedDepthwiseConv2dNative with TensorFlow's attributes. An Einsum that multiplies rows by a
    matrix is fused as well. Constant offsets are combined into one bias; a constant factor is
    multiplied into a constant filter. Decomposed layer normalization becomes _MklLayerNorm;
    FusedBatchNormV3 followed by Relu becomes _FusedBatchNormEx.

    ```mlir
    %p, %c0 = MatMul(%x, %w) name("p") : (tensor<?x4xf32>, tensor<4x8xf32>) -> (tensor<?x8xf32>)
    %b, %c1 = BiasAdd(%p, %v) name("b") : (tensor<?x8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>)
    %r, %c2 = Relu(%b) name("r") : (tensor<?x8xf32>) -> (tensor<?x8xf32>)
    // becomes
    %r, %c2 = _FusedMatMul(%x, %w, %v) name("r") {fused_ops = ["BiasAdd", "Relu"], num_args = 1 : i64, ...}
        : (tensor<?x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>)
    ```

    It creates only ops that TensorFlow 2.21 can run as well, some of them with oneDNN only
    (`onednn`). It fuses only float32 nodes on one device, and only if the intermediate values have
    no other users. The fused node has the control inputs of all fused nodes. The fused node takes the name of the last original node; the
    others remain until tfg-prune removes them. It reads shapes from types, and constants from Const nodes: run
    tfg-shape-inference and tfg-constant-folding first. Results may
    differ in the last bits. It doesn't fuse gradients or batched matrix products.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string",
               "names of fetched nodes, which aren't fused into others">,
    ListOption<"feeds", "feeds", "std::string", "fed values (x or x:0)">,
    Option<"contractions", "contractions", "bool", "true",
           "fuse matrix products and convolutions with their epilogues">,
    Option<"layerNorm", "layer-norm", "bool", "true", "fuse layer normalizations">,
    Option<"oneDnn", "onednn", "bool", "true",
           "also create ops that TensorFlow runs with oneDNN only: depthwise convolutions, "
           "additions, gelu, norms">,
    Option<"batchNorm", "batch-norm", "bool", "true", "fuse batch norms without a convolution">
  ];
}

def ChannelsLast : Pass<"tfg-channels-last", "::mlir::ModuleOp"> {
  let summary = "convert NCHW to NHWC";
  let description = [{
    Converts convolutions, pools, batch norms and their gradients from `data_format = "NCHW"` (or
    `"NCDHW"`) to the channels-last layout that the runtime's kernels use. The ops between
    them are converted as well: elementwise ops, reductions, concatenations, pads, slices, splits.
    So a Transpose remains only at the inputs and outputs of the converted nodes, and before an op
    that depends on the order of dimensions (a Reshape). Existing Transpose nodes are reused or
    cancelled.

    ```mlir
    %c, %c0 = Conv2D(%x, %f) name("c") {data_format = "NCHW", ...}
    %r, %c1 = Relu(%c) name("r")
    %d, %c2 = Conv2D(%r, %g) name("d") {data_format = "NCHW", ...}
    // becomes
    %t, %c3 = Transpose(%x, [0, 2, 3, 1])
    %c, %c0 = Conv2D(%t, %f) name("c") {data_format = "NHWC", ...}
    %r, %c1 = Relu(%c) name("r")
    %d, %c2 = Conv2D(%r, %g) name("d") {data_format = "NHWC", ...}
    %u, %c4 = Transpose(%d, [0, 3, 1, 2])
    ```

    It doesn't change bodies with v1 control flow. Sessions run it on the nodes of each request
    and on the functions that they call, except in tier `interpret`.
  }];
  let options = [ListOption<"keep", "keep", "std::string",
                            "graph nodes that may be fed or fetched; their values are preserved">];
}

def FuseKernels : Pass<"tfg-fuse-kernels", "::mlir::ModuleOp"> {
  let summary = "fuse nodes into ops with fused kernels";
  let description = [{
    Fuses these patterns if their intermediate values have no other users:

    - a convolution or matrix product with its epilogue: a bias or batch norm for inference,
      products and sums, an activation;
    - a Pad with zeros into the convolution after it, a Transpose of the filter (from [out, in,
      rows, columns]) into the convolution that reads it, and a Transpose of the filter's gradient
      into the op that computes it;
    - the gates of an LSTM into `_FusedLstmGates`;
    - attention, a softmax with the products before and after it, into `_Attention`, whose heads
      may be the third dimension of an Einsum;
    - decomposed activations (gelu, swish and others) and layer normalizations into one op each, and
      batch norms for inference with their activation if they aren't fused into a convolution.

    If all users of a convolution's result are strided 1x1 convolutions, the convolution computes
    only the positions that they read (`sampling`). The fused node has the name of the convolution
    or product, reports its errors, and has the control inputs of all fused nodes.

    ```mlir
    %p, %c0 = MatMul(%x, %w) name("p") : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
    %m, %c1 = Mul(%p, %s) name("m") : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
    %r, %c2 = Relu(%m) name("r") : (tensor<*xf32>) -> (tensor<*xf32>)
    // becomes
    %r, %c2 = _FusedMatMul(%x, %w, %s) name("p") {fused_ops = ["Mul", "Relu"], ...}
        : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
    ```

    It doesn't need shapes and doesn't fold constants. It matches more patterns than TensorFlow's
    remapper, and TensorFlow can't run the fused ops: use tfg-remap for TensorFlow. Sessions run it
    on the nodes of each request and on the functions that they call, except in tier `interpret`.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "graph nodes that may be fed or fetched">
  ];
}

def StructureLoops : Pass<"tfg-structure-loops", "::mlir::ModuleOp"> {
  let summary = "raise frames of v1 control flow to WhileRegion";
  let description = [{
    Converts frames in the form that TensorFlow generates (LoopCond; Enter, Merge, Switch,
    NextIteration and Exit for each loop variable) to WhileRegion ops, innermost frames first. The
    first region contains the nodes that LoopCond depends on, the second those that the
    NextIterations depend on. Each node runs as often as in the frame. A frame isn't converted if
    nodes in it can be dead while others of the same iteration run.

    ```mlir
    %e, %c0 = Enter(%x) name("e") {frame_name = "loop", ...} : (tensor<i32>) -> (tensor<i32>)
    %m:2, %c1 = Merge(%e, %n) name("m") : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %l, %c2 = Less(%m#0, %m#0) name("l") : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
    %p, %c3 = LoopCond(%l) name("p") : (tensor<i1>) -> (tensor<i1>)
    %s:2, %c4 = Switch(%m#0, %p) name("s") : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
    %a, %c5 = Neg(%s#1) name("a") : (tensor<i32>) -> (tensor<i32>)
    %n, %c6 = NextIteration(%a) name("n") : (tensor<i32>) -> (tensor<i32>)
    %y, %c7 = Exit(%s#0) name("y") : (tensor<i32>) -> (tensor<i32>)
    // becomes
    %y, %c7 = WhileRegion(%x) name("loop") {
    ^bb0(%i: tensor<i32>, %ic: !tf_type.control):
      %l, %c2 = Less(%i, %i) name("l") : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
      condition %l : tensor<i1> (%i) : tensor<i32>
    } do {
    ^bb0(%i: tensor<i32>, %ic: !tf_type.control):
      %a, %c5 = Neg(%i) name("a") : (tensor<i32>) -> (tensor<i32>)
      yield(%a) : tensor<i32>
    } {parallel_iterations = 10 : i64} : (tensor<i32>) -> tensor<i32>
    ```

    Switch and Merge nodes of conditionals aren't converted. A loop isn't converted, and a remark
    gives the reason, if a node outside uses a value inside it, if it uses references to variables,
    or if one of its nodes may block. Unlike tfg-v1-to-functional, it creates no functions. Sessions
    run it on the nodes of each request and on the functions that they call, unless `loop_overlap`
    is `on`.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "graph nodes that may be fed or fetched">
  ];
  let statistics = [Statistic<"numLoops", "loops", "loops converted">];
}

def RemoveQuantization : Pass<"tfg-remove-quantization", "::mlir::ModuleOp"> {
  let summary = "remove simulated quantization";
  let description = [{
    FakeQuant and QuantizeAndDequantize ops become an Identity of their input; a Dequantize of a
    QuantizeV2 becomes an Identity of the QuantizeV2's input. Values change: they are no longer
    rounded and no longer clipped to the range. Dependencies on the inputs for the range are
    dropped; other control inputs are kept.

    ```mlir
    %f, %c = FakeQuantWithMinMaxVars(%x, %min, %max) [%init] name("f") {num_bits = 8 : i64, ...}
        : (tensor<?xf32>, tensor<f32>, tensor<f32>) -> (tensor<?xf32>)
    // becomes
    %f, %c = Identity(%x) [%init] name("f") {T = f32} : (tensor<?xf32>) -> (tensor<?xf32>)
    ```

    It doesn't change ops that compute with quantized values (QuantizedConv2D and others),
    quantized inputs of the graph, and gradients. tfg-prune removes unused nodes afterwards.
  }];
  let options = [
    ListOption<"feeds", "feeds", "std::string", "fed values (x or x:0)">
  ];
}

def Place : Pass<"tfg-place", "::mlir::ModuleOp"> {
  let summary = "assign devices to nodes by rules";
  let description = [{
    A rule is PATTERN=DEVICE, where the regular expression PATTERN must match the whole op of a
    node, or name:PATTERN=DEVICE, where it must match part of the node's name. The first rule that
    matches applies. Semicolons separate rules. A node that already has a device keeps it.

    Nodes with `_class = ["loc:@x"]` are colocated with node x; a variable or other resource is
    colocated with all nodes that use its handle. A colocation group gets the device of its first
    node that has one; if none has one, it gets the device of the first node that matches a rule. It
    is an error if nodes of a group have devices of different types, jobs or tasks; different
    devices of one type (`/CPU:0`, `/CPU:1`) are allowed, as in TensorFlow.

    ```mlir
    // rules="MatMul|Conv.*=/device:GPU:0;name:^loop/=/job:w/task:0"
    %p, %c0 = MatMul(%x, %w) name("p") : (tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>)
    %n, %c1 = Neg(%p) name("n") {_class = ["loc:@p"]} : (tensor<2x2xf32>) -> (tensor<2x2xf32>)
    // becomes
    %p, %c0 = MatMul(%x, %w) device("/device:GPU:0") name("p") : ...
    %n, %c1 = Neg(%p) device("/device:GPU:0") name("n") {_class = ["loc:@p"]} : ...
    ```

    It doesn't check which kernels a device has, doesn't use costs, and doesn't partition the
    graph (tfg-partition does). The rules apply to calls too, but calls aren't colocated with the
    handles that they take.
  }];
  let options = [
    Option<"rules", "rules", "std::string", "", "PATTERN=DEVICE;name:PATTERN=DEVICE;...">,
    Option<"functions", "functions", "bool", "true", "also assign devices to nodes of functions">
  ];
  let statistics = [
    Statistic<"numPlaced", "placed", "nodes that got a device">
  ];
}

def ConstantFolding : Pass<"tfg-constant-folding", "::mlir::ModuleOp"> {
  let summary = "fold constants and remove no-ops";
  let description = [{
    A pure node with only constant inputs is evaluated with the runtime's kernel. It becomes a
    Const of the same name and device, with the control inputs of the node and of its inputs. A node
    with several results is kept because of its name, but constants replace its uses. A node whose
    evaluation fails is kept, so that the run reports the error.

    Algebraic identities (ops with a neutral or absorbing operand, inverse or idempotent pairs),
    shape ops whose result is known from types, and ops that move no data become an Identity or a
    Const with the same name, if the result is bitwise equal (`x + 0.0` isn't folded, because of
    `-0.0`). Users of an Identity use its input directly, and NoOps with few edges are bypassed.
    Redundant control edges are removed: those that a data edge of the same node implies, and those
    from a constant without control inputs.

    ```mlir
    %c, %c0 = Const name("c") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
    %d, %c1 = Mul(%c, %c) [%x.ctl] name("d") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
    // becomes
    %d, %c1 = Const [%x.ctl] name("d") {dtype = i32, value = dense<4> : tensor<i32>} : () -> (tensor<i32>)
    ```

    Nodes keep their names, so that every node can still be fetched; tfg-prune removes unused nodes.
    List fed values in `feeds`, except those of placeholders. Shapes come from types
    (tfg-shape-inference). It doesn't fold nodes with side effects, calls, handles, or v1 control
    flow and the nodes that depend on it. It doesn't resolve conditionals with a constant predicate.
  }];
  let options = [
    ListOption<"feeds", "feeds", "std::string", "fed values (x or x:0)">,
    Option<"maxBytes", "max-bytes", "int64_t", "102400",
           "maximum bytes of a folded result, unless the inputs are larger">,
    Option<"evaluate", "evaluate", "bool", "true", "evaluate nodes with constant inputs">,
    Option<"identities", "identities", "bool", "true", "remove no-ops">,
    Option<"control", "control", "bool", "true", "remove redundant control edges">
  ];
}

def V1ToFunctional : Pass<"tfg-v1-to-functional", "::mlir::ModuleOp"> {
  let summary = "raise v1 control flow to While, If and Case";
  let description = [{
    Converts loops first, innermost first, then conditionals in the same order.

    A loop is a frame with one LoopCond. The nodes that LoopCond depends on become the condition
    function; the nodes that the NextIterations depend on become the body function. Values of
    constant Enter nodes become loop-invariant variables. The While has the same
    `parallel_iterations`; its `_frame_name` is the name of the frame.

    A conditional is the set of Switch nodes with one predicate on one device, and the Merge nodes
    with an input from each branch. It becomes an If, or a Case with as many branches as the
    Switch has outputs. If a branch depends on a result of the same conditional through a path
    outside of it, as in gradients, the conditional is split into several Ifs, and values that a
    later If needs are results of the earlier ones. In a graph, nodes of a branch that reach no
    Merge are removed: only a fetch could use them.

    ```mlir
    %s:2, %c0 = Switch(%x, %p) name("cond/Switch") : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
    %n, %c1 = Neg(%s#1) name("cond/Neg") : (tensor<f32>) -> (tensor<f32>)
    %m:2, %c2 = Merge(%s#0, %n) name("cond/Merge") : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
    // becomes
    %i, %c0 = StatelessIf(%p, %x) name("cond") {then_branch = #tf_type.func<@cond_true, {}>, ...}
        : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
    %m, %c1 = Identity(%i) name("cond/Merge") : (tensor<f32>) -> (tensor<f32>)
    ```

    A node that tfg-functional-to-v1 lowered is restored with its name, attributes and functions,
    provided that its frame or branches still contain nothing but the calls of these functions.

    In a graph, results of outermost loops and conditionals keep their names: an Identity replaces
    the Exit or Merge. Loops and conditionals that contain a node that `keep` lists aren't
    converted. Neither is unsupported control flow (references to variables, frames that values
    enter or leave without Enter or Exit, a Switch without a Merge); a remark gives the reason.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "names of nodes that aren't moved into functions">
  ];
  let statistics = [
    Statistic<"numLoops", "loops", "loops found">,
    Statistic<"numConvertedLoops", "converted-loops", "loops converted to While">,
    Statistic<"numConditionals", "conditionals", "conditionals found">,
    Statistic<"numConvertedConditionals", "converted-conditionals",
              "conditionals converted to If or Case">
  ];
}

def TfgToTfExecutor : Pass<"tfg-to-tf-executor", "::mlir::ModuleOp"> {
  let summary = "convert to the tf_executor dialect";
  let description = [{
    The graph becomes `@main`; functions become private functions. v1 control flow ops become
    operations of tf_executor, all others islands. Node names become locations: print them with
    `--mlir-print-debuginfo`. Attributes that types imply are omitted, as TensorFlow does.

    ```mlir
    tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
      %x, %c0 = Placeholder name("x") {dtype = f32, shape = #tf_type.shape<>} : () -> (tensor<*xf32>)
      %y, %c1 = Neg(%x) [%c0] name("y") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
    }
    // becomes
    func.func @main() {
      tf_executor.graph {
        %outputs, %control = tf_executor.island wraps "tf.Placeholder"() {device = "", shape = #tf_type.shape<>} : () -> tensor<*xf32>
        %outputs_0, %control_1 = tf_executor.island(%control) wraps "tf.Neg"(%outputs) {device = ""} : (tensor<*xf32>) -> tensor<*xf32>
        tf_executor.fetch
      }
      return
    }
    ```

    tf-executor-to-tfg restores the same graph: properties that tf_executor can't express (the order
    of nodes if it isn't topological, omitted attributes, fields of functions) are stored in
    attributes that TensorFlow ignores. Generic functions aren't converted. It fails on nodes with
    regions, cycles without a NextIteration, and a function named `main`.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::treadle::tf_executor::TfExecutorDialect"];
}

def TfExecutorToTfg : Pass<"tf-executor-to-tfg", "::mlir::ModuleOp"> {
  let summary = "convert from the tf_executor dialect";
  let description = [{
    `@main` becomes the graph, with a Placeholder for each argument; other functions become
    functions. Each operation of an island becomes a node, with control edges between nodes with
    side effects. If a value that an island of several operations uses may be dead, its nodes use
    the results of an IdentityN of all such values, so that either all of them run or none does. A
    function without a tf_executor.graph is converted as one island. Attributes that types imply are
    added.

    ```mlir
    func.func @main() {
      tf_executor.graph {
        %x, %c0 = tf_executor.island wraps "tf.Const"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32> loc("x")
        %c1 = tf_executor.island {
          %0 = "tf.Neg"(%x) : (tensor<f32>) -> tensor<f32> loc("y")
          "tf.PrintV2"(%0) {end = ""} : (tensor<f32>) -> () loc("z")
        }
        tf_executor.fetch
      }
      return
    }
    // becomes
    tfg.graph #tf_type.version<producer = 0, min_consumer = 0> {
      %Const, %ctl = Const name("x") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
      %Neg, %ctl_0 = Neg(%Const) name("y") {T = f32} : (tensor<f32>) -> (tensor<f32>)
      %ctl_1 = PrintV2(%Neg) name("z") {end = ""} : tensor<f32>
    }
    ```

    An Enter becomes constant if the predicate of its loop depends on it in later iterations too.
    Regions of tf operations (`tf.IfRegion` and others) become functions. It fails on functions with
    several blocks, on other operations with regions, and on a tf_executor.graph next to other
    operations.
  }];
  let dependentDialects = ["::treadle::tfg::TfgDialect"];
}

def FunctionalToV1 : Pass<"tfg-functional-to-v1", "::mlir::ModuleOp"> {
  let summary = "lower While, For, If and Case to v1 control flow";
  let description = [{
    Each function becomes a call node: the condition is called between Merge and LoopCond, the body
    between Switch and NextIteration, and a branch between Switch and Merge. tfg-inline inlines
    these calls. A loop or conditional starts when all inputs and control inputs of the node are
    available, and nodes with a control input from it depend on all of its results. Handles that a
    body returns unchanged become constant Enter nodes.

    ```mlir
    %y, %c = StatelessIf(%p, %x) name("if") {then_branch = #tf_type.func<@t, {}>, ...}
        : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
    // becomes (pivots omitted)
    %s:2, %c0 = Switch(%x, %p) name("if/Switch_0") : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
    %f, %c1 = PartitionedCall(%s#0) name("if/branch_0") {f = #tf_type.func<@e, {}>, ...} : (tensor<f32>) -> (tensor<f32>)
    %t, %c2 = PartitionedCall(%s#1) name("if/branch_1") {f = #tf_type.func<@t, {}>, ...} : (tensor<f32>) -> (tensor<f32>)
    %m:2, %c3 = Merge(%f, %t) name("if/Merge_0") : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
    %y, %c = IdentityN(%m#0) name("if") : (tensor<f32>) -> (tensor<f32>)
    ```

    A For is lowered to a loop with a 64-bit index and to an Assert that checks that the range is
    finite.

    A node whose attribute `_lower_using_switch_merge` is true is lowered with TensorFlow's weaker
    dependencies: users of a result depend on that result only, and a side effect in a branch or
    body runs only if a fetched result or a control result depends on it. Its calls are marked
    `_lower_as_multi_device_function`. If the attribute is false or missing, a branch runs as a
    whole; TensorFlow then runs the side effects that are control results of its function.

    The IdentityN (a NoOp if there are no results) keeps the name of the node for fetches, and its
    attributes as `_lowered.KEY`; the other nodes name the original in `_lowered_from`. So
    tfg-v1-to-functional can restore the node, including the order of its inputs. It doesn't lower
    a While without loop variables, or a node whose inputs and outputs don't match its functions;
    a remark gives the reason.
  }];
  let options = [
    Option<"dissolving", "dissolving", "bool", "false",
           "lower only nodes with `_lower_using_switch_merge`, in the graph and in the "
           "functions that these nodes call">
  ];
}

def FunctionalToRegion : Pass<"tfg-functional-to-region", "::mlir::ModuleOp"> {
  let summary = "convert If, Case, While and For to ops with regions";
  let description = [{
    Each form of If, Case, While and For becomes its counterpart with regions, which are copies of
    the function bodies. Branches use the values of the enclosing body instead of arguments.
    `#tfg.region_attrs` keeps the names and attributes of the functions. Functional ops in a
    copied body are converted as well. A ToBool converts a predicate that isn't boolean.

    ```mlir
    %If, %ctl = If(%p, %x) name("if") {Tcond = i1, Tin = [f32], Tout = [f32], else_branch = #tf_type.func<@same, {}>,
        then_branch = #tf_type.func<@neg, {}>} : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
    // becomes
    %If, %ctl = IfRegion %p then {
      %Neg, %ctl_0 = Neg(%x) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
      yield(%Neg) : tensor<f32>
    } else {
      yield(%x) : tensor<f32>
    } {_mlir_name = "if", _operands = ["x"], else_attrs = {},
       else_region_attrs = #tfg.region_attrs<{sym_name = "same"} [] [{tfg.name = "y"} ]>, then_attrs = {},
       then_region_attrs = #tfg.region_attrs<{sym_name = "neg"} [] [{tfg.name = "y"} ]>} : (tensor<i1>) -> tensor<f32>
    ```

    The functions are kept; tfg-prune removes those without references. tfg-region-to-functional
    restores the same graph and reuses these functions. An op isn't converted if one of its
    functions is missing, generic, recursive, compiled separately by XLA, has a gradient, or matches
    the op's types only at run time.
  }];
  let options = [
    Option<"maxNodes", "max-nodes", "uint64_t", "200000",
           "maximum number of nodes in a body, including those in regions">
  ];
  let statistics = [
    Statistic<"numConverted", "converted", "ops converted">,
    Statistic<"numKept", "kept", "ops that can't be converted">
  ];
  let dependentDialects = ["::treadle::tfg::TfgDialect"];
}

def RegionToFunctional : Pass<"tfg-region-to-functional", "::mlir::ModuleOp"> {
  let summary = "outline regions of conditionals and loops into functions";
  let description = [{
    The inverse of tfg-functional-to-region. Values that a branch uses become arguments. Values from
    outside that the regions of a loop use become additional loop-invariant variables, whose results
    have no uses. Control tokens from outside become control inputs of the op. If the function that
    `#tfg.region_attrs` names still has the same body as the region, it is reused; otherwise a new
    function is created.

    ```mlir
    %If, %ctl = IfRegion %p then {
      %Neg, %ctl_0 = Neg(%x) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
      yield(%Neg) : tensor<f32>
    } else {
      yield(%x) : tensor<f32>
    } {_mlir_name = "if"} : (tensor<i1>) -> tensor<f32>
    // becomes
    %If, %ctl = If(%p, %x) name("if") {Tcond = i1, Tin = [f32], Tout = [f32], else_branch = #tf_type.func<@if_else_branch, {}>,
        then_branch = #tf_type.func<@if_then_branch, {}>} : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
    ```

    StatefulIfRegion and similar ops, whose counterparts the runtime doesn't run, become plain If,
    Case and While. The pass fails on a loop whose condition forwards other values than its own
    arguments, and on regions that use a reference from outside.
  }];
  let statistics = [
    Statistic<"numConverted", "converted", "ops converted">,
    Statistic<"numReused", "reused", "functions reused">
  ];
  let dependentDialects = ["::treadle::tfg::TfgDialect"];
}

def ControlFlowSink : Pass<"tfg-cf-sink", "::mlir::ModuleOp"> {
  let summary = "sink nodes into the branch that uses them";
  let description = [{
    A node without side effects whose results and control token are used in one branch of one
    conditional, and nowhere else, moves into that branch. This repeats for nodes whose only uses
    are then in the branch. The conditional keeps all of its dependencies.

    ```mlir
    %Neg, %ctl = Neg(%x) [%init] name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    %If, %ctl_0 = IfRegion %p then {
      yield(%Neg) : tensor<f32>
    } else {
      yield(%x) : tensor<f32>
    } {_mlir_name = "if"} : (tensor<i1>) -> tensor<f32>
    // becomes
    %If, %ctl_0 = IfRegion %p then {
      %Neg, %ctl = Neg(%x) [%init] name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
      yield(%Neg) : tensor<f32>
    } else {
      yield(%x) : tensor<f32>
    } {_mlir_name = "if"} : (tensor<i1>) -> tensor<f32>
    ```

    Nodes of the top-level graph aren't sunk unless `graph` is set, because a run may fetch them.
    The pass doesn't sink nodes into loops, and doesn't duplicate nodes. tfg-cf-sink-functional does
    the same for If and Case nodes that call functions.
  }];
  let options = [
    Option<"graph", "graph", "bool", "false", "also sink nodes of the graph">,
    ListOption<"keep", "keep", "std::string", "names of nodes of the graph to preserve">,
    ListOption<"feeds", "feeds", "std::string", "fed values (x or x:0)">
  ];
  let statistics = [Statistic<"numSunk", "sunk", "nodes sunk">];
}

def ExpandSymbolicGradients : Pass<"tfg-expand-symbolic-gradients", "::mlir::ModuleOp"> {
  let summary = "replace SymbolicGradient nodes with calls of gradient functions";
  let description = [{
    A SymbolicGradient node becomes a call of the gradient function that the library declares for
    `f`. If it declares none, a new function `f_gradient` is created: a copy of the body of `f`,
    followed by the nodes that compute the gradients of the arguments, in reverse order. Gradients
    of a value with several uses are summed; an argument that no result depends on gets zeros. In
    the copy, calls, conditionals and loops are replaced with ones that return the values that
    their gradients need as additional results (docs/gradients.md). SymbolicGradient nodes in the
    body are expanded too.

    ```mlir
    %dx, %c0 = SymbolicGradient(%x, %dy) name("grad") {Tin = [f32, f32], Tout = [f32],
        f = #tf_type.func<@square, {}>} : (tensor<f32>, tensor<f32>) -> (tensor<*xf32>)
    // becomes
    %dx, %c0 = PartitionedCall(%x, %dy) name("grad") {Tin = [f32, f32], Tout = [f32],
        f = #tf_type.func<@square_gradient, {}>} : (tensor<f32>, tensor<f32>) -> (tensor<*xf32>)
    ```

    It fails on ops without a gradient, on v1 control flow (Switch, Enter), on nodes with regions,
    and on generic functions. It doesn't remove nodes of the copied body that the gradients don't
    need: tfg-prune does. A run doesn't need this pass: the runtime creates the same functions
    when it reaches such a node.
  }];
}

def SpecializeFunctions : Pass<"tfg-specialize-functions", "::mlir::ModuleOp"> {
  let summary = "specialize functions for each call site";
  let description = [{
    If a node calls a generic function, by its op or in an attribute, the function is
    instantiated: a copy gets the attributes of the call and concrete types. Calls with equal
    attributes share the copy, whose name is the name of the function followed by the attributes.
    A list argument `x` becomes `x_0`, `x_1`, and so on.

    With `shapes`, calls, If and Case get functions whose argument types are the types of their
    operands. With `constants`, they get functions that contain the constants that are passed
    (tfg-prune-arguments removes these arguments afterwards). Functions that become unused are
    removed.

    ```mlir
    %y, %c = square(%x) name("y") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    tfg.func generic @square(%a: !tf_type.tensor {tfg.name = "a", tfg.type_attr = "T"})
        -> (!tf_type.tensor {tfg.name = "b", tfg.type_attr = "T"}) {
      %m, %mc = Mul(%a, %a) name("m") {T = #tf_type.placeholder<"T">} : (!tf_type.tensor, !tf_type.tensor) -> (!tf_type.tensor)
      %0 = get_result(%m) "z" : 0
      return(%0) : !tf_type.tensor
    }
    // becomes
    %y, %c = square_T_f32(%x) name("y") : (tensor<f32>) -> (tensor<f32>)
    tfg.func @square_T_f32(%a: tensor<*xf32> {tfg.name = "a"}) -> (tensor<*xf32> {tfg.name = "b"}) {
      %m, %mc = Mul(%a, %a) name("m") {T = f32} : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
      return(%m) : tensor<*xf32>
    }
    ```

    If an attribute is missing or the op of a node is unknown, the call doesn't change, and a
    remark gives the reason. It doesn't specialize the functions of While for shapes and
    constants, nor those of SymbolicGradient.
  }];
  let options = [
    Option<"shapes", "shapes", "bool", "false", "specialize for argument shapes">,
    Option<"constants", "constants", "bool", "false", "specialize for constant arguments">
  ];
}

def ExpandPrograms : Pass<"tfg-expand-programs", "::mlir::ModuleOp"> {
  let summary = "expand StableHLO modules in XlaCallModule nodes into functions";
  let description = [{
    jax2tf, and Keras on JAX, store a serialized StableHLO module in an attribute of a node. The
    module is imported as a function, as from a file, and a call of it replaces the node; nodes
    with the same module share the function. Arguments that XlaCallModule provides itself (platform
    index, dimension sizes, tokens) are removed. Only nodes in the graph and in functions reachable
    from it are expanded.

    ```mlir
    %y, %c = XlaCallModule(%x) name("y") {module = "...", Sout = [...], version = 10} : (tensor<3xf32>) -> (tensor<3xf32>)
    // becomes
    %y, %c = PartitionedCall(%x) name("y") {f = #tf_type.func<@main, {}>} : (tensor<3xf32>) -> (tensor<3xf32>)
    ```

    If a module can't be imported, the node is kept, the attribute `tfg.problem` holds the error,
    and running the node reports it.
  }];
}

def LiftGraphToFunc : Pass<"tfg-lift-graph-to-func", "::mlir::ModuleOp"> {
  let summary = "convert the graph to a function";
  let description = [{
    Feeds become arguments, fetches become results, and targets become control results. `x` means
    all results of a node, `x:1` one of them. An argument for `x:1` is named `x_1` and records the
    value that it replaces, so that tfg-lower-func-to-graph can restore the graph. Nodes with a
    control input from a fed placeholder depend on the argument instead.

    ```mlir
    // feeds=x fetches=y
    tfg.graph #tf_type.version<producer = 1482, min_consumer = 0> {
      %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
      %y, %yc = Neg(%x) name("y") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    }
    // becomes
    tfg.func @_mlir_lifted_graph(%x_0: tensor<f32> {tfg.name = "x_0", tfg.lifted_value_attr = ["x", 0 : index]})
        -> (tensor<f32> {tfg.name = "y_0"})
        attributes {tfg.lifted_graph_version = #tf_type.version<producer = 1482, min_consumer = 0>} {
      %x, %xc = Placeholder name("x") {dtype = f32} : () -> (tensor<f32>)
      %y, %yc = Neg(%x_0) name("y") {T = f32} : (tensor<f32>) -> (tensor<f32>)
      return(%y) : tensor<f32>
    }
    ```

    It keeps all nodes, including fed ones; tfg-prune and tfg-prune-arguments remove the unused
    ones.
  }];
  let options = [
    Option<"name", "name", "std::string", "\"_mlir_lifted_graph\"", "name of the function">,
    ListOption<"feeds", "feeds", "std::string", "nodes or values to convert to arguments">,
    ListOption<"fetches", "fetches", "std::string", "nodes or values to convert to results">,
    ListOption<"targets", "targets", "std::string", "nodes to convert to control results">
  ];
}

def LowerFuncToGraph : Pass<"tfg-lower-func-to-graph", "::mlir::ModuleOp"> {
  let summary = "convert a function to the graph";
  let description = [{
    The inverse of tfg-lift-graph-to-func: uses of an argument become uses of the value that it
    replaced. Arguments that record no such value, or whose node was removed, become placeholders
    with their names, and results become Identity nodes with the names of the results.

    ```mlir
    tfg.func @f(%a: tensor<f32> {tfg.name = "a"}) -> (tensor<f32> {tfg.name = "b"}) {
      %n, %c = Neg(%a) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
      return(%n) : tensor<f32>
    }
    // name=f becomes
    tfg.graph #tf_type.version<producer = 2286, min_consumer = 0> {
      %a, %ac = Placeholder name("a") {dtype = f32, shape = #tf_type.shape<>} : () -> (tensor<f32>)
      %n, %c = Neg(%a) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
      %b, %bc = Identity(%n) name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    }
    ```

    The module must not have a graph yet. Control results are dropped, because a graph has none.
  }];
  let options = [
    Option<"name", "name", "std::string", "\"_mlir_lifted_graph\"", "name of the function">
  ];
}

def SelectImplementations : Pass<"tfg-select-implementations", "::mlir::ModuleOp"> {
  let summary = "select CPU implementations of functions";
  let description = [{
    Functions with equal `api_implements` attributes implement one interface, and
    `api_preferred_device` names the device that each is for. A call, by op or in an attribute, of
    an implementation for another device becomes a call of the first implementation for the CPU
    that has the same types.

    ```mlir
    %y, %c = PartitionedCall(%x) name("y") {Tin = [f32], Tout = [f32],
        f = #tf_type.func<@lstm_gpu, {}>} : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %y, %c = PartitionedCall(%x) name("y") {Tin = [f32], Tout = [f32],
        f = #tf_type.func<@lstm_cpu, {}>} : (tensor<f32>) -> (tensor<f32>)
    ```

    It doesn't change functions that compute gradients or values for gradients, because the forward
    and the gradient implementation must match. Sessions run the pass if a call would change.
  }];
}

def LiftLegacyCall : Pass<"tfg-lift-legacy-call", "::mlir::ModuleOp"> {
  let summary = "add symbol references to nodes that call functions by their op";
  let description = [{
    Adds the attribute `tfg.legacy_call`, so that analyses that follow symbol references, without
    knowing the ops of this dialect, find the use of the function. The attribute isn't exported to
    a GraphDef.

    ```mlir
    %y, %c = f(%x) name("y") : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %y, %c = f(%x) name("y") {tfg.legacy_call = @f} : (tensor<f32>) -> (tensor<f32>)
    ```
  }];
}

def ConsolidateAttrs : Pass<"tfg-consolidate-attrs", "::mlir::ModuleOp"> {
  let summary = "move type information from attributes into types";
  let description = [{
    Moves the shapes in `_output_shapes` of nodes and arguments and in `_input_shapes` of
    functions, and the handle data of arguments, into the types of values. Properties that types
    can't express remain attributes; tfg-prepare-attrs-export adds the other attributes again.

    ```mlir
    %y, %c = Neg(%x) name("y") {T = f32, _output_shapes = [#tf_type.shape<2x?>]} : (tensor<*xf32>) -> (tensor<*xf32>)
    // becomes
    %y, %c = Neg(%x) name("y") {T = f32, _mlir_regenerate_output_shapes} : (tensor<*xf32>) -> (tensor<2x?xf32>)
    ```

    GraphDefs can't express these types: run tfg-prepare-attrs-export before exporting one. It
    doesn't change generic functions or attributes that define the types of a node (`T`, `Tin`).
  }];
}

def PrepareAttrsExport : Pass<"tfg-prepare-attrs-export", "::mlir::ModuleOp"> {
  let summary = "move type information from types into attributes";
  let description = [{
    The inverse of tfg-consolidate-attrs. If types were refined after tfg-consolidate-attrs, the attributes have the refined types.

    ```mlir
    %y, %c = Neg(%x) name("y") {T = f32, _mlir_regenerate_output_shapes} : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
    // becomes
    %y, %c = Neg(%x) name("y") {T = f32, _output_shapes = [#tf_type.shape<2x3>]} : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
    ```
  }];
  let options = [
    Option<"all", "all", "bool", "false",
           "set attributes on all nodes and functions, not only on those that had them">
  ];
}

def OutlineClusters : Pass<"tfg-outline-clusters", "::mlir::ModuleOp"> {
  let summary = "outline clusters of compilable ops into functions";
  let description = [{
    A cluster is a set of connected nodes that contains a loop; its nodes are pure, access only
    variables, or are assertions. It becomes a function and a call that is marked `_cluster`. Nodes
    with side effects outside of loops aren't included, and functions that cluster nodes call aren't
    inlined. Clusters are chosen so that no path leads from one of the nodes out of the cluster and
    back in (the call has the dependencies of its nodes), and no node newly depends on a blocking op
    or becomes dead with a Switch. Constants are copied into the function.

    A second scan outlines clusters without loops: five or more connected elementwise nodes that
    compile to machine code, or two of large tensors. Reductions of what they compute, and
    broadcasts that they read, are included; nodes that a kernel fuses with the matrix product or
    convolution before them aren't.

    ```mlir
    %w:2, %c = While(%n, %x) name("w") {cond = #tf_type.func<@cond, {}>, ...} : ...
    %y, %cy = Tanh(%w#1) name("y") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %y, %c = PartitionedCall(%n, %x) name("cluster") {_cluster = true, f = #tf_type.func<@cluster, {}>, ...} : ...
    ```

    It doesn't compile anything. It includes no node that has other side effects, may block, or is
    v1 control flow (run tfg-v1-to-functional first).
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "nodes of the graph that aren't outlined">,
    ListOption<"fetches", "fetches", "std::string",
               "nodes of the graph whose results must keep their names">
  ];
  let statistics = [
    Statistic<"numClusters", "clusters", "clusters outlined">
  ];
}

#endif // TREADLE_TRANSFORMS_PASSES
