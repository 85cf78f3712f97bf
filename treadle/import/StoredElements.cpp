#include "treadle/import/StoredElements.h"

#include "treadle/dialect/TfType.h"
#include "treadle/import/TextForm.h"
#include "treadle/proto/tensor.pb.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace treadle;

namespace {

/// The key that --mlir-elide-resource-strings-if-larger and similar options leave instead of
/// elements.
constexpr StringLiteral elidedKey = "__elided__";
/// The prefix of a message's text, in which TensorFlow writes a tensor that MLIR can't represent.
constexpr StringLiteral textMark = "tftensor$";

/// Returns the bytes of an element, rounded up.
size_t bytesOf(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * bytesOf(complex.getElementType());
  return element.isIndex() ? sizeof(int64_t) : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

DenseElementsAttr denseBools(ShapedType type, ArrayRef<char> bytes) {
  SmallVector<bool> bools(bytes.begin(), bytes.end());
  return DenseElementsAttr::get(type, bools);
}

/// Loads the elements of one operation's attributes.
class ElementLoader {
public:
  explicit ElementLoader(Operation *op) : op(op) {}

  LogicalResult take() {
    for (NamedAttribute attr : op->getAttrDictionary()) {
      FailureOr<Attribute> held = heldHere(attr);
      if (failed(held))
        return failure();
      if (*held != attr.getValue())
        op->setAttr(attr.getName(), *held);
    }
    return takeProperties();
  }

private:
  /// `<{...}>` of an unregistered operation.
  LogicalResult takeProperties() {
    auto properties = op->isRegistered()
                          ? DictionaryAttr()
                          : dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
    NamedAttrList attrs(properties);
    for (NamedAttribute attr : properties ? properties.getValue() : ArrayRef<NamedAttribute>()) {
      FailureOr<Attribute> held = heldHere(attr);
      if (failed(held))
        return failure();
      attrs.set(attr.getName(), *held);
    }
    return properties ? op->setPropertiesFromAttribute(attrs.getDictionary(op->getContext()), {})
                      : success();
  }

  FailureOr<Attribute> heldHere(NamedAttribute attr) {
    if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr.getValue()))
      return ofResource(attr.getName(), resource);
    if (auto tensor = dyn_cast<tf_type::TensorProtoAttr>(attr.getValue()))
      return ofText(attr.getName(), tensor);
    return attr.getValue();
  }

  InFlightDiagnostic emitError(StringAttr name) {
    return op->emitError("op '") << op->getName() << "': attribute '" << name.getValue() << "' ";
  }

  FailureOr<Attribute> ofResource(StringAttr name, DenseResourceElementsAttr resource) {
    StringRef key = resource.getRawHandle().getKey();
    if (key == elidedKey)
      return emitError(name)
             << "has no elements: they were elided when the text was printed; print it "
                "without eliding large constants";
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return emitError(name) << "has its elements in the resource '" << key
                             << "', which is not in the text";
    ShapedType type = resource.getType();
    ArrayRef<char> bytes = blob->getData();
    size_t expected = static_cast<size_t>(type.getNumElements()) * bytesOf(type.getElementType());
    if (bytes.size() != expected)
      return emitError(name) << "is " << type << " of " << expected << " bytes, but the resource '"
                             << key << "' has " << bytes.size();
    if (type.getElementType().isInteger(1))
      return Attribute(denseBools(type, bytes));
    return Attribute(DenseElementsAttr::getFromRawBuffer(type, bytes));
  }

  FailureOr<Attribute> ofText(StringAttr name, tf_type::TensorProtoAttr tensor) {
    StringRef text = tensor.getValue();
    if (!text.consume_front(textMark))
      return Attribute(tensor);
    pb::TensorProto message;
    if (auto ok =
            graphdef::parseTextForm({text.data(), text.size()}, "TensorProto", "text", message);
        !ok)
      return emitError(name) << "can't be read: " << ok.error().message;
    return Attribute(tf_type::TensorProtoAttr::get(tensor.getType(), message.SerializeAsString()));
  }

  Operation *op;
};

} // namespace

LogicalResult treadle::loadStoredElements(ModuleOp module) {
  return failure(module.walk([](Operation *op) { return WalkResult(ElementLoader(op).take()); })
                     .wasInterrupted());
}
