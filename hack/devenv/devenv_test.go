package devenv

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestMain(m *testing.M) { os.Exit(Main(m, WithPrivatePostgres, WithCluster)) }

func TestPostgres(t *testing.T) {
	g := NewWithT(t)
	p := SharedPostgres(t)

	first, second := Database(t), Database(t)
	g.Expect(first).NotTo(Equal(second), "every database is new")
	g.Expect(answer(t.Context(), first)).To(Succeed())
	g.Expect(answer(t.Context(), second)).To(Succeed())

	g.Expect(p.Halt()).To(Succeed())
	g.Expect(answer(t.Context(), first)).NotTo(Succeed(), "halted: refuses connections")
	g.Expect(p.Resume(t.Context())).To(Succeed())
	g.Expect(answer(t.Context(), first)).To(Succeed(), "same port, same data")

	conn, err := pgx.Connect(t.Context(), first)
	g.Expect(err).NotTo(HaveOccurred())
	defer conn.Close(context.Background())
	g.Expect(p.Pause()).To(Succeed())
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	g.Expect(conn.Ping(short)).NotTo(Succeed(), "paused: an open session gets no answer")
	g.Expect(p.Resume(t.Context())).To(Succeed())
	g.Expect(answer(t.Context(), first)).To(Succeed())
}

func answer(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.Ping(ctx)
}

func TestControlPlane(t *testing.T) {
	g := NewWithT(t)
	c := Cluster(t)
	client, err := kubernetes.NewForConfig(c.RESTConfig)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = client.CoreV1().ServiceAccounts("default").Get(t.Context(), "default", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred(), "the controller-manager works")

	out, err := exec.Command(c.Kubectl, "--kubeconfig", c.KubeconfigFile, "get", "namespaces", "-o", "name").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	g.Expect(string(out)).To(ContainSubstring("namespace/kube-system"))

	g.Expect(c.PauseAPIServer()).To(Succeed())
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = client.CoreV1().Namespaces().Get(short, "default", metav1.GetOptions{})
	g.Expect(err).To(HaveOccurred(), "paused: no answer")
	g.Expect(c.ResumeAPIServer()).To(Succeed())
	g.Eventually(func() error {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
		return err
	}, 10*time.Second).Should(Succeed())
}

func TestPostgresBinDir(t *testing.T) {
	fake := t.TempDir()
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(fake, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	links := t.TempDir()
	if err := os.Symlink(filepath.Join(fake, "postgres"), filepath.Join(links, "postgres")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason, bindir, path, want, wantErr string
	}{
		{reason: "PG_BINDIR wins over everything", bindir: fake, path: os.Getenv("PATH"), want: fake},
		{reason: "a wrong PG_BINDIR is an error, not a reason to look elsewhere", bindir: links, wantErr: "PG_BINDIR"},
		{reason: "a link on PATH leads to the folder that has both programs", path: links, want: fake},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Setenv("PG_BINDIR", c.bindir)
			t.Setenv("PATH", c.path)
			got, err := postgresBinDir()
			if got != c.want || (err == nil) != (c.wantErr == "") || err != nil && !strings.Contains(err.Error(), c.wantErr) {
				t.Errorf("got %q, %v; want %q, error with %q", got, err, c.want, c.wantErr)
			}
		})
	}
}

func TestMajorOf(t *testing.T) {
	for dir, want := range map[string]int{
		"/usr/lib/postgresql/9.6/bin":            9,
		"/usr/lib/postgresql/17/bin":             17,
		"/usr/pgsql-16/bin":                      16,
		"/opt/homebrew/opt/postgresql@18/bin":    18,
		"/usr/lib/postgresql/not-a-version/bin":  0,
		"/usr/local/opt/postgresql@14.2/bin":     14,
		"/usr/lib/postgresql/unversioned/bin":    0,
		"/opt/homebrew/opt/postgresql@sixth/bin": 0,
	} {
		if got := majorOf(dir); got != want {
			t.Errorf("majorOf(%s) = %d, want %d", dir, got, want)
		}
	}
}
