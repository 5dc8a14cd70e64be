package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	linked  = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	marks   = regexp.MustCompile("[^a-z0-9 _-]")
)

// anchors are those that the headings of a page get.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		found[strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return found
}

// A link inside of the documentation leads to a file that there is, and to a heading of it.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range linked.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], ":") {
				continue // of the web
			}
			checked++
			file := page
			if m[1] != "" {
				file = filepath.Join(filepath.Dir(page), m[1])
			}
			target, err := os.ReadFile(file)
			if err != nil {
				if _, missing := os.Stat(file); missing != nil {
					t.Errorf("%s links %s: %v", filepath.Base(page), m[0], missing)
				}
				continue
			}
			if m[2] != "" && !anchors(string(target))[m[2]] {
				t.Errorf("%s links %s, and there is no such heading", filepath.Base(page), m[0])
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d links were found: they are not read", checked)
	}
}
