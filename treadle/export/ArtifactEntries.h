// Internal to the writer of artifacts: attributes and types.
#pragma once

#include "treadle/export/ArtifactFields.h"
#include "treadle/import/bytecode/Assembly.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/VersionTuple.h"

namespace treadle::artifact {

/// Encodes attributes and types of the text form as those of VHLO. Each `add` returns an index.
class EntryWriter {
public:
  EntryWriter(bytecode::Assembly &file, llvm::VersionTuple target) : file(file), target(target) {}

  Expected<uint64_t> addType(mlir::Type type);
  /// Add an attribute of VHLO, or of MLIR's builtin dialect, for a module.
  Expected<uint64_t> addAttribute(mlir::Attribute value);
  Expected<uint64_t> addField(const Field &field);
  Expected<uint64_t> addBuiltin(mlir::Attribute value);
  /// Adds a dictionary of entries with these indices.
  uint64_t addBuiltinFields(const std::vector<std::pair<std::string, uint64_t>> &fields);
  uint64_t addLocation(mlir::Location location);
  uint64_t addText(llvm::StringRef text);
  uint64_t addBuiltinText(llvm::StringRef text);
  uint64_t addList(llvm::ArrayRef<uint64_t> items);

private:
  Expected<std::string> typeBytes(mlir::Type type);
  Expected<std::string> shapeBytes(mlir::ShapedType type);
  Expected<std::string> quantizedBytes(mlir::OpaqueType type);
  static std::string listBytes(llvm::ArrayRef<int64_t> numbers);
  Expected<std::string> noneBytes();
  Expected<std::string> attributeBytes(mlir::Attribute value);
  Expected<std::string> elementsBytes(mlir::DenseElementsAttr value);
  Expected<std::string> dictionaryBytes(mlir::DictionaryAttr value);
  Expected<uint64_t> addWord(uint64_t enumeration, mlir::Attribute word);
  Expected<uint64_t> addWords(const Field &field);
  Expected<uint64_t> addNumbers(const Field &field);
  Expected<uint64_t> addAccuracy(mlir::DictionaryAttr value);
  Expected<uint64_t> addAliases(mlir::ArrayAttr list);
  Expected<std::string> builtinBytes(mlir::Attribute value);
  std::string locationBytes(mlir::Location location);
  Expected<void> checkVersion(llvm::StringRef since, llvm::StringRef what) const;

  bytecode::Assembly &file;
  const llvm::VersionTuple target;
  llvm::DenseMap<mlir::Type, uint64_t> types;
  llvm::DenseMap<mlir::Attribute, uint64_t> attributes, locations;
};

} // namespace treadle::artifact
