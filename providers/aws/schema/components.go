package schema

import (
	_ "embed"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

//go:embed securebucket.py
var secureBucket string

// components are written in the language (providers.md 4).
func components() []model.Component {
	return []model.Component{{Name: "SecureBucket", File: "atlantide/providers/aws/securebucket.py", Source: secureBucket}}
}
