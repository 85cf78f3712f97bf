// The table of dtypes.
#include "treadle/import/Types.h"

#include "treadle/dialect/TfType.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::tf_type;

namespace {

constexpr int refOffset = 100;

struct Row {
  int dtype;
  Type (*make)(MLIRContext *);
};

template <typename T> Type plain(MLIRContext *context) { return T::get(context); }
template <unsigned width> Type signless(MLIRContext *context) {
  return IntegerType::get(context, width);
}
template <unsigned width> Type unsignedInt(MLIRContext *context) {
  return IntegerType::get(context, width, IntegerType::Unsigned);
}
template <typename Part> Type complex(MLIRContext *context) {
  return ComplexType::get(Part::get(context));
}

constexpr Row rows[] = {
    {0, plain<UnknownType>},
    {1, plain<Float32Type>},
    {2, plain<Float64Type>},
    {3, signless<32>},
    {4, unsignedInt<8>},
    {5, signless<16>},
    {6, signless<8>},
    {7, plain<StringType>},
    {8, complex<Float32Type>},
    {9, signless<64>},
    {10, signless<1>},
    {11, plain<QInt8Type>},
    {12, plain<QUInt8Type>},
    {13, plain<QInt32Type>},
    {14, plain<BFloat16Type>},
    {15, plain<QInt16Type>},
    {16, plain<QUInt16Type>},
    {17, unsignedInt<16>},
    {18, complex<Float64Type>},
    {19, plain<Float16Type>},
    {20, plain<ResourceType>},
    {21, plain<VariantType>},
    {22, unsignedInt<32>},
    {23, unsignedInt<64>},
    {24, plain<Float8E5M2Type>},
    {25, plain<Float8E4M3FNType>},
    {26, plain<Float8E4M3FNUZType>},
    {27, plain<Float8E4M3B11FNUZType>},
    {28, plain<Float8E5M2FNUZType>},
    {29, signless<4>},
    {30, unsignedInt<4>},
    {31, signless<2>},
    {32, unsignedInt<2>},
    {33, plain<Float4E2M1FNType>},
};

/// Dtypes by the class of the element type, for classes with only one dtype.
const llvm::DenseMap<TypeID, int> &dtypesByClass() {
  static const llvm::DenseMap<TypeID, int> table = [] {
    llvm::DenseMap<TypeID, int> result;
    // A temporary context: only the classes matter.
    MLIRContext context(MLIRContext::Threading::DISABLED);
    context.loadDialect<TfTypeDialect>();
    for (const Row &row : rows) {
      Type type = row.make(&context);
      if (!isa<IntegerType, ComplexType>(type))
        result[type.getTypeID()] = row.dtype;
      if (Type reference = referenceTo(type))
        result[reference.getTypeID()] = row.dtype + refOffset;
    }
    return result;
  }();
  return table;
}

std::optional<int> dtypeOfInteger(IntegerType type) {
  struct Width {
    unsigned bits;
    int signlessDtype, unsignedDtype;
  };
  constexpr Width widths[] = {{1, 10, 0},  {2, 31, 32}, {4, 29, 30}, {8, 6, 4},
                              {16, 5, 17}, {32, 3, 22}, {64, 9, 23}};
  if (type.isSigned())
    return std::nullopt;
  for (const Width &width : widths)
    if (width.bits == type.getWidth())
      if (int dtype = type.isUnsigned() ? width.unsignedDtype : width.signlessDtype)
        return dtype;
  return std::nullopt;
}

} // namespace

graphdef::TypeTable::TypeTable(MLIRContext *context) {
  for (const Row &row : rows) {
    Type type = row.make(context);
    elements[row.dtype] = type;
    if (Type reference = referenceTo(type))
      elements[row.dtype + refOffset] = reference;
  }
  for (int i = 0; i < numSlots; ++i)
    if (elements[i])
      attrs[i] = TypeAttr::get(elements[i]);
}

Type graphdef::TypeTable::tensor(Type elementType) {
  Type &tensor = tensors[elementType];
  if (!tensor)
    tensor = UnrankedTensorType::get(elementType);
  return tensor;
}

Type graphdef::TypeTable::referenceTensor(Type elementType) {
  Type &tensor = referenceTensors[elementType];
  if (!tensor) {
    Type reference = referenceTo(elementType);
    tensor = UnrankedTensorType::get(reference ? reference : elementType);
  }
  return tensor;
}

std::optional<int> graphdef::dtypeOf(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return dtypeOfInteger(integer);
  if (auto complexType = dyn_cast<ComplexType>(elementType)) {
    if (isa<Float32Type>(complexType.getElementType()))
      return 8;
    if (isa<Float64Type>(complexType.getElementType()))
      return 18;
    return std::nullopt;
  }
  auto it = dtypesByClass().find(elementType.getTypeID());
  if (it == dtypesByClass().end())
    return std::nullopt;
  return it->second;
}
