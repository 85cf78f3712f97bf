// Lists of tensors as compiled code has them: one block of memory whose rows are the elements.
//
// The first dimension is the length. `count`, the number of elements of the block, may be larger:
// that is room for more rows. A list without a shape yet, an open one, has no memory, and -1 -
// length for its first dimension. Such blocks never leave compiled code: `treadle_list_stack` gives
// what others may have.
//
// Functions that take a list over give it back, or another one in its place, or null: then it is
// released, and the code leaves.
#pragma once

#include "treadle/codegen/Frame.h"

extern "C" {

/// A list of zeros, or an open one of the length dims[0].
treadle::TensorBlock *treadle_list(treadle::codegen::Frame *frame, uint8_t isOpen, uint8_t dtype,
                                   int32_t rank, const int64_t *dims);

/// The list with a row of these dimensions at an index, for nobody else. Takes it over. A list that
/// grows gets as many rows of zeros as it lacks. Null where the index is out of range, or the rows
/// have other dimensions.
treadle::TensorBlock *treadle_list_own(treadle::codegen::Frame *frame, treadle::TensorBlock *list,
                                       int64_t index, uint8_t grows, int32_t rowRank,
                                       const int64_t *rowDims);

/// Writes a row. All is checked: the list comes from treadle_list_own.
void treadle_list_put(treadle::TensorBlock *list, int64_t index, const treadle::TensorBlock *row);

/// A row, as a copy or a share of the list's memory. Null where the index is out of range.
treadle::TensorBlock *treadle_list_row(treadle::codegen::Frame *frame, treadle::TensorBlock *list,
                                       int64_t index, uint8_t copies);

/// The list without its last row. Takes it over. Null where it has none.
treadle::TensorBlock *treadle_list_pop(treadle::codegen::Frame *frame, treadle::TensorBlock *list);

/// The rows as a tensor. Takes the list over. Null where it is open.
treadle::TensorBlock *treadle_list_stack(treadle::TensorBlock *list);

} // extern "C"
