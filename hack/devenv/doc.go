// Package devenv owns the private servers that tests and the demo run against: a
// Postgres of its own and a real control plane (etcd, kube-apiserver and, if wanted,
// kube-controller-manager). Everything that it starts dies with the process that
// started it.
//
// It must never know the engine, the API or a controller; it hands out addresses.
package devenv
