// Package planview owns the ConfigMap that shows a Stack's current plan and its last
// run to people (operator.md 1.11): what it is called, what is in it and how large it
// may get.
//
// It must never decide about a plan; the record in the state store is the original.
package planview

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// Keys of the ConfigMap.
const (
	KeyText    = "plan.txt"
	KeyPayload = "plan.json"
	KeyRun     = "run.json"
)

// Shares of the 512 KiB that a view may take in all.
const (
	maxText    = 192 << 10
	maxPayload = 192 << 10
	maxRun     = 128 << 10
)

// View is a plan and, once it ran, what its run did.
type View struct {
	Digest string
	Plan   *plan.Plan
	Report *apply.Report // nil before the run
	Failed string        // why the run failed; "" when it did not
}

// Publisher writes views.
type Publisher struct {
	Client client.Writer
	Live   client.Reader
}

// ErrForeign is the cause of an error about a ConfigMap that has a view's name and is
// not ours: only a person can make room for the view.
var ErrForeign = errors.New("not the operator's")

// Publish writes the view of a Stack; nothing is written where nothing differs. What
// the last run did stays beside a later plan until the next run. A ConfigMap of that
// name that the operator did not make for this Stack is left alone: ErrForeign.
func (p *Publisher) Publish(ctx context.Context, stack *v1alpha1.Stack, view View) error {
	data, err := contents(view)
	if err != nil {
		return err
	}
	want := object(stack, data)
	have := &corev1.ConfigMap{}
	err = p.Live.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apierrors.IsNotFound(err):
		return p.Client.Create(ctx, want)
	case err != nil:
		return err
	case !metav1.IsControlledBy(have, stack):
		return &model.Error{Kind: model.AtlantideError, Class: model.ClassUser, Cause: ErrForeign, Message: fmt.Sprintf(
			"ConfigMap '%s' exists and is not the plan view of Stack '%s'; rename or remove it to see the next plan there", want.Name, stack.Name)}
	}
	if run, ok := have.Data[KeyRun]; ok && want.Data[KeyRun] == "" && len(run) <= maxRun {
		want.Data[KeyRun] = run
	}
	if maps.Equal(have.Data, want.Data) {
		return nil
	}
	next := have.DeepCopy()
	next.Data, next.BinaryData = want.Data, nil
	return p.Client.Patch(ctx, next, client.MergeFrom(have))
}

// Name of the ConfigMap of a Stack, at most 63 characters.
func Name(stack string) string { return bounded(stack, "-plan") }

// bounded is name and suffix, with a hash in place of the tail of a long name.
func bounded(name, suffix string) string {
	const most = 63
	if len(name)+len(suffix) <= most {
		return name + suffix
	}
	sum := sha256.Sum256([]byte(name))
	tail := "-" + hex.EncodeToString(sum[:6]) + suffix
	return strings.TrimRight(name[:most-len(tail)], "-.") + tail
}

func object(stack *v1alpha1.Stack, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: stack.Namespace,
			Name:      Name(stack.Name),
			Labels: map[string]string{
				v1alpha1.LabelPartOf: v1alpha1.LabelPartOfValue,
				v1alpha1.LabelStack:  bounded(stack.Name, ""),
			},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(stack, v1alpha1.GroupVersion.WithKind("Stack")),
			},
		},
		Data: data,
	}
}
