# Writes a hash of the sources that generated code depends on, as a C string, so that only builds of
# the same sources use each other's cached code. Called with SOURCE (the project) and OUT (the
# file).
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
