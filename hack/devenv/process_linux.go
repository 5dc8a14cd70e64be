package devenv

import "syscall"

// boundToParent makes the kernel send sig to the child when its parent dies, however
// the parent dies.
func boundToParent(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }
