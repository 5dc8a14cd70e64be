package stack

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// relay stands between an operator and Postgres. Cut, it refuses and drops
// connections, as a server that is away does.
type relay struct {
	address         string // of ours
	network, target string // of the server

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
}

// newRelay returns a relay to the server of a DSN, and the DSN that leads through it.
func newRelay(t testing.TB, dsn string) (*relay, string) {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{address: "127.0.0.1:0", conns: map[net.Conn]bool{}}
	r.network, r.target = pgconn.NetworkAddress(config.Host, config.Port)
	r.mend(t)
	t.Cleanup(r.cut)
	_, port, _ := strings.Cut(r.address, ":")
	return r, fmt.Sprintf("host=127.0.0.1 port=%s user='%s' password='%s' dbname='%s' sslmode=disable", port, config.User, config.Password, config.Database)
}

// mend lets connections through.
func (r *relay) mend(t testing.TB) {
	t.Helper()
	listener, err := net.Listen("tcp", r.address)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	r.listener, r.address = listener, listener.Addr().String()
	r.mu.Unlock()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go r.carry(conn)
		}
	}()
}

// cut ends all connections and refuses new ones.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener == nil {
		return
	}
	_ = r.listener.Close()
	r.listener = nil
	for conn := range r.conns {
		_ = conn.Close()
	}
	clear(r.conns)
}

func (r *relay) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial(r.network, r.target)
	if err != nil {
		return
	}
	defer far.Close()
	r.mu.Lock()
	if r.listener == nil {
		r.mu.Unlock()
		return
	}
	r.conns[near], r.conns[far] = true, true
	r.mu.Unlock()
	go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
	_, _ = io.Copy(near, far)
}
