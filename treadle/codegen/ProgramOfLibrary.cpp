// In a file of its own: a program that is linked statically leaves it out, and all kernels with it.
#include "treadle/codegen/Program.h"
#include "treadle/kernels/Families.h"

int32_t treadle_run_function(treadle::codegen::ProgramFunction *function,
                             const treadle::codegen::ProgramTensor *inputs,
                             treadle::codegen::ProgramTensor *outputs,
                             treadle::codegen::ProgramError *error) {
  auto all = [](treadle::codegen::ProgramFunction &) -> const treadle::KernelRegistry & {
    return treadle::builtinKernels();
  };
  return treadle::codegen::runProgram(*function, all, inputs, outputs, error);
}
