package schema

import (
	"strings"
	"testing"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

func TestChecks(t *testing.T) {
	longest := strings.Repeat("a", maxLabel)
	for _, group := range []struct {
		name  string
		check model.Check
		cases []struct {
			value, reason string
			good          bool
		}
	}{
		{"dotted domain", dottedDomain(), []struct {
			value, reason string
			good          bool
		}{
			{"example.test", "two labels are enough", true},
			{"*.example.test.", "a wildcard in front and a dot behind", true},
			{"a-b.C1.example.test", "inner hyphens, capitals and digits", true},
			{longest + ".test", "a label of 63", true},
			{longest + "a.test", "a label of 64", false},
			{strings.Repeat("a.", 126) + "a", "253 characters", true},
			{strings.Repeat("a.", 126) + "aa", "254 characters", false},
			{"localhost", "one label", false},
			{"*.test", "a wildcard is no label", false},
			{"a.*.test", "a wildcard inside", false},
			{"-a.test", "a hyphen in front", false},
			{"a-.test", "a hyphen behind", false},
			{"a_b.test", "an underscore", false},
			{"a..test", "an empty label", false},
			{"a.test..", "two dots behind", false},
			{"a.test\n", "a line end behind", false},
			{"a.tést", "a letter beyond ASCII", false},
			{"", "nothing", false},
		}},
		{"ipv4 cidr", ipv4CIDR(), []struct {
			value, reason string
			good          bool
		}{
			{"10.0.0.0/16", "a network", true},
			{"0.0.0.0/0", "all addresses", true},
			{"10.0.0.1/32", "one address", true},
			{"10.0.0.0", "no prefix", false},
			{"10.0.0.0/33", "a prefix beyond 32", false},
			{"10.0.0.0/08", "a prefix with a leading zero", false},
			{"10.0.0.256/32", "a number beyond 255", false},
			{"10.01.0.0/16", "a number with a leading zero", false},
			{"10.0.0.1/16", "host bits, which AWS drops without a word", false},
			{"10.0.0/16", "three numbers", false},
			{"fd00::/8", "IPv6", false},
			{"::ffff:10.0.0.0/104", "IPv4 in IPv6", false},
			{"10.0.0.0/16\n", "a line end behind", false},
			{"١0.0.0.0/16", "a digit beyond ASCII", false},
		}},
		{"length", length(3, 5), []struct {
			value, reason string
			good          bool
		}{
			{"ab", "one too few", false}, {"abc", "the least", true}, {"ééééé", "characters, not bytes", true}, {"abcdef", "one too many", false},
		}},
	} {
		for _, c := range group.cases {
			if got := group.check.Holds(c.value); got != c.good {
				t.Errorf("%s: %s: %.40q holds %t", group.name, c.reason, c.value, got)
			}
		}
	}
}
