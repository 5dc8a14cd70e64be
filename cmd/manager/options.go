package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/atlantide-org/atlantide-operator/controllers/stack"
)

// envDSN is where the state store's address is looked for if no flag gives it.
const envDSN = "ATLANTIDE_STATE_DSN"

// maxFuel is the largest step budget of an evaluation (operator.md 1.12).
const maxFuel = 100_000_000

// maxMemory is the most that the values of an evaluation may take; the process needs
// twice as much.
const maxMemory = 4 << 30

// options are the flags.
type options struct {
	kubeconfig     string
	leaseNamespace string
	installation   string
	stateDSN       string
	localDataRoot  string
	sealingKey     string
	fuel           int64
	memory         int64
	concurrent     int
	leaseTTL       time.Duration
	leaseRenew     time.Duration
	leaseGrace     time.Duration
	metricsAddress string
	healthAddress  string
	leaderElect    bool
	logFormat      string
	verbose        bool
}

// parse reads the flags; flag.ErrHelp was answered already. The set is its own, because
// a library registers flags in the process-wide one.
func parse(args []string, output io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("manager", flag.ContinueOnError)
	f.SetOutput(output)
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file`; without it $KUBECONFIG, the pod's own account, or ~/.kube/config")
	f.StringVar(&o.leaseNamespace, "lease-namespace", "atlantide-system", "`namespace` of the operator's Leases; tenants must not have access to it")
	f.StringVar(&o.installation, "installation", "", "`id` under which this operator owns state in a database that several may share; without it the UID of namespace kube-system and the lease namespace")
	f.StringVar(&o.stateDSN, "state-dsn", "", "Postgres connection `string` of the state store; prefer the environment variable "+envDSN+", which other users of the machine cannot read")
	f.StringVar(&o.sealingKey, "sealing-key-secret", stack.DefaultSealingKey, "`name` of the Secret in --lease-namespace with the keys that sensitive values are recorded under: data \"key\", and \"key-…\" for those before it, 32 bytes each; made at the first start")
	f.StringVar(&o.localDataRoot, "local-data-root", "", "`folder` below which local.File resources of Stacks are written; without it they are refused")
	f.Int64Var(&o.memory, "memory", 0, fmt.Sprintf("bytes that the values of one evaluation may take, at most %d; 0 means 268435456; the heap grows to twice as much", int64(maxMemory)))
	f.Int64Var(&o.fuel, "fuel", 0, fmt.Sprintf("step budget of one evaluation, at most %d; 0 means 5000000", maxFuel))
	f.IntVar(&o.concurrent, "concurrent", 4, "Stacks that are worked on at once")
	f.DurationVar(&o.leaseTTL, "lease-ttl", 60*time.Second, "after this much silence of a run's lock another may take it")
	f.DurationVar(&o.leaseRenew, "lease-renew", 20*time.Second, "time between two renewals of a run's lock")
	f.DurationVar(&o.leaseGrace, "lease-grace", 10*time.Second, "a run stops this long before its lock may be taken")
	f.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "`address` of /metrics; \"0\" switches it off")
	f.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz; \"0\" switches them off")
	f.BoolVar(&o.leaderElect, "leader-elect", false, "let one of several replicas work; what keeps runs apart are the Leases, with or without it")
	f.StringVar(&o.logFormat, "log-format", "json", "json or console")
	f.BoolVar(&o.verbose, "verbose", false, "log details as well")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.stateDSN == "" {
		o.stateDSN = os.Getenv(envDSN)
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *options) check() error {
	switch {
	case o.stateDSN == "":
		return fmt.Errorf("no state store: set %s to a Postgres connection string", envDSN)
	case o.leaseNamespace == "":
		return fmt.Errorf("--lease-namespace must not be empty")
	case len(validation.IsDNS1123Subdomain(o.sealingKey)) > 0:
		return fmt.Errorf("--sealing-key-secret must be the name of a Secret")
	case o.fuel < 0 || o.fuel > maxFuel:
		return fmt.Errorf("--fuel must be from 0 to %d", maxFuel)
	case o.memory < 0 || o.memory > maxMemory:
		return fmt.Errorf("--memory must be from 0 to %d", int64(maxMemory))
	case o.concurrent < 1:
		return fmt.Errorf("--concurrent must be at least 1")
	case o.leaseRenew <= 0 || o.leaseGrace <= 0 || o.leaseRenew+o.leaseGrace >= o.leaseTTL:
		return fmt.Errorf("--lease-renew and --lease-grace must be above 0 and together below --lease-ttl, so that a renewal that is late loses no lock")
	case o.logFormat != "json" && o.logFormat != "console":
		return fmt.Errorf("--log-format must be json or console")
	}
	return nil
}
