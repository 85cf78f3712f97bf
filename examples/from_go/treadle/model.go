// Package treadle calls models through the interface for C.
package treadle

// #cgo pkg-config: treadle
// #include <stdlib.h>
// #include <treadle/c.h>
import "C"

import (
	"errors"
	"unsafe"
)

// Model may be called by any number of goroutines at a time.
type Model struct {
	Signatures []string
	handle     *C.treadle_model
}

func failure(status *C.treadle_status) error {
	if status == nil {
		return nil
	}
	defer C.treadle_status_free(status)
	return errors.New(C.GoString(C.treadle_status_message(status)))
}

// Load reads a model, which has to be closed.
func Load(path string) (*Model, error) {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	model := &Model{}
	if err := failure(C.treadle_model_load(text, nil, &model.handle)); err != nil {
		return nil, err
	}
	for i := C.int32_t(0); i < C.treadle_model_num_signatures(model.handle); i++ {
		name := C.GoString(C.treadle_model_signature(model.handle, i))
		model.Signatures = append(model.Signatures, name)
	}
	return model, nil
}

// Close frees the model. Let all calls return first. A second Close does nothing.
func (m *Model) Close() {
	C.treadle_model_free(m.handle)
	m.handle = nil
}
