// The tfg dialect, and the base class and type constraints of its operations.

#ifndef TREADLE_DIALECT_TFG_DIALECT
#define TREADLE_DIALECT_TFG_DIALECT

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "treadle/dialect/TfType.td"

def TfgDialect : Dialect {
  let name = "tfg";
  let cppNamespace = "::treadle::tfg";
  let summary = "lossless TensorFlow graphs";
  let description = [{
    Represents a GraphDef losslessly: nodes in any order, cycles, control dependencies, names and
    devices.

    A node with op `X` is the operation `tfg.X`, whether or not that is registered:

    ```mlir
    %AddV2, %ctl = AddV2(%x, %y) [%init] device("/CPU:0") name("sum") {T = f32}
        : (tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>)
    ```

    The operands are the data inputs, then the control inputs (in brackets). The results are the
    data outputs, then one control token. The printed type omits control tokens. The name, the
    requested device, the assigned device and the full type are the attributes `_mlir_name`,
    `_mlir_device`, `_mlir_assigned_device` and `_mlir_fulltype`; all other attributes are those
    of the NodeDef.
  }];
  let dependentDialects = ["::treadle::tf_type::TfTypeDialect"];
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral nameKeyword = "_mlir_name";
    static constexpr ::llvm::StringLiteral deviceKeyword = "_mlir_device";
    static constexpr ::llvm::StringLiteral assignedDeviceKeyword = "_mlir_assigned_device";
    static constexpr ::llvm::StringLiteral fullTypeKeyword = "_mlir_fulltype";

    // Identifiers and types that every walk over a graph uses, cached.
    ::mlir::StringAttr nameKey;
    ::mlir::StringAttr deviceKey;
    ::mlir::StringAttr assignedDeviceKey;
    ::mlir::StringAttr fullTypeKey;
    /// `tfg.name`, the name of an argument, result or control result of a function.
    ::mlir::StringAttr argNameKey;
    tf_type::ControlType controlType;
    tf_type::OpaqueTensorType opaqueTensorType;
    /// The result types of the function that is being parsed, for a tfg.return that omits them.
    ::llvm::SmallVector<::mlir::Type> resultTypesOfFunction;

    // `!tfg.control`, `!tfg.tensor` and `#tfg.version` are aliases for those of tf_type.
    ::mlir::Type parseType(::mlir::DialectAsmParser &parser) const override;
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type type) const override;
    void printAttribute(::mlir::Attribute attr, ::mlir::DialectAsmPrinter &printer) const override;

    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef opName) const override;
    ::llvm::unique_function<void(::mlir::Operation *, ::mlir::OpAsmPrinter &)>
    getOperationPrinter(::mlir::Operation *op) const override;
    void *getRegisteredInterfaceForOp(::mlir::TypeID interface,
                                      ::mlir::OperationName opName) override;

  private:
    struct Fallbacks;
    std::unique_ptr<Fallbacks> fallbacks;
  public:
  }];
  let hasNonDefaultDestructor = 1;
}

class TfgOp<string mnemonic, list<Trait> traits = []> : Op<TfgDialect, mnemonic, traits>;

def AnyTensorOrOpaque
    : Type<CPred<"::llvm::isa<::mlir::TensorType, ::treadle::tf_type::OpaqueTensorType>($_self)">,
           "tensor or !tf_type.tensor">;

def TensorOrControl
    : Type<Or<[AnyTensorOrOpaque.predicate,
               CPred<"::llvm::isa<::treadle::tf_type::ControlType>($_self)">]>,
           "tensor, !tf_type.tensor or control token">;

#endif // TREADLE_DIALECT_TFG_DIALECT
