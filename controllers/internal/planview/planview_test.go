package planview

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/ir"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

func stackNamed(name string) *v1alpha1.Stack {
	return &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: "u1"}}
}

// creates is a plan that creates n nodes.
func creates(n int) *plan.Plan {
	p := &plan.Plan{Compilation: &ir.Compilation{}, Snapshot: &state.Snapshot{}}
	for i := range n {
		id := fmt.Sprintf("demo:local.File:f%05d", i)
		p.Changes = append(p.Changes, plan.Change{NodeID: id, Action: plan.Create, Desired: &ir.Node{ID: id, Type: "local.File"}})
	}
	return p
}

func newClient(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func TestPublishWritesOnlyWhatDiffers(t *testing.T) {
	c := newClient(t)
	publisher := &Publisher{Client: c, Live: c}
	read := func() *corev1.ConfigMap {
		cm := &corev1.ConfigMap{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "greeting-plan"}, cm); err != nil {
			t.Fatal(err)
		}
		return cm
	}
	publish := func(v View) {
		if err := publisher.Publish(t.Context(), stackNamed("greeting"), v); err != nil {
			t.Fatal(err)
		}
	}
	publish(View{Digest: "sha256:d", Plan: creates(2)})
	pending := read()
	if pending.Data[KeyText] == "" || pending.Data[KeyPayload] == "" || pending.Data[KeyRun] != "" {
		t.Fatalf("a pending plan shows %v", pending.Data)
	}
	if owner := metav1.GetControllerOf(pending); owner == nil || owner.UID != "u1" || pending.Labels[v1alpha1.LabelStack] != "greeting" {
		t.Errorf("owner %v, labels %v", owner, pending.Labels)
	}
	publish(View{Digest: "sha256:d", Plan: creates(2)})
	if again := read(); again.ResourceVersion != pending.ResourceVersion {
		t.Error("the same view was written twice")
	}
	publish(View{Digest: "sha256:d", Plan: creates(2), Report: &apply.Report{
		Created: []string{"demo:local.File:f00000"}, Noop: []string{"demo:local.File:f00001"}, StateOnly: []string{"demo:local.File:f00001"},
	}, Failed: "it broke"})
	want := `{"digest":"sha256:d","error":"it broke","nodes":[` +
		`{"action":"create","node_id":"demo:local.File:f00000"},` +
		`{"action":"noop","node_id":"demo:local.File:f00001","planned":"create","state_only":true}],"ok":false}`
	if diff := cmp.Diff(want, read().Data[KeyRun]); diff != "" {
		t.Error(diff)
	}
	publish(View{Digest: "sha256:next", Plan: creates(1)})
	if next := read().Data; next[KeyRun] != want || next[KeyPayload] == pending.Data[KeyPayload] {
		t.Errorf("beside the next plan the last run is %q", next[KeyRun])
	}
	publish(View{Digest: "sha256:next", Plan: creates(1), Report: &apply.Report{Created: []string{"demo:local.File:f00000"}}})
	if run := read().Data[KeyRun]; !strings.Contains(run, "sha256:next") {
		t.Errorf("after the next run it is %q", run)
	}
}

// A node that was put off is shown as it stays, with what was planned and why it is not done.
func TestRunShowsWhatWasPutOff(t *testing.T) {
	p := creates(1)
	id := p.Changes[0].NodeID
	p.Changes[0].Action = plan.Update
	report := apply.NewReport()
	report.Noop, report.PutOff[id] = []string{id}, "plan again"
	data, err := contents(View{Digest: "sha256:d", Plan: p, Report: report})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"digest":"sha256:d","nodes":[{"action":"noop","node_id":"` + id + `","planned":"update","put_off":"plan again"}],"ok":true}`
	if diff := cmp.Diff(want, data[KeyRun]); diff != "" {
		t.Error(diff)
	}
}

// What was read ties to what is approved: the digest is the last line, and a key.
func TestContentsNameTheDigest(t *testing.T) {
	const digest = "sha256:d1"
	big := creates(3)
	big.Compilation.Inputs = map[string]any{strings.Repeat("x", maxPayload): ""}
	for reason, p := range map[string]*plan.Plan{"whole": creates(2), "nothing to do": creates(0), "cut": creates(20_000), "summary alone": big} {
		data, err := contents(View{Digest: digest, Plan: p})
		if err != nil {
			t.Fatal(err)
		}
		var payload struct{ Digest string }
		if err := json.Unmarshal([]byte(data[KeyPayload]), &payload); err != nil || payload.Digest != digest {
			t.Errorf("%s: plan.json names %q (%v)", reason, payload.Digest, err)
		}
		if !strings.HasSuffix(data[KeyText], "\nDigest: "+digest+"\n") {
			t.Errorf("%s: plan.txt ends in %q", reason, data[KeyText][max(0, len(data[KeyText])-80):])
		}
	}
}

func TestPublishLeavesForeignObjectsAlone(t *testing.T) {
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "greeting-plan"}, Data: map[string]string{"a": "b"}}
	c := newClient(t, mine)
	err := (&Publisher{Client: c, Live: c}).Publish(t.Context(), stackNamed("greeting"), View{Plan: creates(1)})
	if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "is not the plan view") {
		t.Fatalf("answer %v", err)
	}
	after := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(mine), after); err != nil || after.Data["a"] != "b" || len(after.Data) != 1 {
		t.Errorf("the user's ConfigMap became %v (%v)", after.Data, err)
	}
}

func TestContentsAreBounded(t *testing.T) {
	const nodes = 20_000
	report := &apply.Report{}
	p := creates(nodes)
	for i := range p.Changes {
		report.Created = append(report.Created, p.Changes[i].NodeID)
	}
	data, err := contents(View{Digest: "sha256:d", Plan: p, Report: report})
	if err != nil {
		t.Fatal(err)
	}
	for key, limit := range map[string]int{KeyText: maxText, KeyPayload: maxPayload, KeyRun: maxRun} {
		if n := len(data[key]); n > limit || n < limit/2 {
			t.Errorf("%s has %d bytes, want at most %d and not much less", key, n, limit)
		}
	}
	shown := strings.Count(data[KeyText], "+ create")
	if !strings.Contains(data[KeyText], fmt.Sprintf("… %d more changes", nodes-shown)) || !strings.Contains(data[KeyText], "Plan: 20000 to add") {
		t.Errorf("the text shows %d of %d changes and closes with %q", shown, nodes, data[KeyText][len(data[KeyText])-120:])
	}
	var payload struct {
		Changes []any
		Omitted int
	}
	if err := json.Unmarshal([]byte(data[KeyPayload]), &payload); err != nil || len(payload.Changes)+payload.Omitted != nodes {
		t.Errorf("%d changes and %d left out (%v)", len(payload.Changes), payload.Omitted, err)
	}
}

func TestPayloadTooLargeWithoutChanges(t *testing.T) {
	p := creates(3)
	p.Compilation.Inputs = map[string]any{strings.Repeat("x", maxPayload): ""}
	data, err := contents(View{Plan: p})
	if err != nil || len(data[KeyPayload]) > maxPayload || !strings.Contains(data[KeyPayload], `"omitted":3`) {
		t.Errorf("%d bytes, %v", len(data[KeyPayload]), err)
	}
}

// Law: names fit, are valid, and differ where the Stacks' do.
func TestNameLaw(t *testing.T) {
	name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,250}[a-z0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		a := name.Draw(t, "a")
		b := rapid.OneOf(name, rapid.Just(a), rapid.Just(a+"x")).Draw(t, "b")
		na, nb := Name(a), Name(b)
		if len(na) > 63 || !strings.HasSuffix(na, "-plan") || strings.HasPrefix(na, "-") {
			t.Fatalf("%q becomes %q", a, na)
		}
		if (na == nb) != (a == b) {
			t.Fatalf("%q → %q, %q → %q", a, na, b, nb)
		}
	})
}
