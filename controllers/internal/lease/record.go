package lease

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// What a Lease of ours carries.
const (
	epochAnnotation     = "atlantide.io/epoch"
	managedByLabel      = "app.kubernetes.io/managed-by"
	stackNamespaceLabel = "atlantide.io/stack-namespace"
	stackHashLabel      = "atlantide.io/stack-hash"
)

// Name is the name of a Stack's Lease (LS-3): readable, unique and at most 47
// characters, whatever the Stack is called.
func Name(stack types.NamespacedName, uid types.UID) string {
	readable := []byte(strings.ToLower(stack.Name))
	for i, c := range readable {
		letter, digit := 'a' <= c && c <= 'z', '0' <= c && c <= '9'
		if !letter && !digit {
			readable[i] = '-'
		}
	}
	return "atl-" + string(readable[:min(len(readable), 30)]) + "-" + shortHash(stack.String()+"/"+string(uid))
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:12]
}

// record is what must stay the same for a lease to count as unchanged (LS-7).
type record struct {
	resourceVersion string
	holder          string
	renewed         int64 // the holder's clock, only ever compared with itself
}

// observation is a record and when this process first saw it, on its own clock.
type observation struct {
	record
	since    time.Time
	duration time.Duration
}

func observationOf(l *v1.Lease, now time.Time, ttl time.Duration) observation {
	if l == nil {
		return observation{}
	}
	o := observation{since: now, duration: ttl, record: record{resourceVersion: l.ResourceVersion, holder: holderOf(l)}}
	if l.Spec.RenewTime != nil {
		o.renewed = l.Spec.RenewTime.UnixMicro()
	}
	if seconds := ptr.Deref(l.Spec.LeaseDurationSeconds, 0); seconds > 0 {
		o.duration = time.Duration(seconds) * time.Second
	}
	return o
}

// taken is the Lease that an acquisition writes over what it has seen, nil for none
// (LS-4). It never has an owner reference: the finalizer still works under it (LS-3).
func (l *locker) taken(seen *v1.Lease, holder string, epoch int64, now time.Time) *v1.Lease {
	next := &v1.Lease{ObjectMeta: metav1.ObjectMeta{Name: l.leaseName, Namespace: l.options.Namespace}}
	if seen != nil {
		next = seen.DeepCopy()
	}
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	next.Labels[managedByLabel] = "atlantide-operator"
	next.Labels[stackNamespaceLabel] = l.stack.Namespace
	next.Labels[stackHashLabel] = shortHash(l.stack.String())
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[epochAnnotation] = strconv.FormatInt(epoch, 10)
	at := metav1.NewMicroTime(now)
	next.Spec.HolderIdentity = &holder
	next.Spec.LeaseDurationSeconds = new(int32((l.options.TTL + time.Second - 1) / time.Second))
	next.Spec.AcquireTime, next.Spec.RenewTime = &at, &at
	next.Spec.LeaseTransitions = new(ptr.Deref(next.Spec.LeaseTransitions, 0) + 1)
	return next
}

// epochOf is the epoch that a Lease names, 0 if it names none.
func epochOf(l *v1.Lease) int64 {
	epoch, err := strconv.ParseInt(l.Annotations[epochAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return epoch
}

// holderOf is who holds a Lease, "" if nobody does or there is none.
func holderOf(l *v1.Lease) string {
	if l == nil {
		return ""
	}
	return ptr.Deref(l.Spec.HolderIdentity, "")
}
