package devenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
)

// shared holds the servers of a test process between Main and its end. Starting them
// once per process is the point: a control plane costs seconds.
var shared struct {
	postgres *Postgres
	cluster  *ControlPlane
}

// A Part is something that Main starts for all tests of a package.
type Part func(context.Context) error

// WithPostgres makes SharedPostgres and Database work.
func WithPostgres(ctx context.Context) (err error) {
	shared.postgres, err = StartPostgres(ctx, PostgresOptions{})
	return err
}

// WithPrivatePostgres is WithPostgres for tests that halt or pause the server.
func WithPrivatePostgres(ctx context.Context) (err error) {
	shared.postgres, err = StartPostgres(ctx, PostgresOptions{Private: true})
	return err
}

// WithControlPlane makes Cluster work; the servers are etcd and kube-apiserver.
func WithControlPlane(ctx context.Context) (err error) {
	shared.cluster, err = StartControlPlane(ctx, ControlPlaneOptions{})
	return err
}

// WithCluster is WithControlPlane with kube-controller-manager.
func WithCluster(ctx context.Context) (err error) {
	shared.cluster, err = StartControlPlane(ctx, ControlPlaneOptions{ControllerManager: true})
	return err
}

// Main is the whole of a TestMain: it starts the parts, runs the tests, stops the
// parts and returns the exit code for os.Exit.
//
//	func TestMain(m *testing.M) { os.Exit(devenv.Main(m, devenv.WithPostgres)) }
func Main(m *testing.M, parts ...Part) (code int) {
	ctx := context.Background()
	defer func() {
		if err := stopShared(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}()
	failures := make(chan error)
	for _, part := range parts {
		go func() { failures <- part(ctx) }()
	}
	var errs []error
	for range parts {
		errs = append(errs, <-failures)
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func stopShared() error {
	var errs []error
	if shared.postgres != nil {
		errs = append(errs, shared.postgres.Stop())
	}
	if shared.cluster != nil {
		errs = append(errs, shared.cluster.Stop())
	}
	return errors.Join(errs...)
}

// SharedPostgres is the server that Main started.
func SharedPostgres(t testing.TB) *Postgres {
	t.Helper()
	if shared.postgres == nil {
		t.Fatal("no Postgres: the package's TestMain must call devenv.Main with devenv.WithPostgres")
	}
	return shared.postgres
}

// Database is the DSN of a new, empty database on the shared server.
func Database(t testing.TB) string {
	t.Helper()
	dsn, err := SharedPostgres(t).NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

// Cluster is the control plane that Main started.
func Cluster(t testing.TB) *ControlPlane {
	t.Helper()
	if shared.cluster == nil {
		t.Fatal("no control plane: the package's TestMain must call devenv.Main with devenv.WithControlPlane or devenv.WithCluster")
	}
	return shared.cluster
}
