// A library in Go that calls C back: on the thread that called it, and on one of Go's own.
package main

// typedef void (*callback)(void);
// static void call(callback function) { function(); }
import "C"
import "sync/atomic"

var calls atomic.Uint64

//export CallFromGo
func CallFromGo(function C.callback) {
	if calls.Add(1)%2 == 0 {
		C.call(function)
		return
	}
	done := make(chan bool)
	go func() {
		C.call(function)
		done <- true
	}()
	<-done
}

func main() {}
