package postgres

import (
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// defaultPort is left out of a label.
const defaultPort = 5432

// Label names a schema of a database without its credentials (RF-28):
// postgres://HOST[:PORT]/SCHEMA. What cannot be read of the DSN is not repeated.
func Label(dsn, schema string) string {
	if schema == "" {
		schema = DefaultSchema
	}
	host := "unknown"
	if config, err := pgx.ParseConfig(dsn); err == nil {
		switch host = config.Host; {
		case strings.HasPrefix(host, "/"):
			host = "localhost" // a socket of this machine
		case config.Port != defaultPort && config.Port != 0:
			host = net.JoinHostPort(host, strconv.Itoa(int(config.Port)))
		}
	}
	return "postgres://" + host + "/" + schema
}
