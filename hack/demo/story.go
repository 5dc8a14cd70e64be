package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// story is what is shown, in order. A step fails when it does not show what it claims.
var story = []struct {
	title string
	show  func(context.Context, *demo) error
}{
	{"A cluster and a database of our own", startServers},
	{"The operator is installed", install},
	{"The operator runs, as its service account", startOperator},
	{"Three Stacks are applied and become files", applySamples},
	{"What was planned, and what it made", showResult},
	{"A second reconcile does nothing", showSteady},
	{"An edit that updates in place", showUpdate},
	{"An edit that replaces waits for approval", showReplace},
	{"The approval names the plan's digest", showApproval},
	{"A deleted Stack takes its resources along: Destroy", showDestroy},
	{"A deleted Stack leaves its resources behind: Orphan", showOrphan},
}

// What the sample config/samples/greeting.yaml says, and what the edits make of it.
const (
	sample      = "config/samples/greeting.yaml"
	content     = "hello atlantide"
	newContent  = "hello again"
	greetingOld = "out/greeting.txt"
	greetingNew = "out/hello.txt"
	receipt     = "out/receipt.txt"
)

func applySamples(ctx context.Context, d *demo) error {
	if _, err := d.kubectl(ctx, "apply", "-k", "config/samples"); err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "wait", "stack/greeting", "stack/keepsake", "--for=condition=Ready", "--timeout=60s"); err != nil {
		return err
	}
	d.out.holds("Ready %.1f s after the start of the demo", d.out.elapsed().Seconds())
	// noticeboard asks for an approval of every plan, so its first one waits.
	if _, err := d.kubectl(ctx, "wait", "stack/noticeboard", "--for=condition=ApprovalRequired", "--timeout=60s"); err != nil {
		return err
	}
	_, err := d.kubectl(ctx, "get", "stacks")
	return err
}

func showResult(ctx context.Context, d *demo) error {
	if err := d.showPlan(ctx, "greeting"); err != nil {
		return err
	}
	dir, err := d.dirOf(ctx, "greeting")
	if err != nil {
		return err
	}
	d.stackDir = dir
	if err := d.showFiles(dir); err != nil {
		return err
	}
	return d.greetingHolds(greetingOld, content)
}

func showSteady(ctx context.Context, d *demo) error {
	before, err := d.counters(ctx)
	if err != nil {
		return err
	}
	request := time.Now().UTC().Format(time.RFC3339Nano)
	if _, err := d.kubectl(ctx, "annotate", "stack", "greeting", "--overwrite", "atlantide.io/reconcile-requested-at="+request); err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "wait", "stack/greeting", "--for=jsonpath={.status.lastHandledReconcileAt}="+request, "--timeout=30s"); err != nil {
		return err
	}
	var after map[string]float64
	if err := d.eventually(ctx, "waiting for the reconcile to be counted", 10*time.Second, func(ctx context.Context) (err error) {
		if after, err = d.counters(ctx); err == nil && after[reconcileCounter] <= before[reconcileCounter] {
			err = errors.New("no reconcile is counted")
		}
		return err
	}); err != nil {
		return err
	}
	d.out.say("   counters of the operator, before and after:")
	for _, name := range append([]string{reconcileCounter}, workCounters...) {
		d.out.output(fmt.Sprintf("%-32s %4.0f → %.0f", name, before[name], after[name]))
	}
	for _, name := range workCounters {
		if before[name] == 0 {
			return fmt.Errorf("%s is 0 after a first run: it counts nothing", name)
		}
		if after[name] != before[name] {
			return fmt.Errorf("%s went from %.0f to %.0f in a reconcile with nothing to do", name, before[name], after[name])
		}
	}
	d.out.holds("it reconciled: no evaluation, no provider call, no write to Postgres")
	return nil
}

func showUpdate(ctx context.Context, d *demo) error {
	if err := d.edit(ctx, content, newContent); err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "wait", "stack/greeting", "--for=condition=Ready", "--timeout=60s"); err != nil {
		return err
	}
	if err := d.showPlan(ctx, "greeting"); err != nil {
		return err
	}
	if err := d.showFiles(d.stackDir); err != nil {
		return err
	}
	return d.greetingHolds(greetingOld, newContent)
}

func showReplace(ctx context.Context, d *demo) error {
	if err := d.edit(ctx, greetingOld, greetingNew); err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "wait", "stack/greeting", "--for=condition=ApprovalRequired", "--timeout=60s"); err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "get", "stack", "greeting"); err != nil {
		return err
	}
	if err := d.showPlan(ctx, "greeting"); err != nil {
		return err
	}
	if err := d.greetingHolds(greetingOld, newContent); err != nil {
		return err
	}
	if d.has(greetingNew) {
		return fmt.Errorf("%s exists before the approval", greetingNew)
	}
	d.out.holds("nothing was touched: a replace is destructive and waits")
	return nil
}

func showApproval(ctx context.Context, d *demo) error {
	digest, err := d.kubectl(ctx, "get", "stack", "greeting", "-o", "jsonpath={.status.plan.digest}")
	if err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "annotate", "stack", "greeting", "--overwrite", "atlantide.io/approve="+digest); err != nil {
		return err
	}
	for _, condition := range []string{"jsonpath={.status.plan.decision}=Applied", "condition=Ready"} {
		if _, err := d.kubectl(ctx, "wait", "stack/greeting", "--for="+condition, "--timeout=60s"); err != nil {
			return err
		}
	}
	applied, err := d.field(ctx, "greeting", ".status.lastApplied.planDigest")
	if err != nil {
		return err
	}
	if applied != digest {
		return fmt.Errorf("approved was %s, applied was %s", digest, applied)
	}
	d.out.holds("what was applied is what was approved")
	if err := d.showFiles(d.stackDir); err != nil {
		return err
	}
	if d.has(greetingOld) {
		return fmt.Errorf("%s is still there after the replace", greetingOld)
	}
	return d.greetingHolds(greetingNew, newContent)
}

func showDestroy(ctx context.Context, d *demo) error {
	if _, err := d.kubectl(ctx, "delete", "stack", "greeting", "--timeout=60s"); err != nil {
		return err
	}
	for _, file := range []string{greetingNew, receipt} {
		if d.has(file) {
			return fmt.Errorf("%s is still there after the deletion", file)
		}
	}
	d.out.holds("the Stack is gone, and so are %s and %s", greetingNew, receipt)
	return nil
}

func showOrphan(ctx context.Context, d *demo) error {
	dir, err := d.dirOf(ctx, "keepsake")
	if err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "delete", "stack", "keepsake", "--timeout=60s"); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, "note.txt"))
	if err != nil {
		return fmt.Errorf("the deletion with policy Orphan took the file along: %w", err)
	}
	d.out.holds("the Stack is gone, its file stays: note.txt says %q", text)
	events := []string{"get", "events", "--field-selector=reason=Orphaned,involvedObject.name=keepsake", "-o", "custom-columns=REASON:.reason,MESSAGE:.message"}
	if err := d.eventually(ctx, "waiting for the event", 15*time.Second, func(ctx context.Context) error {
		text, err := d.ask(ctx, events...)
		if err == nil && !strings.Contains(text, "Orphaned") {
			err = errors.New("no event tells of what was left behind")
		}
		return err
	}); err != nil {
		return err
	}
	_, err = d.kubectl(ctx, events...)
	return err
}

// edit changes one line of the sample as a person would, and applies it.
func (d *demo) edit(ctx context.Context, old, replacement string) error {
	file := filepath.Join(d.tmp, filepath.Base(sample))
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) { // the first edit
		text, err = os.ReadFile(filepath.Join(d.root, sample))
	}
	if err != nil {
		return err
	}
	edited := strings.Replace(string(text), old, replacement, 1)
	if edited == string(text) {
		return fmt.Errorf("%s does not hold %q", sample, old)
	}
	before, after := strings.Split(string(text), "\n"), strings.Split(edited, "\n")
	d.out.say("   %s, edited:", sample)
	for i := range before {
		if before[i] != after[i] {
			d.out.output("- " + strings.TrimSpace(before[i]) + "\n+ " + strings.TrimSpace(after[i]))
		}
	}
	if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "apply", "-f", file); err != nil {
		return err
	}
	generation, err := d.field(ctx, "greeting", ".metadata.generation")
	if err != nil {
		return err
	}
	_, err = d.kubectl(ctx, "wait", "stack/greeting", "--for=jsonpath={.status.observedGeneration}="+generation, "--timeout=60s")
	return err
}

// showPlan shows a Stack's plan as its view has it.
func (d *demo) showPlan(ctx context.Context, stack string) error {
	text, err := d.kubectl(ctx, "get", "configmap", stack+"-plan", "-o", `jsonpath={.data.plan\.txt}`)
	if err == nil && strings.TrimSpace(text) == "" {
		err = errors.New("the plan's text is empty")
	}
	return err
}

// dirOf is the folder of a Stack's files.
func (d *demo) dirOf(ctx context.Context, stack string) (string, error) {
	uid, err := d.field(ctx, stack, ".metadata.uid")
	return filepath.Join(d.dataRoot, namespace, uid), err
}

func (d *demo) has(file string) bool {
	_, err := os.Stat(filepath.Join(d.stackDir, file))
	return err == nil
}

// greetingHolds checks the two files: the receipt is made from the greeting.
func (d *demo) greetingHolds(file, text string) error {
	for name, want := range map[string]string{file: text, receipt: checksum(text)} {
		got, err := os.ReadFile(filepath.Join(d.stackDir, name))
		if err != nil {
			return err
		}
		if string(got) != want {
			return fmt.Errorf("%s holds %q, not %q", name, got, want)
		}
	}
	d.out.holds("%s says %q, and %s holds its checksum", file, text, receipt)
	return nil
}
