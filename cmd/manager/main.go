// Command manager is the operator: it reads flags and wires what the packages below it
// make. It owns no behaviour beyond waiting for what is not there yet.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(2)
	}
	log := newLogger(o)
	ctrl.SetLogger(log)
	// The first signal hands work over: nothing new is started, what is in flight is
	// finished and recorded. The second one ends the process as it is.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := run(ctx, log, o); err != nil {
		log.Error(err, "the operator ends")
		os.Exit(1)
	}
}

func newLogger(o *options) logr.Logger {
	options := []zap.Opts{zap.UseDevMode(false), zap.JSONEncoder()}
	if o.logFormat == "console" {
		options[1] = zap.ConsoleEncoder()
	}
	if o.verbose {
		options = append(options, zap.Level(logLevelDebug))
	}
	return zap.New(options...)
}

// run works until ctx ends. What the probes and metrics report about is up only later:
// an API server or a state store that is not there yet is waited for.
func run(ctx context.Context, log logr.Logger, o *options) error {
	ready := &readiness{}
	if err := serve(ctx, log, "health probes", o.healthAddress, ready.handler()); err != nil {
		return err
	}
	if err := serve(ctx, log, "metrics", o.metricsAddress, metricsHandler(metrics.Registry)); err != nil {
		return err
	}
	config, err := restConfig(o)
	if err != nil {
		return err
	}
	installation, err := awaitCluster(ctx, log, config, o)
	if err != nil || ctx.Err() != nil {
		return err
	}
	w, err := wire(ctx, config, o, installation, metrics.Registry)
	if err != nil {
		return err
	}
	defer w.store.Close()
	go ready.watch(ctx, log, w.check)
	log.Info("the operator starts", "installation", installation, "leaseNamespace", o.leaseNamespace)
	return w.manager.Start(ctx)
}
