// The tf_executor dialect: TensorFlow graphs in dominance order, with operations for v1 control
// flow and islands that wrap everything else. Also the tf dialect, whose operations are in islands
// and aren't registered.

#ifndef TREADLE_DIALECT_TFEXECUTOR
#define TREADLE_DIALECT_TFEXECUTOR

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// tf
//===----------------------------------------------------------------------===//

def TfDialect : Dialect {
  let name = "tf";
  let cppNamespace = "::treadle::tf";
  let summary = "TensorFlow ops";
  let description = [{
    The TensorFlow op `X` is the operation `tf.X`, in generic syntax:

    ```mlir
    %0 = "tf.AddV2"(%x, %y) {device = ""} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ```

    Attributes that the types imply (`T` here) are omitted. `!tf.string` and `#tf.shape<2>` are
    aliases for those of tf_type.
  }];
  let dependentDialects = ["::treadle::tf_type::TfTypeDialect"];
  let extraClassDeclaration = [{
    ::mlir::Type parseType(::mlir::DialectAsmParser &parser) const override;
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
  }];
}

//===----------------------------------------------------------------------===//
// tf_executor
//===----------------------------------------------------------------------===//

def TfExecutorDialect : Dialect {
  let name = "tf_executor";
  let cppNamespace = "::treadle::tf_executor";
  let summary = "graphs for TensorFlow's executor";
  let description = [{
    A `tf_executor.graph` contains islands, v1 control flow and a `tf_executor.fetch`. Values may be
    dead. An operation runs as soon as its operands are available; control tokens add further
    dependencies. Values are defined before they are used; the back edge of a loop is split into a
    `Source` and a `Sink`, which a token connects.
  }];
  let dependentDialects = ["::treadle::tf_type::TfTypeDialect", "::treadle::tf::TfDialect"];
  let useDefaultTypePrinterParser = 1;
}

class TfExecutorType<string name, string keyword> : TypeDef<TfExecutorDialect, name> {
  let mnemonic = keyword;
}

def ControlType : TfExecutorType<"Control", "control"> {
  let summary = "control token";
  let description = "The last result of each operation that others can depend on.";
}

def TokenType : TfExecutorType<"Token", "token"> {
  let summary = "token that connects the two halves of a NextIteration";
  let description = "Connects a `NextIteration.Source` to the `NextIteration.Sink` of its value.";
}

def ControlAfterData
    : PredOpTrait<"control operands to follow all data operands",
                  CPred<"::treadle::tf_executor::isControlAfterData($_op.getOperands())">>;

def DataType : Type<CPred<"!::llvm::isa<::treadle::tf_executor::ControlType, "
                          "::treadle::tf_executor::TokenType>($_self)">, "data">;
def BoolTensor : TensorOf<[I1]>;

class TfExecutorOp<string mnemonic, list<Trait> traits = []>
    : Op<TfExecutorDialect, mnemonic, traits> {
  let hasCustomAssemblyFormat = 1;
}

/// An operation that names its results as TensorFlow does.
class NamedResultsOp<string mnemonic, list<Trait> traits = []>
    : TfExecutorOp<mnemonic, traits # [
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]>;

/// An operation of v1 control flow.
class NodeOp<string mnemonic, list<Trait> traits = []>
    : NamedResultsOp<mnemonic, [HasParent<"GraphOp">, ControlAfterData] # traits>;

def GraphOp : TfExecutorOp<"graph", [
    SingleBlockImplicitTerminator<"FetchOp">]> {
  let summary = "graph with fetched results";
  let description = [{
    The results are the data operands of the `fetch`. The operation has no operands: its body uses
    values from outside directly.

    ```mlir
    %0 = tf_executor.graph {
      %outputs, %control = tf_executor.island wraps "tf.Neg"(%x) : (tensor<f32>) -> tensor<f32>
      tf_executor.fetch %outputs : tensor<f32>
    }
    ```
  }];
  let results = (outs Variadic<DataType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    ::mlir::Block &getEntry() { return getBody().front(); }
    FetchOp getFetch();
  }];
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
}

def FetchOp : TfExecutorOp<"fetch", [
    Pure, Terminator, ReturnLike, HasParent<"GraphOp">, ControlAfterData]> {
  let summary = "terminator with the results of a graph";
  let description = [{
    The operands are the graph's results, then control tokens of operations that must run even if no
    result needs them.

    ```mlir
    tf_executor.fetch %x, %control : tensor<f32>, !tf_executor.control
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$fetches);
  let builders = [OpBuilder<(ins), [{ (void)$_builder; }]>];
}

def IslandOp : NamedResultsOp<"island", [
    SingleBlockImplicitTerminator<"YieldOp">, HasParent<"GraphOp">]> {
  let summary = "sequence of operations of other dialects";
  let description = [{
    The region runs in order once the control inputs and all values that it uses are available. If
    one of them is dead, it doesn't run and all results are dead. An island that contains one
    operation and yields its results has a short form:

    ```mlir
    %outputs, %control = tf_executor.island(%init) {
      %0 = "tf.Neg"(%x) : (tensor<f32>) -> tensor<f32>
      %1 = "tf.Exp"(%0) : (tensor<f32>) -> tensor<f32>
      tf_executor.yield %1 : tensor<f32>
    }
    %outputs, %control = tf_executor.island(%init) wraps "tf.Neg"(%x) : (tensor<f32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<ControlType>:$controlInputs);
  let results = (outs Variadic<DataType>:$outputs, ControlType:$control);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    ::mlir::Block &getEntry() { return getBody().front(); }
    YieldOp getYield();
    /// Returns whether the region holds one operation and yields all of its results in order.
    bool wrapsSingleOp();
  }];
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let hasFolder = 1;
}

def YieldOp : TfExecutorOp<"yield", [Pure, Terminator, ReturnLike, HasParent<"IslandOp">]> {
  let summary = "terminator with the results of an island";
  let description = [{
    The operands are the island's data results; the island's control token is implicit.

    ```mlir
    tf_executor.yield %0, %1 : tensor<f32>, tensor<i32>
    ```
  }];
  let arguments = (ins Variadic<DataType>:$fetches);
  let builders = [OpBuilder<(ins), [{ (void)$_builder; }]>];
}

def SwitchOp : NodeOp<"Switch", [Pure]> {
  let summary = "forward data to one of two results";
  let description = [{
    The data is forwarded to the result that the predicate selects; the other result is dead.

    ```mlir
    %falseOutput, %trueOutput, %control = tf_executor.Switch %x, %p : tensor<f32>
    ```
  }];
  let arguments = (ins DataType:$data, BoolTensor:$predicate, Variadic<ControlType>:$controlInputs);
  let results = (outs DataType:$falseOutput, DataType:$trueOutput, ControlType:$control);
  let hasVerifier = 1;
}

def SwitchNOp : NodeOp<"_SwitchN", [Pure]> {
  let summary = "forward data to one of several results";
  let description = [{
    Like `Switch`, with an index; an index out of range selects the last result.

    ```mlir
    %outputs:3, %control = tf_executor._SwitchN %x, %i of 3 (%init) : tensor<f32>
    ```
  }];
  let arguments = (ins DataType:$data, TensorOf<[I32]>:$index, Variadic<ControlType>:$controlInputs,
                   I64Attr:$num_outs);
  let results = (outs Variadic<DataType>:$outputs, ControlType:$control);
  let hasVerifier = 1;
}

def MergeOp : NodeOp<"Merge", [Pure]> {
  let summary = "forward the input that isn't dead, with its index";
  let description = [{
    ```mlir
    %output, %value_index, %control = tf_executor.Merge %x, %y : tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$dataAndControlInputs);
  let results = (outs DataType:$output, TensorOf<[I32]>:$value_index, ControlType:$control);
  let extraClassDeclaration = [{ ::mlir::OperandRange getDataInputs(); }];
  let hasVerifier = 1;
}

def EnterOp : NodeOp<"Enter", [Pure]> {
  let summary = "pass a value into a frame";
  let description = [{
    With `constant`, the value is available in every iteration; otherwise only in the first.

    ```mlir
    %output, %control = tf_executor.Enter %x frame "while" parallel_iterations 5 constant : tensor<f32>
    ```
  }];
  let arguments = (ins DataType:$data, Variadic<ControlType>:$controlInputs,
                   StrAttr:$frame_name, DefaultValuedAttr<BoolAttr, "false">:$is_constant,
                   DefaultValuedAttr<I64Attr, "10">:$parallel_iterations);
  let results = (outs DataType:$output, ControlType:$control);
  let extraClassDeclaration = [{ static constexpr int64_t defaultParallelIterations = 10; }];
  let hasVerifier = 1;
}

def NextIterationSourceOp : NodeOp<"NextIteration.Source"> {
  let summary = "value from the previous iteration";
  let description = [{
    The half of a NextIteration that produces the value, before the body of the loop.

    ```mlir
    %output, %token, %control = tf_executor.NextIteration.Source : tensor<f32>
    ```
  }];
  let results = (outs DataType:$output, TokenType:$token, ControlType:$control);
  let extraClassDeclaration = [{ NextIterationSinkOp getSink(); }];
  let hasVerifier = 1;
}

def NextIterationSinkOp : TfExecutorOp<"NextIteration.Sink", [HasParent<"GraphOp">]> {
  let summary = "value for the next iteration";
  let description = [{
    The half of a NextIteration that consumes the value; the token identifies the other half.

    ```mlir
    tf_executor.NextIteration.Sink [%token] %x, %init : tensor<f32>
    ```
  }];
  let arguments = (ins TokenType:$token, DataType:$input, Variadic<ControlType>:$controlInputs);
  let extraClassDeclaration = [{ NextIterationSourceOp getSource(); }];
  let hasVerifier = 1;
}

def ExitOp : NodeOp<"Exit", [Pure]> {
  let summary = "pass a value out of a frame";
  let description = [{
    ```mlir
    %output, %control = tf_executor.Exit %x : tensor<f32>
    ```
  }];
  let arguments = (ins DataType:$data, Variadic<ControlType>:$controlInputs);
  let results = (outs DataType:$output, ControlType:$control);
  let hasVerifier = 1;
}

def ControlTriggerOp : NodeOp<"ControlTrigger", [Pure]> {
  let summary = "produce a control token that is never dead";
  let description = [{
    ```mlir
    %control = tf_executor.ControlTrigger %init, %done
    ```
  }];
  let arguments = (ins Variadic<ControlType>:$controlInputs);
  let results = (outs ControlType:$control);
  let hasCanonicalizer = 1;
}

def LoopCondOp : NodeOp<"LoopCond", [Pure]> {
  let summary = "mark the predicate of a loop";
  let description = [{
    ```mlir
    %output, %control = tf_executor.LoopCond %p : tensor<i1>
    ```
  }];
  let arguments = (ins BoolTensor:$input, Variadic<ControlType>:$controlInputs);
  let results = (outs BoolTensor:$output, ControlType:$control);
}

#endif // TREADLE_DIALECT_TFEXECUTOR
