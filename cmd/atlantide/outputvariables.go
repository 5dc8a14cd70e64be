package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// The forms in which outputs are variables of something else (cli.md 22); formatGitHub is
// one of them: a line of the file that $GITHUB_OUTPUT or $GITHUB_ENV names.
const (
	formatShell  = "shell"
	formatDotenv = "dotenv"
)

var variableFormats = []string{formatShell, formatDotenv, formatGitHub}

// assignments are outputs as variables, a value quoted so that its reader takes nothing in
// it for more than text. What cannot be written so is an error, and so is what may not be
// shown: a variable must not hold a word in place of a secret.
func assignments(format string, recorded []recordedOutput) (string, error) {
	var text strings.Builder
	keys := map[string]string{}
	for _, out := range recorded {
		name := variable(out.key)
		if other, taken := keys[name]; taken {
			return "", model.Errorf(model.AtlantideError, model.ClassUser, "the outputs '%s' and '%s' are one variable, %s; select with --stack or NAME",
				sourcetree.Shown(other), sourcetree.Shown(out.key), name)
		}
		keys[name] = out.key
		if out.hidden {
			return "", model.Errorf(model.SecretsError, model.ClassUser, "the output '%s' is sensitive; --reveal writes it, --stack or NAME leave it out", sourcetree.Shown(out.key))
		}
		value, err := bare(out.value)
		if err != nil {
			return "", err
		}
		if strings.ContainsRune(value, 0) {
			return "", model.Errorf(model.AtlantideError, model.ClassUser, "the output '%s' holds a NUL, which no variable can", sourcetree.Shown(out.key))
		}
		line, ok := assignment(format, name, value)
		if !ok {
			return "", model.Errorf(model.AtlantideError, model.ClassUser, "the output '%s' holds quotes or signs that readers of such files take for different things; use --format shell or json",
				sourcetree.Shown(out.key))
		}
		text.WriteString(line + "\n")
	}
	return text.String(), nil
}

// variable is STACK_NAME of a key, other characters than letters, digits and underscores
// of ASCII replaced.
func variable(key string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, key)
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// assignment is one variable; false where the format has no safe way to write the value.
func assignment(format, name, value string) (string, bool) {
	switch format {
	case formatShell:
		return name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'", true
	case formatDotenv:
		quoted, ok := dotenvQuoted(value)
		return name + "=" + quoted, ok
	default:
		mark := heredoc(value)
		return name + "<<" + mark + "\n" + value + "\n" + mark, true
	}
}

// dotenvQuoted quotes so that every reader of such files has one and the same text: they
// differ in escapes, and in what they expand.
func dotenvQuoted(value string) (string, bool) {
	switch {
	case !strings.ContainsAny(value, "'\\\r"):
		return "'" + value + "'", true
	case !strings.ContainsAny(value, "\"\\$`\n\r"):
		return `"` + value + `"`, true
	}
	return "", false
}

// heredoc is a line that a value does not have. Who chooses the value cannot choose it: it
// is made of the value's own digest.
func heredoc(value string) string {
	sum := sha256.Sum256([]byte(value))
	mark := "end_" + hex.EncodeToString(sum[:16])
	for strings.Contains(value, mark) {
		mark += "_"
	}
	return mark
}
