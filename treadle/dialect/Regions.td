// Region control flow: conditionals and loops whose branches and bodies are regions, and the
// terminators of these regions.

#ifndef TREADLE_DIALECT_REGIONS
#define TREADLE_DIALECT_REGIONS

include "mlir/Interfaces/LoopLikeInterface.td"
include "treadle/dialect/TfgAttributes.td"

def RegionAttrsArray : TypedArrayAttrBase<RegionAttrs, "array of #tfg.region_attrs">;

class RegionTerminator<string mnemonic> : TfgOp<mnemonic, [
    Pure, Terminator, DeclareOpInterfaceMethods<RegionBranchTerminatorOpInterface>
  ]> {
  // Data operands, then control tokens.
  let arguments = (ins Variadic<TensorOrControl>:$operands);
  let extraClassDeclaration = [{
    ::mlir::OperandRange getControl() { return Node(*this).control(); }
    /// Returns the values that are forwarded to the next region or the results of the enclosing op.
    ::mlir::OperandRange getForwarded();
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def YieldOp : RegionTerminator<"yield"> {
  let summary = "terminator of a branch or loop body";
  let description = [{
    The data operands are the results of the enclosing operation, or the loop variables of the next
    iteration. The control operands are tokens of nodes that must run before the operation
    completes.

    ```mlir
    yield(%y) [%ctl] : tensor<*xf32>
    ```
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$data, "::mlir::ValueRange":$control)>];
}

def ConditionOp : RegionTerminator<"condition"> {
  let summary = "terminator of a loop condition";
  let description = [{
    The operands are a predicate and the values of the loop variables. If the predicate is true, the
    values are passed to the body; if it is false, they are the results of the loop.

    ```mlir
    condition %p : tensor<*xi1> (%x, %y) [%ctl] : tensor<*xf32>, tensor<*xi32>
    ```
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$predicate, "::mlir::ValueRange":$data,
                                 "::mlir::ValueRange":$control)>];
  let extraClassDeclaration = [{
    ::mlir::OperandRange getControl() { return Node(*this).control(); }
    ::mlir::OperandRange getForwarded();
    ::mlir::Value getPredicate() { return getOperand(0); }
  }];
}

// A region op is a node: the operands are data, then control tokens; the results are data, then one
// control token.
class RegionOp<string mnemonic, list<Trait> traits = []> : TfgOp<mnemonic, [
    HasOnlyGraphRegion, RegionKindInterface, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames", "getDefaultDialect"]>,
    DeclareOpInterfaceMethods<RegionBranchOpInterface,
                              ["areTypesCompatible", "getEntrySuccessorOperands"]>
  ] # traits> {
  let results = (outs Variadic<TensorOrControl>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;

  code commonDeclaration = [{
    ::mlir::ResultRange getOuts() { return Node(*this).results(); }
    ::mlir::OperandRange getControl() { return Node(*this).control(); }
  }];
  code commonDefinition = [{
    ::llvm::StringRef $cppClass::getDefaultDialect() {
      return TfgDialect::getDialectNamespace();
    }
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn setName) {
      regions::nameResults(*this, setName);
    }
    bool $cppClass::areTypesCompatible(::mlir::Type a, ::mlir::Type b) {
      return tf_type::areCompatible(a, b);
    }
    ::llvm::LogicalResult $cppClass::verifyRegions() { return regions::verifyBodies(*this); }
  }];
}

class ConditionalOp<string mnemonic, string what> : RegionOp<mnemonic> {
  code conditionalDefinition = [{
    ::mlir::OperandRange $cppClass::getEntrySuccessorOperands(::mlir::RegionSuccessor) {
      return (*this)->getOperands().take_front(0);
    }
    void $cppClass::getSuccessorRegions(::mlir::RegionBranchPoint point,
        ::llvm::SmallVectorImpl<::mlir::RegionSuccessor> &out) {
      regions::branchSuccessors(*this, point, out);
    }
    ::llvm::LogicalResult $cppClass::verify() { return regions::verify}] # what # [{(*this); }
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser,
                                         ::mlir::OperationState &state) {
      return regions::parse}] # what # [{(parser, state);
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) {
      regions::print}] # what # [{(*this, printer);
    }
  }];
  let extraClassDefinition = commonDefinition # conditionalDefinition;
}

class IfLikeOp<string mnemonic> : ConditionalOp<mnemonic, "If"> {
  let summary = "conditional";
  let description = [{
    Runs the first region if the predicate is true, the second otherwise. The regions have no
    arguments and use values of the enclosing graph directly. The operation starts when all of these
    values and the control inputs (in brackets) are available, like a call with its arguments.

    ```mlir
    %IfRegion, %ctl = IfRegion %p [%init] then {
      %Neg, %ctl_0 = Neg(%x) name("neg") {T = f32} : (tensor<*xf32>) -> (tensor<*xf32>)
      yield(%Neg) : tensor<*xf32>
    } else {
      yield(%x) : tensor<*xf32>
    } : (tensor<i1>) -> tensor<*xf32>
    ```
  }];
  let arguments = (ins
    Variadic<TensorOrControl>:$inputs,
    OptionalAttr<DictionaryAttr>:$then_attrs,
    OptionalAttr<DictionaryAttr>:$else_attrs,
    OptionalAttr<RegionAttrs>:$then_region_attrs,
    OptionalAttr<RegionAttrs>:$else_region_attrs
  );
  let regions = (region SizedRegion<1>:$then_region, SizedRegion<1>:$else_region);
  let extraClassDeclaration = commonDeclaration # [{
    ::mlir::Value getCond() { return getOperand(0); }
  }];
}

def IfRegionOp : IfLikeOp<"IfRegion">;
def StatelessIfRegionOp : IfLikeOp<"StatelessIfRegion">;
def StatefulIfRegionOp : IfLikeOp<"StatefulIfRegion">;

class CaseLikeOp<string mnemonic> : ConditionalOp<mnemonic, "Case"> {
  let summary = "conditional with any number of branches";
  let description = [{
    Runs the region at the given index; the last one if the index is out of range.

    ```mlir
    %CaseRegion, %ctl = CaseRegion %index {
      yield(%x) : tensor<*xf32>
    }, {
      yield(%y) : tensor<*xf32>
    } {branch_attrs = [{}, {} ]} : (tensor<i32>) -> tensor<*xf32>
    ```
  }];
  let arguments = (ins
    Variadic<TensorOrControl>:$inputs,
    OptionalAttr<DictArrayAttr>:$branch_attrs,
    OptionalAttr<RegionAttrsArray>:$region_attrs
  );
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let extraClassDeclaration = commonDeclaration # [{
    ::mlir::Value getBranchIndex() { return getOperand(0); }
  }];
}

def CaseRegionOp : CaseLikeOp<"CaseRegion">;
def StatelessCaseRegionOp : CaseLikeOp<"StatelessCaseRegion">;
def StatefulCaseRegionOp : CaseLikeOp<"StatefulCaseRegion">;

class LoopOp<string mnemonic, string what>
    : RegionOp<mnemonic, [DeclareOpInterfaceMethods<LoopLikeOpInterface>]> {
  code loopDefinition = [{
    ::mlir::OperandRange $cppClass::getEntrySuccessorOperands(::mlir::RegionSuccessor) {
      return getInit();
    }
    ::llvm::SmallVector<::mlir::Region *> $cppClass::getLoopRegions() {
      return ::llvm::map_to_vector<2>((*this)->getRegions(),
                                      [](::mlir::Region &region) { return &region; });
    }
    void $cppClass::getSuccessorRegions(::mlir::RegionBranchPoint point,
        ::llvm::SmallVectorImpl<::mlir::RegionSuccessor> &out) {
      regions::successorsOf}] # what # [{(*this, point, out);
    }
    ::llvm::LogicalResult $cppClass::verify() { return regions::verify}] # what # [{(*this); }
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser,
                                         ::mlir::OperationState &state) {
      return regions::parse}] # what # [{(parser, state);
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) {
      regions::print}] # what # [{(*this, printer);
    }
  }];
  let extraClassDefinition = commonDefinition # loopDefinition;
}

class WhileLikeOp<string mnemonic> : LoopOp<mnemonic, "While"> {
  let summary = "while loop";
  let description = [{
    The first region computes the condition, the second the body. Each has one argument for each
    loop variable, then one control token for each of these, in the same order. Both may also use
    values of the enclosing graph.

    ```mlir
    %WhileRegion, %ctl = WhileRegion(%x) [%init] {
    ^bb0(%i: tensor<i32>, %i_ctl: !tf_type.control):
      %Less, %ctl_0 = Less(%i, %limit) name("less") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i1>)
      condition %Less : tensor<i1> (%i) : tensor<i32>
    } do {
    ^bb0(%i: tensor<i32>, %i_ctl: !tf_type.control):
      %AddV2, %ctl_0 = AddV2(%i, %i) name("add") {T = i32} : (tensor<i32>, tensor<i32>) -> (tensor<i32>)
      yield(%AddV2) [%i_ctl] : tensor<i32>
    } {parallel_iterations = 10 : i64} : (tensor<i32>) -> tensor<i32>
    ```
  }];
  let arguments = (ins
    Variadic<TensorOrControl>:$inputs,
    I64Attr:$parallel_iterations,
    OptionalAttr<DictionaryAttr>:$cond_attrs,
    OptionalAttr<DictionaryAttr>:$body_attrs,
    OptionalAttr<RegionAttrs>:$cond_region_attrs,
    OptionalAttr<RegionAttrs>:$body_region_attrs
  );
  let regions = (region SizedRegion<1>:$cond_region, SizedRegion<1>:$body_region);
  let extraClassDeclaration = commonDeclaration # [{
    ::mlir::OperandRange getInit() { return Node(*this).data(); }
  }];
}

def WhileRegionOp : WhileLikeOp<"WhileRegion">;
def StatelessWhileRegionOp : WhileLikeOp<"StatelessWhileRegion">;
def StatefulWhileRegionOp : WhileLikeOp<"StatefulWhileRegion">;

def ForRegionOp : LoopOp<"ForRegion", "For"> {
  let summary = "loop over a range of integers";
  let description = [{
    The arguments of the region are the loop index, the loop variables, then one control token for
    each of these.

    ```mlir
    %ForRegion, %ctl = ForRegion(%x) from %start to %limit by %delta {
    ^bb0(%i: tensor<i32>, %arg: tensor<*xf32>, %i_ctl: !tf_type.control, %arg_ctl: !tf_type.control):
      yield(%arg) [%arg_ctl] : tensor<*xf32>
    } : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<*xf32>) -> (tensor<*xf32>)
    ```
  }];
  // The operands are start, limit, delta, the loop variables, then control tokens.
  let arguments = (ins
    Variadic<TensorOrControl>:$inputs,
    OptionalAttr<DictionaryAttr>:$body_attrs,
    OptionalAttr<RegionAttrs>:$region_attrs
  );
  let regions = (region SizedRegion<1>:$body_region);
  let extraClassDeclaration = commonDeclaration # [{
    ::mlir::OperandRange getInit() { return Node(*this).data().drop_front(3); }
  }];
}

#endif // TREADLE_DIALECT_REGIONS
