// The tf_type dialect: types and attributes of TensorFlow graphs that have no builtin counterpart.
// Builtin element types (f32, i64, ui8, complex<f32>, f8E5M2, ...) are used where they exist.

#ifndef TREADLE_DIALECT_TFTYPE
#define TREADLE_DIALECT_TFTYPE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/DialectBase.td"

def TfTypeDialect : Dialect {
  let name = "tf_type";
  let cppNamespace = "::treadle::tf_type";
  let summary = "types and attributes of TensorFlow graphs";
  let description = [{
    The types and attributes that all dialects for TensorFlow graphs share: element types without a
    builtin counterpart (strings, handles, quantized numbers, references), the control token, and
    attributes for the kinds of `AttrValue` that builtin attributes can't express. It has no
    operations.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class TfType<string name, string keyword, list<Trait> traits = []>
    : TypeDef<TfTypeDialect, name, traits> {
  let mnemonic = keyword;
}

def ControlType : TfType<"Control", "control"> {
  let summary = "control token";
  let description = [{
    The last result of every node. A node with this token as an operand runs after the node that
    produces it. `!tfg.control` is an alias.
  }];
}

def OpaqueTensorType : TfType<"OpaqueTensor", "tensor"> {
  let summary = "value of unknown dtype and shape in a generic function";
  let description = [{
    In a generic function, one value of this type represents all outputs of a node;
    `tfg.get_result` selects one of them. `!tfg.tensor` is an alias.
  }];
}

def UnknownType : TfType<"Unknown", "unknown"> {
  let summary = "element type of a value of unknown dtype";
  let description = [{
    The outputs of a node whose op is neither in the op table nor in the function library are
    `tensor<*x!tf_type.unknown>`. It represents DT_INVALID and is compatible with every type.
    TensorFlow's dialect has no such type.
  }];
}

class PlainType<string name, string keyword, string dtype>
    : TfType<name, keyword> {
  let summary = "element type of " # dtype;
  let description = "Element type of tensors of dtype " # dtype # ".";
}

def StringType : PlainType<"String", "string", "DT_STRING">;
def QInt8Type : PlainType<"QInt8", "qint8", "DT_QINT8">;
def QInt16Type : PlainType<"QInt16", "qint16", "DT_QINT16">;
def QInt32Type : PlainType<"QInt32", "qint32", "DT_QINT32">;
def QUInt8Type : PlainType<"QUInt8", "quint8", "DT_QUINT8">;
def QUInt16Type : PlainType<"QUInt16", "quint16", "DT_QUINT16">;

class HandleType<string name, string keyword, string dtype>
    : TfType<name, keyword> {
  let summary = "element type of " # dtype;
  let description = "Element type of tensors of dtype " # dtype # [{.
    The subtypes, if known, are the types of the values behind the handle:
    `}] # keyword # [{<tensor<3xf32>, tensor<i32>>`.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::mlir::TensorType">:$subtypes);
  let builders = [
    TypeBuilder<(ins), [{ return $_get($_ctxt, ::llvm::ArrayRef<::mlir::TensorType>()); }]>];
  let hasCustomAssemblyFormat = 1;
}

def ResourceType : HandleType<"Resource", "resource", "DT_RESOURCE">;
def VariantType : HandleType<"Variant", "variant", "DT_VARIANT">;

// References to tensors of variables. A table in TfType.cpp maps each to its element type.
def IsReference : NativeTypeTrait<"IsReference"> { let cppNamespace = "::treadle::tf_type"; }

class RefType<string name, string keyword, string dtype> : TfType<name, keyword, [IsReference]> {
  let summary = "element type of " # dtype;
  let description = "Element type of tensors of dtype " # dtype # [{: a reference to the tensor of a
    TensorFlow 1 variable, which a node with this operand may write.
  }];
}

def FloatRefType : RefType<"FloatRef", "f32ref", "DT_FLOAT_REF">;
def DoubleRefType : RefType<"DoubleRef", "f64ref", "DT_DOUBLE_REF">;
def HalfRefType : RefType<"HalfRef", "halfref", "DT_HALF_REF">;
def BFloat16RefType : RefType<"BFloat16Ref", "bfloat16ref", "DT_BFLOAT16_REF">;
def Int2RefType : RefType<"Int2Ref", "int2ref", "DT_INT2_REF">;
def Int4RefType : RefType<"Int4Ref", "int4ref", "DT_INT4_REF">;
def Int8RefType : RefType<"Int8Ref", "int8ref", "DT_INT8_REF">;
def Int16RefType : RefType<"Int16Ref", "int16ref", "DT_INT16_REF">;
def Int32RefType : RefType<"Int32Ref", "int32ref", "DT_INT32_REF">;
def Int64RefType : RefType<"Int64Ref", "int64ref", "DT_INT64_REF">;
def UInt2RefType : RefType<"UInt2Ref", "uint2ref", "DT_UINT2_REF">;
def UInt4RefType : RefType<"UInt4Ref", "uint4ref", "DT_UINT4_REF">;
def UInt8RefType : RefType<"UInt8Ref", "uint8ref", "DT_UINT8_REF">;
def UInt16RefType : RefType<"UInt16Ref", "uint16ref", "DT_UINT16_REF">;
def UInt32RefType : RefType<"UInt32Ref", "uint32ref", "DT_UINT32_REF">;
def UInt64RefType : RefType<"UInt64Ref", "uint64ref", "DT_UINT64_REF">;
def BoolRefType : RefType<"BoolRef", "boolref", "DT_BOOL_REF">;
def Complex64RefType : RefType<"Complex64Ref", "complex64ref", "DT_COMPLEX64_REF">;
def Complex128RefType : RefType<"Complex128Ref", "complex128ref", "DT_COMPLEX128_REF">;
def Float8E5M2RefType : RefType<"Float8E5M2Ref", "float8e5m2ref", "DT_FLOAT8_E5M2_REF">;
def Float8E4M3FNRefType : RefType<"Float8E4M3FNRef", "float8e4m3fnref", "DT_FLOAT8_E4M3FN_REF">;
def Float8E4M3FNUZRefType
    : RefType<"Float8E4M3FNUZRef", "float8e4m3fnuzref", "DT_FLOAT8_E4M3FNUZ_REF">;
def Float8E4M3B11FNUZRefType
    : RefType<"Float8E4M3B11FNUZRef", "float8e4m3b11fnuzref", "DT_FLOAT8_E4M3B11FNUZ_REF">;
def Float8E5M2FNUZRefType
    : RefType<"Float8E5M2FNUZRef", "float8e5m2fnuzref", "DT_FLOAT8_E5M2FNUZ_REF">;
def Float4E2M1FNRefType : RefType<"Float4E2M1FNRef", "float4e2m1fnref", "DT_FLOAT4_E2M1FN_REF">;
def StringRefType : RefType<"StringRef", "stringref", "DT_STRING_REF">;
def ResourceRefType : RefType<"ResourceRef", "resourceref", "DT_RESOURCE_REF">;
def VariantRefType : RefType<"VariantRef", "variantref", "DT_VARIANT_REF">;
def QInt8RefType : RefType<"QInt8Ref", "qint8ref", "DT_QINT8_REF">;
def QInt16RefType : RefType<"QInt16Ref", "qint16ref", "DT_QINT16_REF">;
def QInt32RefType : RefType<"QInt32Ref", "qint32ref", "DT_QINT32_REF">;
def QUInt8RefType : RefType<"QUInt8Ref", "quint8ref", "DT_QUINT8_REF">;
def QUInt16RefType : RefType<"QUInt16Ref", "quint16ref", "DT_QUINT16_REF">;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class TfAttr<string name, string keyword, list<Trait> traits = []>
    : AttrDef<TfTypeDialect, name, traits> {
  let mnemonic = keyword;
  let hasCustomAssemblyFormat = 1;
}

def VersionAttr : TfAttr<"Version", "version"> {
  let summary = "producer and consumer versions of a graph";
  let description = [{
    A `VersionDef`: `#tf_type.version<producer = 1482, min_consumer = 12>`, followed by
    `, bad_consumers = [7, 9]` if there are any. `#tfg.version` is an alias.
  }];
  let parameters = (ins
    "int32_t":$producer,
    "int32_t":$minConsumer,
    OptionalArrayRefParameter<"int32_t">:$badConsumers
  );
}

def ShapeAttr : TfAttr<"Shape", "shape"> {
  let summary = "shape of a tensor";
  let description = [{
    A `TensorShapeProto`: `#tf_type.shape<2x?x3>`; `<>` is the shape of a scalar, `<*>` an unknown
    rank. A dimension is at least 0, or `ShapedType::kDynamic` if unknown (`?`).
  }];
  let parameters = (ins
    OptionalArrayRefParameter<"int64_t">:$dims,
    "bool":$unranked
  );
  let builders = [
    AttrBuilder<(ins "::llvm::ArrayRef<int64_t>":$dims), [{ return $_get($_ctxt, dims, false); }]>,
    AttrBuilderWithInferredContext<(ins "::mlir::ShapedType":$type), [{
      if (type.hasRank())
        return $_get(type.getContext(), type.getShape(), false);
      return $_get(type.getContext(), ::llvm::ArrayRef<int64_t>(), true);
    }]>
  ];
  let extraClassDeclaration = [{
    static ShapeAttr getUnranked(::mlir::MLIRContext *context) {
      return get(context, ::llvm::ArrayRef<int64_t>(), true);
    }
    bool hasRank() const { return !getUnranked(); }
    /// Returns whether the rank and every dimension are known.
    bool isStatic() const;
    /// Returns the tensor type with this shape.
    ::mlir::TensorType tensorOf(::mlir::Type elementType) const;
  }];
  let genVerifyDecl = 1;
}

def FuncAttr : TfAttr<"Func", "func"> {
  let summary = "function name with attributes to instantiate it";
  let description = [{
    A `NameAttrList`: `#tf_type.func<@body, {T = f32}>`. The name is a symbol reference, which
    symbol-use queries find. An empty name prints as `""`.
  }];
  let parameters = (ins
    "::mlir::SymbolRefAttr":$name,
    "::mlir::DictionaryAttr":$attrs
  );
  let builders = [
    AttrBuilder<(ins "::llvm::StringRef":$name, "::mlir::DictionaryAttr":$attrs), [{
      return $_get($_ctxt, ::mlir::SymbolRefAttr::get($_ctxt, name), attrs);
    }]>
  ];
}

def PlaceholderAttr : TfAttr<"Placeholder", "placeholder"> {
  let summary = "reference to an attribute of the caller in a generic function";
  let description = [{
    `#tf_type.placeholder<"T">` in the body of a generic function is replaced with the attribute `T`
    of the calling node when the function is instantiated.
  }];
  let parameters = (ins StringRefParameter<"the name">:$value);
}

def FullTypeAttr : TfAttr<"FullType", "full_type"> {
  let summary = "full type of a value";
  let description = [{
    A `FullTypeDef`: `#tf_type.full_type<product<tensor<var "T">, dataset>>`. The names are those
    of `FullTypeId` without `TFT_`, in lower case; an id without a name prints as a number. The
    string or integer of the definition follows the arguments: `var "T"`, `literal 3 : i64`.
  }];
  let parameters = (ins
    "int32_t":$typeId,
    OptionalArrayRefParameter<"::treadle::tf_type::FullTypeAttr">:$args,
    OptionalParameter<"::mlir::Attribute">:$attr
  );
  let genVerifyDecl = 1;
}

def TensorProtoAttr : TfAttr<"TensorProto", "tensor_proto", [TypedAttrInterface]> {
  let summary = "tensor in its original encoding";
  let description = [{
    A serialized `TensorProto`, used if exporting a dense attribute would yield a different message:
    `#tf_type<tensor_proto : "0x0801"> : tensor<2xf32>`.
  }];
  let parameters = (ins
    AttributeSelfTypeParameter<"", "::mlir::ShapedType">:$type,
    StringRefParameter<"the serialized message">:$value
  );
  let builders = [
    AttrBuilderWithInferredContext<(ins "::mlir::ShapedType":$type, "::llvm::StringRef":$value), [{
      return $_get(type.getContext(), type, value);
    }]>
  ];
}

def MessageAttr : TfAttr<"Message", "message"> {
  let summary = "serialized message, kept as bytes";
  let description = [{
    `#tf_type.message<"AttrValue" = "0x1A00">` holds a message that no other attribute can express
    losslessly (because of unknown fields, for instance), so that the export is equal. The first
    string is the name of the message without its package. TensorFlow's dialect has no such
    attribute.
  }];
  let parameters = (ins
    StringRefParameter<"name of the message">:$message,
    StringRefParameter<"the serialized message">:$value
  );
}

#endif // TREADLE_DIALECT_TFTYPE
