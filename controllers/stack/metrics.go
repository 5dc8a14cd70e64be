package stack

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the counters of the operator's work. A steady Stack moves none of them
// but the outcome "unchanged".
type Metrics struct {
	Compiles      prometheus.Counter
	ProviderCalls *prometheus.CounterVec // by provider and op
	StateQueries  prometheus.Counter
	StateWrites   prometheus.Counter
	Reconciles    *prometheus.CounterVec // by outcome
	Orphaned      prometheus.Counter     // resources left behind
}

// NewMetrics makes the counters and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "atlantide", Name: name, Help: help}
	}
	m := &Metrics{
		Compiles: prometheus.NewCounter(counter("compile_total", "Configurations evaluated.")),
		ProviderCalls: prometheus.NewCounterVec(counter("provider_calls_total", "Calls to providers that read or change a resource."),
			[]string{"provider", "op"}),
		StateQueries: prometheus.NewCounter(counter("state_queries_total", "Statements that read the state store.")),
		StateWrites:  prometheus.NewCounter(counter("state_writes_total", "Statements that write the state store.")),
		Reconciles: prometheus.NewCounterVec(counter("reconcile_total", "Reconciles of Stacks by what they came to."),
			[]string{"outcome"}),
		Orphaned: prometheus.NewCounter(counter("orphaned_resources_total", "Resources left behind by deleted Stacks.")),
	}
	registry.MustRegister(m.Compiles, m.ProviderCalls, m.StateQueries, m.StateWrites, m.Reconciles, m.Orphaned)
	return m
}

// CountProviderCall counts one call.
func (m *Metrics) CountProviderCall(provider, op string) {
	m.ProviderCalls.WithLabelValues(provider, op).Inc()
}
