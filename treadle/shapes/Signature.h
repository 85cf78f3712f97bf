// A line that says which shapes go into an op and which come out:
//
//     [B,m,k], [B,k,n] -> [B,m,n]
//
// An operand is
//     *          of any shape
//     []         a scalar
//     [B,n,3,?]  dimensions: a small letter is the same number wherever it stands, `4n` four times
//                that number, a capital letter any number of dimensions, ? anything
//     X          short for [X]
//     []:X       a handle, and the shape of what it holds
//     X+         last of the inputs or the outputs: any number of these
//
// and among the outputs also
//     =1         the shape that input 1 holds
//     {shape}    the shape that the attribute holds, or the i-th of a list in `{output_shapes}+`
//     [$2,$1.0]  the value of input 2, and of the first element of input 1, as dimensions
//     [{k}]      an integer attribute as a dimension
//
// Inputs that contradict the signature, or each other, are an error of the graph.
#pragma once

#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {

class Signature {
public:
  /// Nothing where the text is no signature.
  static std::optional<Signature> parse(std::string_view text);

  ShapeResults infer(const ShapeQuery &query) const;

  /// Whether a node of so many inputs or outputs can be meant.
  bool takes(size_t inputs) const { return fits(this->inputs, inputs); }
  bool gives(size_t outputs) const { return fits(this->outputs, outputs); }

  struct Item {
    enum Kind { Any, Number, Letter, Sequence, Input, Attribute } kind = Any;
    int64_t number = 0; // itself, a factor of the letter, or an input
    int64_t element = 0;
    char letter = 0;
    std::string_view key = {};
  };
  struct Operand {
    enum Kind { Any, Pattern, FromInput, FromAttribute } kind = Any;
    std::vector<Item> items;
    int64_t input = 0;
    std::string_view key;
    std::shared_ptr<Operand> held;
    bool isRepeated = false;
    std::string_view text;
  };

private:
  static bool fits(const std::vector<Operand> &operands, size_t count);

  std::vector<Operand> inputs, outputs;
};

} // namespace treadle
