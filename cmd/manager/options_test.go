package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	const dsn = "postgres://user:hunter2@db/atlantide"
	cases := []struct {
		reason string
		args   []string
		want   string // "" = accepted
	}{
		{"nothing but the environment", nil, ""},
		{"every number at its limit", []string{"--fuel=100000000", "--concurrent=1"}, ""},
		{"more fuel than a Stack may have", []string{"--fuel=100000001"}, "--fuel must be from 0 to 100000000"},
		{"negative fuel", []string{"--fuel=-1"}, "--fuel"},
		{"more memory than an evaluation may have", []string{"--memory=4294967297"}, "--memory must be from 0 to 4294967296"},
		{"no workers", []string{"--concurrent=0"}, "--concurrent"},
		{"a renewal that comes too late", []string{"--lease-renew=50s"}, "--lease-renew and --lease-grace"},
		{"no grace", []string{"--lease-grace=0s"}, "--lease-renew and --lease-grace"},
		{"no namespace for Leases", []string{"--lease-namespace="}, "--lease-namespace"},
		{"a sealing key of another namespace", []string{"--sealing-key-secret=other/key"}, "--sealing-key-secret"},
		{"an unknown log format", []string{"--log-format=xml"}, "--log-format"},
		{"an argument", []string{"start"}, `unexpected argument "start"`},
		{"an unknown flag", []string{"--speed=9"}, "not defined"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			t.Setenv(envDSN, dsn)
			var output bytes.Buffer
			o, err := parse(c.args, &output)
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Fatalf("error %v, want one with %q", err, c.want)
			case c.want == "" && (o.stateDSN != dsn || o.leaseTTL != time.Minute || o.leaseRenew != 20*time.Second || o.leaseGrace != 10*time.Second):
				t.Errorf("options %+v", o)
			}
			if strings.Contains(output.String(), "hunter2") {
				t.Errorf("the password is printed: %s", output.String())
			}
		})
	}
	t.Run("no store", func(t *testing.T) {
		t.Setenv(envDSN, "")
		if _, err := parse(nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), envDSN) {
			t.Errorf("error %v", err)
		}
	})
}
