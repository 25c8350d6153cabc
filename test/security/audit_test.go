// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"certrotation.dev/test/cluster/installation"
)

// auditPolicy logs every request of certrotation when it begins, and its authentication and authorization reviews
// when they are complete.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted, Panic]
rules:
- level: Request
  omitStages: [RequestReceived]
  userGroups: ["system:serviceaccounts:certrotation-system"]
  resources:
  - group: authorization.k8s.io
  - group: authentication.k8s.io
- level: Metadata
  omitStages: [ResponseComplete]
  userGroups: ["system:serviceaccounts:certrotation-system"]
- level: None
`

// auditLog is the audit log of kube-apiserver, which writes each line before it answers.
type auditLog struct {
	file string
}

// newAuditLog returns the audit log of a kube-apiserver with these flags.
func newAuditLog(t *testing.T) (log *auditLog, flags []string) {
	t.Helper()
	dir := t.TempDir()
	log = &auditLog{file: filepath.Join(dir, "audit.log")}
	policy := filepath.Join(dir, "audit-policy.yaml")
	write(t, policy, auditPolicy)
	return log, []string{"--audit-policy-file=" + policy, "--audit-log-path=" + log.file, "--audit-log-mode=blocking"}
}

// requests returns those of certrotation's own accounts, in order.
func (a *auditLog) requests(t *testing.T) []auditv1.Event {
	t.Helper()
	f, err := os.Open(a.file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []auditv1.Event
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatalf("read the audit log: %v", err)
		}
		if strings.HasPrefix(event.User.Username, "system:serviceaccount:"+installation.Namespace+":") {
			out = append(out, event)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("read the audit log: %v", err)
	}
	return out
}

// about returns the requests to a namespace as VERB URI.
func (a *auditLog) about(t *testing.T, namespace string) []string {
	t.Helper()
	var out []string
	for _, event := range a.requests(t) {
		if event.ObjectRef != nil && event.ObjectRef.Namespace == namespace && event.ObjectRef.Resource != "namespaces" {
			out = append(out, event.Verb+" "+event.RequestURI)
		}
	}
	return out
}
