package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// An outage is a transient error that passes by itself, and never an empty snapshot.
func TestOutage(t *testing.T) {
	g := NewWithT(t)
	server, err := devenv.StartPostgres(t.Context(), devenv.PostgresOptions{Private: true})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(server.Stop()).To(Succeed()) })
	dsn, err := server.NewDatabase(t.Context())
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(server.Halt()).To(Succeed())
	s := open(t, dsn, func(o *Options) { o.Timeout = 2 * time.Second })
	expectOutage(t, s.Check(t.Context()), dsn, "unreachable when it is opened")
	g.Expect(server.Resume(t.Context())).To(Succeed())
	partition := newPartition(t, s)
	fence := take(t, s, partition, "run")
	g.Expect(s.Commit(t.Context(), partition, fence, state.Batch{PutRows: []*state.Row{{ID: "s:t:a"}}})).To(Succeed())

	g.Expect(server.Restart(t.Context())).To(Succeed())
	snapshot, err := s.Load(t.Context(), partition)
	g.Expect(err).NotTo(HaveOccurred(), "dropped connections are replaced")
	g.Expect(snapshot.Rows).To(HaveLen(1))

	g.Expect(server.Pause()).To(Succeed())
	_, err = s.Load(t.Context(), partition)
	expectOutage(t, err, dsn, "silent")
	expectOutage(t, s.Commit(t.Context(), partition, fence, state.Batch{}), dsn, "silent at a write")
	g.Expect(server.Resume(t.Context())).To(Succeed())
	g.Eventually(func() error { _, err := s.Serial(t.Context(), partition); return err }, 10*time.Second).Should(Succeed())
}

func expectOutage(t *testing.T, err error, dsn, reason string) {
	t.Helper()
	if !errors.Is(err, state.ErrUnavailable) || !model.IsKind(err, model.StateError) || model.ClassOf(err) != model.ClassTransient {
		t.Errorf("%s: %v, want a transient StateError", reason, err)
	}
	if errors.Is(err, state.ErrNewerSchema) {
		t.Errorf("%s: %v passes for a newer schema", reason, err)
	}
	leaks(t, err, dsn)
}

// leaks looks for anything of the DSN in the error and all that it wraps.
func leaks(t *testing.T, err error, dsn string) {
	t.Helper()
	u, parseErr := url.Parse(dsn)
	if parseErr != nil {
		t.Fatal(parseErr)
	}
	password, _ := u.User.Password()
	for ; err != nil; err = errors.Unwrap(err) {
		for _, secret := range []string{password, u.Host, u.User.Username() + "@", strings.TrimPrefix(u.Path, "/")} {
			if text := fmt.Sprintf("%v %+v", err, err); secret != "" && strings.Contains(text, secret) {
				t.Errorf("error text %q has %q of the DSN", text, secret)
			}
		}
	}
}

func TestErrorsHideTheAddress(t *testing.T) {
	dsn := devenv.Database(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	change := func(edit func(*url.URL)) string {
		c := *u
		edit(&c)
		return c.String()
	}
	for reason, dsn := range map[string]string{
		"wrong password":    change(func(u *url.URL) { u.User = url.UserPassword("atlantide", "s3cret-wrong") }),
		"unknown database":  change(func(u *url.URL) { u.Path = "/nowhere-at-all" }),
		"nobody listens":    change(func(u *url.URL) { u.Host = "127.0.0.1:1" }),
		"no such host name": change(func(u *url.URL) { u.Host = "db.invalid:5432" }),
	} {
		err := open(t, dsn).Check(t.Context())
		expectOutage(t, err, dsn, reason)
	}
	malformed := "postgres://user:s3cret@host:notaport/db"
	if _, err := Open(t.Context(), malformed, Options{}); err == nil || strings.Contains(fmt.Sprintf("%+v", err), "s3cret") || model.ClassOf(err) != model.ClassUser {
		t.Errorf("a malformed DSN: %v", err)
	}
}

func TestCancelledOperation(t *testing.T) {
	s := open(t, devenv.Database(t))
	partition := newPartition(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Load(ctx, partition); !errors.Is(err, state.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Load(t.Context(), partition); err != nil {
		t.Errorf("the store is unusable afterwards: %v", err)
	}
}
