// Package e2e owns the tests that need whole processes: what they prove cannot be
// proved inside one, because a process has to die without a chance to clean up.
//
// The test binary is its own operator: started with a role in its environment, it opens
// the real Postgres store, takes the fence of a partition, runs one apply over the real
// local provider or over a cloud that lies in a file, and kills itself with SIGKILL at a
// given step. The tests must never look into a package; they see what a person would see:
// what exists, rows and the next plan.
package e2e
