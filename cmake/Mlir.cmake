find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# MLIR and LLVM are linked as archives: the dynamic loader would relocate 70 MB of their shared
# libraries in every process, which takes 20 ms. treadle_mlir has the libraries that graphs need,
# treadle_mlir_tools those that MLIR's own command lines need in addition.
find_package(ZLIB REQUIRED)
function(treadle_archives target)
  list(TRANSFORM ARGN REPLACE "(.+)" "${LLVM_LIBRARY_DIR}/lib\\1.a")
  add_library(${target} INTERFACE)
  target_link_libraries(${target} INTERFACE -Wl,--gc-sections -Wl,--start-group ${ARGN} -Wl,--end-group)
endfunction()
treadle_archives(treadle_mlir
  MLIRIR MLIRParser MLIRAsmParser MLIRBytecodeReader MLIRBytecodeWriter MLIRBytecodeOpInterface
  MLIRPass MLIRAnalysis MLIRRewrite MLIRTransforms MLIRTransformUtils MLIRSupport MLIRFuncDialect
  MLIRCallInterfaces MLIRControlFlowInterfaces MLIRCastInterfaces MLIRDataLayoutInterfaces
  MLIRFunctionInterfaces MLIRInferTypeOpInterface MLIRLoopLikeInterface MLIRSideEffectInterfaces
  MLIRPDLDialect MLIRPDLInterpDialect MLIRPDLToPDLInterp MLIRRewritePDL
  MLIRControlFlowDialect MLIRArithDialect MLIRInferIntRangeInterface MLIRInferIntRangeCommon
  MLIRUBDialect MLIRDialectUtils MLIRDestinationStyleOpInterface
  MLIRSCFDialect MLIRTensorDialect MLIRMathDialect MLIRMemRefDialect MLIRAffineDialect
  MLIRComplexDialect MLIRParallelCombiningOpInterface MLIRShapedOpInterfaces MLIRViewLikeInterface
  MLIRValueBoundsOpInterface MLIRPresburger MLIRArithUtils MLIRMemorySlotInterfaces
  MLIRMemOpInterfaces MLIRDLTIDialect
  # For programs in the linalg and shape dialects.
  MLIRLinalgDialect MLIRBufferizationDialect MLIRSparseTensorDialect MLIRShapeDialect
  MLIRIndexingMapOpInterface MLIRTilingInterface MLIRSubsetOpInterface MLIRAffineAnalysis MLIRDialect
  LLVMSupport LLVMDemangle)
treadle_archives(treadle_mlir_tools
  MLIROptLib MLIRDebug MLIRIRDL MLIRObservers MLIRPluginsLib MLIRReduceLib MLIRRemarkStreamer
  MLIRLspServerLib MLIRLspServerSupportLib LLVMBitstreamReader LLVMRemarks LLVMSupportLSP
  LLVMSupport)
# The compiler: LLVM libraries as llvm-config lists them; for AArch64, those that write object
# files.
execute_process(
  COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-config --link-static --libnames orcjit native passes
          aarch64codegen aarch64desc aarch64info
  OUTPUT_VARIABLE llvm_codegen OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "lib([^ ]+)\\.a" "\\1" llvm_codegen "${llvm_codegen}")
separate_arguments(llvm_codegen)
treadle_archives(treadle_mlir_codegen
  MLIRAffineAnalysis MLIRAffineDialect MLIRAffineUtils MLIRArithAttrToLLVMConversion
  MLIRArithDialect MLIRArithToLLVM MLIRArithTransforms MLIRArithUtils
  MLIRBuiltinToLLVMIRTranslation MLIRComplexDialect MLIRComplexDivisionConversion
  MLIRComplexToLLVM MLIRControlFlowDialect MLIRControlFlowToLLVM
  MLIRDLTIDialect MLIRDestinationStyleOpInterface MLIRDialectUtils MLIRFuncDialect MLIRFuncToLLVM
  MLIRIndexingMapOpInterface MLIRInferIntRangeCommon MLIRInferIntRangeInterface
  MLIRLLVMCommonConversion MLIRLLVMDialect MLIRLLVMIRToLLVMTranslation MLIRLLVMIRTransforms
  MLIRLLVMToLLVMIRTranslation MLIRLinalgDialect MLIRLinalgTransforms MLIRLinalgUtils
  MLIRMaskableOpInterface MLIRMaskingOpInterface MLIRMathDialect MLIRMathToLLVM MLIRMathToLibm
  MLIRMemOpInterfaces MLIRMemRefDialect MLIRMemRefToLLVM MLIRMemRefUtils MLIRMemorySlotInterfaces
  MLIRParallelCombiningOpInterface MLIRPresburger MLIRReconcileUnrealizedCasts MLIRSCFDialect
  MLIRSCFToControlFlow MLIRSCFTransforms MLIRShapedOpInterfaces MLIRSparseTensorDialect
  MLIRTargetLLVMIRExport MLIRTensorDialect MLIRTensorTransforms MLIRTensorUtils MLIRUBDialect
  MLIRValueBoundsOpInterface MLIRVectorDialect MLIRVectorInterfaces MLIRVectorToLLVM
  MLIRVectorTransforms MLIRVectorUtils MLIRAffineUtils MLIRSubsetOpInterface MLIRX86VectorDialect
  MLIRX86VectorTransforms MLIRArmNeonDialect MLIRArmSVEDialect MLIRViewLikeInterface
  ${llvm_codegen})
target_link_libraries(treadle_mlir INTERFACE ZLIB::ZLIB -lzstd -ltinfo Threads::Threads dl)
