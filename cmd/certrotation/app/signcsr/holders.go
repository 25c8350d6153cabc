// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"certrotation.dev/registry/csr"
)

// holder records the key of a node for a profile. The first signed key wins: a client that gets or steals the
// bootstrap token later gets no certificate in the name of a node that has one.
type holder struct {
	Node          string      `json:"node"`
	Profile       csr.Profile `json:"profile"`
	PublicKeyHash string      `json:"publicKeyHash"`
	Requester     string      `json:"requester"`
	Since         time.Time   `json:"since"`
}

const maxHolderBytes = 16 << 10

// holderPath is a hash, so that the node's name cannot influence the path.
func holderPath(dir, node string, profile csr.Profile) string {
	sum := sha256.Sum256([]byte(string(profile) + "\x00" + node))
	return filepath.Join(dir, "holder-"+hex.EncodeToString(sum[:])+".json")
}

// mayHold refuses a request for a node and profile if the record names another key, or cannot be read.
func (s *store) mayHold(approval *csr.Approval) error {
	known, err := readHolder(s.dir, approval.Node, approval.Profile)
	if err != nil || known == nil || known.PublicKeyHash == approval.PublicKeyHash() {
		return err
	}
	return &csr.Refusal{Reason: csr.KeyHeld, Message: fmt.Sprintf(
		"node %s has a certificate of profile %s for another key, first signed at %s; if that key is lost, and the requester is that node, "+
			"an operator of the signer can release it: certrotation sign-csr release --storage-dir DIR --node %s --profile %s",
		approval.Node, approval.Profile, known.Since.Format(time.RFC3339), approval.Node, approval.Profile)}
}

// hold records the key of a node and profile. It never overwrites a record, and creates it completely or not at all.
func (s *store) hold(approval *csr.Approval, requester csr.Requester, now time.Time) (err error) {
	path := holderPath(s.dir, approval.Node, approval.Profile)
	if _, err := os.Lstat(path); err == nil {
		return s.mayHold(approval)
	}
	data, err := json.Marshal(&holder{
		Node: approval.Node, Profile: approval.Profile, PublicKeyHash: approval.PublicKeyHash(), Requester: requester.Name, Since: now.UTC(),
	})
	if err != nil {
		return fmt.Errorf("encode holder of node %s: %w", approval.Node, err)
	}
	file, err := os.CreateTemp(s.dir, ".holder-*") // of mode 0600
	if err != nil {
		return fmt.Errorf("write holder of node %s: %w", approval.Node, err)
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	if err := writeSynced(file, data); err != nil {
		return fmt.Errorf("write holder of node %s: %w", approval.Node, err)
	}
	// Unlike a rename, a link fails if the file exists.
	if err := os.Link(file.Name(), path); err != nil {
		return fmt.Errorf("write holder of node %s: %w", approval.Node, err)
	}
	return syncDir(s.dir)
}

// readHolder returns nil if there is no record.
func readHolder(dir, node string, profile csr.Profile) (*holder, error) {
	data, err := readOwn(holderPath(dir, node, profile), maxHolderBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read holder of node %s, profile %s: %w", node, profile, err)
	}
	out := &holder{}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("read holder of node %s, profile %s: %w", node, profile, err)
	}
	if out.Node != node || out.Profile != profile || out.PublicKeyHash == "" {
		return nil, fmt.Errorf("read holder of node %s, profile %s: it is that of node %q, profile %q", node, profile, out.Node, out.Profile)
	}
	return out, nil
}

// release deletes the recorded key of a node and profile, and reports whether there was one. A running signer sees
// this at once.
func release(dir, node string, profile csr.Profile, now time.Time) (bool, error) {
	known, err := readHolder(dir, node, profile)
	if err != nil {
		return false, err
	}
	if known == nil {
		return false, nil
	}
	s := &store{dir: dir}
	if err := s.log(decision{Time: now.UTC(), Requester: "operator", Decision: "released", Profile: profile, Node: node}); err != nil {
		return false, err
	}
	if err := os.Remove(holderPath(dir, node, profile)); err != nil {
		return false, fmt.Errorf("release node %s, profile %s: %w", node, profile, err)
	}
	return true, syncDir(dir)
}
