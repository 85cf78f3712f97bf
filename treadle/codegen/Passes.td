// The steps from a function of pure nodes to machine code, each as a pass.

#ifndef TREADLE_CODEGEN_PASSES
#define TREADLE_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

class RcPass<string name> : Pass<name, "::mlir::ModuleOp">;

def Translate : RcPass<"rc-translate"> {
  let summary = "a function of pure nodes as tensor code";
  let description = [{
    The module becomes one `func.func @cluster`: scalars in registers, ops over elements in linalg,
    loops and conditionals in scf, the rest as calls of kernels. Functions that it calls become part
    of it. What compiled code must be sure of is an `rc.check`.

    `arguments` are the classes of its arguments, as types. A dimension is 1 or `?`: all other sizes
    share code.

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

    With `fast-math`, operations over floats have the flags `contract`, `arcp` and `afn` where these
    serve.

    Numbers of kernels and constants are those of a table that stays behind. The pass fails, naming
    the node, where something can't be compiled.
  }];
  let options = [
    Option<"function", "function", "std::string", "", "the function">,
    ListOption<"arguments", "arguments", "std::string", "a tensor type for each argument">,
    Option<"fastMath", "fast-math", "bool", "false",
           "ops over floats may be rounded otherwise where that is faster">
  ];
}

def HoistInvariants : RcPass<"rc-hoist-invariants"> {
  let summary = "what no iteration of a loop changes is computed before the loop";
  let description = [{
    Ops directly in the condition or the body of an `scf.while` that use nothing that the loop
    computes go before it: ops over elements, calls of kernels, checks. A loop that runs no iteration
    may so do more than it had to; what fails there makes compiled code leave, and the interpreter
    finds that there was nothing to do. Ops under a condition stay.
  }];
}

def FuseElementwise : RcPass<"rc-fuse-elementwise"> {
  let summary = "ops over elements join those that they take their elements from";
  let description = [{
    A `linalg.generic` whose result only one other reads, in the same block, becomes part of that
    one. Where several read it, it stays: nothing is computed twice.
  }];
}

def Outline : RcPass<"rc-outline"> {
  let summary = "long blocks become functions, a piece each";
  let description = [{
    A block of twice `weight` operations or more becomes calls of pieces, each of about that many.
    Values that one piece computes and another uses go through words that the cluster has and all
    pieces see.

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

    So the time that all later steps take is linear: where a check leaves a piece, only what that
    piece holds is released there, and what words hold in one place.
  }];
  let options = [Option<"weight", "weight", "int64_t", "1000", "how many operations a piece holds">];
}

def Bufferize : RcPass<"rc-bufferize"> {
  let summary = "tensors, which are values, become references to tensors in memory";
  let description = [{
    Works on `func.func @cluster`. `tensor<T>` is `!rc.ref<tensor<T>>` wherever it goes, through
    loops and conditionals too. An op over elements writes into an `rc.alloc`, which names as models
    the tensors that it might overwrite. Nothing is counted yet, and nothing copied.
  }];
}

def PlaceLocally : RcPass<"rc-place-locally"> {
  let summary = "small tensors that end where they are made lie on the stack";
  let description = [{
    An `rc.alloc` of known sizes becomes an `rc.local` if it is nothing but read and written by
    index: it isn't handed to a kernel, another iteration or the caller, and no allocation that stays
    could take its block over. Larger ones, and those beyond a sum of sizes, stay as they are.
  }];
}

def LowerControlFlow : RcPass<"rc-lower-control-flow"> {
  let summary = "loops, conditionals and checks become branches";
  let description = [{
    Structured control flow becomes a graph of blocks. An `rc.check` is a branch to a block that
    ends in `rc.bail`, where compiled code leaves.
  }];
}

def InsertCounts : RcPass<"rc-insert-counts"> {
  let summary = "each reference is released or handed on once, on every path";
  let description = [{
    Works on any control flow graph of `func.func @cluster`, by the rule of the dialect: an op
    borrows, an edge hands on, a block holds one reference of what is live in it. So a value is
    released after its last use in a block that doesn't hand it on, retained once for each further
    time that an edge hands it on, and released on edges beyond which it isn't wanted.

    ```mlir
    ^body(%x: !rc.ref<tensor<?xf32>>, %y: !rc.ref<tensor<?xf32>>):  // holds both
      cf.br ^head(%y, %x : ...)                                     // a swap: nothing to count
    ^other(%x: !rc.ref<tensor<?xf32>>, %y: !rc.ref<tensor<?xf32>>):
      rc.retain %x                                                  // wanted twice
      rc.release %y                                                 // not wanted
      cf.br ^head(%x, %x : ...)
    ```

    It doesn't look for fewer counts: that is `rc-elide-counts`.
  }];
}

def ElideCounts : RcPass<"rc-elide-counts"> {
  let summary = "counts that can be told beforehand go, and allocations take over what ends";
  let description = [{
    Within a block: a retain and a release of the same value cancel out where nothing between them
    looks at counts. A kernel gets for good what is released behind it (`takes`). An `rc.alloc` with
    a model that is released once it is filled becomes an `rc.reuse`, which writes in place if
    nobody else holds the model.
  }];
}

def LowerLoops : RcPass<"rc-lower-loops"> {
  let summary = "ops over elements become loops over elements";
  let description = [{
    A single loop where all operands are read and written in the order of memory, else one for each
    dimension. `rc.parallel` marks those whose iterations don't meet.
  }];
}

def LowerToLlvm : RcPass<"rc-lower-to-llvm"> {
  let summary = "references become pointers to the runtime's blocks";
  let description = [{
    The function becomes `i32 cluster(frame, arguments, results)`. It takes the arguments over and
    gives 0, having stored results that the caller owns; or 1, and then the interpreter is to run
    what it stood for.
  }];
}

#endif // TREADLE_CODEGEN_PASSES
