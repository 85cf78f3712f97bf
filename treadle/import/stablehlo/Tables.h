// Internal to the folder: the op tables of the other files.
#pragma once

#include "treadle/import/stablehlo/BodyConverter.h"

namespace treadle::hlo {

ArrayRef<ConverterRow> batchNormRows();
ArrayRef<ConverterRow> broadcastingRows();
ArrayRef<ConverterRow> collectiveRows();
ArrayRef<ConverterRow> arithRows();
ArrayRef<ConverterRow> checkRows();
ArrayRef<ConverterRow> chloRows();
ArrayRef<ConverterRow> conversionRows();
ArrayRef<ConverterRow> linalgRows();
ArrayRef<ConverterRow> tensorRows();
ArrayRef<ConverterRow> transferRows();

/// Returns the op's name in the tables: ops of other dialects keep the dialect prefix.
StringRef tableName(Operation *op);
/// Whether the op is a collective of all devices.
bool isCollective(Operation *op);
/// Whether the op sends to or receives from another device; includes feeds.
bool isPointToPoint(Operation *op);

/// Returns `rows`, plus one row with the same converter for each entry of another table.
template <typename Table>
SmallVector<ConverterRow> withTableOps(const Table &table, Converter reader,
                                       ArrayRef<ConverterRow> rows) {
  SmallVector<ConverterRow> all(rows);
  for (const auto &entry : table)
    all.push_back({entry.op, reader});
  return all;
}

/// Converts an op that concatenates its operands along the dimension in an attribute.
LogicalResult readConcatenation(BodyConverter &body, Operation *op, StringRef attribute);

/// Returns the indices along a dimension as a tensor of `shape` with size 1 in all other
/// dimensions.
Value indicesAlong(BodyConverter &body, Value shape, int64_t dim, mlir::RankedTensorType type);

/// Converts ops that replace `op`, in order, and erases them; `results` are its results.
LogicalResult readInPlaceOf(BodyConverter &body, Operation *op, ArrayRef<Operation *> made,
                            mlir::ValueRange results);

/// Converts floats to integers in the order of IEEE's totalOrder (-NaN, -inf, ..., -0, 0, ..., inf,
/// NaN), and back.
Value totalOrder(BodyConverter &body, Value x);
Value ofTotalOrder(BodyConverter &body, Value order, Type element);

/// Whether it is a custom call `@mhlo.NAME` for the op of that name; JAX exports some ops this way.
bool isMhloCall(StringRef target);
LogicalResult readMhloCall(BodyConverter &body, Operation *op);

/// Custom calls of jax.export for ops with dynamic sizes.
LogicalResult readDynamicTopK(BodyConverter &body, Operation *op);
LogicalResult readDynamicRngBitGenerator(BodyConverter &body, Operation *op);

LogicalResult readRaggedDot(BodyConverter &body, Operation *op);

/// Converts a reduce, reduce_window or sort whose function uses outside scalars.
LogicalResult readWithCaptures(BodyConverter &body, Operation *op, mlir::ValueRange captures);

/// Converts a scatter with any function to a loop over the elements of the updates.
LogicalResult readScatterLoop(BodyConverter &body, Operation *op);

/// Checks that all ops of a function are declared (not even the number of operands is known for
/// others), and that it returns the types in its signature, by a return op of any dialect. Emits an
/// error otherwise.
LogicalResult expectDeclared(mlir::func::FuncOp function);

/// Checks that all types are supported. Emits an error at the op otherwise.
LogicalResult verifyTypes(Operation *op, mlir::TypeRange types);

/// Checks that the types and ranks of the op's values are supported. Emits an error otherwise.
LogicalResult expectSupported(Operation *op);

} // namespace treadle::hlo
