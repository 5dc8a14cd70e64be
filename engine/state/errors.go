package state

import "errors"

// Causes that callers tell apart with errors.Is; each travels as the cause of a
// StateError whose message names the object.
var (
	// ErrUnavailable: the store could not be asked. Transient; nothing is known to
	// have changed, and a write whose answer was lost may have.
	ErrUnavailable = errors.New("the state store is unavailable")
	// ErrNewerSchema: the store was migrated by a newer release, and this one may not
	// write it (ST-16). The only state error that makes an operator not ready.
	ErrNewerSchema = errors.New("the state store has a newer schema")
	// ErrStalePlan: a plan was proposed for an older head than the recorded one, or
	// by a planner that had not seen the recorded one (AP-6, O-2). It was dropped.
	ErrStalePlan = errors.New("a newer plan is recorded")
	// ErrPlanApplying: a plan was proposed while a run applies the current one (AP-6).
	ErrPlanApplying = errors.New("the current plan is being applied")
	// ErrNameTaken: a stack name of a config belongs to another partition (ST-18).
	ErrNameTaken = errors.New("the stack name is taken")
	// ErrForeignInstallation: a partition belongs to another installation (6.10).
	ErrForeignInstallation = errors.New("the partition belongs to another installation")
	// ErrPartitionDeleted: a partition was ended and does not come back; what it still
	// records was left behind.
	ErrPartitionDeleted = errors.New("the partition was deleted")
)
