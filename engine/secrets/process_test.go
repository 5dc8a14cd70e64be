package secrets

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Variables that make the test binary a process which writes a store: its folder, what it
// does there, and the prefix of its names.
const (
	childFolder = "ATLANTIDE_TEST_SECRETS"
	childWork   = "ATLANTIDE_TEST_SECRETS_WORK"
	childPrefix = "ATLANTIDE_TEST_SECRETS_PREFIX"

	workNames  = "names"  // many names, one after another
	workValues = "values" // one name, for ever
)

const namesPerChild = 20

func TestMain(m *testing.M) {
	dir := os.Getenv(childFolder)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := work(dir, os.Getenv(childWork), os.Getenv(childPrefix)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// work says on its standard output what it is about to do.
func work(dir, kind, prefix string) error {
	store := storeIn(dir)
	for i := 0; kind == workValues || i < namesPerChild; i++ {
		name, value := prefix+strconv.Itoa(i), "v"
		if kind == workValues {
			name, value = "rolling", bulky(i)
		}
		fmt.Println(i)
		if err := store.Set(context.Background(), name, NewText(value)); err != nil {
			return err
		}
	}
	return nil
}

// bulky is a value that takes time to write.
func bulky(i int) string { return strings.Repeat(strconv.Itoa(i%10), 60<<10) }

func child(t *testing.T, dir, kind, prefix string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childFolder+"="+dir, childWork+"="+kind, childPrefix+"="+prefix)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// T-207e, T-208c: two processes begin without store and key, and lose nothing.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	var children []*exec.Cmd
	var want []string
	for _, prefix := range []string{"a", "b"} {
		cmd, _ := child(t, dir, workNames, prefix)
		children = append(children, cmd)
		for i := range namesPerChild {
			want = append(want, prefix+strconv.Itoa(i))
		}
	}
	for _, cmd := range children {
		must(t, cmd.Wait())
	}
	names, err := storeIn(dir).Names(context.Background())
	must(t, err)
	got := map[string]bool{}
	for _, name := range names {
		got[name] = true
	}
	for _, name := range want {
		if !got[name] {
			t.Errorf("%s is lost", name)
		}
	}
}

// A writer that is killed leaves the store as it was or as it was to be, and no lock; what
// else it leaves, the next writer takes away.
func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	store := storeIn(dir)
	ballast := map[string]string{}
	for i := range 8 {
		ballast["ballast"+strconv.Itoa(i)] = bulky(i)
	}
	mustSet(t, store, ballast)
	mustSet(t, store, map[string]string{"rolling": "first"})
	before := "first"
	for round := range 25 {
		at := killed(t, dir, round%5+1)
		got, err := store.Resolve(context.Background(), "rolling")
		must(t, err)
		if at > 0 {
			before = bulky(at - 1)
		}
		if value := got.Reveal(); value != before && value != bulky(at) {
			t.Fatalf("round %d: killed over value %d, and the store holds neither that nor the one before", round, at)
		}
		before = got.Reveal()
		for name, value := range ballast {
			if got, err := store.Resolve(context.Background(), name); err != nil || got.Reveal() != value {
				t.Fatalf("round %d: %s is lost: %v", round, name, err)
			}
		}
	}
	mustSet(t, store, map[string]string{"after": "x"})
	want := []string{"atlantide.key", "atlantide.secrets", "atlantide.secrets.lock"}
	if got := listed(t, filepath.Dir(store.Path)); !cmp.Equal(got, want) {
		t.Errorf("the folder holds %v; want %v", got, want)
	}
}

// killed kills a writer when it began its nth value, and says over which one it died.
func killed(t *testing.T, dir string, nth int) int {
	t.Helper()
	cmd, out := child(t, dir, workValues, "")
	last := ""
	for range nth {
		if !out.Scan() {
			t.Fatalf("the writer ended: %v", cmd.Wait())
		}
		last = out.Text()
	}
	must(t, cmd.Process.Kill())
	for out.Scan() {
		last = out.Text() // it went on before the signal came
	}
	_ = cmd.Wait() // it was killed, which is an error
	at, err := strconv.Atoi(last)
	must(t, err)
	return at
}
