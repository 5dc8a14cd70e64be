package project

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestInputs(t *testing.T) {
	dir := folder(t, map[string]string{
		FileName: "[inputs]\na = 1\nb = 1\nc = 1\nd = 1\n", "one.toml": "b = 2.5\nc = [true]\n", "two.toml": "c = {k = 'v'}\nd = false\n",
	})
	p, err := Open(dir, "")
	must(t, err)
	in, err := p.Inputs([]string{"one.toml", filepath.Join(dir, "two.toml")}, []string{"d=1", "d=x=y", "e="})
	must(t, err)
	want := map[string]any{"a": int64(1), "b": 2.5, "c": map[string]any{"k": "v"}, "d": "x=y", "e": ""}
	if diff := cmp.Diff(want, in.Values); diff != "" {
		t.Errorf("a later one wins and types are kept (-want +got):\n%s", diff)
	}
}

// What wins does not depend on how much is given: the last --var, else the last file,
// else the project.
func TestPrecedence(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b", "c"})
	values := rapid.MapOf(names, rapid.SampledFrom([]string{"1", "2", "3"}))
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		want := map[string]any{}
		table := func(of map[string]string) string {
			var text strings.Builder
			for name, value := range of {
				want[name] = value
				text.WriteString(name + " = '" + value + "'\n")
			}
			return text.String()
		}
		if err := os.WriteFile(filepath.Join(dir, FileName), []byte("[inputs]\n"+table(values.Draw(rt, "project"))), 0o600); err != nil {
			rt.Fatal(err)
		}
		var files, vars []string
		for _, name := range []string{"one.toml", "two.toml"} {
			files = append(files, name)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(table(values.Draw(rt, name))), 0o600); err != nil {
				rt.Fatal(err)
			}
		}
		for name, value := range values.Draw(rt, "vars") {
			want[name] = value
			vars = append(vars, name+"="+value)
		}
		p, err := Open(dir, "")
		if err != nil {
			rt.Fatal(err)
		}
		in, err := p.Inputs(files, vars)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, in.Values); diff != "" {
			rt.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestRefusedInputs(t *testing.T) {
	dir := folder(t, map[string]string{
		"bad.toml": "a = 1\nb = [\n", "date.toml": "ok = 1\n[t]\nwhen = [1979-05-27]\n", "large.toml": strings.Repeat("#", maxVarFileBytes+1),
		"deep.toml": "x = " + strings.Repeat("[", 200) + strings.Repeat("]", 200),
	})
	p, err := Open(dir, "")
	must(t, err)
	for _, c := range []struct {
		reason      string
		files, vars []string
		mentions    []string
	}{
		{"no value", nil, []string{"text"}, []string{"'text'", "NAME=VALUE"}},
		{"no name", nil, []string{"=x"}, []string{"'=x'"}},
		{"NUL", nil, []string{"a\x00=b"}, []string{"NUL"}},
		{"NUL in the value", nil, []string{"a=\x00"}, []string{"'a'", "NUL"}},
		{"not UTF-8", nil, []string{"a=\xff"}, []string{"'a'", "UTF-8"}},
		{"too much", nil, []string{"a=" + strings.Repeat("x", maxVarsBytes)}, []string{"--var-file"}},
		{"a missing file", []string{"nowhere.toml"}, nil, []string{"nowhere.toml", "no such file"}},
		{"a folder", []string{"."}, nil, []string{"a folder"}},
		{"no TOML", []string{"bad.toml"}, nil, []string{"bad.toml", "line 2"}},
		{"a date, which the language does not have", []string{"date.toml"}, nil, []string{"date.toml", "'t.when.0'", "in quotes"}},
		{"too large", []string{"large.toml"}, nil, []string{"large.toml", "too large"}},
		{"too deep", []string{"deep.toml"}, nil, []string{"deep.toml", "'x'"}},
		{"too many files", slices.Repeat([]string{"date.toml"}, maxVarFiles+1), nil, []string{"101"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := p.Inputs(c.files, c.vars)
			refused(t, err, c.mentions...)
		})
	}
	_, err = opened(t, "[inputs]\nd = 07:32:00\n", "").Inputs(nil, nil)
	refused(t, err, "[inputs] in "+FileName, "'d'")
}

// A --var is text: it is told where the config would have read something else without it.
func TestMistyped(t *testing.T) {
	dir := folder(t, map[string]string{FileName: "[inputs]\nports = [80]\nteam = 'blue'\n", "v.toml": "size = 3\n"})
	p, err := Open(dir, "")
	must(t, err)
	in, err := p.Inputs([]string{"v.toml"}, []string{"ports=1", "team=2", "size=3", "size=4", "on=no", "n=5", "name=6", "nothing=7", "unread=8"})
	must(t, err)
	read := map[string]any{"ports": "1", "team": "2", "size": "4", "on": "no", "n": "5", "name": "6", "nothing": "7"}
	var got []string
	for _, d := range in.Mistyped(read, map[string]string{"ports": "str", "on": "bool", "n": "int", "name": "str", "nothing": "NoneType", "unread": "int"}) {
		if d.Code != MistypedInput || d.Severity != model.SeverityWarning || d.Hint == "" {
			t.Errorf("%+v", d)
		}
		got = append(got, d.Message)
	}
	want := []string{
		"--var 'ports' is text, and the value of a file that it replaces is an array",
		"--var 'size' is text, and the value of a file that it replaces is an integer",
		"--var 'on' is text, and its default is a bool",
		"--var 'n' is text, and its default is an int",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnread(t *testing.T) {
	dir := folder(t, map[string]string{FileName: "[inputs]\nshared = 1\n", "v.toml": "region = 1\nother = 2\n"})
	p, err := Open(dir, "")
	must(t, err)
	in, err := p.Inputs([]string{"v.toml"}, []string{"rgion=a", "rgion=b", "region=c", "zzz=1"})
	must(t, err)
	read := map[string]any{"region": "c", "default": nil}
	warning := func(message, hint string) model.Diagnostic {
		return model.Diagnostic{Code: UnreadInput, Severity: model.SeverityWarning, Message: message, Hint: hint}
	}
	want := []model.Diagnostic{
		warning("--var 'rgion' is not read by the config", "did you mean 'region'?"),
		warning("--var 'zzz' is not read by the config", ""),
	}
	if diff := cmp.Diff(want, in.Unread(read, false)); diff != "" {
		t.Errorf("each --var once, files serve other configs too (-want +got):\n%s", diff)
	}
	inFile := model.Diagnostic{Place: model.Place{File: "v.toml"}, Code: UnreadInput, Message: "'other' of v.toml is not read by the config"}
	want = append([]model.Diagnostic{inFile}, want...)
	for i := range want {
		want[i].Severity = model.SeverityError
	}
	if diff := cmp.Diff(want, in.Unread(read, true)); diff != "" {
		t.Errorf("strict takes the files, not the project's table (-want +got):\n%s", diff)
	}
}
