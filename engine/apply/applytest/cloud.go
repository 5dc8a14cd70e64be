package applytest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// The types of a cloud differ by how it finds what an earlier call made.
const (
	Thing  = "test.Thing"  // by its id, else by node and attempt; an attempt makes one object, ever
	Bucket = "test.Bucket" // by the name that its inputs give it
	Ticket = "test.Ticket" // by its id alone: a create whose answer is lost is lost
	Named  = "test.Named"  // as a Thing, though its type has an address
	Lookup = "test.Lookup" // a data source
)

// Object is something that exists.
type Object struct{ ID, Node, Owner, Attempt, Key, Value string }

// World is what exists and what did.
type World struct {
	Objects map[string]*Object
	Spent   map[string]bool // attempts whose object was deleted, with their node
	Made    int
}

// Cloud is a provider of the types above. It outlives the runs that change it.
type Cloud struct {
	World
	// Keep writes the world down before the answer to a call that changed it; nil = nowhere.
	Keep func(World) error

	mu sync.Mutex
}

// NewCloud is a cloud in which nothing exists.
func NewCloud() *Cloud {
	return &Cloud{World: World{Objects: map[string]*Object{}, Spent: map[string]bool{}}}
}

// of reports whether an object is there and was made for who asks.
func (o *Object) of(r *model.Request) bool {
	return o != nil && o.Node == r.Node.ID && o.Owner == r.Owner
}

// find is the object that a request is about, nil if there is none. What belongs to
// another node or owner is found as well where it has the name.
func (c *Cloud) find(r *model.Request) *Object {
	if key, ok := r.Inputs["key"].(string); ok && r.Node.Type == Bucket {
		return c.Objects[bucketID(key)]
	}
	if r.Prior != nil {
		if id, ok := r.Prior.Outputs["id"].(string); ok && c.Objects[id] != nil {
			return c.Objects[id]
		}
	}
	if r.Node.Type == Bucket || r.Node.Type == Ticket || r.Attempt == "" {
		return nil
	}
	for _, o := range c.Objects {
		if o.Node == r.Node.ID && o.Owner == r.Owner && o.Attempt == r.Attempt {
			return o
		}
	}
	return nil
}

func bucketID(key string) string { return "<" + key + ">" }

// Create makes an object, or takes over the one that the very node made before.
func (c *Cloud) Create(_ context.Context, r *model.Request) (model.Outputs, error) {
	if r.Node.Type == Lookup {
		return answer(r), nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.find(r)
	if o != nil && !o.of(r) {
		return nil, failed("%s exists and belongs to %s of '%s'", o.ID, o.Node, o.Owner)
	}
	if o == nil {
		if spent := r.Node.ID + " " + r.Attempt; c.Spent[spent] {
			return nil, failed("the attempt %s made an object that was deleted", spent)
		}
		c.Made++
		o = &Object{ID: "id-" + strconv.Itoa(c.Made), Node: r.Node.ID, Owner: r.Owner, Attempt: r.Attempt}
		if r.Node.Type == Bucket {
			o.ID = bucketID(r.Inputs["key"].(string))
		}
		c.Objects[o.ID] = o
	}
	return outputs(o, r), c.keep()
}

// Update changes the value of an object.
func (c *Cloud) Update(_ context.Context, r *model.Request) (model.Outputs, error) {
	if r.Node.Type == Lookup {
		return answer(r), nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.find(r)
	if !o.of(r) {
		return nil, failed("%s was not found", r.Node.ID)
	}
	if r.Inputs["key"] != o.Key {
		return nil, failed("the key of %s cannot change from %s to %v", r.Node.ID, o.Key, r.Inputs["key"])
	}
	out := outputs(o, r)
	delete(out, "password") // the engine lays outputs over the recorded ones
	return out, c.keep()
}

// Read looks an object up, whoever made it. Its password is not the recorded one.
func (c *Cloud) Read(_ context.Context, r *model.Request) (model.Observed, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.find(r)
	if o == nil {
		return nil, false, nil
	}
	return model.Observed{"key": o.Key, "id": o.ID, "sum": Sum(o.Value), "password": "changed"}, true, nil
}

// Delete removes an object; what belongs to somebody else is not there.
func (c *Cloud) Delete(_ context.Context, r *model.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.find(r)
	if !o.of(r) {
		return nil
	}
	delete(c.Objects, o.ID)
	if r.Node.Type == Thing {
		c.Spent[o.Node+" "+o.Attempt] = true
	}
	return c.keep()
}

func (c *Cloud) keep() error {
	if c.Keep == nil {
		return nil
	}
	return c.Keep(c.World)
}

func outputs(o *Object, r *model.Request) model.Outputs {
	o.Key, o.Value = r.Inputs["key"].(string), r.Inputs["value"].(string)
	return model.Outputs{"id": o.ID, "sum": Sum(o.Value), "password": "secret"}
}

func answer(r *model.Request) model.Outputs {
	return model.Outputs{"answer": Answer(r.Inputs["query"].(string))}
}

// Sum is the output that follows from the value of an object.
func Sum(value string) string { return "sum(" + value + ")" }

// Answer is the output of a data source.
func Answer(query string) string { return "answer(" + query + ")" }

func failed(format string, args ...any) error {
	return model.Errorf(model.ProviderError, model.ClassUser, format, args...)
}

// Things is what exists: by the local name of its node "key=value", in which the id of an
// object reads as "id(name)". double are those nodes of which more than one thing exists.
func (c *Cloud) Things() (things map[string]string, double []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := slices.SortedFunc(maps.Keys(c.Objects), func(a, b string) int { return len(b) - len(a) })
	var names []string
	for _, id := range ids {
		names = append(names, id, "id("+model.LocalName(c.Objects[id].Node)+")")
	}
	readable := strings.NewReplacer(names...)
	things = map[string]string{}
	for _, o := range c.Objects {
		name := model.LocalName(o.Node)
		if other, twice := things[name]; twice {
			double = append(double, o.Node+": "+other+" and "+o.Key+"="+o.Value)
		}
		things[name] = readable.Replace(o.Key + "=" + o.Value)
	}
	return things, double
}
