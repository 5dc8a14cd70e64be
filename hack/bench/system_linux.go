package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// datasync makes what was written to f last, as Postgres does (wal_sync_method).
func datasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// peakMemory is the most memory that this process has had resident, in bytes; 0 = the
// system does not say.
func peakMemory() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kilobytes, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}
