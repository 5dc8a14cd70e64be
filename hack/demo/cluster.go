package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/atlantide-org/atlantide-operator/hack/devenv"
)

// Who the operator is; config/rbac binds it.
const (
	operatorNamespace = "atlantide-system"
	operatorAccount   = "atlantide-operator"
)

// tokenLifetime is longer than anybody looks at a demo.
const tokenLifetime = 24 * time.Hour

// startServers starts the control plane and Postgres side by side.
func startServers(ctx context.Context, d *demo) error {
	var err error
	if d.root, err = devenv.RepositoryRoot(); err != nil {
		return err
	}
	if d.tmp, err = os.MkdirTemp("", "atlantide-demo-"); err != nil {
		return err
	}
	postgres := make(chan error, 1)
	go func() {
		var err error
		d.postgres, err = devenv.StartPostgres(ctx, devenv.PostgresOptions{Durable: true})
		postgres <- err
	}()
	err = d.out.during("starting etcd, kube-apiserver, kube-controller-manager and Postgres", func() error {
		var err error
		d.cluster, err = devenv.StartControlPlane(ctx, devenv.ControlPlaneOptions{ControllerManager: true, NoCRDs: true})
		return errors.Join(err, <-postgres)
	})
	if err != nil {
		return err
	}
	if d.cluster.Kubectl == "" {
		return errors.New("there is no kubectl on PATH nor among the dev cluster's programs")
	}
	_, err = d.kubectl(ctx, "version")
	return err
}

// install applies what an administrator applies: the CRDs, the namespace, the rights.
func install(ctx context.Context, d *demo) error {
	for _, args := range [][]string{
		{"apply", "-k", "config/crd"},
		{"apply", "-f", "config/manager/namespace.yaml"},
		{"apply", "-k", "config/rbac"},
		{"wait", "--for=condition=Established", "crd/stacks.atlantide.io", "--timeout=30s"},
	} {
		if _, err := d.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// startOperator runs bin/manager with a token of its service account and waits until
// it is ready.
func startOperator(ctx context.Context, d *demo) error {
	kubeconfig, err := d.accountKubeconfig(ctx)
	if err != nil {
		return err
	}
	dsn, err := d.postgres.NewDatabase(ctx)
	if err != nil {
		return err
	}
	d.dataRoot = filepath.Join(d.tmp, "data")
	d.managerLog = filepath.Join(d.tmp, "manager.log")
	if err := os.Mkdir(d.dataRoot, 0o700); err != nil {
		return err
	}
	if d.metricsAddr, err = freeAddress(); err != nil {
		return err
	}
	if d.healthAddr, err = freeAddress(); err != nil {
		return err
	}
	if err := d.startManager(kubeconfig, dsn); err != nil {
		return err
	}
	if err := d.eventually(ctx, "waiting for the operator to be ready", 30*time.Second, func(ctx context.Context) error {
		response, err := get(ctx, "http://"+d.healthAddr+"/readyz")
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}); err != nil {
		return err
	}
	d.out.holds("ready as serviceaccount %s/%s, files below %s", operatorNamespace, operatorAccount, d.dataRoot)
	// The exit code is 1 when the answer is no; the answer is what counts.
	answer, err := d.ask(ctx, "auth", "can-i", "delete", "namespaces", "--as=system:serviceaccount:"+operatorNamespace+":"+operatorAccount)
	if strings.TrimSpace(answer) != "no" {
		return fmt.Errorf("whether the operator's account may delete namespaces was answered with %q, not \"no\" (%w)", answer, err)
	}
	d.out.holds("that account is no administrator")
	return nil
}

func (d *demo) startManager(kubeconfig, dsn string) error {
	log, err := os.Create(d.managerLog)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{
		"--local-data-root=" + d.dataRoot, "--metrics-bind-address=" + d.metricsAddr,
		"--health-probe-bind-address=" + d.healthAddr, "--kubeconfig=" + kubeconfig,
	}
	d.out.command("ATLANTIDE_STATE_DSN=… bin/manager " + shellWords(args))
	cmd := exec.Command(filepath.Join(d.root, "bin", "manager"), args...)
	cmd.Env = append(os.Environ(), devenv.EnvStateDSN+"="+dsn, "KUBECONFIG="+kubeconfig)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Start(); err != nil {
		return err
	}
	d.manager, d.managerDone = cmd, make(chan struct{})
	go func() {
		_ = cmd.Wait() // its end is the news; the log says why
		close(d.managerDone)
	}()
	return nil
}

// accountKubeconfig mints a token of the operator's service account and writes a
// kubeconfig that holds nothing else.
func (d *demo) accountKubeconfig(ctx context.Context) (string, error) {
	client, err := kubernetes.NewForConfig(d.cluster.RESTConfig)
	if err != nil {
		return "", err
	}
	seconds := int64(tokenLifetime.Seconds())
	token, err := client.CoreV1().ServiceAccounts(operatorNamespace).CreateToken(ctx, operatorAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("mint a token of serviceaccount %s/%s: %w", operatorNamespace, operatorAccount, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["demo"] = &clientcmdapi.Cluster{Server: d.cluster.RESTConfig.Host, CertificateAuthorityData: d.cluster.RESTConfig.CAData}
	config.AuthInfos[operatorAccount] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["demo"] = &clientcmdapi.Context{Cluster: "demo", AuthInfo: operatorAccount, Namespace: operatorNamespace}
	config.CurrentContext = "demo"
	file := filepath.Join(d.tmp, "operator.kubeconfig")
	return file, clientcmd.WriteToFile(*config, file)
}

// freeAddress is a loopback address that was free a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func checksum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
