package devenv

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// EnvStateDSN names the server to use instead of a private one.
const EnvStateDSN = "ATLANTIDE_STATE_DSN"

// PostgresOptions say what the private server is for; the zero value suits tests.
type PostgresOptions struct {
	// Durable keeps fsync on. Tests leave it off.
	Durable bool
	// Private ignores ATLANTIDE_STATE_DSN: outage tests must own their server.
	Private bool
}

// Postgres is a running server.
type Postgres struct {
	admin   string // DSN of the maintenance database
	options PostgresOptions

	// Of a private server only.
	binDir string
	dir    string
	port   int
	owner  *syscall.Credential
	server *process
}

// StartPostgres uses the server that ATLANTIDE_STATE_DSN names, or starts a private
// one on a free loopback port, in a temporary folder, never as root.
func StartPostgres(ctx context.Context, o PostgresOptions) (*Postgres, error) {
	if dsn := os.Getenv(EnvStateDSN); dsn != "" && !o.Private {
		return &Postgres{admin: dsn, options: o}, nil
	}
	binDir, err := postgresBinDir()
	if err != nil {
		return nil, err
	}
	p := &Postgres{options: o, binDir: binDir}
	if err := p.create(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("create a private Postgres: %w", err), p.Stop())
	}
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// NewDatabase creates an empty database and returns its DSN.
func (p *Postgres) NewDatabase(ctx context.Context) (string, error) {
	conn, err := pgx.Connect(ctx, p.admin)
	if err != nil {
		return "", fmt.Errorf("create a database: %w", err)
	}
	defer conn.Close(ctx)
	name := "atlantide_" + randomHex(8)
	if _, err := conn.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize()); err != nil {
		return "", fmt.Errorf("create a database: %w", err)
	}
	u, err := url.Parse(p.admin)
	if err != nil || u.Scheme == "" {
		return p.admin + " dbname=" + name, nil // keyword form: the last one wins
	}
	u.Path = "/" + name
	return u.String(), nil
}

// LogFile is where a private server logs to.
func (p *Postgres) LogFile() string { return filepath.Join(p.dir, "postgres.log") }

// Stop ends a private server and removes all that it kept.
func (p *Postgres) Stop() error {
	err := p.halt()
	if p.dir == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

// Halt ends a private server, as an outage does, and keeps its data: connections are
// refused until Resume.
func (p *Postgres) Halt() error {
	if p.server == nil {
		return errors.New("only a private Postgres can be halted")
	}
	return p.halt()
}

// Resume brings a halted server back on the same port, or lets a paused one go on.
func (p *Postgres) Resume(ctx context.Context) error {
	if p.server != nil && !p.server.exited() {
		return p.thaw()
	}
	return p.start(ctx)
}

// Restart drops every connection and brings the server back on the same port.
func (p *Postgres) Restart(ctx context.Context) error {
	if err := p.Halt(); err != nil {
		return err
	}
	return p.start(ctx)
}

// Pause freezes a private server and its sessions: connections stay open and nothing
// answers until Resume.
func (p *Postgres) Pause() error {
	if p.server == nil || p.server.exited() {
		return errors.New("only a running private Postgres can be paused")
	}
	pids, err := p.processes()
	if err != nil {
		return err
	}
	return freeze(pids...)
}

// processes lists the server and those it started.
func (p *Postgres) processes() ([]int, error) {
	pid := p.server.cmd.Process.Pid
	below, err := descendants(pid)
	return append([]int{pid}, below...), err
}

func (p *Postgres) thaw() error {
	pids, err := p.processes()
	if err != nil {
		return err
	}
	return signalEach(syscall.SIGCONT, pids)
}

func (p *Postgres) halt() error {
	if p.server == nil || p.server.exited() {
		return nil
	}
	if err := p.thaw(); err != nil {
		return err
	}
	return p.server.stop(10*time.Second, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL)
}

// create makes the folder and the cluster in it.
func (p *Postgres) create(ctx context.Context) error {
	parent, err := traversableTemp()
	if err != nil {
		return err
	}
	if p.dir, err = os.MkdirTemp(parent, "atlantide-postgres-"); err != nil {
		return err
	}
	password := randomHex(16)
	passwordFile := filepath.Join(p.dir, "password")
	if err := os.WriteFile(passwordFile, []byte(password), 0o600); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		if p.owner, err = unprivileged(); err != nil {
			return err
		}
		for _, path := range []string{p.dir, passwordFile} {
			if err := os.Chown(path, int(p.owner.Uid), int(p.owner.Gid)); err != nil {
				return err
			}
		}
	}
	initdb := p.command(ctx, "initdb", "--pgdata", filepath.Join(p.dir, "data"), "--username", "atlantide",
		"--auth", "scram-sha-256", "--pwfile", passwordFile, "--encoding", "UTF8", "--locale", "C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if p.port, err = freePort(); err != nil {
		return err
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword("atlantide", password), Path: "/postgres", RawQuery: "sslmode=disable"}
	u.Host = "127.0.0.1:" + strconv.Itoa(p.port)
	p.admin = u.String()
	return nil
}

// start runs the server over an existing cluster and waits for the first session.
func (p *Postgres) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	durable := "off"
	if p.options.Durable {
		durable = "on"
	}
	// Not bound to ctx: the server outlives the call that started it.
	cmd := p.command(context.Background(), "postgres", "-D", filepath.Join(p.dir, "data"), "-p", strconv.Itoa(p.port))
	for _, setting := range []string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200", "shared_buffers=32MB",
		"fsync=" + durable, "synchronous_commit=" + durable, "full_page_writes=" + durable,
	} {
		cmd.Args = append(cmd.Args, "-c", setting)
	}
	log, err := os.OpenFile(p.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the server has its own descriptor
	cmd.Stdout, cmd.Stderr = log, log
	if p.server, err = startProcess(cmd, syscall.SIGQUIT); err != nil {
		p.server = nil
		return fmt.Errorf("start postgres: %w", err)
	}
	err = poll(ctx, p.server, func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, p.admin)
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	if err != nil {
		return fmt.Errorf("start postgres: %w\n%s", err, tail(p.LogFile()))
	}
	return nil
}

// command runs a program of the server as the user that owns the folder.
func (p *Postgres) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.binDir, name), args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.owner}
	return cmd
}

// unprivileged is who runs the server when we are root, whom it refuses.
func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("neither user postgres nor nobody exists: run as another user than root")
}

// traversableTemp is the temporary folder, or /tmp when another user could not walk
// into it (a TMPDIR below root's home).
func traversableTemp() (string, error) {
	dir, err := filepath.Abs(os.TempDir())
	if err != nil || os.Geteuid() != 0 {
		return dir, err
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return "", err
		}
		if info.Mode()&0o001 == 0 {
			return "/tmp", nil
		}
		if at == filepath.Dir(at) {
			return dir, nil
		}
	}
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
