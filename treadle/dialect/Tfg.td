// The containers of the tfg dialect (graphs and functions), and the few operations that aren't nodes.
// Nodes themselves are operations that the dialect doesn't register; those with regions are in
// Regions.td.

#ifndef TREADLE_DIALECT_TFG
#define TREADLE_DIALECT_TFG

include "treadle/dialect/TfgDialect.td"

def GraphOp : TfgOp<"graph", [
    HasOnlyGraphRegion, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getDefaultDialect"]>
  ] # GraphRegionNoTerminator.traits> {
  let summary = "the nodes of a GraphDef";
  let description = [{
    A bag of nodes: a node may use results of nodes that stand after it. Their order is that of the
    GraphDef.

    ```mlir
    tfg.graph #tf_type.version<producer = 1482, min_consumer = 12> {
      %Const, %ctl = Const name("c") {dtype = i32, value = dense<1> : tensor<i32>}
          : () -> (tensor<i32>)
    }
    ```
  }];
  let arguments = (ins VersionAttr:$version);
  let regions = (region SizedRegion<1>:$nodes);
  let assemblyFormat = "qualified($version) attr-dict-with-keyword $nodes";
  let skipDefaultBuilders = 1;
  let builders = [
    OpBuilder<(ins "::treadle::tf_type::VersionAttr":$version)>
  ];
  let hasRegionVerifier = 1;
}

def FuncOp : TfgOp<"func", [
    FunctionOpInterface, HasOnlyGraphRegion, IsolatedFromAbove, RegionKindInterface, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames", "getDefaultDialect"]>
  ]> {
  let summary = "a function of the library";
  let description = [{
    A `FunctionDef`. Its body is a bag of nodes, ended by `tfg.return`. For every argument `%x` the
    block also has a control token `%x.ctl`, which the signature does not print; so arguments come as
    (value, token) pairs in memory.

    A `generic` function is a template: values are `!tf_type.tensor`, a node gives one of them, and
    `tfg.get_result` picks an output by its name. A node that calls it states the attributes that its
    `#tf_type.placeholder` attributes stand for.

    ```mlir
    tfg.func @double(%x: tensor<*xf32> {tfg.name = "x"}) -> (tensor<*xf32> {tfg.name = "y"}) {
      %AddV2, %ctl = AddV2(%x, %x) [%x.ctl] name("add")
          : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
      return(%AddV2) [%ctl {tfg.name = "done"} ] : tensor<*xf32>
    }
    ```
  }];
  let arguments = (ins
    UnitAttr:$generic,
    SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs,
    OptionalAttr<StrAttr>:$sym_visibility,
    OptionalAttr<StrAttr>:$description,
    UnitAttr:$is_stateful,
    OptionalAttr<FlatSymbolRefAttr>:$gradient,
    OptionalAttr<I32ElementsAttr>:$resource_arg_unique_ids_keys,
    OptionalAttr<I32ElementsAttr>:$resource_arg_unique_ids_values,
    // The control outputs of a generic function stand in its signature.
    OptionalAttr<StrArrayAttr>:$control_output
  );
  let regions = (region AnyRegion:$body);
  let skipDefaultBuilders = 1;
  let builders = [
    // `type` has (value, token) pairs as inputs. The entry block is made with them.
    OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type,
                   CArg<"bool", "false">:$generic)>
  ];
  let extraClassDeclaration = [{
    ::mlir::Block &getEntry() { return getBody().front(); }
    /// Arguments without their control tokens.
    unsigned getNumDataArguments() { return getNumArguments() / 2; }
    ::mlir::BlockArgument getDataArgument(unsigned index) { return getArgument(2 * index); }
    static ::mlir::BlockArgument getControlTokenOf(::mlir::BlockArgument data) {
      return data.getOwner()->getArgument(data.getArgNumber() + 1);
    }
    static ::mlir::BlockArgument getDataOf(::mlir::BlockArgument token) {
      return token.getOwner()->getArgument(token.getArgNumber() - 1);
    }
    /// The `tfg.name` of an argument (data arguments counted alone), empty if it has none.
    ::llvm::StringRef getDataArgumentName(unsigned index);
    /// The last operation of the body.
    ReturnOp getReturn();

    // FunctionOpInterface and its parents.
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return isExternal() ? nullptr : &getBody(); }
    ::llvm::LogicalResult verifyType();
    ::llvm::LogicalResult verifyBody();
    bool isDeclaration() { return isExternal(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def ReturnOp : TfgOp<"return", [Pure, HasParent<"FuncOp">, ReturnLike, Terminator]> {
  let summary = "results and control results of a function";
  let description = [{
    Values in the order of the function's results, then the tokens of nodes that must run even if no
    result needs them. A token may carry the name of the control result.

    ```mlir
    return(%y) [%ctl {tfg.name = "done"} ] : tensor<*xf32>
    ```
  }];
  let arguments = (ins
    Variadic<TensorOrControl>:$operands,
    DictArrayAttr:$control_ret_attrs
  );
  let skipDefaultBuilders = 1;
  let builders = [
    // With empty attributes for the control results.
    OpBuilder<(ins "::mlir::ValueRange":$data, "::mlir::ValueRange":$control)>,
    OpBuilder<(ins "::mlir::ValueRange":$data, "::mlir::ValueRange":$control,
                   "::mlir::ArrayAttr":$controlAttrs)>
  ];
  let extraClassDeclaration = [{
    ::mlir::OperandRange getData();
    ::mlir::OperandRange getControl();
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def GetResultOp : TfgOp<"get_result", [Pure]> {
  let summary = "one output of a node in a generic function";
  let description = [{
    The output that the op's definition calls `name`; `number` counts within it where the output is a
    list. Only in generic functions: elsewhere every output is a result of its node.

    ```mlir
    %0 = get_result(%Switch) "output_true" : 0
    ```
  }];
  let arguments = (ins OpaqueTensorType:$value, StrAttr:$name, I32Attr:$number);
  let results = (outs OpaqueTensorType:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

#endif // TREADLE_DIALECT_TFG
