// Control flow with regions: conditionals and loops whose branches and bodies stand in the graph
// itself, and the terminators of those regions.

#ifndef TREADLE_DIALECT_REGIONS
#define TREADLE_DIALECT_REGIONS

include "mlir/Interfaces/LoopLikeInterface.td"
include "treadle/dialect/TfgAttributes.td"

def RegionAttrsArray : TypedArrayAttrBase<RegionAttrs, "array of #tfg.region_attrs">;

class RegionTerminator<string mnemonic> : TfgOp<mnemonic, [
    Pure, Terminator, DeclareOpInterfaceMethods<RegionBranchTerminatorOpInterface>
  ]> {
  // Values, then tokens.
  let arguments = (ins Variadic<TensorOrControl>:$operands);
  let extraClassDeclaration = [{
    ::mlir::OperandRange getControl() { return Node(*this).control(); }
    /// The values that the next region, or the results of the enclosing operation, get.
    ::mlir::OperandRange getForwarded();
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def YieldOp : RegionTerminator<"yield"> {
  let summary = "what a branch or the body of a loop gives";
  let description = [{
    Values for the results of the enclosing operation, or for the next iteration of a loop; then the
    tokens of what must have run before the operation is done.

    ```mlir
    yield(%y) [%ctl] : tensor<*xf32>
    ```
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$data, "::mlir::ValueRange":$control)>];
}

def ConditionOp : RegionTerminator<"condition"> {
  let summary = "whether a loop goes on";
  let description = [{
    Ends the condition of a loop: a predicate, and the values that the body gets where it is true and
    that are the results of the loop where it is false.

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

// Operands are values, then tokens; results are values, then one token: a region op is a node.
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
  let summary = "a conditional";
  let description = [{
    Runs the first region where the predicate is true, else the second. They take no arguments: what
    they need of the graph around they use. All of that, and the tokens in brackets, the operation
    waits for, like a call for its arguments.

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
  let summary = "a choice of branches by number";
  let description = [{
    Runs the region of that number; the last one where there is none.

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
  let summary = "a loop that runs while a condition holds";
  let description = [{
    Each region has an argument for each value of the loop, then a control token for each of these, in
    the same order. They may use values of the graph around as well.

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
  let summary = "a loop over a range of numbers";
  let description = [{
    The arguments of the region are the number, the values of the loop, then a control token for each
    of all these.

    ```mlir
    %ForRegion, %ctl = ForRegion(%x) from %start to %limit by %delta {
    ^bb0(%i: tensor<i32>, %arg: tensor<*xf32>, %i_ctl: !tf_type.control, %arg_ctl: !tf_type.control):
      yield(%arg) [%arg_ctl] : tensor<*xf32>
    } : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<*xf32>) -> (tensor<*xf32>)
    ```
  }];
  // In memory the operands are start, limit, delta, the values of the loop, tokens.
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
