// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	gocmp "cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/pki"
)

func TestPlan(t *testing.T) {
	blocked := plan()
	blocked.Blockers = []v1alpha1.Blocker{{Object: "Secret/service-server", Reason: "ObjectProblem", Message: "cannot be\nread"}}
	blocked.Steps[2].WaitsFor = []string{"a/1", "a/2", "a/3", "a/4", "a/5", "b"}
	tests := []struct {
		name, golden string
		plan         *v1alpha1.RotationPlan
		args         []string
	}{
		{name: "free", plan: plan(), golden: "plan.txt"},
		{name: "blocked", plan: blocked, golden: "plan-blocked.txt"},
		{name: "YAML", plan: plan(), args: []string{"-o", "yaml"}, golden: "plan.yaml"},
		{name: "JSON", plan: plan(), args: []string{"-o", "json"}, golden: "plan.json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShell(t)
			s.answer("rotate", tt.plan, nil)
			golden(t, tt.golden, s.ok(t, append([]string{"plan", "service-signer"}, tt.args...)...))
			if diff := cmp.Diff([]string{"All"}, s.posted(t, "rotate").CreateOptions.DryRun); diff != "" {
				t.Errorf("dryRun (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRotateWithoutWait(t *testing.T) {
	blocker := func(member string) v1alpha1.Blocker {
		return v1alpha1.Blocker{Party: "clients", Member: member, Reason: "NotObserved", Message: "has not acknowledged anything"}
	}
	tests := []struct {
		name, golden string
		args         []string
		request      v1alpha1.RotationRequest
		dryRun       []string
		blockers     []v1alpha1.Blocker
	}{
		{name: "plain", golden: "rotate.txt"},
		{
			name: "with a reason", golden: "rotate.txt", args: []string{"--reason", "INC-1", "--compromised"},
			request: v1alpha1.RotationRequest{Reason: "INC-1", Compromised: true},
		},
		{name: "dry run", golden: "rotate-dryrun.txt", args: []string{"--dry-run=server"}, dryRun: []string{"All"}},
		{name: "waits", golden: "rotate-waits.txt", blockers: []v1alpha1.Blocker{blocker("client-a"), blocker("client-b")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShell(t)
			answer := plan()
			answer.Blockers = tt.blockers
			s.answer("rotate", answer, nil)
			golden(t, tt.golden, s.ok(t, append([]string{"rotate", "service-signer"}, tt.args...)...))
			posted := s.posted(t, "rotate")
			if diff := cmp.Diff(&tt.request, posted.Object); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.dryRun, posted.CreateOptions.DryRun); diff != "" {
				t.Errorf("dryRun (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAcknowledge(t *testing.T) {
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "ca", Key: "ECDSA-P256", Validity: time.Hour}, testNow)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(pki.Profile{CommonName: "leaf", Key: "ECDSA-P256", Validity: time.Minute, Usages: []pki.Usage{pki.ClientAuth}}, testNow)
	if err != nil {
		t.Fatal(err)
	}
	caCert, leafCert := ca.Certificate, pair.Certificate
	bundleFile, leafFile := filepath.Join(t.TempDir(), "ca.crt"), filepath.Join(t.TempDir(), "tls.crt")
	chain := pki.EncodeCertificates(leafCert, caCert)
	for file, data := range map[string][]byte{bundleFile: caCert.PEM(), leafFile: chain} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	caPrint, leafPrint := string(caCert.Fingerprint), string(leafCert.Fingerprint)
	tests := []struct {
		name, stdin string
		args        []string
		want        v1alpha1.Acknowledgement
	}{
		{
			name: "fingerprints", args: []string{"--trusts", caPrint + "," + oldCA, "--presents", leafPrint},
			want: v1alpha1.Acknowledgement{Trusts: []string{caPrint, oldCA}, Presents: []string{leafPrint}},
		},
		{
			name: "as openssl prints them", args: []string{"--trusts", "AA:" + strings.ToUpper(oldCA[2:]), "--member", "client-b"},
			want: v1alpha1.Acknowledgement{Member: "client-b", Trusts: []string{oldCA}, Presents: []string{}},
		},
		{
			name: "files", args: []string{"--bundle", bundleFile, "--leaf", leafFile},
			want: v1alpha1.Acknowledgement{Trusts: []string{caPrint}, Presents: []string{leafPrint}},
		},
		{
			name: "standard input", stdin: string(caCert.PEM()), args: []string{"--bundle", "-"},
			want: v1alpha1.Acknowledgement{Trusts: []string{caPrint}, Presents: []string{}},
		},
		{
			name: "of one process", args: []string{"--trusts", oldCA, "--instance", "pod-1", "--started-at", "2026-03-01T11:00:00.5Z", "--observed-at", "2026-03-01T12:59:59+01:00"},
			want: v1alpha1.Acknowledgement{Trusts: []string{oldCA}, Presents: []string{}, Instance: "pod-1",
				StartedAt: metav1.NewMicroTime(testNow.Add(-time.Hour + 500*time.Millisecond)), ObservedAt: metav1.NewMicroTime(testNow.Add(-time.Second))},
		},
		{name: "trusts nothing", args: []string{"--trusts", ""}, want: v1alpha1.Acknowledgement{Trusts: []string{}, Presents: []string{}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShell(t)
			s.stdin = tt.stdin
			tt.want.Party = "clients"
			now := metav1.NewMicroTime(testNow)
			tt.want.Instance = gocmp.Or(tt.want.Instance, tt.want.Member, "clients")
			if tt.want.StartedAt.IsZero() {
				tt.want.StartedAt = now
			}
			if tt.want.ObservedAt.IsZero() {
				tt.want.ObservedAt = now
			}
			taken := tt.want.DeepCopy()
			taken.Expires = &metav1.MicroTime{Time: testNow.Add(time.Hour)}
			s.answer("acknowledge", taken, nil)
			got := s.ok(t, append([]string{"acknowledge", "service-signer", "--party", "clients"}, tt.args...)...)
			if diff := cmp.Diff(&tt.want, s.posted(t, "acknowledge").Object); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if !strings.Contains(got, "acknowledged: clients") || !strings.Contains(got, "counts until 2026-03-01T13:00:00Z") {
				t.Errorf("printed %q", got)
			}
		})
	}
}

// TestAcknowledgeOfPodFromOutside: the plugin prints the refusal of the server, which tells where to report from.
func TestAcknowledgeOfPodFromOutside(t *testing.T) {
	s := newShell(t)
	const refusal = `clients/web-7d9f-x2x4k is a pod, and reports for itself alone: the credential of "ada" is bound to no pod of namespace demo; ` +
		"report from inside the pod, with the token that kubelet mounts there"
	s.answer("acknowledge", nil, apierrors.NewConflict(v1alpha1.Resource("certificaterotations"), "service-signer", errors.New(refusal)))
	code := s.run(t.Context(), "acknowledge", "service-signer", "--party", "clients", "--member", "web-7d9f-x2x4k", "--trusts", oldCA)
	if code != 1 || !strings.HasPrefix(s.errOut.String(), "error: "+refusal+"\n") {
		t.Errorf("exit code %d, printed %q: want what the server says", code, s.errOut.String())
	}
}

func TestWaive(t *testing.T) {
	after := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	tests := []struct {
		name    string
		args    []string
		want    v1alpha1.Waiver
		dryRun  []string
		printed string
	}{
		{name: "for a day", args: []string{"--member", "client-b", "--for", "24h"},
			want: v1alpha1.Waiver{Member: "client-b", ExpiresAfter: after(24 * time.Hour)}, printed: "clients/client-b is waived until 2026-03-02T12:00:00Z\n"},
		{name: "until tomorrow", args: []string{"--until", "2026-03-02T12:00:00Z"},
			want: v1alpha1.Waiver{Expires: at(24 * time.Hour)}, printed: "clients is waived until 2026-03-02T12:00:00Z\n"},
		{name: "withdrawn", args: []string{"--withdraw"}, want: v1alpha1.Waiver{ExpiresAfter: after(0)}, printed: "the waiver of clients is withdrawn\n"},
		{name: "dry run", args: []string{"--for", "1h", "--dry-run=server"}, want: v1alpha1.Waiver{ExpiresAfter: after(time.Hour)},
			dryRun: []string{metav1.DryRunAll}, printed: "clients is waived until 2026-03-02T12:00:00Z (server dry run)\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShell(t)
			tt.want.Party, tt.want.Reason = "clients", "host is gone"
			given := tt.want.DeepCopy()
			given.ExpiresAfter, given.Expires, given.WaivedBy = nil, at(24*time.Hour), "ada"
			s.answer("waive", given, nil)
			got := s.ok(t, append([]string{"waive", "service-signer", "--party", "clients", "--reason", "host is gone"}, tt.args...)...)
			posted := s.posted(t, "waive")
			if diff := cmp.Diff(&tt.want, posted.Object); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.dryRun, posted.CreateOptions.DryRun); diff != "" {
				t.Errorf("dryRun (-want +got):\n%s", diff)
			}
			if !strings.HasSuffix(got, tt.printed) {
				t.Errorf("printed %q, want %q at the end", got, tt.printed)
			}
		})
	}
}

func TestWaiveRefused(t *testing.T) {
	s := newShell(t)
	s.answer("waive", nil, apierrors.NewForbidden(v1alpha1.Resource("certificaterotations"), "service-signer", errors.New("no")))
	line := []string{"waive", "service-signer", "--party", "p", "--reason", "r", "--for", "1h"}
	if code := s.run(t.Context(), line...); code != 1 || !strings.Contains(s.errOut.String(), "certificaterotations/waive") {
		t.Errorf("exit code %d, printed %q: want the right that is missing", code, s.errOut.String())
	}
}

func TestWrongUsage(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, line, want string }{
		{"no name", "rotate", "takes the name of one Secret"},
		{"two names", "plan a b", "got 2 arguments"},
		{"unknown command", "surgeon", "unknown command"},
		{"unknown output", "tree -o xml", `output format "xml"`},
		{"wrong template", "tree -o jsonpath={.domains", "unclosed action"},
		{"name in all namespaces", "tree -A service-signer", "cannot be combined"},
		{"unknown dry run", "rotate a --dry-run=client", "use none or server"},
		{"waiting for a dry run", "rotate a --wait --dry-run=server", "starts nothing to wait for"},
		{"waiting with output for a program", "rotate a --wait -o name", "wait with kubectl certrotation wait"},
		{"an abort that waits with output for a program", "abort a --wait -o json", "wait with kubectl certrotation wait"},
		{"unknown output of a request", "acknowledge a --party p --trusts x -o wide", `output format "wide"`},
		{"unknown output of a waiver", "waive a --party p --reason r --for 1h -o wide", `output format "wide"`},
		{"unknown output of an operation", "operate a rotate-ca-start -o wide", `output format "wide"`},
		{"a plan has no name", "plan a -o name", `output format "name"`},
		{"negative timeout", "wait a --timeout=-1s", "must not be negative"},
		{"unknown goal", "wait a --for=jsonpath=x", "use stage=STAGE"},
		{"unknown stage", "wait a --for=stage=Done", "the stages are [Stable Distributing Reissuing Draining Retiring]"},
		{"no party", "acknowledge a --trusts x", `required flag(s) "party"`},
		{"nothing to acknowledge", "acknowledge a --party p", "at least one of the flags"},
		{"two ways to acknowledge", "acknowledge a --party p --trusts x --bundle y", "were all set"},
		{"no time", "acknowledge a --party p --trusts x --started-at yesterday", "--started-at is \"yesterday\""},
		{"no reason to waive", "waive a --party p --for 1h", `required flag(s) "reason"`},
		{"no end of a waiver", "waive a --party p --reason r", "at least one of the flags"},
		{"two ends of a waiver", "waive a --party p --reason r --for 1h --withdraw", "were all set"},
		{"a waiver for no time", "waive a --party p --reason r --for 0s", "use --withdraw"},
		{"a waiver in the past", "waive a --party p --reason r --until 2020-01-01T00:00:00Z", "use --withdraw"},
		{"a waiver until no time", "waive a --party p --reason r --until tomorrow", "--until is \"tomorrow\""},
		{"unknown dry run of a waiver", "waive a --party p --reason r --for 1h --dry-run=client", "use none or server"},
		{"missing file", "acknowledge a --party p --bundle /does/not/exist", "read /does/not/exist"},
		{"empty file", "acknowledge a --party p --bundle " + empty, "bundle is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShell(t)
			if code := s.run(t.Context(), strings.Fields(tt.line)...); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			if got := s.errOut.String(); !strings.Contains(got, tt.want) {
				t.Errorf("printed %q, want %q in it", got, tt.want)
			}
			if requests := actions(s); len(requests) > 0 {
				t.Errorf("sent %v", requests)
			}
		})
	}
}

func TestHelpHasExamples(t *testing.T) {
	for _, verb := range []string{"tree", "plan", "rotate", "wait", "abort", "acknowledge", "waive"} {
		t.Run(verb, func(t *testing.T) {
			if help := newShell(t).ok(t, verb, "--help"); !strings.Contains(help, "  kubectl certrotation "+verb+" ") {
				t.Errorf("no example in:\n%s", help)
			}
		})
	}
}
