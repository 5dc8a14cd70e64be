package stack

import (
	"time"

	"github.com/atlantide-org/atlantide-operator/api/v1alpha1"
	"github.com/atlantide-org/atlantide-operator/engine/plan"
)

// What a Stack does not set. The limits of the schema are kept here as well, because what
// is stored may be older than it.
const (
	defaultTimeout     = time.Hour
	defaultParallelism = 10
	maxParallelism     = 64
)

func failureMode(stack *v1alpha1.Stack) v1alpha1.FailureMode {
	if stack.Spec.OnFailure == v1alpha1.FailureHalt {
		return v1alpha1.FailureHalt
	}
	return v1alpha1.FailureRollback
}

// onFailure is the failure mode as a plan says it.
func onFailure(stack *v1alpha1.Stack) string {
	if failureMode(stack) == v1alpha1.FailureHalt {
		return plan.OnFailureHalt
	}
	return plan.OnFailureRollback
}

func runTimeout(spec *v1alpha1.StackSpec) time.Duration {
	if spec.Timeout == nil {
		return defaultTimeout
	}
	return min(max(spec.Timeout.Duration, 30*time.Second), 24*time.Hour)
}

func parallelism(spec *v1alpha1.StackSpec) int {
	if spec.Parallelism == nil {
		return defaultParallelism
	}
	return int(min(max(*spec.Parallelism, 1), maxParallelism))
}

// secretsAge is how old what a plan saw of secrets may get: an interval, less what jitter
// may take off it, so that the look after one interval plans again.
func secretsAge(spec *v1alpha1.StackSpec) time.Duration {
	interval := delay(spec, againInterval, 0)
	return interval - interval/5
}
