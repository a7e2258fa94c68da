// Writes a heap profile as Go's own tools do: heap.go OUTPUT.
// It keeps 20 MB in blocks of 1,000 bytes and 8 MB in 4 blocks, and drops as much.
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var kept [][]byte

// Samples each KiB on average, in place of 512 KiB, so that chance decides nothing.
func init() {
	runtime.GOMAXPROCS(1)
	runtime.MemProfileRate = 1024
}

// The distance to the next sample was drawn at the old rate, and has no upper bound: a block of 64 MiB is longer than it,
// in all but one of 10^55 runs. What follows is sampled at the new rate.
//
//go:noinline
func useUpTheOldDraw() {
	kept = append(kept, make([]byte, 64<<20))
	kept = nil
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
	useUpTheOldDraw()
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
