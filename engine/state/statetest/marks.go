package statetest

import (
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// MarkSubject is a store under test that keeps marks.
type MarkSubject interface {
	Subject
	state.Marks
}

// RunMarks runs the contract of state.Marks on a store in which no partition exists yet.
func RunMarks(t *testing.T, s MarkSubject) {
	ctx, fence := t.Context(), model.Fence{Epoch: 1, Holder: "run"}
	want := func(reason, partition, mark string, want bool) {
		t.Helper()
		serial, got, err := s.Marked(ctx, partition, mark)
		if err != nil || got != want {
			t.Errorf("%s: marked %t, %v; want %t", reason, got, err, want)
		}
		if now, err := s.Serial(ctx, partition); err != nil || got && serial != now {
			t.Errorf("%s: marked at serial %d, and it is %d, %v", reason, serial, now, err)
		}
	}
	mark := func(serial int64, text string) {
		t.Helper()
		if err := s.Mark(ctx, partitionA, serial, text); err != nil {
			t.Fatal(err)
		}
	}
	write := func() int64 {
		t.Helper()
		err := s.Commit(ctx, partitionA, fence, state.Batch{PutRows: []*state.Row{{ID: "s:local.Null:a", Status: state.StatusCreated}}})
		if err != nil {
			t.Fatal(err)
		}
		serial, err := s.Serial(ctx, partitionA)
		if err != nil {
			t.Fatal(err)
		}
		return serial
	}
	want("a partition that is not there", partitionA, "x", false)
	want("no mark is asked for", partitionA, "", false)
	for _, partition := range []string{partitionA, partitionB} {
		if err := s.Claim(ctx, partition, fence); err != nil {
			t.Fatal(err)
		}
	}
	want("nothing was marked", partitionA, "", false)
	serial := write()
	mark(serial, "x")
	want("it was marked", partitionA, "x", true)
	want("with something else", partitionA, "y", false)
	want("with something", partitionA, "", false)
	want("another partition", partitionB, "x", false)
	if now, err := s.Serial(ctx, partitionA); err != nil || now != serial {
		t.Errorf("a mark moved the serial from %d to %d, %v", serial, now, err)
	}
	mark(serial, "y")
	want("the mark before", partitionA, "x", false)
	want("the mark of now", partitionA, "y", true)
	next := write()
	want("a write of what was there", partitionA, "y", false)
	mark(serial, "y")
	want("a mark of what is gone", partitionA, "y", false)
	mark(next+1, "y")
	want("a mark of what is not there yet", partitionA, "y", false)
	if serial := write(); serial != next+1 {
		t.Fatalf("serial %d after %d", serial, next)
	}
	want("a mark that came too early", partitionA, "y", false)
	newer := model.Fence{Epoch: 2, Holder: "run-2"}
	mark(next+1, "z")
	if err := s.Claim(ctx, partitionA, newer); err != nil {
		t.Fatal(err)
	}
	want("a run that wrote nothing", partitionA, "z", true)
	if err := s.Commit(ctx, partitionA, fence, state.Batch{DeleteRows: []string{"s:local.Null:a"}}); !model.IsKind(err, model.FencedWriteError) {
		t.Fatal(err)
	}
	want("a write that was fenced", partitionA, "z", true)
}
