// Calls a SavedModel from Go.
//
//	go build && ./words ../words
package main

import (
	"fmt"
	"os"

	"words/treadle"
)

func run(path string) error {
	model, err := treadle.Load(path)
	if err != nil {
		return err
	}
	defer model.Close()
	for _, signature := range model.Signatures {
		fmt.Println(signature)
	}
	y, err := model.Call("serving_default", "x", []float32{1, 2, 3}, "scaled")
	if err != nil {
		return err
	}
	fmt.Println(y)
	return nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: words MODEL")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
