// The parts of an op's or function's definition that import and export need to connect nodes:
// inputs, outputs, and the attributes that determine their number and types.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/import/Types.h"
#include "treadle/ops/OpTable.h"
#include "treadle/proto/op_def.pb.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>

namespace treadle::graphdef {

using Attrs = llvm::ArrayRef<mlir::NamedAttribute>;

/// Returns null if there is none. Searches linearly, since there are few attributes.
mlir::Attribute findAttr(Attrs attrs, mlir::StringAttr key);

/// An attribute of an op.
struct AttrSpec {
  mlir::StringAttr name;
  /// Its definition in the op table; null for functions, whose attributes are unchecked.
  const AttrDef *def = nullptr;
  bool hasDefault = false;
  // The default value, if it determines the number or types of inputs or outputs.
  int64_t defaultInt = 0;
  llvm::SmallVector<mlir::Type, 0> defaultTypes;
};

/// An input or output of an op: one value or a list.
struct ArgSpec {
  mlir::StringAttr name;
  /// Null if an attribute determines it.
  mlir::Type type;
  /// Indices into OpSignature::attrs; -1 if there is none.
  int typeAttr = -1, numberAttr = -1, typeListAttr = -1;
  bool isRef = false;

  bool isList() const { return numberAttr >= 0 || typeListAttr >= 0; }
};

/// The signature of an op or function.
struct OpSignature {
  /// The source of the definition. Model: the file.
  enum class Origin { Table, Library, Model, Unknown };

  OpSignature(mlir::OperationName name, Origin origin) : name(name), origin(origin) {}

  mlir::OperationName name;
  Origin origin;
  /// The op is in the op table and is part of loop back edges: see `checkCycles`.
  bool isMerge = false, isNextIteration = false;
  llvm::SmallVector<ArgSpec> inputs, outputs;
  llvm::SmallVector<AttrSpec> attrs;

  bool isKnown() const { return origin != Origin::Unknown; }
};

/// The signatures of all ops in one graph.
class OpSignatures {
public:
  OpSignatures(mlir::MLIRContext *context, TypeTable &types) : context(context), types(types) {}

  /// Adds a function of the library.
  void addFunction(const pb::OpDef &signature);
  void addFunction(tfg::FuncOp func);
  /// Adds an op that isn't in the op table.
  void addOp(const pb::OpDef &op);

  /// Returns the op's signature; its origin is Unknown if the op isn't known. Functions shadow ops.
  const OpSignature &lookup(llvm::StringRef op);

  /// Returns the types of a node's data inputs or outputs; the signature must be known.
  Expected<void> inputTypes(const OpSignature &signature, Attrs attrs,
                            llvm::SmallVectorImpl<mlir::Type> &result);
  Expected<void> outputTypes(const OpSignature &signature, Attrs attrs,
                             llvm::SmallVectorImpl<mlir::Type> &result);

  /// Checks that the op's attributes are present and of the right kind.
  Expected<void> checkAttrs(const OpSignature &signature, Attrs attrs);

  /// The first result and the number of results of output `name`; nullopt if the op has no such
  /// output.
  struct OutputRange {
    unsigned begin, size;
  };
  std::optional<OutputRange> outputRange(const OpSignature &signature, Attrs attrs,
                                         llvm::StringRef name);

  /// The output that result `index` of a node belongs to, and the position in it; nullopt if the op
  /// has fewer results.
  struct OutputPosition {
    mlir::StringAttr output;
    unsigned index;
  };
  std::optional<OutputPosition> outputAt(const OpSignature &signature, Attrs attrs, unsigned index);

private:
  void add(const pb::OpDef &def, OpSignature::Origin origin);
  /// Returns nullopt if the attribute that specifies it is missing.
  std::optional<unsigned> outputSize(const OpSignature &signature, const ArgSpec &arg, Attrs attrs);
  std::unique_ptr<OpSignature> make(llvm::StringRef op);
  bool fillFromTable(llvm::StringRef op, OpSignature &signature);
  Expected<void> expand(const OpSignature &signature, llvm::ArrayRef<ArgSpec> args, Attrs attrs,
                        llvm::SmallVectorImpl<mlir::Type> &result);
  Expected<void> expandList(const OpSignature &signature, const ArgSpec &arg, Attrs attrs,
                            llvm::SmallVectorImpl<mlir::Type> &result);
  Expected<mlir::Type> elementType(const OpSignature &signature, const ArgSpec &arg, Attrs attrs);
  Expected<int64_t> count(const OpSignature &signature, const ArgSpec &arg, Attrs attrs);

  mlir::MLIRContext *context;
  TypeTable &types;
  llvm::StringMap<std::unique_ptr<OpSignature>> signatures;
};

} // namespace treadle::graphdef
