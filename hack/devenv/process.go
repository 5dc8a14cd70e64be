package devenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a started server and how it ended.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// startProcess starts cmd in a process group of its own. The thread that starts it
// stays until it ends: on Linux a child bound to its parent is bound to the thread.
func startProcess(cmd *exec.Cmd, deathSignal syscall.Signal) (*process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true // Ctrl-C reaches the parent, who stops it in order
	boundToParent(cmd.SysProcAttr, deathSignal)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		defer close(p.done)
		_ = cmd.Wait() // how it ended is in its log
	}()
	return p, <-started
}

// exited reports whether the process has ended.
func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop asks with each signal in turn, waiting up to patience after each.
func (p *process) stop(patience time.Duration, signals ...syscall.Signal) error {
	for _, sig := range signals {
		if err := p.cmd.Process.Signal(sig); errors.Is(err, os.ErrProcessDone) {
			break
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(patience):
		}
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s (pid %d) does not end", filepath.Base(p.cmd.Path), p.cmd.Process.Pid)
	}
}

// descendants lists the children of a process and theirs, parents first.
func descendants(pid int) ([]int, error) {
	out, err := childrenOf(pid)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(out); i++ {
		more, err := childrenOf(out[i])
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// childrenOf reads the kernel's list, or asks pgrep where there is none.
func childrenOf(pid int) ([]int, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			return nil, err
		}
		text.Write(data)
		text.WriteByte(' ')
	}
	if len(files) == 0 && runtime.GOOS != "linux" {
		out, err := exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output()
		var none *exec.ExitError
		if err != nil && !errors.As(err, &none) {
			return nil, err
		}
		text.Write(out)
	}
	var pids []int
	for word := range strings.FieldsSeq(text.String()) {
		child, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("list the children of process %d: %w", pid, err)
		}
		pids = append(pids, child)
	}
	return pids, nil
}

// freeze stops the processes and returns once none of their threads runs: a stop
// signal is only on its way when kill returns.
func freeze(pids ...int) error {
	if err := signalEach(syscall.SIGSTOP, pids); err != nil {
		return err
	}
	const patience, pace = 10 * time.Second, time.Millisecond
	late := time.After(patience)
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for _, pid := range pids {
		for running(pid) {
			select {
			case <-tick.C:
			case <-late:
				return fmt.Errorf("process %d still runs %s after a stop signal", pid, patience)
			}
		}
	}
	return nil
}

// signalEach sends sig to every process that is still there.
func signalEach(sig syscall.Signal, pids []int) error {
	var errs []error
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("signal process %d: %w", pid, err))
		}
	}
	return errors.Join(errs...)
}

// freePort is a loopback port that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// poll asks ready every 50 ms until it says yes, ctx ends or the process does.
func poll(ctx context.Context, p *process, ready func(context.Context) error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-p.done:
			return errors.New("it ended while it was starting")
		case <-tick.C:
		}
	}
}

// tail is the end of a log file, for an error that has to explain itself.
func tail(file string) string {
	const limit = 2000
	data, err := os.ReadFile(file)
	if err != nil {
		return "no log: " + err.Error()
	}
	if len(data) > limit {
		data = data[len(data)-limit:]
	}
	return strings.TrimSpace(string(data))
}
