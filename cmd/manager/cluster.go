package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
)

// Times of waiting for what is not there yet: between two tries, and between two lines
// about it.
const (
	pollPeriod = time.Second
	tellPeriod = 30 * time.Second
)

func restConfig(o *options) (*rest.Config, error) {
	var config *rest.Config
	var err error
	if o.kubeconfig == "" {
		config, err = ctrl.GetConfig()
	} else {
		config, err = clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("no cluster to work in: %w", err)
	}
	config.UserAgent = "atlantide-operator"
	config.QPS, config.Burst = 50, 100
	return config, nil
}

// awaitCluster waits until the API server answers and serves Stacks, and returns the
// installation's id. Only what waiting cannot mend is an error.
func awaitCluster(ctx context.Context, log logr.Logger, config *rest.Config, o *options) (installation string, err error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	var told time.Time
	tick := time.NewTicker(pollPeriod)
	defer tick.Stop()
	for {
		installation, err = probe(ctx, client, o)
		switch {
		case err == nil:
			return installation, nil
		case ctx.Err() != nil:
			return "", nil
		case apierrors.IsForbidden(err):
			return "", fmt.Errorf("cannot read the UID of namespace kube-system, which names this installation; allow it or set --installation: %w", err)
		case time.Since(told) > tellPeriod:
			told = time.Now()
			log.Info("waiting for the cluster", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return "", nil
		case <-tick.C:
		}
	}
}

// probe asks for everything that the operator cannot start without.
func probe(ctx context.Context, client kubernetes.Interface, o *options) (installation string, err error) {
	if _, err := client.Discovery().ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String()); err != nil {
		return "", fmt.Errorf("the API server does not serve %s: %w", v1alpha1.GroupVersion, err)
	}
	if o.installation != "" {
		return o.installation, nil
	}
	namespace, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return string(namespace.UID) + "/" + o.leaseNamespace, nil
}
