package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// The role that this very binary plays in a process that a test starts.
const (
	roleVariable = "ATLANTIDE_E2E_ROLE"
	roleOperator = "operator"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != roleOperator {
		os.Exit(devenv.Main(m, devenv.WithPostgres))
	}
	if err := operate(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// beside declares a file that no edit touches, beside the one of the test.
func beside(path, text string) config {
	return config{
		nodes: "File('beside', path='beside.txt', content='untouched')\n" +
			fmt.Sprintf("note = File('note', path='%s', content='%s')", path, text),
		files: map[string]string{"beside.txt": "untouched", path: text},
	}
}

// withReceipt adds a file that holds the checksum of the other.
func withReceipt(path, text string) config {
	c := beside(path, text)
	c.nodes += "\nFile('receipt', path='receipt.txt', content=note.checksum)"
	sum := sha256.Sum256([]byte(text))
	c.files["receipt.txt"] = hex.EncodeToString(sum[:])
	return c
}

// withSecond adds a file of the same kind.
func withSecond(first, second string) config {
	c := beside(first, "text")
	c.nodes += fmt.Sprintf("\nFile('second', path='%s', content='text')", second)
	c.files[second] = "text"
	return c
}

// replacing is what a path replace does to the world and to what is recorded of it
// (EX-11, EX-13), in this order; a process is killed before and after each.
func replacing(node, from, to string) []string {
	return []string{
		"commit " + node + " creating, " + node + "~replaced pending",
		"delete " + from,
		"commit " + node + "~replaced gone",
		"create " + to,
		"commit " + node + " created",
	}
}

// TestKilledReplace kills an operator before and after every step of a path replace and
// starts another one, with the same config or with one that was edited meanwhile. It
// must end where the config says: no file is left behind, none is missing.
func TestKilledReplace(t *testing.T) {
	db := newDatabase(t)
	note := beside("old/note.txt", "text")
	edited := beside("new/note.txt", "text")
	replace := replacing("note", "old/note.txt", "new/note.txt")
	for _, c := range []struct {
		reason              string
		start, edit, finish config
		steps               []string // that the edit takes, among others
	}{
		{"the same config again", note, edited, edited, replace},
		{"a new text as well", note, beside("new/note.txt", "other"), beside("new/note.txt", "other"), replace},
		{"a file that is made from the checksum", withReceipt("old/note.txt", "text"), withReceipt("new/note.txt", "other"),
			withReceipt("new/note.txt", "other"), slices.Concat(replace, []string{"commit receipt created unknown", "update receipt.txt", "commit receipt created"})},
		{"such a file comes with the next edit", note, edited, withReceipt("new/note.txt", "text"), replace},
		{"then a third path", note, edited, beside("third/note.txt", "text"), replace},
		{"then a third path for a file that others are made from", withReceipt("old/note.txt", "text"), withReceipt("new/note.txt", "other"),
			withReceipt("third/note.txt", "third"), replace},
		{"then the first path again", note, edited, note, replace},
		{"then another text at the new path", note, edited, beside("new/note.txt", "other"), replace},
		{"then the node is taken out", note, edited,
			config{nodes: "File('beside', path='beside.txt', content='untouched')", files: map[string]string{"beside.txt": "untouched"}}, replace},
		{"then everything is destroyed from state alone", note, edited, config{}, replace},
		{"the old file stands where the new one needs a folder", beside("old", "text"), beside("old/note.txt", "text"),
			beside("old/note.txt", "text"), replacing("note", "old", "old/note.txt")},
		{"the old folder stands where the new file goes, then back", beside("old/note.txt", "text"), beside("old", "text"), note,
			replacing("note", "old/note.txt", "old")},
		{"two replaces, then a third path for both", withSecond("old/note.txt", "old/second.txt"), withSecond("new/note.txt", "new/second.txt"),
			withSecond("third/note.txt", "third/second.txt"), slices.Concat(replace, replacing("second", "old/second.txt", "new/second.txt"))},
	} {
		t.Run(c.reason, func(t *testing.T) {
			whole := killEverywhere(t, db, "", c.start, c.edit, c.finish, func(at []step, faults []string) {
				if len(faults) > 0 {
					t.Errorf("killed\n%sthe next run left:\n%s", narrated(at), strings.Join(faults, "\n"))
				}
			})
			wantOrder(t, whole, c.steps)
		})
	}
}

// TestKilledReplaceIsJudged breaks the store on purpose and demands that the judgement
// of the test above objects, at exactly the steps at which something is lost with what
// the store did not keep.
func TestKilledReplaceIsJudged(t *testing.T) {
	db := newDatabase(t)
	start, edit := beside("old/note.txt", "text"), beside("new/note.txt", "text")
	replace := replacing("note", "old/note.txt", "new/note.txt")
	for _, c := range []struct {
		reason, omit string
		finish       config
		left         string
		objections   []string
	}{
		{"nobody knows the old file once the row is that of the new one", omitPending, edit, "old/note.txt",
			[]string{"after " + replace[0], "before " + replace[1]}},
		{"nobody knows the new file until it is confirmed", omitWriteAhead, beside("third/note.txt", "text"), "new/note.txt",
			[]string{"before " + replace[3], "after " + replace[3], "before " + replace[4]}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var objections []string
			killEverywhere(t, db, c.omit, start, edit, c.finish, func(at []step, faults []string) {
				if len(faults) == 0 {
					return
				}
				objections = append(objections, at[len(at)-1].String())
				if text := strings.Join(faults, "\n"); !strings.Contains(text, c.left) {
					t.Errorf("killed\n%sthe judgement does not name %s:\n%s", narrated(at), c.left, text)
				}
			})
			if diff := cmp.Diff(c.objections, objections); diff != "" {
				t.Errorf("steps with an objection (-want +got):\n%s", diff)
			}
		})
	}
}

// killEverywhere runs an edit in a process that is killed at step 1, then at step 2 of
// another site, and so on until a process survives. After each, a new process runs the
// last config to its end, and judge is told of the steps before the death and of what is
// wrong. The steps of the survivor are returned.
func killEverywhere(t *testing.T, db database, omit string, start, edit, finish config, judge func(at []step, faults []string)) (whole []step) {
	t.Helper()
	var deaths [][]step
	for survived := false; !survived; {
		s := newSite(t, db, omit)
		s.settle(start)
		if faults := s.faults(start); len(faults) > 0 {
			t.Fatalf("before the edit:\n%s", strings.Join(faults, "\n"))
		}
		reached, killed := s.process(edit, len(deaths)+1)
		s.process(finish, 0)
		judge(reached, s.faults(finish))
		if killed {
			deaths = append(deaths, reached)
		} else {
			whole, survived = reached, true
		}
	}
	if len(deaths) != len(whole) {
		t.Fatalf("%d processes were killed, and an edit has %d steps:\n%s", len(deaths), len(whole), narrated(whole))
	}
	for i, reached := range deaths {
		if diff := cmp.Diff(actions(whole[:i+1]), actions(reached)); diff != "" {
			t.Errorf("killed at step %d, a process went another way (-survivor +killed):\n%s", i+1, diff)
		}
	}
	return whole
}

// wantOrder demands that a run did certain things in their order, and thereby that it
// was killed before and after each.
func wantOrder(t *testing.T, whole []step, actionsWanted []string) {
	t.Helper()
	var want []string
	for _, action := range actionsWanted {
		want = append(want, before+" "+action, after+" "+action)
	}
	rest := want
	for _, at := range actions(whole) {
		if len(rest) > 0 && rest[0] == at {
			rest = rest[1:]
		}
	}
	if len(rest) > 0 {
		t.Errorf("an edit has at least the %d steps\n%s\nand of these, from '%s' on, were not seen in\n%s", len(want), strings.Join(want, "\n"), rest[0], narrated(whole))
	}
}

func actions(reached []step) []string {
	var texts []string
	for _, x := range reached {
		texts = append(texts, x.String())
	}
	return texts
}
