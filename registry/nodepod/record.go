// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Record is generation.json, written last into a generation.
type Record struct {
	Revision    int    `json:"revision"`
	ContentHash string `json:"contentHash"`
	RestartHash string `json:"restartHash"`
	Node        string `json:"node"`
	// Files maps the path of every other file of the generation, below it, to its lower-case hexadecimal SHA-256.
	Files map[string]string `json:"files"`
	// RecoveredFrom is the ID of the generation from which a recovery made this one. No revision has such content.
	RecoveredFrom string `json:"recoveredFrom,omitempty"`
}

// maxRecordBytes bounds generation.json.
const maxRecordBytes = 4 << 20

// Encode returns the text of generation.json.
func (r Record) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the record of generation %d: %w", r.Revision, err)
	}
	return append(text, '\n'), nil
}

// ParseRecord reads generation.json. It refuses any path but configmaps/NAME/KEY and secrets/NAME/KEY, and ignores
// unknown fields: a later release wrote them.
func ParseRecord(text []byte) (*Record, error) {
	record := &Record{}
	if err := json.Unmarshal(text, record); err != nil {
		return nil, fmt.Errorf("parse %s: %w", RecordName, err)
	}
	if record.Revision < 1 {
		return nil, fmt.Errorf("parse %s: revision %d", RecordName, record.Revision)
	}
	for file := range record.Files {
		if err := checkFile(file); err != nil {
			return nil, fmt.Errorf("parse %s: %w", RecordName, err)
		}
	}
	return record, nil
}

// The directories of a generation.
const (
	configMaps = "configmaps"
	secrets    = "secrets"
)

// FilesOf maps the content of a revision to paths below a generation. It refuses an invalid object name or key: such
// a path could lead elsewhere.
func FilesOf(content Content) (map[string][]byte, error) {
	out := map[string][]byte{}
	for kind, objects := range map[string]map[string]map[string][]byte{configMaps: content.ConfigMaps, secrets: content.Secrets} {
		for name, data := range objects {
			for key, value := range data {
				file := strings.Join([]string{kind, name, key}, "/")
				if err := checkFile(file); err != nil {
					return nil, err
				}
				out[file] = value
			}
		}
	}
	return out, nil
}

// checkFile accepts configmaps/NAME/KEY and secrets/NAME/KEY.
func checkFile(file string) error {
	parts := strings.Split(file, "/")
	if len(parts) != 3 || parts[0] != configMaps && parts[0] != secrets {
		return fmt.Errorf("file %q: want %s/NAME/KEY or %s/NAME/KEY", file, configMaps, secrets)
	}
	if faults := validation.IsDNS1123Subdomain(parts[1]); len(faults) > 0 {
		return fmt.Errorf("file %q: %q is no name of an object: %s", file, parts[1], strings.Join(faults, "; "))
	}
	if faults := validation.IsConfigMapKey(parts[2]); len(faults) > 0 {
		return fmt.Errorf("file %q: %q is no key: %s", file, parts[2], strings.Join(faults, "; "))
	}
	return nil
}

// Hash returns the hash of a file, in the form that a Record uses.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Hashes returns the Hash of each file of a generation.
func Hashes(files map[string][]byte) map[string]string {
	out := make(map[string]string, len(files))
	for name, data := range files {
		out[name] = Hash(data)
	}
	return out
}
