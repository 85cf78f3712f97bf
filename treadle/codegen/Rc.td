// The rc dialect: reference-counted tensors of the runtime, as compiled code sees them.
#ifndef TREADLE_CODEGEN_RC_TD
#define TREADLE_CODEGEN_RC_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Rc_Dialect : Dialect {
  let name = "rc";
  let cppNamespace = "::treadle::rc";
  let summary = "Tensors with explicit reference counts";
  let description = [{
    The level between tensors, which have no owner, and machine code, which has addresses only. A
    value of type `!rc.ref<T>` is a pointer to a block of the runtime: reference count, shape and
    elements. `rc-insert-counts` makes ownership explicit:

    - An operation borrows its operands: they stay alive before and after it.
    - A branch, a return and `rc.release` take ownership of their operands: the block argument or
      the caller owns a value that is passed on this way.
    - The block owns the results of its operations until they are released or passed on. A value
      that is needed twice is retained first.

    No operation of the dialect has side effects other than on memory, so compiled code can stop
    at any check, release its references, and let the interpreter run the cluster. The exception
    are kernels that run Python code: a cluster that calls some with side effects has no checks
    that can fail, except for a lack of memory and a stopped run.
  }];
  let useDefaultTypePrinterParser = 1;
}

class Rc_Op<string mnemonic, list<Trait> traits = []> : Op<Rc_Dialect, mnemonic, traits>;

def Rc_Ref : TypeDef<Rc_Dialect, "Ref"> {
  let mnemonic = "ref";
  let summary = "Reference to a tensor of this type";
  let parameters = (ins "::mlir::TensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

def Rc_KernelOp : Rc_Op<"kernel"> {
  let summary = "Calls a kernel of the runtime";
  let description = [{
    Runs the op at this index of the cluster's table. Operands and results are tensors or
    references. The kernel owns the operands that `takes` marks (donation) and may overwrite them;
    it borrows the others. With references, an additional last result tells whether the kernel
    succeeded.
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, I32Attr:$index, StrAttr:$op,
                       OptionalAttr<DenseBoolArrayAttr>:$takes);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "$op $index `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
}

def Rc_ConstantOp : Rc_Op<"constant", [Pure]> {
  let summary = "Loads a constant from the cluster's table";
  let arguments = (ins I32Attr:$index);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$index attr-dict `:` type($result)";
}

def Rc_CheckOp : Rc_Op<"check"> {
  let summary = "Bails out of compiled code unless a condition holds";
  let description = [{
    If the condition is false, all references are released and the interpreter runs the cluster
    again from its inputs. So a check needs no message: the interpreter reports the error.
  }];
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def Rc_RunningOp : Rc_Op<"running"> {
  let summary = "Returns false once the run was cancelled, failed elsewhere, or passed its deadline";
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

def Rc_UnchangedOp : Rc_Op<"unchanged"> {
  let summary = "Returns false once code outside the cluster changed one of its `count` variables";
  let arguments = (ins I64Attr:$count);
  let results = (outs I1:$result);
  let assemblyFormat = "$count attr-dict";
}

def Rc_BailOp : Rc_Op<"bail", [Terminator]> {
  let summary = "Returns to the interpreter without results";
  let assemblyFormat = "attr-dict";
}

def Rc_AllocOp : Rc_Op<"alloc", [AttrSizedOperandSegments]> {
  let summary = "Allocates an uninitialized tensor with one reference";
  let description = [{
    `models` are tensors of the same shape whose elements are read where the elements of the new
    one are written: it may reuse the block of one that isn't needed afterwards. `copies` marks a
    tensor that will only contain copied elements, for statistics.
  }];
  let arguments = (ins Variadic<Index>:$dims, Variadic<Rc_Ref>:$models, UnitAttr:$copies);
  let results = (outs Rc_Ref:$result, I1:$ok);
  let assemblyFormat = [{
    `(` $dims `)` (`like` `(` $models^ `:` type($models) `)`)? attr-dict `:` type($result)
  }];
}

def Rc_LocalOp : Rc_Op<"local"> {
  let summary = "Allocates an uninitialized tensor on the stack";
  let description = [{
    The memory is allocated when the compiled code is entered, and is the same each time the
    operation runs. It has no reference count, so the reference may only be used for views and
    dimensions.
  }];
  let results = (outs Rc_Ref:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Rc_ReuseOp : Rc_Op<"reuse"> {
  let summary = "Reuses the block of a tensor, or allocates a new tensor";
  let description = [{
    If the operand has one reference and the same type and size, the result is the same block with
    the same reference, which `rc.drop` then doesn't release. Otherwise the result is a new
    tensor, as of `rc.alloc`.
  }];
  let arguments = (ins Rc_Ref:$of, Variadic<Index>:$dims);
  let results = (outs Rc_Ref:$result, I1:$ok);
  let assemblyFormat = "$of `(` $dims `)` attr-dict `:` type($of) `->` type($result)";
}

def Rc_DropOp : Rc_Op<"drop"> {
  let summary = "Releases a reference, unless `rc.reuse` took over its block";
  let arguments = (ins Rc_Ref:$ref, Rc_Ref:$by);
  let assemblyFormat = "$ref `,` $by attr-dict `:` type($ref) `,` type($by)";
}

def Rc_RetainOp : Rc_Op<"retain"> {
  let summary = "Adds a reference";
  let arguments = (ins Rc_Ref:$ref);
  let assemblyFormat = "$ref attr-dict `:` type($ref)";
}

def Rc_ReleaseOp : Rc_Op<"release"> {
  let summary = "Removes a reference; the last one frees the tensor";
  let arguments = (ins Rc_Ref:$ref);
  let assemblyFormat = "$ref attr-dict `:` type($ref)";
}

def Rc_DimOp : Rc_Op<"dim"> {
  let summary = "Returns a dimension of a tensor";
  let arguments = (ins Rc_Ref:$ref, I64Attr:$index);
  let results = (outs Index:$result);
  let assemblyFormat = "$ref `,` $index attr-dict `:` type($ref)";
}

def Rc_CastOp : Rc_Op<"cast", [Pure]> {
  let summary = "Casts a reference to a more or less static shape";
  let description = [{
    A more static shape isn't checked: use `rc.check` before.
  }];
  let arguments = (ins Rc_Ref:$ref);
  let results = (outs Rc_Ref:$result);
  let assemblyFormat = "$ref attr-dict `:` type($ref) `->` type($result)";
}

def Rc_SelectOp : Rc_Op<"select"> {
  let summary = "Returns another reference to one of two tensors";
  let arguments = (ins I1:$condition, Rc_Ref:$first, Rc_Ref:$second);
  let results = (outs Rc_Ref:$result);
  let assemblyFormat = [{
    $condition `,` $first `,` $second attr-dict `:` functional-type(operands, $result)
  }];
}

def Rc_ReshapeOp : Rc_Op<"reshape", [Pure]> {
  let summary = "Reshapes a tensor without a copy";
  let description = [{
    `dims` are the dynamic dimensions of the result. With references, an additional result tells
    whether the shape has as many elements as the operand.
  }];
  let arguments = (ins AnyType:$from, Variadic<Index>:$dims);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "$from `(` $dims `)` attr-dict `:` type($from) `->` type($outputs)";
}

def Rc_ListOp : Rc_Op<"list"> {
  let summary = "Allocates a list of tensors of one shape, filled with zeros";
  let description = [{
    `dims` are the dynamic dimensions of the type. An open list has a length but no elements yet;
    the first element determines the element shape. The dimensions of an open list must not be
    used: the first one is -1 - length. With references, an additional result tells whether the
    allocation succeeded.
  }];
  let arguments = (ins Variadic<Index>:$dims, UnitAttr:$isOpen);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "`(` $dims `)` (`open` $isOpen^)? attr-dict `:` type($outputs)";
}

def Rc_SetOp : Rc_Op<"set"> {
  let summary = "Replaces an element of a list";
  let description = [{
    Bails out if the index is out of range or the shape of the element differs from that of the
    list's elements. With `grows`, the list is extended with zeros instead if the index is out of
    range.
  }];
  let arguments = (ins AnyType:$list, Index:$index, AnyType:$element, UnitAttr:$grows);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $list `[` $index `]` `=` $element (`grows` $grows^)? attr-dict `:` type($element) `in` type($list)
    `->` type($result)
  }];
}

def Rc_OwnOp : Rc_Op<"own"> {
  let summary = "Makes a list unique, with space for an element at an index";
  let description = [{
    Takes ownership of the operand. The result is the same list if that has one reference and
    space for an element of these dimensions, otherwise a copy. `ok` is false if the index or the
    dimensions don't match the list.
  }];
  let arguments = (ins Rc_Ref:$list, Index:$index, Variadic<Index>:$dims, UnitAttr:$grows);
  let results = (outs Rc_Ref:$result, I1:$ok);
  let assemblyFormat = [{
    $list `[` $index `]` `(` $dims `)` (`grows` $grows^)? attr-dict `:` type($list) `->`
    type($result)
  }];
}

def Rc_PutOp : Rc_Op<"put"> {
  let summary = "Copies an element into a unique list with space for it";
  let arguments = (ins Rc_Ref:$list, Index:$index, Rc_Ref:$element);
  let assemblyFormat = [{
    $list `[` $index `]` `=` $element attr-dict `:` type($element) `in` type($list)
  }];
}

def Rc_RowOp : Rc_Op<"row"> {
  let summary = "Returns an element of a list";
  let description = [{
    The result is a view of the list's memory; with `copies` a copy, for lists that are changed
    while the element is alive. Bails out if the index is out of range. With references, an
    additional result tells whether the index is in range.
  }];
  let arguments = (ins AnyType:$list, Index:$index, UnitAttr:$copies);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $list `[` $index `]` (`copies` $copies^)? attr-dict `:` type($list) `->` type($outputs)
  }];
}

def Rc_PopOp : Rc_Op<"pop"> {
  let summary = "Removes the last element of a list";
  let description = [{
    Takes ownership of the operand, like `rc.own`. With references, an additional result tells
    whether the list had an element.
  }];
  let arguments = (ins AnyType:$list);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "$list attr-dict `:` type($list) `->` type($outputs)";
}

def Rc_StackOp : Rc_Op<"stack"> {
  let summary = "Stacks the elements of a list into one tensor, without a copy";
  let description = [{
    Takes ownership of the operand. Bails out if the list is open. With references, an additional
    result tells whether it isn't open.
  }];
  let arguments = (ins AnyType:$list);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = "$list attr-dict `:` type($list) `->` type($outputs)";
}

def Rc_UpdateOp : Rc_Op<"update", [AttrSizedOperandSegments]> {
  let summary = "Replaces a block of elements of a tensor";
  let description = [{
    The block begins at the indices `places`, has the dimensions `sizes`, and must be in bounds.
    `elements` are scalars, in row-major order.
  }];
  let arguments = (ins AnyType:$tensor, Variadic<Index>:$places, Variadic<AnyType>:$elements,
                       DenseI64ArrayAttr:$sizes);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $tensor `[` $places `]` $sizes `=` $elements attr-dict `:` type($elements) `in` type($tensor)
    `->` type($result)
  }];
}

def Rc_WriteOp : Rc_Op<"write", [NoTerminator, SingleBlock, AttrSizedOperandSegments]> {
  let summary = "Writes elements of tensors in a loop nest";
  let description = [{
    The body runs for all indices below `sizes`, the last one innermost. Its first arguments are the
    current states of the tensors, for `rc.current` and `rc.store`; the others are the indices. With
    `isParallel`, no two runs of the body access the same memory of these tensors, and if each run
    takes long, threads share them. On memrefs there are no results, and the only arguments are the
    indices.
  }];
  let arguments = (ins Variadic<AnyType>:$tensors, Variadic<Index>:$sizes, UnitAttr:$isParallel);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $tensors `for` `(` $sizes `)` (`parallel` $isParallel^)? attr-dict `:` type($tensors)
    (`->` type($outputs)^)? $body
  }];
}

def Rc_CurrentOp : Rc_Op<"current"> {
  let summary = "Reads an element of the tensor that is being written";
  let arguments = (ins AnyType:$tensor, Variadic<Index>:$places);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$tensor `[` $places `]` attr-dict `:` type($tensor) `->` type($result)";
}

def Rc_StoreOp : Rc_Op<"store"> {
  let summary = "Writes an element";
  let arguments = (ins AnyType:$tensor, Variadic<Index>:$places, AnyType:$element);
  let assemblyFormat = [{
    $tensor `[` $places `]` `=` $element attr-dict `:` type($element) `in` type($tensor)
  }];
}

def Rc_UniqueOp : Rc_Op<"unique"> {
  let summary = "Makes a tensor unique, to be written in place";
  let description = [{
    Takes ownership of the operand. The result is the same tensor if that has one reference,
    otherwise a copy.
  }];
  let arguments = (ins Rc_Ref:$ref);
  let results = (outs Rc_Ref:$result, I1:$ok);
  let assemblyFormat = "$ref attr-dict `:` type($ref) `->` type($result)";
}

def Rc_RankOp : Rc_Op<"rank"> {
  let summary = "Returns the rank of a tensor";
  let arguments = (ins Rc_Ref:$ref);
  let results = (outs Index:$result);
  let assemblyFormat = "$ref attr-dict `:` type($ref)";
}

def Rc_ViewOp : Rc_Op<"view"> {
  let summary = "Returns the elements of a tensor as a memref";
  let description = [{
    The memref is valid as long as the reference. Booleans are bytes. A result of type
    `memref<?xT>` is all elements in row-major order, whatever the shape of the tensor.
  }];
  let arguments = (ins Rc_Ref:$ref);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$ref attr-dict `:` type($ref) `->` type($result)";
}

def Rc_ParallelOp : Rc_Op<"parallel"> {
  let summary = "Marks the iterations of the innermost enclosing loop as independent";
  let description = [{
    An iteration may write memory that it has read itself, for instance if a tensor is overwritten
    in place. A runtime check of addresses couldn't distinguish that from dependent iterations.
  }];
  let assemblyFormat = "attr-dict";
}

def Rc_SpreadOp : Rc_Op<"spread"> {
  let summary = "Runs a function for all indices below a size, possibly on several threads";
  let description = [{
    `part` is a function of the module with the attribute `rc.part`. Its arguments are the
    captures, and begin and end of a range. Ranges are independent, so several threads of the run
    may process them; `alone` keeps all of them on this thread. There are `count` elements, each
    of which takes about `cost` picoseconds.
  }];
  let arguments = (ins FlatSymbolRefAttr:$part, Index:$size, Index:$count,
                       Variadic<AnyType>:$captures, I64Attr:$cost, UnitAttr:$alone);
  let assemblyFormat = [{
    $part `(` $size `,` $count `)` (`alone` $alone^)? `cost` $cost `with` `(` $captures `)` attr-dict
    `:` type($captures)
  }];
}

def Rc_Words : MemRefRankOf<[I64], [1]>;

def Rc_CallOp : Rc_Op<"call"> {
  let summary = "Calls an outlined piece of the cluster";
  let description = [{
    `piece` is a function of the module with the attribute `rc.piece`. Values are passed to and
    from it through the words. The result is false if it bailed out.
  }];
  let arguments = (ins FlatSymbolRefAttr:$piece, Rc_Words:$words);
  let results = (outs I1:$ok);
  let assemblyFormat = "$piece `(` $words `)` attr-dict `:` type($words)";
}

def Rc_StoreWordOp : Rc_Op<"store_word"> {
  let summary = "Stores a number, or moves a reference, into a word";
  let arguments = (ins AnyType:$value, Rc_Words:$words, I64Attr:$word);
  let assemblyFormat = "$value `,` $words `[` $word `]` attr-dict `:` type($value) `,` type($words)";
}

def Rc_LoadWordOp : Rc_Op<"load_word"> {
  let summary = "Loads a number or a reference from a word";
  let description = [{
    A reference is retained; with `takes` it is moved out of the word instead.
  }];
  let arguments = (ins Rc_Words:$words, I64Attr:$word, UnitAttr:$takes);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $words `[` $word `]` (`takes` $takes^)? attr-dict `:` type($words) `->` type($result)
  }];
}

def Rc_ClearWordsOp : Rc_Op<"clear_words"> {
  let summary = "Sets the first `count` words to no reference";
  let arguments = (ins Rc_Words:$words, I64Attr:$count);
  let assemblyFormat = "$words `,` $count attr-dict `:` type($words)";
}

def Rc_ReleaseWordsOp : Rc_Op<"release_words"> {
  let summary = "Releases the references in the first `count` words";
  let arguments = (ins Rc_Words:$words, I64Attr:$count);
  let assemblyFormat = "$words `,` $count attr-dict `:` type($words)";
}

#endif // TREADLE_CODEGEN_RC_TD
