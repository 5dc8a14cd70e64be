//go:build long

package e2e

// scales of TestKilledHistories: 200 points, and 1,000 histories.
var scales = []scale{{each: 10, points: 200}, {each: 1, histories: 1000}}
