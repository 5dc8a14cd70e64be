//go:build !linux

package devenv

import "syscall"

// boundToParent does nothing: only Linux can bind a child to its parent.
func boundToParent(*syscall.SysProcAttr, syscall.Signal) {}
