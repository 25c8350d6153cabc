// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"certrotation.dev/registry/csr"
	"certrotation.dev/registry/pki"
)

// decision is one line of decisions.log, which is append-only.
type decision struct {
	Time      time.Time  `json:"time"`
	Requester string     `json:"requester"`
	Name      string     `json:"name,omitempty"`
	Decision  string     `json:"decision"`
	Reason    csr.Reason `json:"reason,omitempty"`
	Message   string     `json:"message,omitempty"`
	// Set if the decision is signed; released sets Profile and Node.
	Profile     csr.Profile `json:"profile,omitempty"`
	Node        string      `json:"node,omitempty"`
	Fingerprint string      `json:"fingerprint,omitempty"`
	Serial      string      `json:"serial,omitempty"`
	Issuer      string      `json:"issuer,omitempty"`
	NotAfter    *time.Time  `json:"notAfter,omitempty"`
}

// maxLoggedName bounds, in bytes, the logged part of a name, which may be arbitrary text.
const maxLoggedName = 253

func denied(requester csr.Requester, name string, refusal *csr.Refusal, now time.Time) decision {
	return decision{
		Time: now.UTC(), Requester: requester.Name, Name: name[:min(len(name), maxLoggedName)], Decision: "denied",
		Reason: refusal.Reason, Message: refusal.Message,
	}
}

func signed(requester csr.Requester, name string, approval *csr.Approval, leaf *pki.Certificate, now time.Time) decision {
	return decision{
		Time: now.UTC(), Requester: requester.Name, Name: name, Decision: "signed", Profile: approval.Profile, Node: approval.Node,
		Fingerprint: string(leaf.Fingerprint), Serial: leaf.SerialNumber, Issuer: leaf.Issuer, NotAfter: &leaf.NotAfter,
	}
}

// log appends a decision. When it returns nil, the line is on the disk.
func (s *store) log(d decision) error {
	line, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode decision: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(s.dir, "decisions.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY|unix.O_NOFOLLOW, privateFile)
	if err != nil {
		return fmt.Errorf("log decision: %w", err)
	}
	if err := writeSynced(file, append(line, '\n')); err != nil {
		return fmt.Errorf("log decision: %w", err)
	}
	return nil
}
