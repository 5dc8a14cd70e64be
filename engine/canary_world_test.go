package engine_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
	"github.com/atlantide-org/atlantide-operator/providers"
)

// canaries are secrets of which no two are alike, so that each is found wherever it
// turns up, and in whichever form it was written down.
type canaries struct {
	mu      sync.Mutex
	next    int64
	of      map[string]string // mark of a canary → whose it is
	digests map[string]string // what anybody can compute of a secret tells a short one too
	free    map[string]string // secrets that look like nothing, as a real provider makes them
}

func newCanaries() *canaries {
	return &canaries{of: map[string]string{}, digests: map[string]string{}, free: map[string]string{}}
}

// Marks by which a text and a number are known; in hex and base64 a mark begins in the same
// way wherever it stands.
var (
	textMark   = regexp.MustCompile("CANARY[0-9]{4}")
	numberMark = regexp.MustCompile("73100[0-9]{8}")
	hexMark    = regexp.MustCompile("43414e415259(?:3[0-9]){4}")
	digestMark = regexp.MustCompile("[0-9a-f]{64}")
	base64Mark = base64Marks("CANARY0")
)

// base64Marks are the forms of a text in base64, by where in a group of three it begins:
// the signs that depend on nothing before and behind it.
func base64Marks(text string) []string {
	var marks []string
	for shift := range 3 {
		whole := base64.StdEncoding.EncodeToString(append(make([]byte, shift), text...))
		marks = append(marks, whole[(shift*8+5)/6:(shift+len(text))*8/6])
	}
	return marks
}

// text is a new secret. It holds what JSON, Go and HTML write in another way.
func (c *canaries) text(of string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	mark := fmt.Sprintf("CANARY%04d", c.next)
	value := "q\"\\\n<&>'" + mark + "YRANACé%s"
	c.of[mark], c.of[hex.EncodeToString([]byte(mark))] = of, of+", in hex"
	encoded, _ := json.Marshal(value) // of a text there is no error
	c.digests[plainDigest(value)] = of + ", hashed"
	c.digests[plainDigest("atlantide/ref-digest/v1\x00"+string(model.AppendText(nil, value)))] = of + ", as a digest without salt"
	c.digests[plainDigest(string(encoded))] = of + ", hashed as JSON"
	return value
}

// number is a new secret that is a number.
func (c *canaries) number(of string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	n := int64(7_310_000_000_000) + c.next
	c.of[strconv.FormatInt(n, 10)] = of
	return n
}

// watch takes the text of somebody else for a secret.
func (c *canaries) watch(value, of string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free[value] = of
	c.free[string(model.AppendText(nil, value))] = of + ", in JSON"
	c.digests[plainDigest(value)] = of + ", hashed"
}

// hashedByItsType allows the hash of a secret that its config writes into a file: the
// checksum of a local.File is part of what the type is (providers.md 2.26).
func (c *canaries) hashedByItsType(value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.digests, plainDigest(value))
}

func plainDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// found lists the secrets that stand in a text.
func (c *canaries) found(text string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var whose []string
	for _, marks := range []*regexp.Regexp{textMark, numberMark, hexMark} {
		for _, mark := range marks.FindAllString(text, -1) {
			whose = append(whose, cmp.Or(c.of[mark], "somebody's "+mark))
		}
	}
	for _, digest := range digestMark.FindAllString(text, -1) {
		if of := c.digests[digest]; of != "" {
			whose = append(whose, of)
		}
	}
	for _, mark := range base64Mark {
		if strings.Contains(text, mark) {
			whose = append(whose, "a secret in base64: "+mark)
		}
	}
	for value, of := range c.free {
		if strings.Contains(text, value) {
			whose = append(whose, of)
		}
	}
	slices.Sort(whose)
	return slices.Compact(whose)
}

// vault is a secret store in memory.
type vault struct {
	canaries *canaries
	mu       sync.Mutex
	values   map[string]string
}

// writtenToFile is the secret that is the content of a file.
const writtenToFile = "content"

// Name implements secrets.Provider.
func (v *vault) Name() string { return "vault" }

// Resolve makes every secret up when it is first asked for.
func (v *vault) Resolve(_ context.Context, name string) (secrets.Text, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.values[name] == "" {
		v.values[name] = v.canaries.text("secret " + name)
		if name == writtenToFile {
			v.canaries.hashedByItsType(v.values[name])
		}
	}
	return secrets.NewText(v.values[name]), nil
}

// rotate gives every secret another value.
func (v *vault) rotate(except ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.values, func(name, _ string) bool { return !slices.Contains(except, name) })
}

var (
	plainText = model.FieldType{Kind: model.KindString}
	anything  = model.FieldType{Kind: model.KindAny}
	handle    = model.FieldType{Kind: model.KindSecret, Nullable: true}
)

// indiscreet is a type with secrets in every kind of field, and with outputs that repeat
// what it was made with.
func indiscreet() *model.ProviderSchema {
	field := func(name string, t model.FieldType, m model.Mutability, value any, sensitive bool) model.Field {
		return model.Field{Name: name, Type: t, Mutability: m, Default: value, Sensitive: sensitive}
	}
	login := &model.NestedType{Name: "Login", Fields: []model.Field{
		field("user", plainText, model.Mutable, "", false), field("token", handle, model.Mutable, nil, true),
	}}
	return &model.ProviderSchema{Name: "bank", Version: "1.0.0", Module: "atlantide.providers.bank", Types: []*model.ResourceType{{
		Name: "bank.Account", Provider: "bank", Class: "Account", Kind: model.KindResource, IdentityField: "id",
		Fields: []model.Field{
			{Name: "name", Type: plainText, Mutability: model.Immutable, Required: true, PhysicalName: true},
			field("seed", handle, model.Immutable, nil, true),
			field("password", handle, model.Mutable, nil, true),
			field("login", model.FieldType{Kind: model.KindNested, Nested: login, Nullable: true}, model.Mutable, nil, false),
			field("settings", model.FieldType{Kind: model.KindMap, Elem: &anything}, model.Mutable, map[string]any{}, false),
			field("labels", model.FieldType{Kind: model.KindList, Elem: &plainText}, model.Mutable, []any{}, false),
			field("hosts", model.FieldType{Kind: model.KindList, Elem: &plainText}, model.Mutable, []any{}, true),
			field("note", plainText, model.Mutable, "", false),
			field("id", plainText, model.Computed, nil, false),
			field("token", plainText, model.Computed, nil, true),
			field("keys", model.FieldType{Kind: model.KindList, Elem: &plainText}, model.Computed, nil, true),
			field("users", model.FieldType{Kind: model.KindMap, Elem: &anything}, model.Computed, nil, true),
			field("pin", model.FieldType{Kind: model.KindInt}, model.Computed, nil, true),
			field("echo", plainText, model.Computed, nil, false),
			field("audit", model.FieldType{Kind: model.KindMap, Elem: &anything}, model.Computed, nil, false),
		},
	}}}
}

// blabber is a provider of any schema that makes secrets of its own, repeats what it was
// told in its outputs, and quotes all it knows in its errors.
type blabber struct {
	schema *model.ProviderSchema
	world  *blabbing
}

// blabbing is what the providers of one test share.
type blabbing struct {
	canaries *canaries
	mu       sync.Mutex
	objects  map[string]map[string]any // by node: what exists, inputs and outputs
	// fails names the calls that fail, "op name" → how.
	fails map[string]func(text string) error
	// seen are the sensitive fields, "type.field", in which a secret passed through.
	seen map[string]bool
}

func newBlabbing(c *canaries) *blabbing {
	return &blabbing{canaries: c, objects: map[string]map[string]any{}, fails: map[string]func(string) error{}, seen: map[string]bool{}}
}

// Ways to fail, each with a text that holds secrets.
var (
	errRefused = errors.New("refused")

	plainly   = func(text string) error { return fmt.Errorf("%w: %s", errRefused, text) }
	quoted    = func(text string) error { return fmt.Errorf("%q: %w", text, errRefused) }
	chained   = func(text string) error { return fmt.Errorf("outer: %w", fmt.Errorf("%s: %w", text, errRefused)) }
	joined    = func(text string) error { return errors.Join(errRefused, errors.New(text)) }
	typed     = hinted
	panicking = func(text string) error { panic(text) }
)

func hinted(text string) error {
	e := model.Errorf(model.ProviderError, model.ClassUser, "refused: %w", fmt.Errorf("%s: %w", text, errRefused))
	e.Hint, e.Note = "do without "+text, "it was "+text
	e.AlsoFailed = []*model.Error{model.Errorf(model.ProviderError, model.ClassUser, "beside it %s", text)}
	return e
}

func (b *blabber) Schema() *model.ProviderSchema { return b.schema }

func (b *blabber) Validate(context.Context, []*model.Request) error { return nil }

// enter notes which secrets came, and fails if it is told to.
func (b *blabber) enter(op string, r *model.Request) error {
	b.world.witness(b.type_(r), r.Inputs)
	b.world.mu.Lock()
	fail := b.world.fails[op+" "+r.Node.Name]
	b.world.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(allOf(r))
}

// allOf is all that a request holds, as careless code would print it.
func allOf(r *model.Request) string {
	text := fmt.Sprintf("%v", r.Inputs)
	encoded, err := json.Marshal(r.Inputs)
	if err == nil {
		text += string(encoded)
	}
	if r.Prior != nil {
		encoded, _ = json.Marshal(r.Prior.Outputs)
		text += fmt.Sprintf("%v %s %v", r.Prior.Outputs, encoded, r.Prior.Inputs)
	}
	return text
}

func (b *blabber) type_(r *model.Request) *model.ResourceType {
	for _, t := range b.schema.Types {
		if t.Name == r.Node.Type {
			return t
		}
	}
	return nil
}

// witness notes the sensitive fields that carry a secret.
func (w *blabbing) witness(t *model.ResourceType, values map[string]any) {
	for _, f := range t.Fields {
		if f.Sensitive && len(w.canaries.found(fmt.Sprint(values[f.Name]))) > 0 {
			w.mu.Lock()
			w.seen[t.Name+"."+f.Name] = true
			w.mu.Unlock()
		}
	}
}

// kept are the outputs that are secrets, whatever the types say.
var kept = []string{"token", "keys", "users", "pin"}

// made are the outputs of a call: new secrets where the type says so, and echoes.
func (b *blabber) made(r *model.Request) model.Outputs {
	t, outputs, c := b.type_(r), model.Outputs{}, b.world.canaries
	for _, f := range t.Fields {
		of := "output " + r.Node.ID + "." + f.Name
		secret := f.Sensitive || slices.Contains(kept, f.Name)
		switch {
		case f.Mutability != model.Computed:
		case secret && f.Type.Kind == model.KindList:
			outputs[f.Name] = []any{c.text(of), c.text(of)}
		case secret && f.Type.Kind == model.KindMap:
			outputs[f.Name] = map[string]any{"deep": []any{map[string]any{"er": c.text(of)}}, "n": c.number(of)}
		case secret && f.Type.Kind == model.KindInt:
			outputs[f.Name] = c.number(of)
		case secret:
			outputs[f.Name] = c.text(of)
		case f.Name == "echo":
			outputs[f.Name] = fmt.Sprintf("made with %v", r.Inputs)
		case f.Name == "audit":
			outputs[f.Name] = map[string]any{"said": []any{fmt.Sprintf("%v", r.Inputs["settings"]), fmt.Sprint(r.Inputs["password"])}}
		default:
			outputs[f.Name] = f.Name + " of " + r.Node.Name
		}
	}
	b.world.witness(t, outputs)
	return outputs
}

// Create implements model.Operations.
func (b *blabber) Create(_ context.Context, r *model.Request) (model.Outputs, error) {
	if err := b.enter("create", r); err != nil {
		return nil, err
	}
	outputs := b.made(r)
	b.world.keep(r, outputs)
	return outputs, nil
}

// Update gives new secrets and no echo: what was recorded of one stays.
func (b *blabber) Update(_ context.Context, r *model.Request) (model.Outputs, error) {
	if err := b.enter("update", r); err != nil {
		return nil, err
	}
	outputs := b.made(r)
	delete(outputs, "echo")
	delete(outputs, "audit")
	b.world.keep(r, outputs)
	return outputs, nil
}

// Read finds inputs and outputs as they are in the world.
func (b *blabber) Read(_ context.Context, r *model.Request) (model.Observed, bool, error) {
	if err := b.enter("read", r); err != nil {
		return nil, false, err
	}
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	object, exists := b.world.objects[r.Node.ID]
	return model.Observed(maps.Clone(object)), exists, nil
}

// Delete implements model.Operations.
func (b *blabber) Delete(_ context.Context, r *model.Request) error {
	if err := b.enter("delete", r); err != nil {
		return err
	}
	b.world.mu.Lock()
	defer b.world.mu.Unlock()
	delete(b.world.objects, r.Node.ID)
	return nil
}

func (w *blabbing) keep(r *model.Request, outputs model.Outputs) {
	w.mu.Lock()
	defer w.mu.Unlock()
	object := w.objects[r.Node.ID]
	if object == nil {
		object = map[string]any{}
		w.objects[r.Node.ID] = object
	}
	maps.Copy(object, r.Inputs)
	maps.Copy(object, outputs)
}

// drift changes everything that exists in the world, echoes included, so that a read finds
// other secrets than were recorded.
func (w *blabbing) drift() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, object := range w.objects {
		for _, field := range slices.Sorted(maps.Keys(object)) {
			switch v := object[field].(type) {
			case string:
				if field != "name" && field != "id" {
					object[field] = v + " and more"
				}
			case []any:
				object[field] = append(slices.Clone(v), "more of "+id)
			case map[string]any:
				changed := maps.Clone(v)
				changed["more"] = id
				object[field] = changed
			}
		}
	}
}

// failing makes calls fail, each in its way.
func (w *blabbing) failing(fails map[string]func(string) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fails = fails
}

// watching takes the secrets that a real provider makes for canaries.
type watching struct {
	providers.Provider
	world *blabbing
}

// Create implements model.Operations.
func (p watching) Create(ctx context.Context, r *model.Request) (model.Outputs, error) {
	outputs, err := p.Provider.Create(ctx, r)
	for _, t := range p.Schema().Types {
		for _, f := range t.Fields {
			text, made := outputs[f.Name].(string)
			if t.Name == r.Node.Type && f.Sensitive && !f.FromSource && made {
				p.world.canaries.watch(text, "output "+r.Node.ID+"."+f.Name)
				p.world.witness(t, outputs)
			}
		}
	}
	return outputs, err
}
