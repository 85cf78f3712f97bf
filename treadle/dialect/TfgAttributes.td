// Attributes of the tfg dialect: what nodes say of themselves beside what a GraphDef says.

#ifndef TREADLE_DIALECT_TFG_ATTRIBUTES
#define TREADLE_DIALECT_TFG_ATTRIBUTES

include "mlir/IR/AttrTypeBase.td"
include "treadle/dialect/TfgDialect.td"

def RegionAttrs : AttrDef<TfgDialect, "RegionAttrs"> {
  let mnemonic = "region_attrs";
  let summary = "attributes of the function that a region stands for";
  let description = [{
    The attributes of the function, of its arguments (one entry for each data argument of the region,
    none for a conditional) and of its results. `sym_name` is what the function was called.

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
  let summary = "why a node's program can't run";
  let description = [{
    tfg-expand-programs notes it of an XlaCallModule, which fails with it once it is reached.
    `unimplemented` stands before what is valid, but not supported.

    ```mlir
    #tfg.problem<unimplemented "its program: stablehlo.custom_call @gpu is not known">
    ```
  }];
  let parameters = (ins "bool":$is_unimplemented, StringRefParameter<"the error">:$message);
  let assemblyFormat = "`<` custom<Unimplemented>($is_unimplemented) `` $message `>`";
}

def OpTraits : AttrDef<TfgDialect, "OpTraits"> {
  let mnemonic = "op_traits";
  let summary = "what a node of a registered op does besides giving its results";
  let description = [{
    `waits`: it may wait for long where the machine could do something else. `touches_world`: it may
    do anything. `reads` and `writes` name resources, which nodes that name the same share.

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
