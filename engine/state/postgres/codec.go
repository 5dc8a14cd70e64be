package postgres

import (
	"fmt"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// checkText refuses texts that the database cannot hold, before anything is sent (ST-20).
func checkText(what string, texts ...string) error {
	if err := state.CheckStorable(texts); err != nil {
		return stateError(model.ClassUser, nil, fmt.Sprintf("%s %v, which the state store cannot hold: let the provider or the config encode it", what, err))
	}
	return nil
}
