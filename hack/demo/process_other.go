//go:build !linux

package main

import "syscall"

// ownGroup keeps a terminal's Ctrl-C from the child, whose end the demo decides.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
