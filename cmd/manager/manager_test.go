package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/controllers/stack"
	"github.com/atlantide-org/atlantide-operator/engine/state"
	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(devenv.Main(m, devenv.WithControlPlane))
}

// journal keeps log lines.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) logger() logr.Logger {
	return funcr.New(func(prefix, args string) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.lines = append(j.lines, prefix+args)
	}, funcr.Options{})
}

// find is the rest of the first line that holds a text, after it.
func (j *journal) find(text string) (string, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, line := range j.lines {
		if _, after, ok := strings.Cut(line, text); ok {
			return after, true
		}
	}
	return "", false
}

func get(url string) (int, string) {
	response, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}

// vacant is an address where nobody listens.
func vacant(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// The operator starts before its API server and its store do: it is live and ready,
// says what it waits for, and works as far as it can.
func TestRunWaits(t *testing.T) {
	g := gomega.NewWithT(t)
	store := vacant(t)
	cluster := devenv.Cluster(t).RESTConfig
	// A relay to the API server that is closed at first.
	server, _, err := rest.DefaultServerUrlFor(cluster)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	gate := newGate(t, server.Host)
	kubeconfig := rewritten(t, devenv.Cluster(t).KubeconfigFile, "https://"+gate.address)
	t.Setenv(envDSN, "postgres://user:hunter2@"+store+"/none")
	o, err := parse([]string{
		"--kubeconfig=" + kubeconfig, "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0",
		"--lease-namespace=default", "--leader-elect", "--local-data-root=" + t.TempDir(),
	}, io.Discard)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	log := &journal{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, log.logger(), o) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("it ends with %v", err)
		}
	}()
	address := func(name string) string {
		var found string
		g.Eventually(func() bool {
			after, ok := log.find(`"serving ` + name + `" "address"="`)
			found, _, _ = strings.Cut(after, `"`)
			return ok
		}, 30*time.Second, 20*time.Millisecond).Should(gomega.BeTrue())
		return "http://" + found
	}
	probes, metrics := address("health probes"), address("metrics")
	healthy := func() {
		t.Helper()
		for _, path := range []string{"/healthz", "/readyz"} {
			if code, body := get(probes + path); code != http.StatusOK {
				t.Errorf("%s answers %d %s", path, code, body)
			}
		}
	}
	g.Eventually(func() bool { _, ok := log.find("waiting for the cluster"); return ok }, 30*time.Second, 20*time.Millisecond).Should(gomega.BeTrue())
	healthy()

	gate.open(t)
	scheme := runtime.NewScheme()
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(gomega.Succeed())
	g.Expect(v1alpha1.AddToScheme(scheme)).To(gomega.Succeed())
	c, err := client.New(cluster, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "team-"}}
	g.Expect(c.Create(t.Context(), ns)).To(gomega.Succeed())
	s := &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "s"},
		Spec:       v1alpha1.StackSpec{Source: v1alpha1.StackSource{Inline: &v1alpha1.InlineSource{Files: map[string]v1alpha1.FileText{"a": ""}, Entrypoint: "a"}}},
	}
	g.Expect(c.Create(t.Context(), s)).To(gomega.Succeed())
	g.Eventually(func() string {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			return err.Error()
		}
		if ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
			return ready.Reason
		}
		return ""
	}, 60*time.Second, 50*time.Millisecond).Should(gomega.Equal(v1alpha1.ReasonStateUnavailable))
	healthy()
	if code, body := get(metrics + "/metrics"); code != http.StatusOK || !strings.Contains(body, `atlantide_reconcile_total{outcome="retry"}`) || !strings.Contains(body, "atlantide_compile_total 0") {
		t.Errorf("metrics answer %d:\n%.2000s", code, body)
	}
	if _, ok := log.find("hunter2"); ok {
		t.Error("the password is logged")
	}
}

// rewritten is a kubeconfig with another server, whose certificate still is the real one's.
func rewritten(t *testing.T, file, server string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = server
	}
	target := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, target); err != nil {
		t.Fatal(err)
	}
	return target
}

// gate is a relay that refuses connections until it is opened.
type gate struct{ address, target string }

func newGate(t *testing.T, target string) *gate { return &gate{vacant(t), target} }

func (g *gate) open(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", g.target)
			if err != nil {
				_ = near.Close()
				continue
			}
			go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
			go func() { _, _ = io.Copy(near, far); _ = near.Close() }()
		}
	}()
}

// A newer schema and unusable keys make the operator not ready, and nothing else does (N-35,
// N-38).
func TestReadiness(t *testing.T) {
	newer := errors.Join(errors.New("the store"), state.ErrNewerSchema)
	keys := errors.Join(errors.New("the Secret"), stack.ErrSealingKey)
	away := errors.Join(errors.New("the store"), state.ErrUnavailable)
	for _, c := range []struct {
		reason  string
		answers []error
		want    int
	}{
		{"in order", []error{nil}, http.StatusOK},
		{"away", []error{away}, http.StatusOK},
		{"newer", []error{newer}, http.StatusServiceUnavailable},
		{"newer, then away", []error{newer, away}, http.StatusServiceUnavailable},
		{"newer, then in order", []error{newer, nil}, http.StatusOK},
		{"other keys", []error{keys}, http.StatusServiceUnavailable},
		{"other keys, then away", []error{keys, away}, http.StatusServiceUnavailable},
		{"other keys, then in order", []error{keys, nil}, http.StatusOK},
	} {
		t.Run(c.reason, func(t *testing.T) {
			r := &readiness{}
			for _, answer := range c.answers {
				r.note(logr.Discard(), answer)
			}
			server := httptest.NewServer(r.handler())
			defer server.Close()
			if code, body := get(server.URL + "/readyz"); code != c.want {
				t.Errorf("/readyz answers %d %s", code, body)
			}
			if code, _ := get(server.URL + "/healthz"); code != http.StatusOK {
				t.Errorf("/healthz answers %d", code)
			}
		})
	}
}
