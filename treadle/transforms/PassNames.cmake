# Writes the names of the passes that PASSES (Passes.td) defines to OUT, as C strings with commas.
file(STRINGS ${PASSES} lines REGEX "^def .* : Pass<\"")
set(names "")
foreach(line ${lines})
  string(REGEX REPLACE ".*Pass<(\"[^\"]*\").*" "\\1,\n" name ${line})
  string(APPEND names ${name})
endforeach()
file(WRITE ${OUT} "${names}")
