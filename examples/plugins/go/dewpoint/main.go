// A guest in Go. The module holds Go's run time, which makes it 1.8 MB: build it yourself with Go 1.24 or later.
// TinyGo builds a small one of the same file: tinygo build -target=wasip1 -buildmode=c-shared -no-debug -o dewpoint.wasm .
package main

import "math"

// The temperature (°C) at which the moisture of air condenses, by the Magnus formula.
//
//go:wasmexport dew_point
func dewPoint(celsius, humidity float64) float64 {
	const a, b = 17.62, 243.12
	g := math.Log(humidity/100) + a*celsius/(b+celsius)
	return b * g / (a - g)
}

func main() {}
