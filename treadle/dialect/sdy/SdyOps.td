// Of Shardy, what programs of JAX have of it: meshes of devices, and how values are spread over
// them. What only matters to a partitioner is read over.

#ifndef TREADLE_DIALECT_SDY
#define TREADLE_DIALECT_SDY

include "treadle/dialect/stablehlo/Base.td"

def SdyDialect : Dialect {
  let name = "sdy";
  let summary = "how values are spread over devices";
  let description = [{
    Attributes are builtin ones:

    - a mesh is `{axes = [{name = "x", size = 2}, ...], device_ids = array<i64: ...>}`
    - a part of an axis is `{axis = "x"}`, of a split one `{axis = "x", pre_size = 2, size = 2}`
    - a dimension's sharding is a list of axes: `[axis, ...]`
    - a value's sharding is `{mesh = @mesh, dims = [dimension, ...]}`; if it is to be summed over
      devices, with the axes `unreduced = [axis, ...]`
    - shardings of several values are a list: `[value, ...]`
  }];
  let cppNamespace = "::treadle::sdy";
  let extraClassDeclaration = [{
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef) const override;
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type) const override;
    void printAttribute(::mlir::Attribute, ::mlir::DialectAsmPrinter &) const override {}
  }];
}

class Sdy<string name, list<Trait> traits = []> : HloOp<SdyDialect, name, traits>;

def MeshOp : Sdy<"mesh"> {
  let arguments = (ins SymbolNameAttr:$sym_name, Fields:$mesh);
}

class Annotation<string name> : Sdy<name, [Pure, Pairwise]> {
  let arguments = (ins AnyType:$input, OptionalAttr<Fields>:$sharding);
  let results = (outs AnyType:$result);
}

def ReshardOp : Annotation<"reshard">;
def ShardingConstraintOp : Annotation<"sharding_constraint">;

// Values that are to be spread in one way.
def ShardingGroupOp : Sdy<"sharding_group"> {
  let arguments = (ins AnyType:$input, OptionalAttr<Number>:$group_id);
}

// What each device computes with its own parts of the operands.
def ManualComputationOp : Sdy<"manual_computation"> {
  let arguments = (ins Variadic<AnyType>:$operands, ArrayAttr:$in_shardings,
                       ArrayAttr:$out_shardings, ArrayAttr:$manual_axes);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
}

// A computation that only has a name.
def NamedComputationOp : Sdy<"named_computation"> {
  let arguments = (ins Variadic<AnyType>:$operands, OptionalAttr<Text>:$name,
                       OptionalAttr<ArrayAttr>:$in_shardings,
                       OptionalAttr<ArrayAttr>:$out_shardings);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
}

def ReturnOp : Sdy<"return", [Pure, Terminator]> {
  let arguments = (ins Variadic<AnyType>:$results);
}

#endif // TREADLE_DIALECT_SDY
