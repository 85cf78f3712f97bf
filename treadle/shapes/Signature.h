// Shape signatures: one line for the shapes of an op's inputs and outputs.
//
//     [B,m,k], [B,k,n] -> [B,m,n]
//
// An operand is
//     *          any shape
//     []         a scalar
//     [B,n,3,?]  dimensions: a lowercase letter is the same number everywhere, `4n` four times
//                that number, an uppercase letter any number of dimensions, ? any dimension
//     X          short for [X]
//     []:X       a handle, and the shape of the elements that its resource holds
//     X+         last of the inputs or the outputs: any number of these
//
// and among the outputs also
//     =1         the shape of the elements that input 1's resource holds
//     {shape}    the shape in the attribute, or the i-th of a list for `{output_shapes}+`
//     [$2,$1.0]  the value of input 2, and of the first element of input 1, as dimensions
//     [{k}]      an integer attribute as a dimension
//
// Inputs that contradict the signature or each other are an error in the graph.
#pragma once

#include "treadle/shapes/ShapeFunctions.h"

namespace treadle {

class Signature {
public:
  /// Returns nullopt if the text isn't a valid signature.
  static std::optional<Signature> parse(std::string_view text);

  ShapeResults infer(const ShapeQuery &query) const;

  /// Whether the signature accepts this number of inputs.
  bool takes(size_t inputs) const { return fits(this->inputs, inputs); }
  bool gives(size_t outputs) const { return fits(this->outputs, outputs); }

  struct Item {
    enum Kind { Any, Number, Letter, Sequence, Input, Attribute } kind = Any;
    int64_t number = 0; // literal, factor of the letter, or input index
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
