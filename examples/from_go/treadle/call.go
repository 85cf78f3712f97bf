package treadle

// #include <stdlib.h>
// #include <treadle/c.h>
import "C"

import (
	"fmt"
	"unsafe"
)

// Call gives a signature its only input, a vector of floats, and returns one of its outputs.
func (m *Model) Call(signature, input string, x []float32, output string) ([]float32, error) {
	name, key, result := C.CString(signature), C.CString(input), C.CString(output)
	for _, text := range []*C.char{name, key, result} {
		defer C.free(unsafe.Pointer(text))
	}
	in, err := fromFloats(x)
	if err != nil {
		return nil, err
	}
	defer C.treadle_array_free(in)
	var out *C.treadle_array
	err = failure(C.treadle_model_call(m.handle, name, 1, &key, &in, 1, &result, &out))
	if err != nil {
		return nil, err
	}
	defer C.treadle_array_free(out)
	return toFloats(out)
}

func fromFloats(elements []float32) (*C.treadle_array, error) {
	dims := C.int64_t(len(elements))
	var array *C.treadle_array
	err := failure(C.treadle_array_make(C.TREADLE_FLOAT32, 1, &dims, &array))
	if err != nil {
		return nil, err
	}
	data := (*float32)(C.treadle_array_mutable_data(array))
	copy(unsafe.Slice(data, len(elements)), elements)
	return array, nil
}

func toFloats(array *C.treadle_array) ([]float32, error) {
	if dtype := C.treadle_array_dtype(array); dtype != C.TREADLE_FLOAT32 {
		return nil, fmt.Errorf("the array has dtype %d, expected %d (float32)", dtype, C.TREADLE_FLOAT32)
	}
	data := (*float32)(C.treadle_array_data(array))
	count := int(C.treadle_array_count(array))
	return append([]float32(nil), unsafe.Slice(data, count)...), nil
}
