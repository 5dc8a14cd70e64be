package applytest

import (
	"fmt"
	"slices"
)

// History is a run that does not end as it should, between two that do: From stands, To is
// applied and meets its Fate, then Instead is applied.
type History struct {
	From, To, Instead Config
	Fate              Fate
	Rollback          bool // what a run that fails does, else it halts
	Rotates           bool // the secret changes between From and To
}

// Fate is what happens to a run in a call for a node, if there is one.
type Fate struct{ Ends, Node string }

// Ends of a run that is not killed.
const (
	Whole       = ""
	Fails       = "fails"
	Interrupted = "is interrupted"
	HandedOver  = "is handed over"
)

// Secret is the name of the secret that configs use.
const Secret = "one"

// Draw draws a number below n; label says of what.
type Draw func(label string, n int) int

func (d Draw) one(label string, of int) bool           { return d(label, of) == 0 }
func (d Draw) of(label string, texts ...string) string { return texts[d(label, len(texts))] }

// drawer draws the configs of one history, in which a name has one type.
type drawer struct {
	draw  Draw
	types map[string]string
	guard bool // there is a node of which the guard alone changes
}

var names = []string{"a", "b", "c", "d"}

// DrawHistory draws a history of at most six nodes.
func DrawHistory(draw Draw) History {
	d := drawer{draw: draw, types: map[string]string{"l": Lookup, "g": Thing}, guard: draw.one("guarded", 4)}
	for _, name := range names {
		d.types[name] = draw.of("type of "+name, Thing, Bucket, Ticket)
	}
	h := History{Rollback: draw.one("rollback", 2), Rotates: draw.one("rotates", 6)}
	h.From = d.config("from", nil, 4)
	if !d.guard && draw.one("from nothing", 5) {
		h.From = Config{}
	}
	h.To = d.config("to", h.From, 2)
	if !d.guard && draw.one("to nothing", 10) {
		h.To = Config{}
	}
	switch draw("instead", 4) {
	case 0:
		h.Instead = h.From
	case 1:
		h.Instead = d.config("instead", h.To, 2)
	default:
		h.Instead = h.To
	}
	if len(h.To) > 0 {
		h.Fate = Fate{Ends: draw.of("fate", Whole, Whole, Fails, Fails, Interrupted, HandedOver), Node: h.To[draw("node of fate", len(h.To))].Name}
	}
	return h
}

// DrawNext draws a config that keeps most of another.
func DrawNext(draw Draw, c Config) Config {
	d := drawer{draw: draw, types: map[string]string{"l": Lookup, "g": Thing}}
	for _, x := range c {
		d.types[x.Name] = x.Type
		d.guard = d.guard || x.Name == "g"
	}
	for _, name := range names {
		if d.types[name] == "" {
			d.types[name] = draw.of("type of "+name, Thing, Bucket, Ticket)
		}
	}
	return d.config("next", c, 2)
}

// config draws a config that keeps each node of another one, or draws it anew, one out of
// redraw times.
func (d drawer) config(label string, was Config, redraw int) Config {
	c := Config{}
	for _, name := range append(slices.Clone(names), "l") {
		before := slices.IndexFunc(was, func(w Decl) bool { return w.Name == name })
		if was != nil && !d.draw.one(label+": another "+name, redraw) {
			if before >= 0 {
				c = append(c, c.mended(was[before]))
			}
			continue
		}
		if d.draw.one(label+": no "+name, 4) {
			continue
		}
		c = append(c, d.decl(label, name, c))
	}
	if d.guard {
		c = append(c, Decl{Name: "g", Type: Thing, Key: Expr{Text: "g-k"}, Value: Expr{Text: "1"}, Guarded: d.draw.one(label+": guard", 2)})
	}
	return c
}

func (d drawer) decl(label, name string, c Config) Decl {
	x := Decl{Name: name, Type: d.types[name]}
	label += ": "
	x.Key = Expr{Text: name + "-" + d.draw.of(label+"key of "+name, "k", "k2")}
	x.Value = Expr{Text: d.draw.of(label+"value of "+name, "1", "2")}
	x.CreateFirst = x.Type != Lookup && d.draw.one(label+"create first "+name, 3)
	if d.draw.one(label+"secret of "+name, 8) {
		x.Value = Expr{Secret: Secret}
	}
	if len(c) == 0 {
		return x
	}
	up := c[d.draw(label+"upstream of "+name, len(c))]
	output := d.draw.of(label+"output for "+name, "id", "sum")
	if up.Type == Lookup {
		output = "answer"
	}
	switch d.draw(label+"reads of "+name, 6) {
	case 0, 1:
		x.Value = Expr{Of: up.Name, Output: output}
	case 2, 3:
		x.Key = Expr{Text: name + "-", Of: up.Name, Output: output}
		if x.Type != Bucket {
			x.Key.Text = ""
		}
	case 4:
		x.After = []string{up.Name}
	}
	return x
}

// mended is a node without what it refers to and is not declared any more.
func (c Config) mended(d Decl) Decl {
	declared := func(name string) bool {
		return slices.ContainsFunc(c, func(up Decl) bool { return up.Name == name })
	}
	d.After = slices.DeleteFunc(slices.Clone(d.After), func(name string) bool { return !declared(name) })
	if d.Key.Of != "" && !declared(d.Key.Of) {
		d.Key = Expr{Text: d.Name + "-k"}
	}
	if d.Value.Of != "" && !declared(d.Value.Of) {
		d.Value = Expr{Text: "1"}
	}
	return d
}

// String tells a history to a reader.
func (h History) String() string {
	mode := "halts"
	if h.Rollback {
		mode = "rolls back"
	}
	return fmt.Sprintf("from\n%sto, which %s at %q and %s (secret rotates: %v)\n%sinstead\n%s",
		h.From.Text(), h.Fate.Ends, h.Fate.Node, mode, h.Rotates, h.To.Text(), h.Instead.Text())
}
