package postgres

import "testing"

func TestLabel(t *testing.T) {
	tests := []struct{ dsn, schema, want, reason string }{
		{"postgres://me:hunter2@db.test/app", "", "postgres://db.test/atlantide", "neither user nor password nor database"},
		{"postgres://me:hunter2@db.test:6543/app?sslmode=disable", "mine", "postgres://db.test:6543/mine", "another port is part of the name"},
		{"host=db.test user=me password=hunter2", "a", "postgres://db.test/a", "the other way to write a DSN"},
		{"host=/run/postgresql user=me", "a", "postgres://localhost/a", "the path of a socket says nothing"},
		{"postgres://me:hunter2@[::1]:6543/x", "a", "postgres://[::1]:6543/a", "an address of version 6 stays apart from its port"},
		{"postgres://me:hunter2@%zz", "a", "postgres://unknown/a", "what cannot be read is not repeated"},
	}
	for _, test := range tests {
		if got := Label(test.dsn, test.schema); got != test.want {
			t.Errorf("Label(%q) = %q, want %q: %s", test.dsn, got, test.want, test.reason)
		}
	}
}
