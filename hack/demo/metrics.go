package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Counters of the operator that tell whether a reconcile did anything.
var workCounters = []string{"atlantide_compile_total", "atlantide_provider_calls_total", "atlantide_state_writes_total"}

const reconcileCounter = "atlantide_reconcile_total"

// counters scrapes the operator: name → sum over all labels. A counter that was never
// moved may be missing and counts 0.
func (d *demo) counters(ctx context.Context) (map[string]float64, error) {
	response, err := get(ctx, "http://"+d.metricsAddr+"/metrics")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return sumCounters(response.Body)
}

// sumCounters reads the operator's own counters out of the text format.
func sumCounters(text io.Reader) (map[string]float64, error) {
	sums := map[string]float64{}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), " ")
		if i := strings.IndexByte(lines.Text(), '{'); i >= 0 {
			name = lines.Text()[:i]
			rest = lines.Text()[strings.LastIndexByte(lines.Text(), '}')+1:]
		}
		if !strings.HasPrefix(name, "atlantide_") {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
		if err != nil {
			return nil, fmt.Errorf("the metric line %q: %w", lines.Text(), err)
		}
		sums[name] += value
	}
	return sums, lines.Err()
}

func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, fmt.Errorf("%s answers %s", url, response.Status)
	}
	return response, nil
}
