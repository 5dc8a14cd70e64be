package project

import (
	"path/filepath"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/tomltext"
)

// Where the key and the store of secrets lie, unless the project file says so.
const (
	defaultState = "atlantide.db"
	besideKey    = "atlantide.key"
	besideStore  = "atlantide.secrets"
)

// Secrets are the settings of the secrets that a project's configs read (cli.md 2). Paths
// start at the working directory.
type Secrets struct {
	Key, Store string
	Provider   string   // answers for a handle that names none; "" = none is set
	EnvAllow   []string // patterns of the variables that may be read
	SSM        SSM
}

// SSM is how the parameter store of AWS is reached; "" = what AWS's own settings say.
type SSM struct{ Prefix, Region, Profile, Endpoint string }

// Secrets reads the settings. state is the local database that a command was given, which
// key and store lie beside by default; "" = the project's.
func (p *Project) Secrets(state string) (Secrets, error) {
	beside := p.secretsFolder(state)
	place := func(setting, otherwise string) string {
		if name, ok := p.settings.text(setting); ok && name != "" {
			return p.near(p.fromRoot(name))
		}
		return p.near(filepath.Join(beside, otherwise))
	}
	s := Secrets{Key: place("secrets_key", besideKey), Store: place("secrets_store", besideStore)}
	table, _ := p.settings.table("secrets")
	s.Provider, _ = table.text("provider")
	s.SSM = p.ssm(table)
	env, _ := table.table("env")
	allow, found := env["allow"]
	if !found {
		return s, nil
	}
	list, ok := allow.([]any)
	if !ok {
		return s, p.badAllow(allow)
	}
	for _, item := range list {
		pattern, ok := item.(string)
		if !ok {
			return s, p.badAllow(item)
		}
		s.EnvAllow = append(s.EnvAllow, pattern)
	}
	return s, nil
}

// ssm falls back on what the file says of AWS as a whole (cli.md 2).
func (p *Project) ssm(table section) SSM {
	setting := func(key string) string {
		if text, ok := table.text(key); ok {
			return text
		}
		text, _ := p.settings.text("aws_" + key)
		return text
	}
	prefix, _ := table.text("prefix")
	return SSM{Prefix: prefix, Region: setting("region"), Profile: setting("profile"), Endpoint: setting("endpoint")}
}

// badAllow is an error, unlike other settings of a wrong type: what is allowed to be read
// is nothing to guess at (SC-4).
func (p *Project) badAllow(v any) error {
	return model.Errorf(model.SecretsError, model.ClassUser, "[secrets.env] 'allow' in %s must be a list of patterns, as [\"APP_*\"], not %s", p.File, tomltext.TypeName(v))
}

// secretsFolder is where the local database lies or, with a store elsewhere, the root.
func (p *Project) secretsFolder(state string) string {
	if state != "" {
		return filepath.Dir(p.Resolved(state))
	}
	table, _ := p.settings.table("state")
	if backend, ok := table.text("backend"); ok && backend != BackendLocal {
		return p.Root
	}
	return filepath.Dir(p.localState())
}

// near is a path of the project as messages have it; others stay absolute.
func (p *Project) near(path string) string {
	if rel, err := filepath.Rel(p.Root, path); err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return p.shown(path)
}

// fromRoot is a path of the project file, absolute.
func (p *Project) fromRoot(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(p.Root, name)
}
