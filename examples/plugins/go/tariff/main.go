// A guest in Go with a file: the price of power by the hour. As that of dewpoint its module is not here; build it with
// Go 1.24 or later.
package main

import (
	"encoding/csv"
	"os"
	"strconv"
	"sync"
)

// Prices by the hour at which they begin, read at the first call.
var prices = sync.OnceValue(func() map[int64]float64 {
	file, err := os.Open("/tariff.csv")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		panic(err)
	}
	found := map[int64]float64{}
	for _, row := range rows[1:] {
		hour, _ := strconv.ParseInt(row[0], 10, 64)
		found[hour], _ = strconv.ParseFloat(row[1], 64)
	}
	return found
})

// What a kilowatt hour costs at an hour of the day.
//
//go:wasmexport price_at
func priceAt(hour int64) float64 {
	for ; hour >= 0; hour-- {
		if price, isThere := prices()[hour]; isThere {
			return price
		}
	}
	return 0
}

func main() {}
