// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"

	"certrotation.dev/registry/display"
)

// Metadata and data of the ConfigMap with the Status of a rollout.
const (
	// LabelStatus of the ConfigMap holds the name of the rollout.
	LabelStatus = "certrotation.dev/rollout-status"
	// StatusKey is the key of the Status in the ConfigMap.
	StatusKey = "status.json"
)

// StatusName is the name of the ConfigMap.
func StatusName(rollout string) string { return rollout + "-rollout" }

// Bounds of a Status. Encode stays within them for any Assessment.
const (
	maxStatusBytes = 512 << 10
	maxEntries     = 1000
	maxName        = 253
)

// ErrMalformed is wrapped by the errors of Decode.
var ErrMalformed = errors.New("malformed status of a rollout")

// ReadStatus reads the Status of a rollout from its ConfigMap. It refuses one under another name: otherwise two could
// contradict each other.
func ReadStatus(cm *corev1.ConfigMap, rollout string) (*Status, error) {
	if want := StatusName(rollout); cm.Name != want {
		return nil, fmt.Errorf("the status of the rollout that the label %s names must be in ConfigMap %.253q", LabelStatus, want)
	}
	s, err := Decode(cm.Data[StatusKey])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", StatusKey, err)
	}
	return s, nil
}

// PutStatus writes the result of Encode into the ConfigMap of a rollout, and reports whether that changes anything.
func PutStatus(cm *corev1.ConfigMap, rollout, text string) (changed bool) {
	if cm.Name == StatusName(rollout) && cm.Labels[LabelStatus] == rollout && cm.Data[StatusKey] == text {
		return false
	}
	if cm.Labels == nil {
		cm.Labels = map[string]string{}
	}
	cm.Name, cm.Labels[LabelStatus] = StatusName(rollout), rollout
	cm.Data = map[string]string{StatusKey: text}
	return true
}

// Encode returns the stored form of a Status. The same Status gives the same text.
func Encode(s *Status) (string, error) {
	out, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return "", fmt.Errorf("encode the status of a rollout: %w", err)
	}
	return string(append(out, '\n')), nil
}

// Decode is the reverse of Encode. It refuses unknown fields and values out of bounds: another writer must have made
// them.
func Decode(text string) (*Status, error) {
	if len(text) > maxStatusBytes {
		return nil, fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrMalformed, len(text), maxStatusBytes)
	}
	if trimmed := bytes.TrimSpace([]byte(text)); len(trimmed) == 0 || trimmed[0] != '{' || !utf8.ValidString(text) {
		return nil, fmt.Errorf("%w: it is no JSON object", ErrMalformed)
	}
	s := &Status{}
	strict, err := kjson.UnmarshalStrict([]byte(text), s)
	if err := errors.Join(append(strict, err)...); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return s, nil
}

func (s *Status) check() error {
	if len(s.Nodes) > maxEntries || len(s.Conditions) > maxEntries || len(s.Blockers) > maxEntries {
		return fmt.Errorf("more than %d entries in a list", maxEntries)
	}
	if !isRevision(s.LatestAvailableRevision) {
		return errors.New("latestAvailableRevision is out of range")
	}
	for i := range s.Nodes {
		if err := s.Nodes[i].check(); err != nil {
			return fmt.Errorf("nodeStatuses[%d]: %w", i, err)
		}
	}
	for i := range s.Conditions {
		c := &s.Conditions[i]
		if !isName(c.Type) || len(c.Reason) > maxName || len(c.Message) > maxMessage {
			return fmt.Errorf("conditions[%d]: a text is too long, or there is no type", i)
		}
	}
	for i := range s.Blockers {
		b := &s.Blockers[i]
		if len(b.Node) > maxName || !isName(string(b.Reason)) || len(b.Message) > maxMessage {
			return fmt.Errorf("blockers[%d]: a text is too long, or there is no reason", i)
		}
	}
	return nil
}

func (n *NodeStatus) check() error {
	if !isName(n.Name) || len(n.UID) > maxName {
		return errors.New("nodeName or uid is empty or too long")
	}
	if !isRevision(n.CurrentRevision) || !isRevision(n.TargetRevision) || !isRevision(n.TargetAttempt) {
		return errors.New("a number is out of range")
	}
	if f := n.LastFailed; f != nil && (!isRevision(f.Revision) || f.Count < 1 || !isRevision(f.Count) || len(f.Message) > maxMessage) {
		return errors.New("lastFailed is out of range")
	}
	return nil
}

func isName(name string) bool { return name != "" && len(name) <= maxName }

func isRevision(number int) bool { return number >= 0 && number <= 1<<31-1 }

// maxMessage bounds each text in bytes, so that a Status stays small no matter what a program on a node reports.
const maxMessage = 1024

// ephemeral matches the local end of a connection in an error of package net. It changes with each connection.
var ephemeral = regexp.MustCompile(`[0-9A-Fa-f.:\[\]]+:[0-9]+->`)

// stable removes the varying parts of an error text, so that waiting does not cause a write each time.
func stable(text string) string {
	return cut(ephemeral.ReplaceAllString(text, ""))
}

// cut shortens a text between characters and makes it valid UTF-8.
func cut(text string) string {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	return display.Shorten(text, maxMessage, " ...")
}
