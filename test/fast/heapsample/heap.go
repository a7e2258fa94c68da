// Writes a heap profile as Go's own tools do: heap.go OUTPUT.
// It keeps 20 MB in blocks of 1,000 bytes and 8 MB in 4 blocks, and drops as much.
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var kept [][]byte

// Each KiB on average, in place of 512: chance decides nothing then. It is to be set before anything is allocated.
func init() {
	runtime.MemProfileRate = 1024
}

//go:noinline
func keepSmall() {
	for i := 0; i < 20000; i++ {
		kept = append(kept, make([]byte, 1000))
	}
}

//go:noinline
func keepLarge() {
	for i := 0; i < 4; i++ {
		kept = append(kept, make([]byte, 2<<20))
	}
}

//go:noinline
func drop() {
	for i := 0; i < 20000; i++ {
		_ = make([]byte, 1000+len(kept)%2)
	}
}

func main() {
	keepSmall()
	keepLarge()
	drop()
	runtime.GC()
	file, err := os.Create(os.Args[1])
	if err == nil {
		err = pprof.Lookup("heap").WriteTo(file, 0)
	}
	if err != nil {
		panic(err)
	}
	runtime.KeepAlive(kept)
}
