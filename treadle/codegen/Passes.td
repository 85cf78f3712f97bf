// The passes that compile a cluster function to machine code.

#ifndef TREADLE_CODEGEN_PASSES
#define TREADLE_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

class RcPass<string name> : Pass<name, "::mlir::ModuleOp">;

def Translate : RcPass<"rc-translate"> {
  let summary = "translate a cluster function to tensor code";
  let description = [{
    Replaces the module with one `func.func @cluster`: scalars are values of arith, elementwise
    ops are linalg, loops and conditionals are scf, and all other ops are kernel calls. Functions
    that it calls are inlined. An `rc.check` guards each assumption of the compiled code.

    `arguments` are the argument types to specialize for. A dimension is 1 or `?`, because all sizes
    other than 1 share code.

    ```mlir
    tfg.func @f(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {
      %y, %c = Neg(%x) name("y") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
      return(%y) : tensor<*xf32>
    }
    // with function=f arguments=tensor<?xf32>
    func.func @cluster(%x: tensor<?xf32>) -> tensor<?xf32> {
      %size = tensor.dim %x, %c0 : tensor<?xf32>
      %empty = tensor.empty(%size) : tensor<?xf32>
      %y = linalg.generic {...} ins(%x) outs(%empty) { arith.negf ... } -> tensor<?xf32>
      return %y : tensor<?xf32>
    }
    ```

    With `fast-math`, floating-point operations get the flags `contract`, `arcp` and `afn` where
    they help.

    Kernels and constants are indices into a table outside the IR. The pass fails with the name of
    the node if a node can't be compiled.
  }];
  let options = [
    Option<"function", "function", "std::string", "", "name of the function">,
    ListOption<"arguments", "arguments", "std::string", "a tensor type for each argument">,
    Option<"fastMath", "fast-math", "bool", "false",
           "allow faster floating-point ops whose results are rounded differently">
  ];
}

def HoistInvariants : RcPass<"rc-hoist-invariants"> {
  let summary = "hoist loop-invariant ops";
  let description = [{
    Moves ops directly in the condition or the body of an `scf.while` before it if all of their
    operands are defined outside the loop: elementwise ops, kernel calls, checks. If the loop has no
    iterations, these ops run needlessly; if one fails, the compiled code bails out, and the
    interpreter runs the loop without an error. It doesn't hoist ops in conditionals.
  }];
}

def InterchangeLoops : RcPass<"rc-interchange-loops"> {
  let summary = "interchange a loop with the loops over independent elements inside of it";
  let description = [{
    An `scf.while` becomes an `rc.write` over the elements of its variables along some dimensions
    (lanes), whose body is a loop over scalars, if the lanes don't depend on each other. If the loop
    runs until the conditions of all lanes fail, and a `select` keeps the variables of lanes whose
    condition has failed, a lane stops when its own condition fails.

    ```mlir
    %r = scf.while (%s = %x) : (tensor<100xf32>) -> tensor<100xf32> {
      %any = ...                          // any of: s < 1
      scf.condition(%any) %s
    } do {
    ^bb0(%s: tensor<100xf32>):
      %next = linalg.generic ...          // select(s < 1, s + s, s)
      scf.yield %next
    }
    // becomes
    %r = rc.write %x for (%c100) parallel {
    ^bb0(%t: tensor<100xf32>, %i: index):
      %e = tensor.extract %x[%i]
      %n = scf.while (%s = %e) : (f32) -> f32 {...}   // while s < 1: s + s
      rc.store %t[%i] = %n
    }
    ```

    It doesn't change loops whose lanes have more than a few dozen elements, and those that call
    kernels or contain conditionals.
  }];
}

def FuseElementwise : RcPass<"rc-fuse-elementwise"> {
  let summary = "fuse elementwise ops";
  let description = [{
    Fuses a `linalg.generic` into its user if that is a `linalg.generic` of the same block and the
    only user. It doesn't fuse an op with several users, so nothing is computed twice.
  }];
}

def Outline : RcPass<"rc-outline"> {
  let summary = "outline pieces of long blocks into functions";
  let description = [{
    Splits a block of at least twice `weight` operations into pieces of about `weight` operations,
    and replaces each with a call. Values that one piece defines and another uses are passed
    through an array of words that all pieces share.

    ```mlir
    func.func @cluster(%x: tensor<f32>) -> tensor<f32> {
      %words = memref.alloca() : memref<1xi64>
      rc.clear_words %words, 0
      %ok0 = rc.call @piece0(%words)  // ends with: rc.store_word %y, %words[0]
      rc.check %ok0
      %ok1 = rc.call @piece1(%words)  // %y = rc.load_word %words[0]
      rc.check %ok1
      ...
    ```

    This keeps the time of all later passes linear: if a check of a piece fails, the piece releases
    only its own references, and one place releases those in the words.
  }];
  let options = [Option<"weight", "weight", "int64_t", "1000", "number of operations of a piece">];
}

def Bufferize : RcPass<"rc-bufferize"> {
  let summary = "convert tensors to references";
  let description = [{
    Converts `tensor<T>` to `!rc.ref<tensor<T>>` everywhere in `func.func @cluster`, loops and
    conditionals included. An elementwise op writes to an `rc.alloc`, whose `models` are the tensors
    whose memory it may reuse. It doesn't insert reference counts or copies.
  }];
}

def PlaceLocally : RcPass<"rc-place-locally"> {
  let summary = "promote small local tensors to the stack";
  let description = [{
    An `rc.alloc` of static shape becomes an `rc.local` if it is only read and written by index:
    it isn't passed to a kernel, to another iteration or to the caller, and no remaining
    allocation could reuse its block. It doesn't promote large tensors, or more than a limit in
    total.
  }];
}

def LowerControlFlow : RcPass<"rc-lower-control-flow"> {
  let summary = "lower control flow to branches";
  let description = [{
    Lowers loops and conditionals to a control flow graph. An `rc.check` becomes a branch to a block
    that ends in `rc.bail`, which returns to the interpreter.
  }];
}

def InsertCounts : RcPass<"rc-insert-counts"> {
  let summary = "insert reference counting";
  let description = [{
    Works on any control flow graph of `func.func @cluster`, by the ownership rules of the
    dialect: an op borrows its operands, an edge transfers ownership, and a block owns one
    reference to each value that is live in it. So a value is released after its last use in a
    block that doesn't pass it on, retained for each additional time that an edge passes it on,
    and released on edges to blocks where it isn't live. Every path releases or transfers each
    reference once.

    ```mlir
    ^body(%x: !rc.ref<tensor<?xf32>>, %y: !rc.ref<tensor<?xf32>>):  // owns both
      cf.br ^head(%y, %x : ...)                                     // a swap: no counting needed
    ^other(%x: !rc.ref<tensor<?xf32>>, %y: !rc.ref<tensor<?xf32>>):
      rc.retain %x                                                  // used twice
      rc.release %y                                                 // not live
      cf.br ^head(%x, %x : ...)
    ```

    It doesn't minimize the counting: `rc-elide-counts` does.
  }];
}

def ElideCounts : RcPass<"rc-elide-counts"> {
  let summary = "elide reference counting and reuse buffers";
  let description = [{
    Works within blocks. Removes a retain and a release of the same value if nothing in between
    depends on the count. Donates an operand to a kernel if it is released right after (`takes`).
    Replaces an `rc.alloc` with an `rc.reuse` if one of its models is released after the new
    tensor is written; that writes in place if the model has no other references.
  }];
}

def LowerLoops : RcPass<"rc-lower-loops"> {
  let summary = "lower elementwise ops to loops";
  let description = [{
    Creates a single loop if all operands are accessed in the order of memory, otherwise one loop
    for each dimension. `rc.parallel` marks loops whose iterations are independent.
  }];
}

def LowerToLlvm : RcPass<"rc-lower-to-llvm"> {
  let summary = "lower references to pointers";
  let description = [{
    References become pointers to blocks of the runtime, and the function becomes `i32
    cluster(frame, arguments, results)`. It takes ownership of the arguments. It returns 0 after
    storing the results, which the caller owns; or 1, and then the interpreter must run the
    cluster.
  }];
}

#endif // TREADLE_CODEGEN_PASSES
