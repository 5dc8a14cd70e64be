package stack

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap/zapcore"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/internal/secrets"
	"github.com/atlantide-org/atlantide-operator/engine"
	"github.com/atlantide-org/atlantide-operator/engine/apply"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/providers"
	"github.com/atlantide-org/atlantide-operator/providers/local"
	"github.com/atlantide-org/atlantide-operator/providers/random"
)

// indiscreet is a provider with a sensitive field, whose errors repeat what it was called
// with while it is loud.
type indiscreet struct {
	providers.Provider
	loud *atomic.Bool
}

func (p indiscreet) Schema() *model.ProviderSchema {
	schema := *p.Provider.Schema()
	schema.Types = slices.Clone(schema.Types)
	for i, declared := range schema.Types {
		if declared.Name == "local.Null" {
			own := *declared
			own.Fields = slices.Clone(own.Fields)
			for j := range own.Fields {
				own.Fields[j].Sensitive = own.Fields[j].Sensitive || own.Fields[j].Name == "triggers"
			}
			schema.Types[i] = &own
		}
	}
	return &schema
}

func (p indiscreet) tell(r *model.Request) error {
	if p.loud.Load() && r.Node.Name == "told" {
		text, err := json.Marshal(r.Inputs)
		return fmt.Errorf("cannot write %v, which is %q or %s (%w)", r.Inputs["content"], r.Inputs["content"], text, err)
	}
	return nil
}

func (p indiscreet) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if err := p.tell(r); err != nil {
		return nil, err
	}
	return p.Provider.Create(ctx, r)
}

func (p indiscreet) Update(ctx context.Context, r *model.Request) (model.Outputs, error) {
	if err := p.tell(r); err != nil {
		return nil, err
	}
	return p.Provider.Update(ctx, r)
}

// telling is a config that uses secrets in every way: in a field that is not sensitive, in
// the depths of one that is, in a combinator, behind a made password, and in outputs.
const telling = `from atlantide.core import Stack, concat, output
from atlantide.providers.local import File, Null
from atlantide.providers.random import Password

with Stack("demo", region="eu-north-1"):
    plain = File("plain", path="plain.txt", content=atlantide.secret("token"))
    Null("deep", triggers={"a": atlantide.secret("db/password")})
    File("joined", path="joined.txt", content=concat("x-", atlantide.secret("mapped for the canary")))
    made = Password("made", length=40)
    File("copied", path="copied.txt", content=made.result)
    File("told", path="told.txt", content=atlantide.secret("token"), depends_on=[plain])

output("made", made.result)
output("checksum", plain.checksum)
`

// journal is a log of everything that is said.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// N-39, SC-17: after runs that made, failed, were undone, rotated and deleted, no secret is
// found in anything that the operator wrote, said or shows.
func TestCanary(t *testing.T) {
	t.Parallel()
	l := newLand(t)
	hushed := []string{"hush-token-one", "hush-\"quoted\"\ttoken", "hush-deep-one", "hush-mapped-one", "hush-token-two"}
	l.secret("app", map[string]string{"token": hushed[0], "unused": "hush-unused"})
	l.secret("db", map[string]string{"password": hushed[2]})
	l.secret("far", map[string]string{"k": hushed[3]})
	l.allow(secrets.DefaultAccount, "app", "db", "far")

	said, loud := &journal{}, &atomic.Bool{}
	loud.Store(true)
	logger := zap.New(zap.WriteTo(said), zap.Level(zapcore.Level(-10)), zap.UseDevMode(true))
	var events journal
	o := l.operate(func(set *settings) {
		set.log = func(*reconcile.Request) logr.Logger { return logger }
		set.engine = func(Engine) Engine {
			registry, err := providers.NewRegistry(
				indiscreet{local.NewTenants(l.dataRoot, local.Quota{}), loud}, random.New(strings.NewReader(strings.Repeat("Q7z", 4096)), time.Now))
			l.Expect(err).NotTo(gomega.HaveOccurred())
			return &engine.Engine{
				Registry: registry, Now: time.Now, NewID: uuid.NewString,
				Events: func(e apply.Event) { _, _ = fmt.Fprintf(&events, "%+v\n", e) },
			}
		}
	})
	scan := &canary{land: l, operator: o, said: []*journal{said, &events}}

	// A run that fails, with what it was called with in its error, and is undone.
	s := l.create(l.stackOf("telling", telling, require(v1alpha1.ApprovalNever), destroyed, func(s *v1alpha1.Stack) {
		s.Spec.Secrets = &v1alpha1.StackSecrets{DefaultSecret: "app", Refs: []v1alpha1.StackSecretRef{
			{Name: "mapped for the canary", SecretKeyRef: v1alpha1.SecretKeyRef{Name: "far", Key: "k"}},
		}}
	}))
	s = l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonApplyFailed)
	if m := message(s); !strings.Contains(m, "cannot write (redacted)") {
		t.Errorf("message %q", m)
	}
	scan.run("a failed run", hushed)

	// A run that does all.
	loud.Store(false)
	s = l.steady(o, s)
	made := l.files(s)["copied.txt"]
	l.Expect(made).To(gomega.HaveLen(40))
	hushed = append(hushed, made)
	l.Expect(l.files(s)["plain.txt"] + l.files(s)["joined.txt"]).To(gomega.Equal(hushed[0] + "x-" + hushed[3]))
	scan.run("a run", hushed)
	if !strings.Contains(scan.database(), `"$sealed": "v3:`) {
		t.Error("nothing is sealed in the database")
	}

	// A rotation, to a value that is written differently where it is quoted, that fails.
	for i, token := range []string{hushed[1], hushed[4]} {
		loud.Store(i == 0)
		l.secret("app", map[string]string{"token": token})
		l.edit(s, annotate(v1alpha1.AnnotationReconcileRequestedAt, token[:10]+fmt.Sprint(i)))
		if i == 0 {
			l.settled(s, metav1.ConditionFalse, v1alpha1.ReasonApplyFailed)
		} else {
			l.eventually(func(g gomega.Gomega) { g.Expect(l.files(s)["told.txt"]).To(gomega.Equal(token)) })
			s = l.applied(s)
		}
		scan.run("a rotation", hushed)
	}

	l.remove(s)
	l.gone(s)
	scan.run("the end", hushed)
}

// canary looks for secrets wherever the operator leaves anything.
type canary struct {
	*land
	operator *operator
	said     []*journal
}

func (c *canary) run(when string, hushed []string) {
	c.Helper()
	surfaces := map[string]string{"database": c.database(), "metrics": c.metrics()}
	for i, j := range c.said {
		surfaces[[]string{"log", "events of the run"}[i]] = j.String()
	}
	for _, list := range []client.ObjectList{&v1alpha1.StackList{}, &corev1.ConfigMapList{}, &eventsv1.EventList{}, &coordinationv1.LeaseList{}} {
		for _, namespace := range []string{c.namespace, c.leases} {
			c.Expect(c.client.List(c.Context(), list, client.InNamespace(namespace))).To(gomega.Succeed())
			text, err := json.Marshal(list)
			c.Expect(err).NotTo(gomega.HaveOccurred())
			surfaces[fmt.Sprintf("%T of %s", list, namespace)] = string(text)
		}
	}
	for where, text := range surfaces {
		for _, secret := range append(hushed, "hush-unused") {
			for _, form := range forms(secret) {
				if at := strings.Index(text, form); at >= 0 {
					c.Errorf("after %s, %s tells %q: …%s…", when, where, secret, text[max(at-200, 0):min(at+200, len(text))])
				}
			}
		}
	}
	for _, must := range []string{"database", "metrics", "log", "events of the run"} {
		if len(surfaces[must]) < 100 {
			c.Errorf("after %s there is no %s to look at", when, must)
		}
	}
}

// forms are the ways in which a text may be written down.
func forms(secret string) []string {
	quoted, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(quoted))
	return []string{
		secret, strings.Trim(string(quoted), `"`), strings.Trim(string(twice), `"\`),
		base64.StdEncoding.EncodeToString([]byte(secret)), hex.EncodeToString([]byte(secret)),
	}
}

// database is every row of every table, with what is stored as bytes in plain.
func (c *canary) database() string {
	c.Helper()
	conn, err := pgx.Connect(c.Context(), c.dsn)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	defer conn.Close(context.Background())
	rows, err := conn.Query(c.Context(), "select quote_ident(table_schema)||'.'||quote_ident(table_name) from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema')")
	c.Expect(err).NotTo(gomega.HaveOccurred())
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(len(tables)).To(gomega.BeNumerically(">", 5))
	var all strings.Builder
	for _, statement := range append(slices.Collect(func(yield func(string) bool) {
		for _, table := range tables {
			if !yield("select to_jsonb(t)::text from " + table + " t") {
				return
			}
		}
	}), "select convert_from(body, 'UTF8') from plans where body is not null") {
		rows, err := conn.Query(c.Context(), statement)
		c.Expect(err).NotTo(gomega.HaveOccurred())
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		c.Expect(err).NotTo(gomega.HaveOccurred())
		all.WriteString(strings.Join(lines, "\n"))
	}
	return all.String()
}

// metrics is everything that is measured.
func (c *canary) metrics() string {
	c.Helper()
	own, m := prometheus.NewRegistry(), c.operator.metrics
	own.MustRegister(m.Compiles, m.ProviderCalls, m.StateQueries, m.StateWrites, m.Reconciles, m.Orphaned)
	var all strings.Builder
	for _, g := range []prometheus.Gatherer{own, ctrlmetrics.Registry} {
		families, err := g.Gather()
		c.Expect(err).NotTo(gomega.HaveOccurred())
		for _, f := range families {
			all.WriteString(f.String())
		}
	}
	return all.String()
}
