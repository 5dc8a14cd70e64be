package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// printGitHub writes each diagnostic as a workflow command, which GitHub shows beside
// the line. Its further places follow as notices.
func printGitHub(w io.Writer, at repository, list []model.Diagnostic) error {
	var lines strings.Builder
	for _, d := range list {
		command := "error"
		if d.Severity == model.SeverityWarning {
			command = "warning"
		}
		text := d.Message
		if d.Hint != "" {
			text += "; " + d.Hint
		}
		lines.WriteString(workflowCommand(command, at, d.Place, string(d.Code), text))
		for _, r := range d.Related {
			lines.WriteString(workflowCommand("notice", at, r.Place, string(d.Code), r.Message))
		}
	}
	_, err := io.WriteString(w, lines.String())
	return err
}

var (
	escapedData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapedProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// workflowCommand is one line, whatever the text holds: no text can become a command of
// its own.
func workflowCommand(name string, at repository, p model.Place, title, text string) string {
	var properties []string
	add := func(key, value string) {
		if value != "" && value != "0" {
			properties = append(properties, key+"="+printable(escapedProperty.Replace(value)))
		}
	}
	if p.File != "" {
		file, _ := at.path(p.File)
		add("file", file)
		add("line", strconv.Itoa(p.Line))
		add("endLine", strconv.Itoa(p.EndLine))
		add("col", strconv.Itoa(p.Col))
		add("endColumn", strconv.Itoa(p.EndCol))
	}
	add("title", title)
	return fmt.Sprintf("::%s %s::%s\n", name, strings.Join(properties, ","), printable(escapedData.Replace(text)))
}
