// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"certrotation.dev/test/cluster/installation"
)

// audit reads the requests of our programs from the audit log of kube-apiserver. The metrics of kube-apiserver do
// not distinguish users, and client metrics do not distinguish a lease from a list.
type audit struct{ dir string }

func newAudit(dir string) (*audit, error) {
	own, err := os.MkdirTemp(dir, "audit-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	a := &audit{dir: own}
	policy := fmt.Sprintf(`{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
  {"level": "Metadata", "users": [%q, %q]},
  {"level": "None"}
]}`, account(installation.Controller), account(installation.Serve))
	if err := os.WriteFile(a.policy(), []byte(policy), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("write the audit policy: %w", err), a.remove())
	}
	return a, nil
}

func (a *audit) policy() string { return filepath.Join(a.dir, "policy.json") }
func (a *audit) log() string    { return filepath.Join(a.dir, "audit.log") }
func (a *audit) remove() error  { return os.RemoveAll(a.dir) }

// flags make kube-apiserver write the log.
func (a *audit) flags() []string {
	return []string{"--audit-policy-file=" + a.policy(), "--audit-log-path=" + a.log()}
}

// requestKind is a kind of request, as the table shows it.
type requestKind struct{ program, what string }

// Kinds of requests whose number does not depend on the members.
const (
	ofTheLease   = "the lease of the leader"
	ofTheWatches = "watches that have ended, begun again"
)

// count returns how many requests of each kind began between from and until.
func (a *audit) count(from, until time.Time) (map[requestKind]int, error) {
	file, err := os.Open(a.log())
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer file.Close()
	return countRequests(file, from, until)
}

func countRequests(log io.Reader, from, until time.Time) (map[requestKind]int, error) {
	out := map[requestKind]int{}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			// kube-apiserver is still writing what follows the last newline.
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		if at := event.RequestReceivedTimestamp.Time; at.Before(from) || !at.Before(until) {
			continue
		}
		if kind, ok := kindOf(&event); ok {
			out[kind]++
		}
	}
}

// kindOf counts each request once: a watch has an audit event when it begins and one when it ends.
func kindOf(event *auditv1.Event) (requestKind, bool) {
	watches := event.Verb == "watch"
	if watches != (event.Stage == auditv1.StageResponseStarted) || event.ObjectRef == nil {
		return requestKind{}, false
	}
	kind := requestKind{program: installation.Serve, what: event.Verb + " " + event.ObjectRef.Resource}
	if strings.HasSuffix(event.User.Username, "-"+installation.Controller) {
		kind.program = installation.Controller
	}
	if sub := event.ObjectRef.Subresource; sub != "" {
		kind.what += "/" + sub
	}
	switch {
	case event.ObjectRef.Resource == "leases":
		kind.what = ofTheLease
	case watches:
		kind.what = ofTheWatches
	}
	return kind, true
}

// compareKinds orders by program, and puts requests that do not depend on the members last.
func compareKinds(x, y requestKind) int {
	rank := func(k requestKind) int {
		switch k.what {
		case ofTheLease, ofTheWatches:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(x.program, y.program), cmp.Compare(rank(x), rank(y)), cmp.Compare(x.what, y.what))
}
