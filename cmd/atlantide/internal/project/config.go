package project

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/atlantide-org/atlantide-operator/engine/model/tomltext"
)

// maxConfigBytes bounds the text of a config.
const maxConfigBytes = 4 << 20

// Config is the text of a config and the name under which errors show it.
type Config struct {
	Name string // as given, or relative to the working directory
	Text string
}

// Config reads the config of a command: the one given, which starts at the working
// directory, else the project file's, which starts at the root (cli.md 6).
func (p *Project) Config(given string) (Config, error) {
	name, what := given, "the config"
	if given == "" {
		configured, isText := p.settings.text("config")
		switch {
		case configured != "" && filepath.IsAbs(configured):
			name = configured
		case configured != "":
			name = p.shown(filepath.Join(p.Root, configured))
		case p.settings["config"] != nil && !isText:
			return Config{}, userErrorf("no config: name its file, or mend 'config' in %s, which must be a text, not %s", p.File, tomltext.TypeName(p.settings["config"]))
		case p.File == "":
			return Config{}, userErrorf("no config: name its file, or set 'config' in a project file, %s", FileName)
		default:
			return Config{}, userErrorf("no config: name its file, or set 'config' in %s", p.File)
		}
	}
	if given == "" {
		what = "the config that " + p.File + " names,"
	}
	data, err := readFile(what, p.Resolved(name), name, maxConfigBytes)
	if err != nil {
		return Config{}, err
	}
	return Config{Name: name, Text: string(data)}, nil
}

// Read reads a file of at most limit bytes that was named on the command line; what says
// in an error what it is.
func (p *Project) Read(what, given string, limit int64) ([]byte, error) {
	return readFile(what, p.Resolved(given), given, limit)
}

// readFile reads a file of at most limit bytes. A pipe is refused, because to open it may
// wait for ever; what /dev has, such as the pipes that a shell opened for us, is not.
func readFile(what, path, shown string, limit int64) ([]byte, error) {
	if strings.ContainsRune(path, 0) {
		return nil, cannotRead(what, shown, syscall.EINVAL)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, cannotRead(what, shown, err)
	case info.IsDir():
		return nil, cannotRead(what, shown, errors.New("it is a folder"))
	case !info.Mode().IsRegular() && !strings.HasPrefix(path, "/dev/"):
		return nil, cannotRead(what, shown, errors.New("it is a pipe, a socket or a device, not a file"))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, cannotRead(what, shown, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, cannotRead(what, shown, err)
	case int64(len(data)) > limit:
		return nil, cannotRead(what, shown, tooLarge(limit))
	}
	return data, nil
}
