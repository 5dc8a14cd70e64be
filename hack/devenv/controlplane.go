package devenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// EnvAssets names the folder of etcd and kube-apiserver to use instead of ours.
const EnvAssets = "KUBEBUILDER_ASSETS"

// ControlPlaneOptions say how much of a cluster is wanted.
type ControlPlaneOptions struct {
	// ControllerManager also runs kube-controller-manager (namespaces are deleted,
	// garbage is collected, service accounts exist) and turns ServiceAccount
	// admission on.
	ControllerManager bool
	// NoCRDs leaves config/crd/bases out.
	NoCRDs bool
}

// ControlPlane is a running control plane. Its files live in a temporary folder.
type ControlPlane struct {
	// RESTConfig is the administrator's, without client-side throttling.
	RESTConfig *rest.Config
	// KubeconfigFile is the same for kubectl.
	KubeconfigFile string
	// Kubectl is a kubectl that fits: of the dev cluster, else of PATH; may be "".
	Kubectl string

	env     *envtest.Environment
	dir     string
	manager *process
}

// StartControlPlane starts etcd and kube-apiserver, installs the CRDs of the
// repository and, if asked, runs kube-controller-manager.
func StartControlPlane(ctx context.Context, o ControlPlaneOptions) (*ControlPlane, error) {
	assets, err := assetsDir(o)
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{}
	if err := c.start(ctx, assets, o); err != nil {
		return nil, errors.Join(fmt.Errorf("start a control plane: %w", err), c.Stop())
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context, assets string, o ControlPlaneOptions) (err error) {
	if c.dir, err = os.MkdirTemp("", "atlantide-cluster-"); err != nil {
		return err
	}
	c.env = &envtest.Environment{ControlPlaneStartTimeout: 90 * time.Second, ControlPlaneStopTimeout: 30 * time.Second}
	if !o.NoCRDs {
		root, err := RepositoryRoot()
		if err != nil {
			return err
		}
		c.env.CRDDirectoryPaths = []string{filepath.Join(root, "config", "crd", "bases")}
	}
	api := c.env.ControlPlane.GetAPIServer()
	if o.ControllerManager {
		api.Configure().Disable("disable-admission-plugins")
	}
	c.env.ControlPlane.Etcd = &envtest.Etcd{}
	if c.env.ControlPlane.Etcd.Path, err = c.bind(assets, "etcd"); err != nil {
		return err
	}
	if api.Path, err = c.bind(assets, "kube-apiserver"); err != nil {
		return err
	}
	if c.Kubectl = filepath.Join(assets, "kubectl"); !isFile(c.Kubectl) {
		c.Kubectl, _ = exec.LookPath("kubectl") // "" says that there is none
	}
	c.env.ControlPlane.KubectlPath = c.Kubectl
	if c.RESTConfig, err = c.env.Start(); err != nil {
		return err
	}
	c.RESTConfig.QPS = -1
	c.KubeconfigFile = filepath.Join(c.dir, "kubeconfig")
	if err := os.WriteFile(c.KubeconfigFile, c.env.KubeConfig, 0o600); err != nil {
		return err
	}
	if o.ControllerManager {
		return c.startControllerManager(ctx, assets)
	}
	return nil
}

// bind writes the program that envtest starts: it notes its process id, binds itself
// to its parent where the system can (envtest does not) and becomes the server.
func (c *ControlPlane) bind(assets, name string) (string, error) {
	target := filepath.Join(assets, name)
	become := "exec " + quote(target) + ` "$@"`
	if setpriv, err := exec.LookPath("setpriv"); err == nil {
		become = "exec " + quote(setpriv) + " --pdeathsig KILL -- " + quote(target) + ` "$@"`
	}
	file := filepath.Join(c.dir, name)
	script := "#!/bin/sh\necho $$ > " + quote(c.pidFile(name)) + "\n" + become + "\n"
	return file, os.WriteFile(file, []byte(script), 0o700)
}

func (c *ControlPlane) pidFile(name string) string { return filepath.Join(c.dir, name+".pid") }

// startControllerManager runs it until the service account of a pod exists.
func (c *ControlPlane) startControllerManager(ctx context.Context, assets string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	caFile := filepath.Join(c.dir, "ca.crt")
	if err := os.WriteFile(caFile, c.RESTConfig.CAData, 0o600); err != nil {
		return err
	}
	certDir := c.env.ControlPlane.GetAPIServer().CertDir
	cmd := exec.Command(filepath.Join(assets, "kube-controller-manager"),
		"--kubeconfig", c.KubeconfigFile,
		"--authentication-kubeconfig", c.KubeconfigFile,
		"--authorization-kubeconfig", c.KubeconfigFile,
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port), "--leader-elect=false",
		"--use-service-account-credentials=false",
		"--root-ca-file", caFile,
		"--service-account-private-key-file", filepath.Join(certDir, "sa-signer.key"))
	logFile := filepath.Join(c.dir, "kube-controller-manager.log")
	log, err := os.Create(logFile)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, log, log
	if c.manager, err = startProcess(cmd, syscall.SIGKILL); err != nil {
		c.manager = nil
		return err
	}
	client, err := kubernetes.NewForConfig(c.RESTConfig)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	err = poll(ctx, c.manager, func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("kube-controller-manager: %w\n%s", err, tail(logFile))
	}
	return nil
}

// PauseAPIServer freezes kube-apiserver: connections stay open and nothing answers.
func (c *ControlPlane) PauseAPIServer() error {
	pid, err := c.apiServer()
	if err != nil {
		return err
	}
	return freeze(pid)
}

// ResumeAPIServer lets it go on.
func (c *ControlPlane) ResumeAPIServer() error {
	pid, err := c.apiServer()
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGCONT)
}

func (c *ControlPlane) apiServer() (pid int, err error) {
	text, err := os.ReadFile(c.pidFile("kube-apiserver"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// Stop ends everything and removes all that it kept.
func (c *ControlPlane) Stop() error {
	var errs []error
	if c.manager != nil {
		errs = append(errs, c.manager.stop(5*time.Second, syscall.SIGTERM, syscall.SIGKILL))
	}
	if c.RESTConfig != nil {
		errs = append(errs, c.ResumeAPIServer()) // a frozen server cannot end
	}
	if c.env != nil {
		errs = append(errs, c.env.Stop())
	}
	if c.dir != "" {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}

// assetsDir is the folder of the servers: KUBEBUILDER_ASSETS, else the dev cluster's.
func assetsDir(o ControlPlaneOptions) (string, error) {
	dir, fix := os.Getenv(EnvAssets), "correct or unset "+EnvAssets
	if dir == "" {
		root, err := RepositoryRoot()
		if err != nil {
			return "", err
		}
		dir, fix = filepath.Join(root, ".cache", "devcluster", "bin"), "run `make deps`, which builds them"
	}
	names := []string{"etcd", "kube-apiserver"}
	if o.ControllerManager {
		names = append(names, "kube-controller-manager")
	}
	for _, name := range names {
		if !isFile(filepath.Join(dir, name)) {
			return "", fmt.Errorf("the control plane's %s was not found in %s: %s", name, dir, fix)
		}
	}
	return dir, nil
}

// RepositoryRoot is the nearest folder upwards of the working directory that holds
// the operator's go.mod.
func RepositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	const module = "module github.com/atlantide-org/atlantide-operator\n"
	for at := dir; ; at = filepath.Dir(at) {
		if data, err := os.ReadFile(filepath.Join(at, "go.mod")); err == nil && strings.HasPrefix(string(data), module) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not inside the operator's repository", dir)
		}
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
