// Converts attribute values of GraphDefs to MLIR attributes.
#pragma once

#include "treadle/dialect/TfType.h"
#include "treadle/import/Types.h"
#include "treadle/proto/attr_value.pb.h"
#include "treadle/proto/full_type.pb.h"
#include "treadle/proto/tensor.pb.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"

namespace treadle::graphdef {

/// Converts attribute values losslessly. A value without an exact equivalent among MLIR's and
/// tf_type's attributes becomes a #tf_type.message (a tensor: #tf_type<tensor_proto>). Not
/// thread-safe.
class AttributeImporter {
public:
  AttributeImporter(mlir::MLIRContext *context, TypeTable &types);

  /// Fails only if a nested attribute (of a function) has no name.
  Expected<mlir::Attribute> convert(const pb::AttrValue &value);
  Expected<mlir::DictionaryAttr>
  convert(const google::protobuf::Map<std::string, pb::AttrValue> &attrs);

  /// Returns null if a FullTypeAttr can't represent the type.
  tf_type::FullTypeAttr convert(const pb::FullTypeDef &type);
  /// Returns null if a ShapeAttr can't represent the shape.
  tf_type::ShapeAttr convert(const pb::TensorShapeProto &shape);
  mlir::IntegerAttr integer(int64_t value) { return mlir::IntegerAttr::get(i64, value); }
  mlir::StringAttr string(std::string_view value);
  /// Returns the attribute's name as a cached StringAttr: there are few names, and each node
  /// repeats them.
  mlir::StringAttr key(llvm::StringRef name);
  tf_type::MessageAttr message(llvm::StringRef name, const google::protobuf::Message &message);

private:
  Expected<mlir::Attribute> convertList(const pb::AttrValue &value);
  Expected<mlir::Attribute> convertFunc(const pb::NameAttrList &func);
  mlir::Attribute convertTensor(const pb::TensorProto &tensor);
  mlir::Attribute fallback(const pb::AttrValue &value) { return message("AttrValue", value); }
  mlir::Attribute floatAttr(float value);

  mlir::MLIRContext *context;
  TypeTable &types;
  mlir::Type i64, f32;
  mlir::Attribute trueAttr, falseAttr, unit;
  llvm::StringMap<mlir::StringAttr> keys;
};

/// Serializes a message deterministically: equal messages give equal bytes.
std::string serialize(const google::protobuf::Message &message);

/// Returns the number of elements of a tensor with these dimensions (each at least 0); nullopt on
/// 64-bit overflow.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> dims);

/// Returns the tensor as a dense attribute of that type; null if export wouldn't reproduce an equal
/// message. The canonical encoding of a tensor is one typed value if all elements are equal (or
/// there is only one), otherwise tensor_content; strings are always stored as values.
mlir::ElementsAttr importDense(const pb::TensorProto &tensor, mlir::RankedTensorType type,
                               int64_t numElements);

} // namespace treadle::graphdef
