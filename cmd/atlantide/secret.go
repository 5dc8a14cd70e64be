package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/atlantide-org/atlantide-operator/cmd/atlantide/internal/project"
	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
	"github.com/atlantide-org/atlantide-operator/engine/secrets/ssm"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// maxSecretBytes bounds what is read for a value; the store has a limit of its own.
const maxSecretBytes = 1 << 20

func (a *app) newSecret() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret COMMAND",
		Short: "Keep secrets in the project's encrypted store",
		Long: "Keep secrets in the project's encrypted store, which the provider '" + secrets.KeyfileName + "' reads. All of these commands\n" +
			"work on that store, whatever [secrets] provider says.",
	}
	onlyGroups(cmd)
	cmd.AddCommand(a.newSecretSet(), a.newSecretGet(), a.newSecretList(), a.newSecretRm())
	return cmd
}

// secretFlags are those of every command about the store.
type secretFlags struct{ state string }

func (f *secretFlags) register(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&f.state, "state", "", "the store beside the local database `PATH`, unless "+project.FileName+" places it elsewhere")
}

// store is the keyfile store of the working directory's project.
func (a *app) store(f *secretFlags) (*secrets.Keyfile, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	settings, err := p.Secrets(f.state)
	if err != nil {
		return nil, err
	}
	return keyfile(settings), nil
}

func keyfile(s project.Secrets) *secrets.Keyfile {
	return &secrets.Keyfile{Path: s.Store, Keys: secrets.KeyFile{Path: s.Key}}
}

// session is the secrets that one run may read; given is the local database that it was
// told, which they lie beside. It makes no key.
func session(p *project.Project, given string) (*secrets.Session, error) {
	settings, err := p.Secrets(given)
	if err != nil {
		return nil, err
	}
	providers, err := secretProviders(settings)
	if err != nil {
		return nil, err
	}
	registry, err := secrets.NewRegistry(settings.Provider, providers...)
	if err != nil {
		return nil, err
	}
	return secrets.NewSession(secrets.Options{Registry: registry, Keys: secrets.KeyFile{Path: settings.Key}, Partition: state.CommandLinePartition}), nil
}

// secretProviders are those of this machine and, where it is chosen, the one of AWS, which
// nothing is asked of before a secret is (SC-6).
func secretProviders(s project.Secrets) ([]secrets.Provider, error) {
	env, err := secrets.NewEnv(s.EnvAllow, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	here := []secrets.Provider{keyfile(s), env}
	switch s.Provider {
	case "", secrets.KeyfileName, secrets.EnvName:
		return here, nil
	case ssm.Name:
		there, err := ssm.FromOptions(ssm.Options(s.SSM))
		return append(here, there), err
	}
	return nil, model.Errorf(model.SecretsError, model.ClassUser, "there is no secret provider '%s'; known: %s, %s, %s",
		sourcetree.Shown(s.Provider), secrets.EnvName, secrets.KeyfileName, ssm.Name)
}

func (a *app) newSecretSet() *cobra.Command {
	flags := &secretFlags{}
	cmd := &cobra.Command{
		Use:   "set [OPTIONS] NAME [VALUE]",
		Short: "Define a secret, or give it another value",
		Long: "Define a secret, or give it another value. Without VALUE it is asked for, unseen, or read from standard input\n" +
			"where that is no terminal; one line end behind it is left out. A VALUE on the command line stays in the shell's\n" +
			"history, and other users of the machine see it while the command runs.",
		Args: arguments(1, "NAME", "VALUE"),

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := a.store(flags)
			if err != nil {
				return err
			}
			value, err := a.secretValue(cmd.Context(), args)
			if err != nil {
				return err
			}
			if err := store.Set(cmd.Context(), args[0], value); err != nil {
				return err
			}
			return a.out.verdict("set", oneLine(args[0])+" in "+oneLine(store.Path))
		},
	}
	flags.register(cmd)
	return cmd
}

// secretValue is the one on the command line, or what is asked for or read. An empty value
// that nobody wrote out is an accident.
func (a *app) secretValue(ctx context.Context, args []string) (secrets.Text, error) {
	if len(args) > 1 {
		return secrets.NewText(args[1]), nil
	}
	read, from := a.readSecret, "standard input"
	if fd, ok := terminal(a.in); ok {
		read, from = func() (string, error) { return a.askSecret(ctx, fd, args[0]) }, "the terminal"
	}
	value, err := read()
	switch {
	case err != nil:
		return secrets.Text{}, err
	case value == "":
		return secrets.Text{}, model.Errorf(model.SecretsError, model.ClassUser, "no value came from %s, and nothing was set; write '' behind the name for an empty one", from)
	}
	return secrets.NewText(value), nil
}

// readSecret reads standard input whole.
func (a *app) readSecret() (string, error) {
	data, err := io.ReadAll(io.LimitReader(a.in, maxSecretBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read the value from standard input: %w", err)
	case len(data) > maxSecretBytes:
		return "", model.Errorf(model.SecretsError, model.ClassUser, "standard input holds more than %d bytes, which is no secret", maxSecretBytes)
	}
	text := strings.TrimSuffix(string(data), "\n")
	return strings.TrimSuffix(text, "\r"), nil
}

// askSecret asks on the terminal without showing what is typed. An interrupt gives the
// terminal back as it was.
func (a *app) askSecret(ctx context.Context, fd int, name string) (string, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("cannot ask on the terminal: %w", err)
	}
	fmt.Fprintf(a.err, "value of %s: ", oneLine(name))
	defer fmt.Fprintln(a.err)
	type answer struct {
		text []byte
		err  error
	}
	typed := make(chan answer, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		typed <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", errors.Join(context.Cause(ctx), term.Restore(fd, before))
	case a := <-typed:
		if a.err != nil && !errors.Is(a.err, io.EOF) {
			return "", fmt.Errorf("cannot read the value from the terminal: %w", a.err)
		}
		return string(a.text), nil
	}
}

// terminal is the file descriptor of a stream that somebody types on.
func terminal(stream io.Reader) (int, bool) {
	file, ok := stream.(*os.File)
	if !ok {
		return 0, false
	}
	fd := int(file.Fd())
	return fd, term.IsTerminal(fd)
}

func (a *app) newSecretGet() *cobra.Command {
	flags := &secretFlags{}
	var reveal bool
	cmd := &cobra.Command{
		Use:   "get [OPTIONS] NAME",
		Short: "Print a secret, with --reveal",
		Args:  arguments(1, "NAME"),

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !reveal {
				return model.Errorf(model.SecretsError, model.ClassUser, "a secret is printed only with --reveal")
			}
			store, err := a.store(flags)
			if err != nil {
				return err
			}
			value, err := store.Resolve(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.out, value.Reveal())
			return err
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVarP(&reveal, "reveal", "r", false, "print it as plain text")
	return cmd
}

func (a *app) newSecretList() *cobra.Command {
	flags := &secretFlags{}
	cmd := &cobra.Command{
		Use:   "list [OPTIONS]",
		Short: "Print the names of all secrets, one a line",
		Args:  arguments(0),

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := a.store(flags)
			if err != nil {
				return err
			}
			names, err := store.Names(cmd.Context())
			if err != nil {
				return err
			}
			for _, name := range names {
				if _, err := fmt.Fprintln(a.out, oneLine(name)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	flags.register(cmd)
	return cmd
}

func (a *app) newSecretRm() *cobra.Command {
	flags := &secretFlags{}
	cmd := &cobra.Command{
		Use:   "rm [OPTIONS] NAME",
		Short: "Remove a secret",
		Args:  arguments(1, "NAME"),

		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := a.store(flags)
			if err != nil {
				return err
			}
			found, err := store.Delete(cmd.Context(), args[0])
			if err == nil && !found {
				err = model.Errorf(model.SecretsError, model.ClassUser, "there is no secret '%s' in %s; 'atlantide secret list' prints those that there are",
					sourcetree.Shown(args[0]), sourcetree.Shown(store.Path))
			}
			if err != nil {
				return err
			}
			return a.out.verdict("removed", oneLine(args[0])+" from "+oneLine(store.Path))
		},
	}
	flags.register(cmd)
	return cmd
}
