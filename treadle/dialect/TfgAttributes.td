// Attributes of the tfg dialect, for properties of nodes that a GraphDef doesn't express.

#ifndef TREADLE_DIALECT_TFG_ATTRIBUTES
#define TREADLE_DIALECT_TFG_ATTRIBUTES

include "mlir/IR/AttrTypeBase.td"
include "treadle/dialect/TfgDialect.td"

def RegionAttrs : AttrDef<TfgDialect, "RegionAttrs"> {
  let mnemonic = "region_attrs";
  let summary = "attributes of the function that a region was created from";
  let description = [{
    The attributes of the function, of its arguments (one entry for each data argument of the
    region, none for a conditional) and of its results. `sym_name` is the name of the function.

    ```mlir
    #tfg.region_attrs<{sym_name = "body"} [{tfg.name = "x"} ] [{tfg.name = "y"} ]>
    ```
  }];
  let parameters = (ins "::mlir::DictionaryAttr":$attrs, "::mlir::ArrayAttr":$arg_attrs,
                        "::mlir::ArrayAttr":$res_attrs);
  let assemblyFormat = "`<` $attrs $arg_attrs $res_attrs `>`";
}

def Problem : AttrDef<TfgDialect, "Problem"> {
  let mnemonic = "problem";
  let summary = "error that running a node reports";
  let description = [{
    tfg-expand-programs sets it on an XlaCallModule whose module it can't import; running the node
    fails with the message. `unimplemented` marks a module that is valid but not supported.

    ```mlir
    #tfg.problem<unimplemented "its program: stablehlo.custom_call @gpu is not known">
    ```
  }];
  let parameters = (ins "bool":$is_unimplemented, StringRefParameter<"the error">:$message);
  let assemblyFormat = "`<` custom<Unimplemented>($is_unimplemented) `` $message `>`";
}

def OpTraits : AttrDef<TfgDialect, "OpTraits"> {
  let mnemonic = "op_traits";
  let summary = "side effects of a node with a registered op";
  let description = [{
    - `waits`: the op may block, so that other nodes should run meanwhile.
    - `touches_world`: the op may have any side effect.
    - `reads`, `writes`: names of the resources that the op accesses; nodes with the same name
      access the same resource.

    ```mlir
    #tfg.op_traits<waits = true, touches_world = false, reads = ["clock"], writes = []>
    ```
  }];
  let parameters = (ins "::mlir::BoolAttr":$waits, "::mlir::BoolAttr":$touches_world,
                        "::mlir::ArrayAttr":$reads, "::mlir::ArrayAttr":$writes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // TREADLE_DIALECT_TFG_ATTRIBUTES
