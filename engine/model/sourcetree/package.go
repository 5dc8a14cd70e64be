package sourcetree

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"unicode/utf8"
)

// Package writes the package that a path stands for: the bytes of a file, or the zip of
// a folder's files. The zip depends on their names, contents and owner's execute bits
// alone, so that its digest tells whether anything changed (providers.md 5).
func (r *Reader) Package(ctx context.Context, w io.Writer, p string) error {
	at, info, err := r.find(p)
	if err != nil {
		return err
	}
	limit := r.Limits.orDefault().PackageBytes
	switch {
	case info.Mode().IsRegular():
		_, err := r.copyFile(ctx, w, at, limit)
		return err
	case !info.IsDir():
		return fmt.Errorf("'%s' is %s, neither a file nor a folder", Shown(p), kindOf(info))
	}
	files, err := r.below(at)
	if err != nil {
		return err
	}
	z := zip.NewWriter(w)
	var content bytes.Buffer // of one file at a time
	for i := range files {
		content.Reset()
		n, err := r.copyFile(ctx, &content, files[i].at, limit)
		if err != nil {
			return err
		}
		limit -= n
		if err := store(z, &files[i], content.Bytes()); err != nil {
			return err
		}
	}
	return z.Close()
}

// Constants of the zip format, as a package has them.
const (
	madeBy         = 3<<8 | 20 // version 2.0 on Unix
	needed         = 20
	firstDay       = 0x21 // 1980-01-01, where the format's time begins
	utf8Name       = 0x800
	plainFile      = 0o644 << 16
	executableFile = 0o755 << 16
)

func store(z *zip.Writer, f *file, content []byte) error {
	header := &zip.FileHeader{
		Name: f.name, Method: zip.Store,
		CreatorVersion: madeBy, ReaderVersion: needed,
		ModifiedDate:       firstDay, //nolint:staticcheck // Modified would add an extra field
		CRC32:              crc32.ChecksumIEEE(content),
		CompressedSize64:   uint64(len(content)),
		UncompressedSize64: uint64(len(content)),
		ExternalAttrs:      plainFile,
	}
	if f.executable {
		header.ExternalAttrs = executableFile
	}
	if strings.ContainsFunc(f.name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		header.Flags = utf8Name
	}
	entry, err := z.CreateRaw(header)
	if err != nil {
		return err
	}
	_, err = entry.Write(content)
	return err
}
