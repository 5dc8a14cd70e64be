package engine_test

import (
	"os"
	"strconv"
	"strings"
)

// watchMemory measures by how many bytes this process grows at its peak, until the
// returned function is called.
func watchMemory() func() int64 {
	settle()
	// A reset of the peak; where it is not allowed, the peak of before counts as growth.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	before := status("VmRSS:")
	return func() int64 { return status("VmHWM:") - before }
}

// status is a line of the process's status, in bytes.
func status(line string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	_, rest, _ := strings.Cut(string(text), line)
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		panic(err)
	}
	return kilobytes << 10
}
