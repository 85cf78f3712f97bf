// The containers of the tfg dialect (graphs and functions), and the few operations that aren't
// nodes. Nodes are operations that the dialect doesn't register, except those with regions
// (Regions.td).

#ifndef TREADLE_DIALECT_TFG
#define TREADLE_DIALECT_TFG

include "treadle/dialect/TfgDialect.td"

def GraphOp : TfgOp<"graph", [
    HasOnlyGraphRegion, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getDefaultDialect"]>
  ] # GraphRegionNoTerminator.traits> {
  let summary = "container of the nodes of a GraphDef";
  let description = [{
    The nodes are in the order of the GraphDef. The body is a graph region: a node may use results
    of later nodes.

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
  let summary = "function of the library";
  let description = [{
    A `FunctionDef`. The body is a graph region that ends with `tfg.return`. For every argument `%x`
    the block also has a control token `%x.ctl`, which the signature omits: block arguments are
    (value, token) pairs.

    A `generic` function is a template: values are `!tf_type.tensor`, a node has one such result,
    and `tfg.get_result` selects an output by name. A node that calls it provides the attributes
    that replace its `#tf_type.placeholder` attributes.

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
    // The names of the control outputs, for a generic function only.
    OptionalAttr<StrArrayAttr>:$control_output
  );
  let regions = (region AnyRegion:$body);
  let skipDefaultBuilders = 1;
  let builders = [
    // The inputs of `type` are (value, token) pairs. Creates the entry block with these arguments.
    OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type,
                   CArg<"bool", "false">:$generic)>
  ];
  let extraClassDeclaration = [{
    ::mlir::Block &getEntry() { return getBody().front(); }
    /// Returns the number of arguments without control tokens.
    unsigned getNumDataArguments() { return getNumArguments() / 2; }
    ::mlir::BlockArgument getDataArgument(unsigned index) { return getArgument(2 * index); }
    static ::mlir::BlockArgument getControlTokenOf(::mlir::BlockArgument data) {
      return data.getOwner()->getArgument(data.getArgNumber() + 1);
    }
    static ::mlir::BlockArgument getDataOf(::mlir::BlockArgument token) {
      return token.getOwner()->getArgument(token.getArgNumber() - 1);
    }
    /// Returns the `tfg.name` of a data argument, or an empty string. `index` doesn't count tokens.
    ::llvm::StringRef getDataArgumentName(unsigned index);
    /// Returns the terminator of the body.
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
  let summary = "terminator with the results and control results of a function";
  let description = [{
    The operands are the function's results in order, then the control tokens of nodes that must
    run even if no result needs them. A token may have the name of a control result.

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
    // Sets empty attributes for the control results.
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
  let summary = "select an output of a node in a generic function";
  let description = [{
    Selects the output that the op definition names `name`; `number` is the index within it if the
    output is a list. Only generic functions use it: elsewhere each output is a result of its node.

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
