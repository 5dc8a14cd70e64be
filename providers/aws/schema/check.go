package schema

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// onText makes a check of a text.
func onText(must string, holds func(s string) bool) model.Check {
	return model.Check{Must: must, Holds: func(v model.Value) bool {
		s, ok := v.(string)
		return ok && holds(s)
	}}
}

func matches(must, pattern string) model.Check {
	return onText(must, regexp.MustCompile(`\A(?:`+pattern+`)\z`).MatchString)
}

func length(least, most int) model.Check {
	return onText(fmt.Sprintf("be %d-%d characters long", least, most), func(s string) bool {
		n := utf8.RuneCountInString(s)
		return least <= n && n <= most
	})
}

func atMost(most int) model.Check {
	return onText(fmt.Sprintf("be at most %d characters long", most), func(s string) bool {
		return utf8.RuneCountInString(s) <= most
	})
}

func without(part string) model.Check {
	return onText("not hold '"+part+"'", func(s string) bool { return !strings.Contains(s, part) })
}

// Limits of a domain name and of its labels, in characters.
const (
	maxDomain = 253
	maxLabel  = 63
)

var label = regexp.MustCompile(`\A[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\z`)

// dottedDomain is a host name of at least two labels, perhaps below a wildcard
// (providers.md 1.14).
func dottedDomain() model.Check {
	must := fmt.Sprintf("be a domain name of at least 2 labels of 1-%d letters, digits and inner hyphens, at most %d characters in all",
		maxLabel, maxDomain)
	return onText(must, func(s string) bool {
		s = strings.TrimSuffix(s, ".")
		if len(s) > maxDomain {
			return false
		}
		labels := strings.Split(strings.TrimPrefix(s, "*."), ".")
		for _, l := range labels {
			if len(l) > maxLabel || !label.MatchString(l) {
				return false
			}
		}
		return len(labels) >= 2
	})
}

// ipv4CIDR is an IPv4 network in the one spelling that AWS gives back.
func ipv4CIDR() model.Check {
	const must = "be an IPv4 network such as 10.0.0.0/16: four numbers of 0-255 and a prefix of 0-32, without leading zeros or host bits"
	return onText(must, func(s string) bool {
		p, err := netip.ParsePrefix(s)
		return err == nil && p.Addr().Is4() && p == p.Masked()
	})
}
