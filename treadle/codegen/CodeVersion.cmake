# Writes a hash of the sources that machine code depends on, as a C string: code that is kept on disk is
# used by builds of the same sources only. Called with SOURCE (the project) and OUT (the file).
file(GLOB sources ${SOURCE}/treadle/codegen/*.h ${SOURCE}/treadle/codegen/*.cpp
  ${SOURCE}/treadle/codegen/*.td)
list(FILTER sources EXCLUDE REGEX "_test.cpp$")
list(APPEND sources ${SOURCE}/treadle/tensor/Tensor.h ${SOURCE}/treadle/tensor/DType.h)
set(hashes "")
foreach(source ${sources})
  file(SHA256 ${source} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 hash "${hashes}")
file(WRITE ${OUT} "\"${hash}\"\n")
