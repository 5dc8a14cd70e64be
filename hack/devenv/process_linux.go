package devenv

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// boundToParent makes the kernel send sig to the child when its parent dies, however
// the parent dies.
func boundToParent(attr *syscall.SysProcAttr, sig syscall.Signal) { attr.Pdeathsig = sig }

// running reports whether a thread of the process runs or may run: its state, the
// field after the parenthesised name in proc_pid_stat(5), is none of stopped (T),
// traced (t) and ended (Z, X).
func running(pid int) bool {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		_, state, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if found && len(state) > 0 && !strings.ContainsRune("TtZX", rune(state[0])) {
			return true
		}
	}
	return false
}
