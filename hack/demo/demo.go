package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// namespace is where the demo's Stacks live.
const namespace = "default"

// demo is what was started so far.
type demo struct {
	out      *narrator
	root     string // the repository
	tmp      string // everything that is not the cluster's
	dataRoot string
	cluster  *devenv.ControlPlane
	postgres *devenv.Postgres

	manager     *exec.Cmd
	managerDone chan struct{} // closed when the manager ended
	managerLog  string
	metricsAddr string
	healthAddr  string

	stackDir string // files of the Stack greeting
}

// stop ends what was started, newest first.
func (d *demo) stop() error {
	var errs []error
	if d.manager != nil {
		errs = append(errs, d.out.during("stopping the operator", d.stopManager))
	}
	if d.cluster != nil {
		errs = append(errs, d.out.during("stopping the control plane", d.cluster.Stop))
	}
	if d.postgres != nil {
		errs = append(errs, d.out.during("stopping Postgres", d.postgres.Stop))
	}
	if d.tmp != "" {
		errs = append(errs, os.RemoveAll(d.tmp))
	}
	return errors.Join(errs...)
}

func (d *demo) stopManager() error {
	const patience = 20 * time.Second
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := d.manager.Process.Signal(sig); errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		select {
		case <-d.managerDone:
			return nil
		case <-time.After(patience):
		}
	}
	return errors.New("the operator does not end")
}

// explain shows the end of the operator's log after a failure.
func (d *demo) explain() {
	data, err := os.ReadFile(d.managerLog)
	if err != nil || len(data) == 0 {
		return
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	d.out.say("\nthe end of the operator's log:")
	d.out.output(strings.Join(lines[max(0, len(lines)-30):], "\n"))
}

// kubectl runs what it shows, as the cluster's administrator.
func (d *demo) kubectl(ctx context.Context, args ...string) (string, error) {
	d.out.command("kubectl " + shellWords(args))
	var text string
	err := d.out.during("kubectl "+args[0], func() (err error) {
		text, err = d.ask(ctx, args...)
		return err
	})
	d.out.output(text)
	return text, err
}

// ask is kubectl unseen, for what the demo itself wants to know.
func (d *demo) ask(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, d.cluster.Kubectl, args...)
	cmd.Dir = d.root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+d.cluster.KubeconfigFile)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", shellWords(args), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// field reads one field of a Stack.
func (d *demo) field(ctx context.Context, stack, path string) (string, error) {
	return d.ask(ctx, "get", "stack", stack, "-o", "jsonpath={"+path+"}")
}

// eventually asks until the condition holds; its last complaint is the error.
func (d *demo) eventually(ctx context.Context, what string, patience time.Duration, condition func(context.Context) error) error {
	return d.out.during(what, func() error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			err := condition(ctx)
			if err == nil {
				return nil
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s: not within %s: %w", what, patience, err)
			case <-d.managerEnded():
				return fmt.Errorf("%s: the operator ended: %w", what, err)
			case <-tick.C:
			}
		}
	})
}

func (d *demo) managerEnded() <-chan struct{} { return d.managerDone } // nil, and so never, before it runs

// showFiles shows a folder's files with their content.
func (d *demo) showFiles(dir string) error {
	d.out.say("   files in %s:", dir)
	return filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		d.out.output(fmt.Sprintf("%-18s %s", name, data))
		return err
	})
}

func shellWords(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if strings.ContainsAny(arg, " {}[]'\"$*|&;<>()\\\n") {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
