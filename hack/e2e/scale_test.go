//go:build !long

package e2e

// scales of TestKilledHistories: 50 points.
var scales = []scale{{each: 5, points: 50}}
