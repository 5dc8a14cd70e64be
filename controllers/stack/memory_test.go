package stack

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestMemoryKnowsAStaleObject(t *testing.T) {
	m := newMemory()
	key := types.NamespacedName{Namespace: "team", Name: "s"}
	if m.behind(key, "7") {
		t.Error("an object is stale before anything was written")
	}
	m.note(key, "100")
	for version, want := range map[string]bool{"99": true, "7": true, "100": false, "101": false, "1000": false, "opaque": false} {
		if m.behind(key, version) != want {
			t.Errorf("version %s behind 100: %v", version, !want)
		}
	}
	m.forget(key)
	if !m.behind(key, "99") {
		t.Error("forgetting an outcome forgot the write")
	}
	if m.drop(key); m.behind(key, "99") {
		t.Error("a Stack that is gone is remembered")
	}
}

func TestMemoryTellsOnce(t *testing.T) {
	m := newMemory()
	key := types.NamespacedName{Namespace: "team", Name: "s"}
	for i, c := range []struct {
		reason, what string
		want         bool
	}{
		{"Orphaned", "a", true}, {"Orphaned", "a", false}, {"Suspended", "a", true}, {"Orphaned", "b", true}, {"Orphaned", "a", true},
	} {
		if m.news(key, c.reason, c.what) != c.want {
			t.Errorf("step %d: %v", i, !c.want)
		}
	}
	if m.drop(key); !m.news(key, "Orphaned", "a") {
		t.Error("a Stack that is made again is remembered")
	}
}
