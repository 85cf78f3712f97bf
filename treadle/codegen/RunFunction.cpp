// A separate file, so that statically linked programs leave it out, and with it the registry of all
// kernels.
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
