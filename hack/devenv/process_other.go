//go:build !linux

package devenv

import (
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// boundToParent does nothing: only Linux can bind a child to its parent.
func boundToParent(*syscall.SysProcAttr, syscall.Signal) {}

// running reports whether the process runs or may run, as ps says.
func running(pid int) bool {
	state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	state = bytes.TrimSpace(state)
	return err == nil && len(state) > 0 && !strings.ContainsRune("TZ", rune(state[0]))
}
