package sourcetree

import (
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// Texts is the tree of files that are kept as texts by path. A name that is no path of
// a tree ("../x") cannot be reached. Files carry no execute bit.
func Texts(files map[string]string) fs.FS {
	t := &texts{files: files, folders: map[string]map[string]bool{".": {}}}
	for name := range files {
		if !fs.ValidPath(name) || name == "." {
			continue
		}
		for at := name; at != "."; at = path.Dir(at) {
			dir := path.Dir(at)
			if t.folders[dir] == nil {
				t.folders[dir] = map[string]bool{}
			}
			t.folders[dir][path.Base(at)] = true
		}
	}
	return t
}

type texts struct {
	files   map[string]string
	folders map[string]map[string]bool // path → names in it
}

// Open implements fs.FS. What is both a file and a folder of others is the file.
func (t *texts) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	info := entry{name: path.Base(name)}
	if text, ok := t.files[name]; ok && name != "." {
		info.size = int64(len(text))
		return &textFile{info: info, Reader: strings.NewReader(text)}, nil
	}
	names := t.folders[name]
	if names == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	info.folder = true
	f := &folderFile{info: info}
	for _, child := range slices.Sorted(maps.Keys(names)) {
		text, isFile := t.files[path.Join(name, child)]
		f.entries = append(f.entries, fs.FileInfoToDirEntry(entry{name: child, size: int64(len(text)), folder: !isFile}))
	}
	return f, nil
}

// entry is the description of a file or folder.
type entry struct {
	name   string
	size   int64
	folder bool
}

func (e entry) Name() string       { return e.name }
func (e entry) Size() int64        { return e.size }
func (e entry) ModTime() time.Time { return time.Time{} }
func (e entry) IsDir() bool        { return e.folder }
func (e entry) Sys() any           { return nil }

func (e entry) Mode() fs.FileMode {
	if e.folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

type textFile struct {
	info entry
	*strings.Reader
}

func (f *textFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *textFile) Close() error               { return nil }

type folderFile struct {
	info    entry
	entries []fs.DirEntry // not yet handed out
}

func (f *folderFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *folderFile) Close() error               { return nil }

func (f *folderFile) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (f *folderFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(f.entries)
	} else if len(f.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.entries))
	out := f.entries[:n:n]
	f.entries = f.entries[n:]
	return out, nil
}
