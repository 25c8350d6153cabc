// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"certrotation.dev/controller/rollout/generation"
	"certrotation.dev/registry/diagnosis"
	"certrotation.dev/registry/pki"
)

// reader reads one generation.
type reader struct {
	g     *diagnosis.Generation
	disk  *diagnosis.Disk
	files map[string][]byte
}

func readGeneration(d *diagnosis.Disk, revision, n int64, dir string) diagnosis.Generation {
	r := &reader{
		g: &diagnosis.Generation{Revision: revision, Number: n, Path: dir}, disk: d, files: map[string][]byte{},
	}
	r.readFiles()
	r.compareRecord()
	r.parse()
	return *r.g
}

func (r *reader) defect(reason diagnosis.Reason, path, format string, args ...any) {
	r.g.Defects = append(r.g.Defects, diagnosis.Defect{Reason: reason, Path: path, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) readFiles() {
	// The function returns no error: what cannot be read is a defect.
	_ = filepath.WalkDir(r.g.Path, func(file string, entry fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(r.g.Path, file)
		if err = errors.Join(err, relErr); err != nil {
			r.defect(diagnosis.ReasonUnparsable, name, "it cannot be read: %v", err)
			return nil
		}
		noteTime(r.disk, file)
		if info, err := entry.Info(); err == nil {
			if mode := tooOpen(info); mode != "" && entry.Type() != fs.ModeSymlink {
				r.defect(diagnosis.ReasonFileMode, name, "others than its owner may use it: its mode is %s", mode)
			}
		}
		switch {
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			r.defect(diagnosis.ReasonFileUnexpected, name, "it is no regular file")
			return nil
		}
		data, err := readBounded(file, max(pki.MaxPEMBytes, generation.MaxRecordBytes))
		if err != nil {
			r.defect(diagnosis.ReasonUnparsable, name, "it cannot be read: %v", err)
			return nil
		}
		r.files[name] = data
		return nil
	})
}

// compareRecord checks that the files are the ones that were installed.
func (r *reader) compareRecord() {
	data, ok := r.files[generation.RecordName]
	delete(r.files, generation.RecordName)
	if !ok {
		r.defect(diagnosis.ReasonIncomplete, generation.RecordName, "it is missing: the installation was interrupted before its end")
		return
	}
	was, err := generation.ParseRecord(data)
	if err != nil {
		r.defect(diagnosis.ReasonIncomplete, generation.RecordName, "it cannot be read, so nothing says what was installed")
		return
	}
	r.g.RecoveredFrom = was.RecoveredFrom
	if int64(was.Revision) != r.g.Number {
		r.defect(diagnosis.ReasonIncomplete, generation.RecordName, "it is that of revision %d", was.Revision)
	}
	for _, name := range slices.Sorted(maps.Keys(was.Files)) {
		data, ok := r.files[name]
		sum := sha256.Sum256(data)
		switch {
		case !ok:
			r.defect(diagnosis.ReasonFileMissing, name, "it was installed and is not there")
		case !strings.EqualFold(was.Files[name], hex.EncodeToString(sum[:])):
			r.defect(diagnosis.ReasonHashMismatch, name, "it is not what was installed")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if _, ok := was.Files[name]; !ok {
			r.defect(diagnosis.ReasonFileUnexpected, name, "it was not installed")
		}
	}
}

// parse reads bundles and pairs: by the directories that they are in.
func (r *reader) parse() {
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		switch {
		case filepath.Ext(name) != ".crt":
		case strings.HasPrefix(name, "configmaps/"):
			r.parseBundle(name)
		case strings.HasPrefix(name, "secrets/"):
			r.parsePair(name)
		}
	}
}

func (r *reader) parseBundle(name string) {
	anchors, err := pki.ParseBundle(r.files[name])
	if err != nil {
		r.defect(diagnosis.ReasonUnparsable, name, "it is no bundle: %v", err)
		return
	}
	r.g.Bundles = append(r.g.Bundles, diagnosis.Bundle{Path: name, Anchors: anchors})
}

func (r *reader) parsePair(name string) {
	p := diagnosis.Pair{
		Name: strings.TrimSuffix(filepath.Base(name), ".crt"), Cert: name, Key: strings.TrimSuffix(name, ".crt") + ".key",
	}
	key, ok := r.files[p.Key]
	if !ok {
		r.defect(diagnosis.ReasonFileMissing, p.Key, "the key of %s is not there", p.Name)
	}
	certs, err := pki.CheckPair(r.files[name], key)
	if len(certs) > 0 {
		p.Certificate, p.Chain = certs[0], certs[1:]
	}
	switch {
	case err == nil || !ok:
	case errors.Is(err, pki.ErrKeyMismatch):
		r.defect(diagnosis.ReasonKeyMismatch, p.Key, "it is not the key of the certificate of %s", p.Name)
	case p.Certificate != nil:
		r.defect(diagnosis.ReasonUnparsable, p.Key, "it holds no usable key: %v", err)
	default:
		r.defect(diagnosis.ReasonUnparsable, name, "it holds no certificate: %v", err)
	}
	r.g.Pairs = append(r.g.Pairs, p)
}
