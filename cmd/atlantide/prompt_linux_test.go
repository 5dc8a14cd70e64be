package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/onsi/gomega"
	"golang.org/x/term"
)

// openTerminal is a new terminal: what a person types and sees, and what a program reads.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	var number uint32
	var unlock int32
	for _, call := range []struct {
		request uintptr
		at      unsafe.Pointer
	}{{syscall.TIOCGPTN, unsafe.Pointer(&number)}, {syscall.TIOCSPTLCK, unsafe.Pointer(&unlock)}} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, person.Fd(), call.request, uintptr(call.at)); errno != 0 {
			t.Fatal(errno)
		}
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// asked runs a command on a terminal; prompted ends when it has asked.
func asked(ctx context.Context, program *os.File, args ...string) (prompted <-chan struct{}, done <-chan string) {
	read, written := io.Pipe()
	asks, copied, ends := make(chan struct{}), make(chan struct{}), make(chan string, 1)
	var told bytes.Buffer
	go func() {
		prompt := bufio.NewReader(io.TeeReader(read, &told))
		_, _ = prompt.ReadString(':')
		close(asks)
		_, _ = io.Copy(io.Discard, prompt)
		close(copied)
	}()
	go func() {
		var out bytes.Buffer
		code := run(ctx, args, program, &out, written)
		_ = written.Close()
		<-copied
		ends <- fmt.Sprintf("%d %s%s", code, out.String(), told.String())
	}()
	return asks, ends
}

// What is typed for a secret does not show, and the terminal is as before afterwards.
func TestTheAskedSecretDoesNotShow(t *testing.T) {
	t.Chdir(t.TempDir())
	g := gomega.NewWithT(t)
	person, program := openTerminal(t)
	before, err := term.GetState(int(program.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	prompted, done := asked(t.Context(), program, "secret", "set", "app/key")
	<-prompted
	g.Eventually(func() bool {
		now, err := term.GetState(int(program.Fd()))
		return err == nil && *now != *before
	}, 10*time.Second, time.Millisecond).Should(gomega.BeTrue(), "the echo goes off")
	if _, err := person.WriteString("hunter2\n"); err != nil {
		t.Fatal(err)
	}
	if told := <-done; told != "0 set app/key in atlantide.secrets\nvalue of app/key: \n" {
		t.Errorf("%q", told)
	}
	if _, err := program.WriteString("end"); err != nil {
		t.Fatal(err)
	}
	seen := make([]byte, 100)
	n, err := person.Read(seen)
	if text := string(seen[:n]); err != nil || strings.Contains(text, "hunter") {
		t.Errorf("the screen shows %q, %v", text, err)
	}
	if now, err := term.GetState(int(program.Fd())); err != nil || *now != *before {
		t.Errorf("the terminal is left in another state, %v", err)
	}
	if stdout, _, _ := atlantide(t.Context(), "secret", "get", "-r", "app/key"); stdout != "hunter2\n" {
		t.Errorf("%q was stored", stdout)
	}
}

// An interrupt of the question changes nothing, and gives the terminal back.
func TestTheQuestionCanBeInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	g := gomega.NewWithT(t)
	_, program := openTerminal(t)
	before, err := term.GetState(int(program.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	prompted, done := asked(ctx, program, "secret", "set", "app/key")
	<-prompted
	g.Eventually(func() bool {
		now, err := term.GetState(int(program.Fd()))
		return err == nil && *now != *before
	}, 10*time.Second, time.Millisecond).Should(gomega.BeTrue(), "the echo goes off")
	cancel()
	if told := <-done; told != "130 value of app/key: \ninterrupted: nothing was changed\n" {
		t.Errorf("%q", told)
	}
	if now, err := term.GetState(int(program.Fd())); err != nil || *now != *before {
		t.Errorf("the terminal is left in another state, %v", err)
	}
	if _, err := os.Lstat("atlantide.key"); !os.IsNotExist(err) {
		t.Errorf("a key was made: %v", err)
	}
}
