// Every pass over graphs. A pass lives in a folder of its own, with its tests.

#ifndef TREADLE_TRANSFORMS_PASSES
#define TREADLE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def TopologicalSort : Pass<"tfg-toposort", "::mlir::ModuleOp"> {
  let summary = "order nodes so that they stand after what they use";
  let description = [{
    The order is stable: a node moves only where it has to. Cycles (the loops of v1 control flow) are
    cut at the inputs that come from NextIteration; a node on another cycle keeps its place.

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
    ListOption<"keep", "keep", "std::string", "names of nodes that must stay">,
    ListOption<"feeds", "feeds", "std::string",
               "values that runs give (x or x:0), whatever their nodes would compute">
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

def Verify : Pass<"tfg-verify", "::mlir::ModuleOp"> {
  let summary = "hold every node to the op table";
  let description = [{
    Checks what the dialect's own verifier leaves open: that each node has the attributes that its op
    asks for, of the right kinds and values; as many inputs and outputs as they say, of those types;
    and that only loops are cycles, closed by an edge from a NextIteration to a Merge. A function
    that an op names counts as its definition; ops that nobody knows, and generic functions, are not
    looked into. It changes nothing.

    ```mlir
    %a, %c = AddV2(%x) name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    // error: node 'a' (AddV2): has 1 data input, expected 2
    ```
  }];
}

def PruneArguments : Pass<"tfg-prune-arguments", "::mlir::ModuleOp"> {
  let summary = "remove what functions take and give for nothing";
  let description = [{
    For calls, If, Case and While, and the functions that they run: arguments that no result and no
    effect depends on, results that nobody uses, and variables of loops that serve only themselves.
    With them goes the code that computed them. Where a pure node passes an argument through, its
    result is what it was given. What the node waited for over an argument that goes, it waits for as
    a control input.

    ```mlir
    %w:2, %c = While(%n, %unused) name("w") {T = [i32, f32], ...}   // only %w#0 has uses
    // becomes
    %w, %c = While(%n) name("w") {T = [i32], ...}
    ```

    Functions that attributes of other nodes, gradients or generic functions name stay as they are, and
    so does everything beside v1 control flow. Results of nodes of the graph itself go only with
    `graph`, since `w:1` would be another value then. With `split`, calls that use other results of a
    function than others do, and calls of functions that have to stay, get copies of their own.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "nodes whose results must stay, and are not bypassed">,
    Option<"graph", "graph", "bool", "false", "remove results of nodes of the graph too">,
    Option<"split", "split", "bool", "false", "copy functions whose calls use different results">
  ];
}

def DedupeConstants : Pass<"tfg-dedupe-constants", "::mlir::ModuleOp"> {
  let summary = "make one of constants of equal value";
  let description = [{
    Of one body's Const nodes with equal values and devices one stays, one that waits for nothing; their
    other attributes don't count. What the others waited for, their users wait for (`hoist`); where all
    wait for something, one that doesn't is made. Beside v1 control flow constants with control inputs
    stay, since these say in which frame and branch they are.

    ```mlir
    %a, %c0 = Const name("a") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
    %b, %c1 = Const [%p] name("b") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
    %n, %c2 = Neg(%b) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %a, %c0 = Const name("a") {dtype = f32, value = dense<1.0> : tensor<f32>} : () -> (tensor<f32>)
    %n, %c2 = Neg(%a) [%p] name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    ```
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "names of nodes that must stay">,
    ListOption<"feeds", "feeds", "std::string",
               "values that runs give (x or x:0), whatever their nodes would compute">,
    Option<"hoist", "hoist", "bool", "true", "constants with control inputs too">
  ];
}

def Order : Pass<"tfg-order", "::mlir::ModuleOp"> {
  let summary = "order nodes whose effects conflict, as the graph lists them";
  let description = [{
    Automatic control dependencies: two nodes conflict if both access one resource (a variable, a
    table, a queue, ...; or the world: printing, Python, whatever is unknown) and one of them writes
    it. Where no path of edges orders two such nodes, the one that stands later in the graph gets a
    control input from the one before. A read waits for the last write, a write for the last write and
    the reads since. Edges that are there stay. A node that writes something, or an assertion, that
    no result of its function waits for becomes a control result of the function, so that it runs.

    What a node accesses is found by following handles through the graph and through the functions
    that it calls: `treadle check` shows races by the same analysis.

    Functions are ordered, and with the option `graph` the graph too. That suits a graph that is run as
    a whole; one whose variables are initialized by nodes that stand behind those that read them, to
    be run first, must be pruned to the fetches of one run before (tfg-prune). Bodies with v1 control flow are
    left alone, with a remark: run tfg-v1-to-functional first. Iterations of a While run one after
    the other as long as its body's nodes are ordered from end to end.

    ```mlir
    %read, %c0 = ReadVariableOp(%v) name("read") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
    %c1 = AssignVariableOp(%v, %x) name("assign") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
    // becomes
    %read, %c0 = ReadVariableOp(%v) name("read") {dtype = f32} : (tensor<!tf_type.resource>) -> (tensor<f32>)
    %c1 = AssignVariableOp(%v, %x) [%c0] name("assign") {dtype = f32} : tensor<!tf_type.resource>, tensor<f32>
    ```
  }];
  let options = [
    Option<"graph", "graph", "bool", "false", "order the nodes of the graph as well">
  ];
}

def PreserveOrder : Pass<"tfg-preserve-order", "::mlir::ModuleOp"> {
  let summary = "let nodes follow other nodes";
  let description = [{
    Makes an edge of each `NODE:AFTER`: NODE gets a control input from AFTER. With `soft` it gets a
    soft edge instead, the name in its attribute `_soft_inputs`: a wish for the schedule that keeps no
    node alive, and stops a fusion only where an exchange would be delayed. A node may follow several,
    and be followed by several; all edges that are there stay.

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

    An edge that would close a circle is an error; a soft one is left out, with a remark.
  }];
  let options = [
    ListOption<"after", "after", "std::string", "NODE:AFTER, by name">,
    Option<"soft", "soft", "bool", "false", "soft edges">,
    Option<"function", "function", "std::string", "\"\"",
           "the function whose nodes are meant; without it those of the graph">
  ];
}

def ScheduleCommunication : Pass<"tfg-schedule-communication", "::mlir::ModuleOp"> {
  let summary = "let computing hide communication";
  let description = [{
    Soft edges (`_soft_inputs`) that let nodes which an exchange among ranks waits for run before what
    could run meanwhile, and what uses its result when it is there. Which those are is found by a
    cost model (`costs`, a file: docs/scheduling.md) and a simulated run. Where the simulation says
    that nothing is gained, no edge is added. All edges that are there stay.

    ```mlir
    %long, %c0 = MatMul(%x, %x) name("long") {T = f32} : ...
    %grad, %c1 = Mul(%x, %y) name("grad") {T = f32} : ...
    %sum, %c2 = CollectiveReduceV2(%grad, %size, %group, %instance) name("sum") {...} : ...
    // becomes
    %long, %c0 = MatMul(%x, %x) name("long") {T = f32, _soft_inputs = ["grad"]} : ...
    %grad, %c1 = Mul(%x, %y) name("grad") {T = f32} : ...
    %sum, %c2 = CollectiveReduceV2(%grad, %size, %group, %instance) name("sum") {...} : ...
    ```

    With `bucket`, all-reduces of fewer bytes than it says, of one group, that no path connects become
    one of up to so many bytes: what they wait for, it waits for, and the nodes that give their
    values have their names. With `memory`, no exchange is planned to begin while those under way, and
    not yet used, hold more bytes than it says.
  }];
  let options = [
    Option<"costs", "costs", "std::string", "\"\"", "a file of costs, or a trace">,
    Option<"ranks", "ranks", "int64_t", "2", "ranks of a group whose size is no constant">,
    Option<"memory", "memory", "int64_t", "0", "bytes that exchanges may hold; 0: any number">,
    Option<"bucket", "bucket", "int64_t", "0", "bytes of an all-reduce made of several; 0: none is">,
    Option<"jitter", "jitter", "double", "0", "how much longer tasks may take, as a share of 1">,
    Option<"explain", "explain", "bool", "false", "remarks with the schedule">
  ];
  let statistics = [
    Statistic<"numEdges", "edges", "soft edges added">,
    Statistic<"numBuckets", "buckets", "exchanges made of several">
  ];
}

def Partition : Pass<"tfg-partition", "::mlir::ModuleOp"> {
  let summary = "keep what one of several processes runs";
  let description = [{
    A node whose device names a task (`/job:worker/task:1`) runs on the rank of that number; any other
    node, and constants and placeholders, on all. Of these bodies stays what `rank` runs. Where it
    uses a value of another rank, or waits for a node there, stands a _Recv; where another needs one
    of its, a _Send. What is fetched goes to rank 0, and is found there under its name.

    ```mlir
    // rank=0 ranks=2
    %a, %c0 = Neg(%x) device("/job:worker/task:0") name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    %b, %c1 = Abs(%a) device("/job:worker/task:1") name("b") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %a, %c0 = Neg(%x) device("/job:worker/task:0") name("a") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    %c2 = _Send(%a) name("a/send") {T = f32, tensor_name = "a:0", ...} : tensor<f32>
    ```

    Functions are partitioned like the graph: loops and conditionals without a device run on all ranks,
    and what their functions place elsewhere is exchanged in each iteration. v1 control flow on a
    task is an error (tfg-v1-to-functional first), and so is a handle that is used on another task.
  }];
  let options = [
    Option<"rank", "rank", "int64_t", "0", "whose part">,
    Option<"ranks", "ranks", "int64_t", "1", "how many processes there are">,
    ListOption<"fetches", "fetches", "std::string", "values that runs ask for (x or x:0)">
  ];
}

def DepsToChains : Pass<"tfg-deps-to-chains", "::mlir::ModuleOp"> {
  let summary = "order a loop's iterations by values that go around it, so that the rest may overlap";
  let description = [{
    The iterations of a While whose body has effects run one after the other, since the body's results
    wait until all of its effects have happened. Here they wait no longer: what conflicts between one
    iteration and the next (both access a resource, and one writes it) is ordered by a loop variable
    of its own, a chain. What accesses the resource first waits for the chain's value, and the next value
    waits for what accesses it last. A resource that the loop only reads needs none. Where the resource's
    handle is a loop variable by which everything gets to it, that is the chain. Reads after the last
    write get a second chain where the next iteration begins with reads: these wait for the write alone.

    The condition's effects wait for the chains too, and its result waits for them. Nodes of one
    iteration that conflict and aren't ordered get the edges that tfg-order gives. What must have run
    when the loop is over, and isn't waited for by a chain, gets a chain that nobody waits for. So do
    reads, unless what they read goes into a variable that depends on its own last value.

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

    All other edges stay. Run by calling its functions in turns, such a loop does what it did; its
    iterations overlap where it is lowered to frames and its functions are inlined (tfg-overlap-loops).
    A loop stays as it is if its parallel_iterations is 1, if v1 control flow that tfg-v1-to-functional
    doesn't convert stands in it, or if `_stateful_parallelism` is false; a remark says why. A function
    that others call too is copied.

    Loops with effects that are frames or WhileRegions are made While nodes first, and what they were
    afterwards: a chain is a variable of the frame or region. Nodes in a frame keep their names, but for
    those that frames consist of; conditionals there become If and Case nodes. Frames whose iterations
    nothing ordered get the order of their nodes.
  }];
  let options = [
    Option<"loopOverlap", "loop-overlap", "std::string", "\"auto\"",
           "off: change nothing; on: change loops whose `_stateful_parallelism` is false, too">,
    Option<"onlyGaining", "only-gaining", "bool", "false",
           "change only loops that something waits in and that overlap then">
  ];
  let statistics = [
    Statistic<"numChained", "chained", "loops that were changed">,
    Statistic<"numKept", "kept", "loops that have to stay as they are">
  ];
}

def OverlapLoops : Pass<"tfg-overlap-loops", "::mlir::ModuleOp"> {
  let summary = "lower loops to frames in which iterations overlap";
  let description = [{
    While loops that tfg-deps-to-chains took the barriers from, or that have no effects, become v1
    frames as with tfg-functional-to-v1; but the nodes of condition and body stand in the frame itself,
    and each runs as soon as its own inputs are there. Functions in which there is such a loop are ordered
    first, as with tfg-order. What waited for the loop waits for all of its effects.

    Without the option `all` only loops that gain are lowered: those in which something waits (a queue,
    Python, an op that nobody knows) while something else of another iteration could run.

    An inner loop is a loop of its own. Conditionals and calls stay: they run when all of their inputs
    are there.

    ```mlir
    %w, %c = While(%x) name("while") {T = [i32], body = #tf_type.func<@double, {}>,
        cond = #tf_type.func<@small, {}>, parallel_iterations = 7} : (tensor<i32>) -> (tensor<i32>)
    // becomes, pivots and the condition left out
    %e, %c0 = Enter(%x) name("while/Enter_0") {frame_name = "while", parallel_iterations = 7} : (tensor<i32>) -> (tensor<i32>)
    %m:2, %c1 = Merge(%e, %n) name("while/Merge_0") : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %s:2, %c2 = Switch(%m#0, %more) name("while/Switch_0") : (tensor<i32>, tensor<i1>) -> (tensor<i32>, tensor<i32>)
    %y, %c3 = AddV2(%s#1, %s#1) name("while/body/y") : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
    %n, %c4 = NextIteration(%y) name("while/NextIteration_0") : (tensor<i32>) -> (tensor<i32>)
    %r, %c5 = Exit(%s#0) name("while/Exit_0") : (tensor<i32>) -> (tensor<i32>)
    ```
  }];
  let options = [
    Option<"all", "all", "bool", "false", "lower also what gains nothing by it">
  ];
  let statistics = [
    Statistic<"numLowered", "lowered", "loops that became frames">
  ];
}

def NameCompress : Pass<"tfg-name-compress", "::mlir::ModuleOp"> {
  let summary = "give nodes short names";
  let description = [{
    Nodes are called a, b, and so on, in the order of each body. Names stay of placeholders, of nodes
    that the option lists, and of those that make a resource, which may be known by it. Names of
    functions, arguments, frames and resources stay.

    ```mlir
    %n, %c = Neg(%x) name("model/layer_1/neg") : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %n, %c = Neg(%x) name("a") : (tensor<f32>) -> (tensor<f32>)
    ```
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "nodes of the graph that keep their names">,
    Option<"graph", "graph", "bool", "true", "rename nodes of the graph, not of functions alone">
  ];
}

def InlineCalls : Pass<"tfg-inline", "::mlir::ModuleOp"> {
  let summary = "put bodies of functions where they are called";
  let description = [{
    Calls are nodes whose op is a function's name, PartitionedCall and StatefulPartitionedCall.
    Callees come first: no body is copied before the calls in it are gone. A node `n` of the body is
    then called `call/n`; a body node without a device takes the call's, and a part of a device's
    name that it doesn't state is taken from there. In a graph a node of the call's name stays
    (Identity, IdentityN or NoOp), so that it can be fetched as before.

    What the call waited for, the nodes of the body wait for that depend on no other of its nodes.
    Who waits for the call waits for all nodes with effects and for the control results; and so does
    who uses a result, but for effects that the result depends on anyway: none is lost where only
    the result is fetched. Beside control flow of v1 a body runs, as the call did, only if no input
    is dead.

    ```mlir
    %a, %c0 = PartitionedCall(%x) [%init] name("a") {f = #tf_type.func<@f, {}>, ...}
        : (tensor<f32>) -> (tensor<f32>)
    tfg.func @f(%v: tensor<f32> {tfg.name = "v"}) -> (tensor<f32> {tfg.name = "y"}) {
      %n, %c = Neg(%v) name("n") : (tensor<f32>) -> (tensor<f32>)
      return(%n) : tensor<f32>
    }
    // becomes, beside the function
    %n, %c1 = Neg(%x) [%init] name("a/n") : (tensor<f32>) -> (tensor<f32>)
    %a, %c0 = Identity(%n) name("a") : (tensor<f32>) -> (tensor<f32>)
    ```

    A call whose attribute `_lower_as_multi_device_function` is true dissolves, as in TensorFlow: each
    result is its value alone, who waits for the call waits for the control results, and an effect
    that neither needs is no part of a run that prunes it.

    Calls stay of functions that are generic, that call themselves, that say `_noinline` or
    `_XlaMustCompile`, that hold a resource without a name (a copy would have one of its own), or
    whose effects stand behind a Switch or Enter. Functions stay, and so do If, While and the like.
  }];
  let options = [
    ListOption<"noinline", "noinline", "std::string", "functions whose calls stay">,
    Option<"maxNodes", "max-nodes", "uint64_t", "2000000", "how many nodes a body may come to have">,
    Option<"keepNames", "keep-names", "bool", "true",
           "keep a node of the call's name in a graph">,
    Option<"dissolving", "dissolving", "bool", "false", "inline calls that dissolve, no others">,
    Option<"explain", "explain", "bool", "false", "a remark on each call that stays: why">
  ];
}

def ShapeInference : Pass<"tfg-shape-inference", "::mlir::ModuleOp"> {
  let summary = "write the shapes that follow into the types of values";
  let description = [{
    Goes by a table of shape functions, by the values of integer constants and what is computed from
    them (`[batch, -1]`), and by the types that are there. Shapes go through calls, conditionals and
    loops, functional ones and those of Switch and Merge: what a loop changes is unknown. Handles of
    variables and tensor lists take the shapes of what they hold along. The arguments of a function get
    what all its calls have in common; where somebody else may call it, they stay as they are.

    ```mlir
    %s, %c0 = Const name("s") {dtype = i32, value = dense<[2, -1]> : tensor<2xi32>} : () -> (tensor<2xi32>)
    %r, %c1 = Reshape(%x, %s) name("r") {T = f32, Tshape = i32} : (tensor<4x3xf32>, tensor<2xi32>) -> (tensor<*xf32>)
    // becomes
    %r, %c1 = Reshape(%x, %s) name("r") {T = f32, Tshape = i32} : (tensor<4x3xf32>, tensor<2xi32>) -> (tensor<2x6xf32>)
    ```

    What pure nodes make of small constants is computed, so that shapes may follow from it. Results of
    ops without a shape function keep their types; so do nodes inside regions, and generic functions.
    Shapes that contradict each other are left to `treadle check` and the run to report.
  }];
  let options = [
    ListOption<"feeds", "feeds", "std::string", "values of any shape that runs give (x or x:0)">,
    Option<"outputShapes", "output-shapes", "bool", "false",
           "also write the attribute _output_shapes, which GraphDefs keep">
  ];
}

def HoistLoopInvariants : Pass<"tfg-hoist-loop-invariants", "::mlir::ModuleOp"> {
  let summary = "compute before a loop what is the same in all its iterations";
  let description = [{
    Of a While: pure nodes of loop variables that the body hands on unchanged move before the loop, and
    what they gave comes in as another loop variable. The condition runs at least once, so any pure
    node of it may move; the body may not run, so of it only nodes that can't fail do: a table of ops,
    and for those of two operands shapes that are known to fit (tfg-shape-inference fills them in).
    Functions that something else calls as well stay as they are.

    Of a loop of Enter and Exit: a pure node whose inputs all come from constant Enters moves before
    them, and an Enter of its result takes its place and its name. It ran in each iteration, the first
    one included, so it may be one that fails.

    ```mlir
    %a, %c0 = Enter(%x) name("a") {T = f32, frame_name = "f", is_constant = true, parallel_iterations = 10 : i64} : (tensor<f32>) -> (tensor<f32>)
    %n, %c1 = Neg(%a) name("n") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %i, %c1 = Neg(%x) name("n/invariant") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    %n, %c2 = Enter(%i) name("n") {T = f32, frame_name = "f", is_constant = true, parallel_iterations = 10 : i64} : (tensor<f32>) -> (tensor<f32>)
    ```

    It does not move reads of variables, nodes with control inputs, nor constants alone; what is unused
    in the functions afterwards is for tfg-prune.
  }];
  let options = [
    Option<"frames", "frames", "bool", "true", "also of loops of Enter and Exit">
  ];
}

def Remap : Pass<"tfg-remap", "::mlir::ModuleOp"> {
  let summary = "make one fused node of common sequences of ops";
  let description = [{
    A matrix product or a convolution takes in what is done to its result: a bias, a batch norm, a
    factor a channel, then a summand, then an activation (Relu, Relu6, Elu, LeakyRelu, Tanh, Sigmoid,
    and gelu, exact or by tanh, as it is spelled out). It becomes _FusedMatMul, _FusedConv2D or
    _FusedDepthwiseConv2dNative, with TensorFlow's attributes; an Einsum that is rows times a matrix
    is one as well. What is constant becomes one bias, and its factor goes into a constant filter.
    Normalisation over the last dimension, however it is spelled, becomes _MklLayerNorm;
    FusedBatchNormV3 and Relu, _FusedBatchNormEx.

    ```mlir
    %p, %c0 = MatMul(%x, %w) name("p") : (tensor<?x4xf32>, tensor<4x8xf32>) -> (tensor<?x8xf32>)
    %b, %c1 = BiasAdd(%p, %v) name("b") : (tensor<?x8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>)
    %r, %c2 = Relu(%b) name("r") : (tensor<?x8xf32>) -> (tensor<?x8xf32>)
    // becomes
    %r, %c2 = _FusedMatMul(%x, %w, %v) name("r") {fused_ops = ["BiasAdd", "Relu"], num_args = 1 : i64, ...}
        : (tensor<?x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>)
    ```

    Only what TensorFlow 2.21 runs as well, some of it with oneDNN only (`onednn`), only float32, only
    nodes in one place, and only where nobody else uses what is between them. The
    fused node waits for all that they waited for. In a graph they stay, unused, for their names:
    tfg-prune removes them. Shapes are taken from the types (tfg-shape-inference), and constants must
    be Const nodes (tfg-constant-folding). Results may differ in the last bits. It fuses no gradients
    and no products of batches.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "nodes that runs ask for: they are not taken in">,
    ListOption<"feeds", "feeds", "std::string", "values that runs give (x or x:0)">,
    Option<"contractions", "contractions", "bool", "true",
           "matrix products and convolutions, with what follows them">,
    Option<"layerNorm", "layer-norm", "bool", "true", "normalisation over the last dimension">,
    Option<"oneDnn", "onednn", "bool", "true",
           "also what TensorFlow runs with oneDNN only: depthwise convolutions, summands, gelu, norms">,
    Option<"batchNorm", "batch-norm", "bool", "true", "batch norms without a convolution">
  ];
}

def ChannelsLast : Pass<"tfg-channels-last", "::mlir::ModuleOp"> {
  let summary = "turn images so that their channels are last";
  let description = [{
    Convolutions, pools, batch norms and their gradients that say `data_format = "NCHW"` (or `"NCDHW"`)
    get images with their channels last, which is how the runtime's kernels compute them. What lies
    between them follows: elementwise ops, reductions, concatenations, pads, slices, splits. So an image
    is turned where it comes in, where it goes out, and before an op that looks at the order of
    dimensions (a Reshape), and nowhere else. Turns that were there count, too.

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

    Bodies with v1 control flow stay as they are. Sessions run it over what a request needs and over
    each function that they call, but for tier `interpret`.
  }];
  let options = [ListOption<"keep", "keep", "std::string",
                            "nodes of the graph that runs feed or ask for: they give what they gave">];
}

def FuseKernels : Pass<"tfg-fuse-kernels", "::mlir::ModuleOp"> {
  let summary = "make one node of what one kernel of the runtime computes";
  let description = [{
    A convolution or a matrix product takes in what happens to its result, as long as nobody else
    sees what is in between: a bias or a batch norm for inference, products and sums, an activation. A
    convolution takes the zeros of a Pad before it, reads a filter as it lies before a Transpose
    from [out, in, rows, columns], and writes its gradient as it lies after one. The gates of a long short-term memory become one
    `_FusedLstmGates`, and the softmax of attention with the products before and after it one `_Attention`,
    whose heads may be the third dimension of an Einsum. Activations that are spelled out (gelu, swish
    and their like) become one op, and so do layer normalisations and, where no convolution takes them
    in, batch normalisations for inference with the activation after them. The fused node has the name
    of the product, whose errors it reports, and waits for all that its parts waited for. Where nobody
    sees an image but convolutions of points with a step, the convolution that makes it computes
    these positions alone (`sampling`).

    ```mlir
    %p, %c0 = MatMul(%x, %w) name("p") : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
    %m, %c1 = Mul(%p, %s) name("m") : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
    %r, %c2 = Relu(%m) name("r") : (tensor<*xf32>) -> (tensor<*xf32>)
    // becomes
    %r, %c2 = _FusedMatMul(%x, %w, %s) name("p") {fused_ops = ["Mul", "Relu"], ...}
        : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
    ```

    It needs no shapes and folds no constants, and knows more groups than TensorFlow, which can't run
    the result: for that there is tfg-remap. Sessions run it over what a request needs and over each
    function that they call, but for tier `interpret`.
  }];
  let options = [ListOption<"keep", "keep", "std::string",
                            "nodes of the graph that runs feed or ask for: they stay">];
}

def StructureLoops : Pass<"tfg-structure-loops", "::mlir::ModuleOp"> {
  let summary = "make loops with regions of the frames of v1 control flow";
  let description = [{
    A frame of the form that TensorFlow gives loops (LoopCond; Enter, Merge, Switch, NextIteration and
    Exit for each value) becomes a WhileRegion, from the inside out: what LoopCond needs is its first
    region, what the NextIterations need its second one. Each node runs as often as in the frame, and
    where the frame would die in part it stays.

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

    Conditionals stay Switch and Merge. A loop that something looks into, that handles references to
    variables, or in which a node may wait for others, stays too, and a remark says why. Unlike
    tfg-v1-to-functional it makes no functions. Sessions run it over what a request needs and over
    each function that they call, unless `loop_overlap` is `on`: such loops run without frames.
  }];
  let options = [ListOption<"keep", "keep", "std::string",
                            "nodes of the graph that runs feed or ask for: they stay">];
  let statistics = [Statistic<"numLoops", "loops", "loops that became structured">];
}

def RemoveQuantization : Pass<"tfg-remove-quantization", "::mlir::ModuleOp"> {
  let summary = "compute in full precision what is only rounded to a few bits";
  let description = [{
    A FakeQuant or QuantizeAndDequantize op becomes an Identity of its input; a Dequantize of what a
    QuantizeV2 made, one of what that was made of. Values change: they are no longer rounded, and no
    longer cut off at the range. The ranges are not waited for any more, other control inputs are.

    ```mlir
    %f, %c = FakeQuantWithMinMaxVars(%x, %min, %max) [%init] name("f") {num_bits = 8 : i64, ...}
        : (tensor<?xf32>, tensor<f32>, tensor<f32>) -> (tensor<?xf32>)
    // becomes
    %f, %c = Identity(%x) [%init] name("f") {T = f32} : (tensor<?xf32>) -> (tensor<?xf32>)
    ```

    It leaves alone ops that compute on quantized values (QuantizedConv2D and the like), what comes
    quantized from outside, and gradients. tfg-prune removes what is then unused.
  }];
  let options = [
    ListOption<"feeds", "feeds", "std::string", "values that runs give (x or x:0)">
  ];
}

def Place : Pass<"tfg-place", "::mlir::ModuleOp"> {
  let summary = "say on which devices nodes run, by rules";
  let description = [{
    A rule is PATTERN=DEVICE, where the regular expression is all of a node's op, or
    name:PATTERN=DEVICE, where it is found in its name; the first rule that matches decides. Rules
    are separated by semicolons. A node that has a device keeps it.

    Nodes that say `_class = ["loc:@x"]` are together, and with node x; so are a variable, or any
    other resource, and all nodes that take its handle. Such a group goes where its first placed node
    is, else where its first node that a rule knows goes. That nodes of a group stand on devices of
    several types, jobs or tasks is an error; on several devices of one type (`/CPU:0`, `/CPU:1`) they
    stay, as in TensorFlow.

    ```mlir
    // rules="MatMul|Conv.*=/device:GPU:0;name:^loop/=/job:w/task:0"
    %p, %c0 = MatMul(%x, %w) name("p") : (tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>)
    %n, %c1 = Neg(%p) name("n") {_class = ["loc:@p"]} : (tensor<2x2xf32>) -> (tensor<2x2xf32>)
    // becomes
    %p, %c0 = MatMul(%x, %w) device("/device:GPU:0") name("p") : ...
    %n, %c1 = Neg(%p) device("/device:GPU:0") name("n") {_class = ["loc:@p"]} : ...
    ```

    It knows nothing of what kernels a device has, nor of costs, and cuts no graph in parts. Calls go
    by rules of their own: the handles that they are given don't bind them.
  }];
  let options = [
    Option<"rules", "rules", "std::string", "", "PATTERN=DEVICE;name:PATTERN=DEVICE;...">,
    Option<"functions", "functions", "bool", "true", "place nodes of functions too">
  ];
  let statistics = [
    Statistic<"numPlaced", "placed", "nodes that were given a device">
  ];
}

def ConstantFolding : Pass<"tfg-constant-folding", "::mlir::ModuleOp"> {
  let summary = "compute what is known, and drop what changes nothing";
  let description = [{
    A pure node whose inputs are all constants is evaluated with the runtime's kernel, and becomes a
    Const of the same name and device, which waits for what the node and its inputs waited for. One
    with several results stays for its name, and its users take constants. What fails stays, so that
    the run reports it.

    Ops with a neutral or an absorbing operand, ops that undo or repeat each other, shapes that the
    types of values tell, and ops that move nothing become an Identity or a Const of the same name;
    only where the result is the same bit by bit (`x + 0.0` is not: `-0.0`). What an Identity passes
    on goes to its users directly; a NoOp of few edges is passed by; control edges are dropped that
    say no more than a data edge of the same node, or that wait for a constant which waits for
    nothing.

    ```mlir
    %c, %c0 = Const name("c") {dtype = i32, value = dense<2> : tensor<i32>} : () -> (tensor<i32>)
    %d, %c1 = Mul(%c, %c) [%x.ctl] name("d") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
    // becomes
    %d, %c1 = Const [%x.ctl] name("d") {dtype = i32, value = dense<4> : tensor<i32>} : () -> (tensor<i32>)
    ```

    Names stay, so every node may still be fetched; tfg-prune removes what is then unused. Values
    that runs feed must be named, but for those of placeholders. Shapes are taken from the types, which
    tfg-shape-inference fills in. It doesn't fold nodes with effects, v1 control flow and what is beyond it,
    calls, and handles; it doesn't decide conditionals.
  }];
  let options = [
    ListOption<"feeds", "feeds", "std::string", "values that runs give (x or x:0)">,
    Option<"maxBytes", "max-bytes", "int64_t", "102400",
           "largest result to store, unless the inputs are larger">,
    Option<"evaluate", "evaluate", "bool", "true", "compute nodes of constant inputs">,
    Option<"identities", "identities", "bool", "true", "drop what changes nothing">,
    Option<"control", "control", "bool", "true", "drop control edges that say nothing">
  ];
}

def V1ToFunctional : Pass<"tfg-v1-to-functional", "::mlir::ModuleOp"> {
  let summary = "make While, If and Case nodes of the frames, Switch and Merge nodes of v1 control flow";
  let description = [{
    Loops first, the innermost ones before those around them, then conditionals in the same order.

    A loop is a frame with one LoopCond: what LoopCond needs becomes the function of the condition,
    what the NextIteration nodes need the function of the body. The values of constant Enter nodes
    become loop variables that never change. `parallel_iterations` stays, and the name of the frame
    as `_frame_name`.

    A conditional is the Switch nodes of one predicate, in one place, and the Merge nodes that have an
    input from each outcome: it becomes an If, or a Case of as many branches as Switch has outputs.
    Where a branch depends on a result of its own conditional, by a way outside of it, as in
    gradients, there is an If for each step, and values that a later one needs are results of the
    earlier one. What stands in a branch and reaches no Merge goes, if it is in a graph: nothing but a
    fetch could need it.

    ```mlir
    %s:2, %c0 = Switch(%x, %p) name("cond/Switch") : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
    %n, %c1 = Neg(%s#1) name("cond/Neg") : (tensor<f32>) -> (tensor<f32>)
    %m:2, %c2 = Merge(%s#0, %n) name("cond/Merge") : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
    // becomes
    %i, %c0 = StatelessIf(%p, %x) name("cond") {then_branch = #tf_type.func<@cond_true, {}>, ...}
        : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
    %m, %c1 = Identity(%i) name("cond/Merge") : (tensor<f32>) -> (tensor<f32>)
    ```

    What tfg-functional-to-v1 made becomes what it was: the same node, with its name, attributes and
    functions, as long as nothing but calls of these stands in its place.

    In a graph, results of outermost loops and conditionals keep their names: an Identity stands for
    the Exit or Merge. Nodes that `keep` names stay, and with them the loops and conditionals they are
    in. What doesn't fit (references to variables, frames that others than Enter and Exit lead into
    and out of, a Switch without Merge) stays, and a remark says why.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "names of nodes that must stay where they are">
  ];
  let statistics = [
    Statistic<"numLoops", "loops", "loops found">,
    Statistic<"numConvertedLoops", "converted-loops", "loops that became While">,
    Statistic<"numConditionals", "conditionals", "conditionals found">,
    Statistic<"numConvertedConditionals", "converted-conditionals",
              "conditionals that became If or Case">
  ];
}

def TfgToTfExecutor : Pass<"tfg-to-tf-executor", "::mlir::ModuleOp"> {
  let summary = "write graphs and functions in TensorFlow's tf_executor dialect";
  let description = [{
    The graph becomes `@main`, functions become private functions. Ops of v1 control flow become
    operations of tf_executor, all others islands. Names become locations: print them
    (`--mlir-print-debuginfo`). Attributes that follow from types are left out, as TensorFlow does.

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

    tf-executor-to-tfg gives the same graph back: what tf_executor has no place for (the order of
    nodes where it isn't topological, attributes that a node leaves out, fields of functions) is kept
    in attributes that TensorFlow ignores. Generic functions stay as they are. It doesn't convert
    nodes with regions, cycles that go through no NextIteration, and a function called `main`.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::treadle::tf_executor::TfExecutorDialect"];
}

def TfExecutorToTfg : Pass<"tf-executor-to-tfg", "::mlir::ModuleOp"> {
  let summary = "read functions in TensorFlow's tf_executor dialect as graphs and functions";
  let description = [{
    `@main` becomes the graph, with a Placeholder for each argument; other functions become functions.
    An island of one operation is a node. What an island of several does in order is a node each,
    with control edges between those that have effects; where a value that the island uses may be
    dead, an IdentityN of all of them keeps the others from running. A function without a
    tf_executor.graph is read as one island. The attributes that follow from types are filled in.

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

    An Enter without which the predicate of its loop can't be computed again becomes a constant one.
    Functions of several blocks, operations with regions and a tf_executor.graph beside other
    operations aren't converted.
  }];
  let dependentDialects = ["::treadle::tfg::TfgDialect"];
}

def FunctionalToV1 : Pass<"tfg-functional-to-v1", "::mlir::ModuleOp"> {
  let summary = "lower While, For, If and Case nodes to frames, Switch and Merge nodes";
  let description = [{
    The functions are called where v1 control flow has its nodes: the condition between Merge and
    LoopCond, the body between Switch and NextIteration, a branch between Switch and Merge. tfg-inline
    puts their nodes there. A loop or conditional begins when all inputs and control inputs of its
    node are there, and what waited for the node waits for all results. Handles that a body gives back
    as they were come in by constant Enter nodes.

    ```mlir
    %y, %c = StatelessIf(%p, %x) name("if") {then_branch = #tf_type.func<@t, {}>, ...}
        : (tensor<i1>, tensor<f32>) -> (tensor<f32>)
    // becomes, pivots left out
    %s:2, %c0 = Switch(%x, %p) name("if/Switch_0") : (tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<f32>)
    %f, %c1 = PartitionedCall(%s#0) name("if/branch_0") {f = #tf_type.func<@e, {}>, ...} : (tensor<f32>) -> (tensor<f32>)
    %t, %c2 = PartitionedCall(%s#1) name("if/branch_1") {f = #tf_type.func<@t, {}>, ...} : (tensor<f32>) -> (tensor<f32>)
    %m:2, %c3 = Merge(%f, %t) name("if/Merge_0") : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i32>)
    %y, %c = IdentityN(%m#0) name("if") : (tensor<f32>) -> (tensor<f32>)
    ```

    For becomes a loop over an index of 64 bits, and an Assert that the range ends.

    A node whose attribute `_lower_using_switch_merge` is true dissolves, as in TensorFlow: whoever
    uses a result needs what this result needs, and an effect in a branch or a body runs only if a
    result that is asked for, or a control result, depends on it. Its calls say so by
    `_lower_as_multi_device_function`. Where the attribute is false or missing, a branch runs as a
    whole: TensorFlow then runs the effects that are control results of its function.

    The IdentityN (a NoOp where there are no results) keeps the node's name for fetches, and its
    attributes (as `_lowered.KEY`); the other nodes say in `_lowered_from` what they were made of. So
    tfg-v1-to-functional gives the node back, the order of its inputs included. While without loop
    variables, and nodes whose functions, inputs and outputs don't go together, stay, with a remark.
  }];
  let options = [
    Option<"dissolving", "dissolving", "bool", "false",
           "lower nodes that dissolve in the graph or in functions of such nodes, no others">
  ];
}

def FunctionalToRegion : Pass<"tfg-functional-to-region", "::mlir::ModuleOp"> {
  let summary = "put the functions of If, Case, While and For into regions";
  let description = [{
    Each form of If, Case, While and For becomes the op of that name with regions: copies of the bodies
    of its functions. Branches use the values around them instead of arguments. What the functions
    are called, and their other attributes, stays in `#tfg.region_attrs`; a functional op inside a
    function that goes into a region becomes one with regions too. A condition that is no boolean goes
    through a ToBool.

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

    The functions stay; tfg-prune removes those that nothing names. tfg-region-to-functional gives the
    same graph back, and finds them again. An op stays as it is where a function is missing, generic,
    compiled apart by XLA, has a gradient, runs itself, or fits the op's types only at run time.
  }];
  let options = [
    Option<"maxNodes", "max-nodes", "uint64_t", "200000",
           "how many nodes a body may come to have, those in regions included">
  ];
  let statistics = [
    Statistic<"numConverted", "converted", "ops that got regions">,
    Statistic<"numKept", "kept", "ops that stayed as they were">
  ];
  let dependentDialects = ["::treadle::tfg::TfgDialect"];
}

def RegionToFunctional : Pass<"tfg-region-to-functional", "::mlir::ModuleOp"> {
  let summary = "make functions of the regions of conditionals and loops";
  let description = [{
    The inverse of tfg-functional-to-region. Values that a branch uses become arguments; those that a
    loop's regions use become values of the loop that never change, after the others, and with them
    come results that nobody uses. Tokens from outside become control inputs of the op. Where a
    function of the name in `#tfg.region_attrs` still says what the region says, it is called again;
    else there is a new one.

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

    StatefulIfRegion and the like, which have no counterpart that runs, become the plain If, Case and
    While. It doesn't convert a loop whose condition hands on other values than its own arguments,
    and regions that use a reference from outside: the pass fails.
  }];
  let statistics = [
    Statistic<"numConverted", "converted", "ops with regions that became functional">,
    Statistic<"numReused", "reused", "functions that were there already">
  ];
  let dependentDialects = ["::treadle::tfg::TfgDialect"];
}

def ControlFlowSink : Pass<"tfg-cf-sink", "::mlir::ModuleOp"> {
  let summary = "compute what only one branch uses in that branch";
  let description = [{
    A node without effects whose results and token are used in one branch of one conditional, and
    nowhere else, moves into that branch, and with it what then is used there alone. The conditional
    waits for all it waited for before.

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

    Nodes of the graph itself stay, since anyone may fetch them, unless `graph` says otherwise. Nothing
    moves into a loop, and nothing is copied into several branches. tfg-cf-sink-functional does the
    same for If and Case nodes that name functions.
  }];
  let options = [
    Option<"graph", "graph", "bool", "false", "move nodes of the graph too">,
    ListOption<"keep", "keep", "std::string", "names of nodes of the graph that must stay">,
    ListOption<"feeds", "feeds", "std::string", "values that runs give (x or x:0)">
  ];
  let statistics = [Statistic<"numSunk", "sunk", "nodes that moved">];
}

def ExpandSymbolicGradients : Pass<"tfg-expand-symbolic-gradients", "::mlir::ModuleOp"> {
  let summary = "replace SymbolicGradient nodes by calls of gradient functions";
  let description = [{
    A SymbolicGradient node becomes a call of the function that the library declares as the gradient
    of `f`; where it declares none, of a new function `f_gradient`: a copy of f's body, and the nodes
    that compute the gradients of its arguments, the last op first. Gradients of a value that is used
    several times are added; an argument that no result depends on gets zeros. Calls, conditionals
    and loops in f's body are replaced, in the copy, by ones that give what their gradients need as
    further results (docs/gradients.md says how); gradients in it get gradient functions of their own.

    ```mlir
    %dx, %c0 = SymbolicGradient(%x, %dy) name("grad") {Tin = [f32, f32], Tout = [f32],
        f = #tf_type.func<@square, {}>} : (tensor<f32>, tensor<f32>) -> (tensor<*xf32>)
    // becomes
    %dx, %c0 = PartitionedCall(%x, %dy) name("grad") {Tin = [f32, f32], Tout = [f32],
        f = #tf_type.func<@square_gradient, {}>} : (tensor<f32>, tensor<f32>) -> (tensor<*xf32>)
    ```

    It fails on ops whose gradient nobody defined, v1 control flow (Switch, Enter) and nodes with
    regions among them, and on generic functions. It does not remove nodes of the copied body that the
    gradients don't need: tfg-prune does. Runs need no pass: they make the same functions when they
    come to such a node.
  }];
}

def SpecializeFunctions : Pass<"tfg-specialize-functions", "::mlir::ModuleOp"> {
  let summary = "give calls functions of their own: for their attributes, shapes or constants";
  let description = [{
    Where a node calls a generic function, by its op or in an attribute, a copy of it is made in which
    the attributes of the call are filled in and types are known; calls of equal attributes share it.
    It is called as the function, with the attributes behind. A list of arguments `x` becomes `x_0`,
    `x_1`, ...

    With `shapes`, calls, If and Case get functions whose arguments are of the types that they are
    given; with `constants`, ones that hold the constants they are given (tfg-prune-arguments removes
    the arguments then). Functions that this leaves unused go.

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

    A call stays, and a remark says why, where an attribute is missing or the op of a node unknown.
    It doesn't look into While for shapes and constants, nor at the functions of SymbolicGradient.
  }];
  let options = [
    Option<"shapes", "shapes", "bool", "false", "functions for the shapes of arguments">,
    Option<"constants", "constants", "bool", "false", "functions for arguments that are constants">
  ];
}

def ExpandPrograms : Pass<"tfg-expand-programs", "::mlir::ModuleOp"> {
  let summary = "call functions instead of programs that XlaCallModule nodes hold";
  let description = [{
    jax2tf, and Keras on JAX, put a program of StableHLO into an attribute of a node. A function is
    made of it, as of a program in a file, and called in the place of the node; nodes that hold the
    same program share it. Arguments that the caller of a program sees to go: the number of the
    platform, sizes of dimensions, tokens. Only nodes that the graph reaches, by calls or otherwise,
    are looked at.

    ```mlir
    %y, %c = XlaCallModule(%x) name("y") {module = "...", Sout = [...], version = 10} : (tensor<3xf32>) -> (tensor<3xf32>)
    // becomes
    %y, %c = PartitionedCall(%x) name("y") {f = #tf_type.func<@main, {}>} : (tensor<3xf32>) -> (tensor<3xf32>)
    ```

    A node stays, with the reason in `tfg.problem`, where its program can't be read; it fails with that
    once it is reached.
  }];
}

def LiftGraphToFunc : Pass<"tfg-lift-graph-to-func", "::mlir::ModuleOp"> {
  let summary = "make a function of the graph";
  let description = [{
    Feeds become arguments, fetches results, targets control results; `x` is all results of a node,
    `x:1` one. An argument is called `x_1` and notes what it stands for, so that tfg-lower-func-to-graph
    can undo this. All nodes come along, fed ones too; tfg-prune and tfg-prune-arguments remove what
    is then unused. Who waited for a placeholder that is fed waits for the argument.

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
  }];
  let options = [
    Option<"name", "name", "std::string", "\"_mlir_lifted_graph\"", "what the function is called">,
    ListOption<"feeds", "feeds", "std::string", "nodes or values that become arguments">,
    ListOption<"fetches", "fetches", "std::string", "nodes or values that become results">,
    ListOption<"targets", "targets", "std::string", "nodes that become control results">
  ];
}

def LowerFuncToGraph : Pass<"tfg-lower-func-to-graph", "::mlir::ModuleOp"> {
  let summary = "make a function the graph";
  let description = [{
    Undoes tfg-lift-graph-to-func: arguments become the results of nodes that they stood for. The
    arguments of any other function, and those whose node is gone, become placeholders of their
    names, and its results Identity nodes of theirs.

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

    The module must not have a graph yet. Control results have no place in a graph.
  }];
  let options = [
    Option<"name", "name", "std::string", "\"_mlir_lifted_graph\"", "the function">
  ];
}

def SelectImplementations : Pass<"tfg-select-implementations", "::mlir::ModuleOp"> {
  let summary = "call the implementation of an interface that prefers the CPU";
  let description = [{
    Functions with equal attributes `api_implements` are implementations of one interface, and
    `api_preferred_device` names the device that each is for. A call of one that isn't for the CPU, by
    its op or in an attribute, becomes a call of the first of the same types that is. Functions that
    compute gradients, or what gradients need, stay: those are chosen in pairs.

    ```mlir
    %y, %c = PartitionedCall(%x) name("y") {Tin = [f32], Tout = [f32],
        f = #tf_type.func<@lstm_gpu, {}>} : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %y, %c = PartitionedCall(%x) name("y") {Tin = [f32], Tout = [f32],
        f = #tf_type.func<@lstm_cpu, {}>} : (tensor<f32>) -> (tensor<f32>)
    ```

    Sessions run it where a call would change.
  }];
}

def LiftLegacyCall : Pass<"tfg-lift-legacy-call", "::mlir::ModuleOp"> {
  let summary = "name the function that a node calls by its op as a symbol";
  let description = [{
    So that what knows symbols alone, but not the ops of this dialect, finds the use. No GraphDef has
    the attribute.

    ```mlir
    %y, %c = f(%x) name("y") : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %y, %c = f(%x) name("y") {tfg.legacy_call = @f} : (tensor<f32>) -> (tensor<f32>)
    ```
  }];
}

def ConsolidateAttrs : Pass<"tfg-consolidate-attrs", "::mlir::ModuleOp"> {
  let summary = "move what attributes say of types into the types";
  let description = [{
    The shapes in `_output_shapes` of nodes and arguments and in `_input_shapes` of functions, and the
    handle data of arguments. What types can't hold stays an attribute; tfg-prepare-attrs-export
    writes the others again.

    ```mlir
    %y, %c = Neg(%x) name("y") {T = f32, _output_shapes = [#tf_type.shape<2x?>]} : (tensor<*xf32>) -> (tensor<*xf32>)
    // becomes
    %y, %c = Neg(%x) name("y") {T = f32, _mlir_regenerate_output_shapes} : (tensor<*xf32>) -> (tensor<2x?xf32>)
    ```

    A GraphDef has no place for these types: run tfg-prepare-attrs-export before writing one. Generic
    functions stay as they are, and so do attributes that define a node's types (`T`, `Tin`).
  }];
}

def PrepareAttrsExport : Pass<"tfg-prepare-attrs-export", "::mlir::ModuleOp"> {
  let summary = "write what types say into the attributes that it came from";
  let description = [{
    Undoes tfg-consolidate-attrs, with what passes in between found out.

    ```mlir
    %y, %c = Neg(%x) name("y") {T = f32, _mlir_regenerate_output_shapes} : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
    // becomes
    %y, %c = Neg(%x) name("y") {T = f32, _output_shapes = [#tf_type.shape<2x3>]} : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
    ```
  }];
  let options = [
    Option<"all", "all", "bool", "false", "on all nodes and functions, not those alone that had them">
  ];
}

def OutlineClusters : Pass<"tfg-outline-clusters", "::mlir::ModuleOp"> {
  let summary = "make functions of what is worth compiling";
  let description = [{
    Connected nodes with a loop among them that are pure, or have effects on variables alone, or check
    something, become a function and a call that is marked `_cluster`; functions that they call are left
    as they are. Effects outside of loops stay. Sets are chosen so that nothing outside comes between: what ran before or after the nodes runs before or after the
    call; and so that no node waits for a blocking op, or dies with a Switch, that didn't before.
    Constants are copied into the function.

    What is left is looked through once more, for connected nodes that compute elements in a form that
    machine code has of its own: five of them and more become a cluster, too. Nodes that a kernel computes
    in one go with the matrix product or convolution before them stay.

    ```mlir
    %w:2, %c = While(%n, %x) name("w") {cond = #tf_type.func<@cond, {}>, ...} : ...
    %y, %cy = Tanh(%w#1) name("y") {T = f32} : (tensor<f32>) -> (tensor<f32>)
    // becomes
    %y, %c = PartitionedCall(%n, %x) name("cluster") {_cluster = true, f = #tf_type.func<@cluster, {}>, ...} : ...
    ```

    It does not compile anything, and takes no node that has another effect, waits for others, or is v1
    control flow (tfg-v1-to-functional first).
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "nodes of the graph that must stay">,
    ListOption<"fetches", "fetches", "std::string",
               "nodes of the graph whose results must stay under their names">
  ];
  let statistics = [
    Statistic<"numClusters", "clusters", "functions made">
  ];
}

#endif // TREADLE_TRANSFORMS_PASSES
