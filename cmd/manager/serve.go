package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/atlantide-org/atlantide-operator/controllers/stack"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// off is the address that switches a server off.
const off = "0"

// serve answers on an address until ctx ends. The address that is logged is the real
// one, also for port 0. It is up before anything that it could report about.
func serve(ctx context.Context, log logr.Logger, name, address string, handler http.Handler) error {
	if address == off {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	log.Info("serving "+name, "address", listener.Addr().String())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error(err, "serving "+name+" ended")
		}
	}()
	context.AfterFunc(ctx, func() {
		if err := server.Close(); err != nil {
			log.Error(err, "closing the server of "+name)
		}
	})
	return nil
}

func metricsHandler(registry prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}

// readiness holds what makes the operator not ready: a state store that a newer
// release migrated, or sealing keys that what it holds was not sealed with. A store or an
// API server that is away does not: waiting for it is the operator's job, and taking it out
// of service mends nothing.
type readiness struct{ obstacle atomic.Pointer[string] }

func (r *readiness) handler() http.Handler {
	mux := http.NewServeMux()
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }
	mux.HandleFunc("/healthz", ok)
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, request *http.Request) {
		if obstacle := r.obstacle.Load(); obstacle != nil {
			http.Error(w, *obstacle, http.StatusServiceUnavailable)
			return
		}
		ok(w, request)
	})
	return mux
}

// checkPeriod is the time between two looks at the schema's version and at the keys.
const checkPeriod = 15 * time.Second

// watch asks until ctx ends, at once and then every period.
func (r *readiness) watch(ctx context.Context, log logr.Logger, check func(context.Context) error) {
	tick := time.NewTicker(checkPeriod)
	defer tick.Stop()
	for {
		err := check(ctx)
		if ctx.Err() != nil {
			return
		}
		r.note(log, err)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// note draws the conclusion from one look.
func (r *readiness) note(log logr.Logger, err error) {
	switch {
	case err == nil:
		if r.obstacle.Swap(nil) != nil {
			log.Info("ready again")
		}
	case errors.Is(err, state.ErrNewerSchema):
		r.obstruct(log, err, "the state store has a newer schema than this release knows; run the newer release")
	case errors.Is(err, stack.ErrSealingKey):
		r.obstruct(log, err, err.Error())
	default: // what was known is still the best guess
		log.Info("the state store or the API server does not answer", "error", err.Error())
	}
}

// obstruct tells once of each obstacle.
func (r *readiness) obstruct(log logr.Logger, err error, obstacle string) {
	if was := r.obstacle.Swap(&obstacle); was == nil || *was != obstacle {
		log.Error(err, "not ready")
	}
}
