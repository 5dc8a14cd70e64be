package main

import "syscall"

// ownGroup keeps a terminal's Ctrl-C from the child, whose end the demo decides; it
// still dies with the demo.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
