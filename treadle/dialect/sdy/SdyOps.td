// The part of Shardy that JAX programs use: meshes of devices, and shardings of values over them.
// The parsers skip details that only a partitioner needs.

#ifndef TREADLE_DIALECT_SDY
#define TREADLE_DIALECT_SDY

include "treadle/dialect/stablehlo/Base.td"

def SdyDialect : Dialect {
  let name = "sdy";
  let summary = "shardings of values over devices";
  let description = [{
    The attributes are builtin:

    - a mesh is `{axes = [{name = "x", size = 2}, ...], device_ids = array<i64: ...>}`
    - an axis is `{axis = "x"}`, a sub-axis `{axis = "x", pre_size = 2, size = 2}`
    - the sharding of a dimension is a list of axes: `[axis, ...]`
    - the sharding of a value is `{mesh = @mesh, dims = [dimension, ...]}`, with
      `unreduced = [axis, ...]` for axes whose devices hold terms of a sum
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

// Values that must have the same sharding.
def ShardingGroupOp : Sdy<"sharding_group"> {
  let arguments = (ins AnyType:$input, OptionalAttr<Number>:$group_id);
}

// A computation that each device runs on its own shards of the operands.
def ManualComputationOp : Sdy<"manual_computation"> {
  let arguments = (ins Variadic<AnyType>:$operands, ArrayAttr:$in_shardings,
                       ArrayAttr:$out_shardings, ArrayAttr:$manual_axes);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
}

// A computation with a name, and no other effect.
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
