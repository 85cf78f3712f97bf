// The base classes, traits and constraints of the ops of stablehlo, chlo and check.

#ifndef TREADLE_DIALECT_STABLEHLO_BASE
#define TREADLE_DIALECT_STABLEHLO_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Quantized : Type<CPred<"::treadle::stablehlo::isQuantized($_self)">, "quantized value">;
def SignedInteger : Type<CPred<"$_self.isIntOrIndex() && !$_self.isInteger(1) && "
                               "!$_self.isUnsignedInteger()">, "signed integer">;
def Integer : Type<CPred<"$_self.isIntOrIndex() && !$_self.isInteger(1)">, "integer">;
def ComplexNumber : Complex<AnyTypeOf<[F32, F64]>>;

// Tensors of any shape, including unknown rank.
def Tensor : TensorOf<[AnyType]>;
def BoolTensor : TensorOf<[I1]>;
def IntegerTensor : TensorOf<[Integer]>;
def FloatTensor : TensorOf<[AnyFloat]>;
def ComplexTensor : TensorOf<[ComplexNumber]>;
def FloatOrComplexTensor : TensorOf<[AnyFloat, ComplexNumber]>;
def BoolOrIntegerTensor : TensorOf<[I1, Integer]>;
def RealTensor : TensorOf<[AnyFloat, Quantized]>;
def AnalyticTensor : TensorOf<[AnyFloat, ComplexNumber, Quantized]>;
def SignedTensor : TensorOf<[SignedInteger, AnyFloat, ComplexNumber, Quantized]>;
def NumberTensor : TensorOf<[Integer, AnyFloat, ComplexNumber, Quantized]>;

// Tokens are parsed as `none`.
def Token : Type<CPred<"::llvm::isa<::mlir::NoneType>($_self)">, "token">;
def AnyValue : AnyTypeOf<[Tensor, Token, AnyTuple]>;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

// An attribute with several accepted spellings, from different versions of the textual and binary
// formats.
class Spelled<Pred predicate, string summary> : Attr<predicate, summary> {
  let storageType = "::mlir::Attribute";
  let returnType = "::mlir::Attribute";
  let convertFromStorage = "$_self";
}

def Numbers : Spelled<CPred<"::treadle::stablehlo::areNumbers($_self)">, "list of integers"> {
  let returnType = "::llvm::SmallVector<int64_t>";
  let convertFromStorage = "::treadle::stablehlo::numbers($_self)";
}
def Number : Spelled<CPred<"::treadle::stablehlo::numbers($_self).size() == 1">, "integer"> {
  let returnType = "int64_t";
  let convertFromStorage = "::treadle::stablehlo::numbers($_self).front()";
}
// An integer that isn't negative, such as the index of a dimension.
def Position : Spelled<CPred<"::treadle::stablehlo::isNonNegative($_self)">, "non-negative integer"> {
  let returnType = "int64_t";
  let convertFromStorage = "::treadle::stablehlo::numbers($_self).front()";
}
def Count : Spelled<CPred<"::treadle::stablehlo::isCount($_self)">, "positive integer"> {
  let returnType = "int64_t";
  let convertFromStorage = "::treadle::stablehlo::numbers($_self).front()";
}
def Flag : Spelled<CPred<"::llvm::isa<::mlir::BoolAttr, ::mlir::UnitAttr>($_self)">, "true or false">;
def Fields : Spelled<CPred<"::llvm::isa<::mlir::DictionaryAttr>($_self)">, "fields"> {
  let returnType = "::mlir::DictionaryAttr";
  let convertFromStorage = "::llvm::cast<::mlir::DictionaryAttr>($_self)";
}
def Elements : Spelled<CPred<"::llvm::isa<::mlir::ElementsAttr>($_self)">, "elements of a tensor"> {
  let returnType = "::mlir::ElementsAttr";
  let convertFromStorage = "::llvm::cast<::mlir::ElementsAttr>($_self)";
}
def Text : Spelled<CPred<"::llvm::isa<::mlir::StringAttr>($_self)">, "text">;

// The requested accuracy of a result. The runtime always computes with its best accuracy.
def Accuracy : Spelled<CPred<"::treadle::stablehlo::isAccuracy($_self)">,
                       "accuracy: DEFAULT, HIGHEST, or TOLERANCE with numbers">;
def Precision : Spelled<CPred<"::treadle::stablehlo::isPrecision($_self)">,
                        "one or two of DEFAULT, HIGH, HIGHEST and PACKED_NIBBLE">;

class Word<list<string> words>
    : Spelled<CPred<"::treadle::stablehlo::isWord($_self, {\"" # !interleave(words, "\", \"") # "\"})">,
              "one of " # !interleave(words, ", ")> {
  let returnType = "::llvm::StringRef";
  let convertFromStorage = "::treadle::stablehlo::word($_self)";
}
def Direction : Word<["EQ", "NE", "GE", "GT", "LE", "LT"]>;
def ComparisonType : Word<["NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"]>;
def FftType : Word<["FFT", "IFFT", "RFFT", "IRFFT"]>;
def Distribution : Word<["UNIFORM", "NORMAL"]>;
def Algorithm : Word<["DEFAULT", "THREE_FRY", "PHILOX"]>;
def Transposition : Word<["TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]>;

//===----------------------------------------------------------------------===//
// Dialects
//===----------------------------------------------------------------------===//

class HloDialect : Dialect {
  let cppNamespace = "::treadle::" # name;
  let extraClassDeclaration = [{
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef) const override {
      return ParseOpHook(::treadle::stablehlo::parseOp);
    }
    ::mlir::Type parseType(::mlir::DialectAsmParser &parser) const override {
      return ::treadle::stablehlo::parseType(parser, getNamespace());
    }
    ::mlir::Attribute parseAttribute(::mlir::DialectAsmParser &parser,
                                     ::mlir::Type) const override {
      return ::treadle::stablehlo::parseAttribute(parser);
    }
    // The dialect has no types and attributes of its own to print.
    void printType(::mlir::Type, ::mlir::DialectAsmPrinter &) const override {}
    void printAttribute(::mlir::Attribute, ::mlir::DialectAsmPrinter &) const override {}
  }];
}

class HloOp<Dialect dialect, string name, list<Trait> traits = []> : Op<dialect, name, traits> {
  // All ops share one builder, because most of them are created by parsers.
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<
      (ins "::mlir::TypeRange":$types, "::mlir::ValueRange":$operands,
           CArg<"::llvm::ArrayRef<::mlir::NamedAttribute>", "{}">:$attributes), [{
    $_state.addTypes(types);
    $_state.addOperands(operands);
    $_state.addAttributes(attributes);
  }]>];
}

//===----------------------------------------------------------------------===//
// Traits
//===----------------------------------------------------------------------===//

class HloTrait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::treadle::stablehlo";
}
// SameShapes: operands and results have compatible shapes. SameTypes: also compatible element
// types.
def SameShapes : HloTrait<"SameShapes">;
def SameTypes : HloTrait<"SameTypes">;
// Operands and results have the same element type.
def SameElements : HloTrait<"SameElements">;
// The op can be computed without knowing the ranks of its values.
def AnyRank : HloTrait<"AnyRank">;
// The results have the types of the operands, one for one.
def Pairwise : HloTrait<"Pairwise">;

#endif // TREADLE_DIALECT_STABLEHLO_BASE
