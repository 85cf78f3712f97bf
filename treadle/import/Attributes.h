// Attribute values of GraphDefs as MLIR attributes.
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

/// Converts attribute values. Whatever has no exact twin among MLIR's and tf_type's attributes
/// becomes a #tf_type.message (a tensor: #tf_type<tensor_proto>), so that nothing is ever lost.
/// Not thread-safe.
class AttributeImporter {
public:
  AttributeImporter(mlir::MLIRContext *context, TypeTable &types);

  /// Fails only where an attribute inside it (of a function) has no name.
  Expected<mlir::Attribute> convert(const pb::AttrValue &value);
  Expected<mlir::DictionaryAttr>
  convert(const google::protobuf::Map<std::string, pb::AttrValue> &attrs);

  /// Null where a FullTypeAttr can't hold it.
  tf_type::FullTypeAttr convert(const pb::FullTypeDef &type);
  /// Null where a ShapeAttr can't hold it.
  tf_type::ShapeAttr convert(const pb::TensorShapeProto &shape);
  mlir::IntegerAttr integer(int64_t value) { return mlir::IntegerAttr::get(i64, value); }
  mlir::StringAttr string(std::string_view value);
  /// The same for the name of an attribute: they are few, and come again with every node.
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

/// The bytes of a message, the same for equal messages.
std::string serialize(const google::protobuf::Message &message);

/// Elements of a tensor of these dimensions (each at least 0); nullopt where 64 bits don't do.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> dims);

/// The tensor as a dense attribute of that type, null where export would not make an equal message
/// of it. The canonical encoding of a tensor is: one typed value where all elements are equal (or
/// there is one), tensor_content otherwise; strings always as values.
mlir::ElementsAttr importDense(const pb::TensorProto &tensor, mlir::RankedTensorType type,
                               int64_t numElements);

} // namespace treadle::graphdef
