// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/test/apifake"
)

var update = flag.Bool("update", false, "write the golden files")

// testNow is the time of all tests without a moving clock.
var testNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Fingerprints of the two CAs.
var (
	oldCA = strings.Repeat("aa", 32)
	newCA = strings.Repeat("bb", 32)
)

// shell runs command lines of the plugin.
type shell struct {
	// api answers the command. It is nil if only the flags matter.
	api         *apifake.Server
	clock       clock.WithTicker
	width       int
	environment map[string]string
	stdin       string
	// ahead is how far the clock of this machine is ahead of the API server's.
	ahead       time.Duration
	out, errOut bytes.Buffer
}

func newShell(t testing.TB, objects ...runtime.Object) *shell {
	t.Helper()
	return &shell{
		api:         apifake.New(t, clocktesting.NewFakePassiveClock(testNow), objects...),
		clock:       clocktesting.NewFakeClock(testNow),
		environment: map[string]string{"LANG": "C.UTF-8"},
	}
}

// run executes a command line in the namespace demo and returns the exit code.
func (s *shell) run(ctx context.Context, args ...string) int {
	config := Config{
		Streams:       genericiooptions.IOStreams{In: strings.NewReader(s.stdin), Out: &s.out, ErrOut: &s.errOut},
		Clock:         s.clock,
		Getenv:        func(name string) string { return s.environment[name] },
		TerminalWidth: func(io.Writer) int { return s.width },
	}
	if s.api != nil {
		config.Client = func(*genericclioptions.ConfigFlags) (versioned.Interface, error) { return s.api.Own, nil }
		config.Core = func(*genericclioptions.ConfigFlags) (kubernetes.Interface, error) { return s.api.Client, nil }
		config.Dynamic = func(*genericclioptions.ConfigFlags) (dynamic.Interface, error) { return s.api.Dynamic, nil }
		config.ServerTime = func(context.Context, *genericclioptions.ConfigFlags) (time.Time, error) {
			return s.clock.Now().Add(-s.ahead), nil
		}
	}
	return Run(ctx, config, append([]string{"--namespace=demo"}, args...))
}

// ok executes a command line that must succeed and returns what it printed.
func (s *shell) ok(t *testing.T, args ...string) string {
	t.Helper()
	if code := s.run(t.Context(), args...); code != 0 {
		t.Fatalf("%q exited with %d: %s", args, code, s.errOut.String())
	}
	return s.out.String()
}

// answer sets the reply of a subresource. The actions of the client record the requests.
func (s *shell) answer(subresource string, reply runtime.Object, err error) {
	s.api.Answer("certificaterotations/"+subresource, func(*apifake.Request) (runtime.Object, error) { return reply, err })
}

// posted returns the only request to a subresource.
func (s *shell) posted(t *testing.T, subresource string) clienttesting.CreateActionImpl {
	t.Helper()
	var found []clienttesting.CreateActionImpl
	for _, action := range s.api.Actions() {
		if create, ok := action.(clienttesting.CreateActionImpl); ok && create.Subresource == subresource {
			found = append(found, create)
		}
	}
	if len(found) != 1 {
		t.Fatalf("got %d requests to %s, want 1", len(found), subresource)
	}
	return found[0]
}

// golden compares with a file of testdata, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func certificate(fingerprint, subject, signedBy string) *v1alpha1.Certificate {
	return &v1alpha1.Certificate{
		Fingerprint: fingerprint, Subject: subject, Issuer: "CN=service@1", SerialNumber: "1", KeyAlgorithm: "ECDSA-P256",
		NotBefore: metav1.NewTime(testNow.Add(-24 * time.Hour)), NotAfter: metav1.NewTime(testNow.Add(364 * 24 * time.Hour)),
		SignedBy: signedBy,
	}
}

func condition(kind string, is bool, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: "Test", Message: message, LastTransitionTime: metav1.NewTime(testNow)}
}

func at(d time.Duration) *metav1.Time {
	out := metav1.NewTime(testNow.Add(d))
	return &out
}

// signer returns a signer in the stage Stable, with the parties server and clients.
func signer(edits ...func(*v1alpha1.CertificateRotation)) *v1alpha1.CertificateRotation {
	o := &v1alpha1.CertificateRotation{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "service-signer"},
		Spec:       v1alpha1.CertificateRotationSpec{Role: v1alpha1.RoleSigner, TrustDomain: "service", Signer: "service-signer", Bundle: "service-ca-bundle"},
		Status: v1alpha1.CertificateRotationStatus{
			Stage:       v1alpha1.StageStable,
			Certificate: certificate(oldCA, "CN=service@1", oldCA),
			RotatesAt:   at(200 * 24 * time.Hour),
			Trust:       v1alpha1.TrustCount{Trusted: 3, Total: 3},
			Members: []v1alpha1.MemberStatus{
				{Party: "server", Member: "server", Evidence: "tlsProbe", Known: true, Trusted: true, Delivered: true},
				{Party: "clients", Member: "client-a", Evidence: "acknowledgement", Known: true, Trusted: true, Delivered: true},
				{Party: "clients", Member: "client-b", Evidence: "acknowledgement", Known: true, Trusted: true, Delivered: true},
			},
			Conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, true, "usable"), condition(v1alpha1.ConditionProgressing, false, "")},
		},
	}
	return edited(o, edits)
}

func edited(o *v1alpha1.CertificateRotation, edits []func(*v1alpha1.CertificateRotation)) *v1alpha1.CertificateRotation {
	for _, edit := range edits {
		edit(o)
	}
	return o
}

// distributing edits a signer: all members but client-b trust its next CA.
func distributing(o *v1alpha1.CertificateRotation) {
	inStage(v1alpha1.StageDistributing)(o)
	o.Status.Next = certificate(newCA, "CN=service@2", newCA)
	o.Status.Trust.Trusted = 2
	lag := &o.Status.Members[2]
	lag.Trusted, lag.Message = false, "has not loaded CN=service@2: make it reload its trust bundle and acknowledge"
	o.Status.Blockers = []v1alpha1.Blocker{{Party: "clients", Member: "client-b", Reason: "AnchorNotLoaded", Message: lag.Message}}
}

func inStage(stage v1alpha1.Stage) func(*v1alpha1.CertificateRotation) {
	return func(o *v1alpha1.CertificateRotation) {
		o.Status.Stage = stage
		o.Status.StageSince, o.Status.StageDeadline = at(-2*time.Minute), at(58*time.Minute)
		o.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionReady, true, "usable"), condition(v1alpha1.ConditionProgressing, true, "")}
	}
}

// promoted edits a signer: its new CA is active.
func promoted(o *v1alpha1.CertificateRotation) {
	o.Status.Certificate = certificate(newCA, "CN=service@2", newCA)
	o.Status.Previous = []v1alpha1.Certificate{*certificate(oldCA, "CN=service@1", oldCA)}
}

func leaf(name, signedBy string, edits ...func(*v1alpha1.CertificateRotation)) *v1alpha1.CertificateRotation {
	o := &v1alpha1.CertificateRotation{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name},
		Spec:       v1alpha1.CertificateRotationSpec{Role: v1alpha1.RoleLeaf, TrustDomain: "service", Signer: "service-signer", Bundle: "service-ca-bundle"},
		Status: v1alpha1.CertificateRotationStatus{
			Stage:       v1alpha1.StageStable,
			Certificate: certificate(strings.Repeat("cc", 32), "CN="+name, signedBy),
			RotatesAt:   at(100 * 24 * time.Hour),
			Trust:       v1alpha1.TrustCount{Trusted: 1, Total: 1},
			Conditions:  []metav1.Condition{condition(v1alpha1.ConditionReady, true, "usable")},
		},
	}
	return edited(o, edits)
}

func bundle() *v1alpha1.BundleStatus {
	return &v1alpha1.BundleStatus{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "service-ca-bundle"},
		Spec:       v1alpha1.BundleStatusSpec{TrustDomain: "service", Signer: "service-signer"},
		Status: v1alpha1.BundleStatusStatus{
			Anchors: []v1alpha1.Anchor{
				{Certificate: *certificate(oldCA, "CN=service@1", oldCA), Slot: "active", Leaves: 2, Trust: v1alpha1.TrustCount{Trusted: 3, Total: 3}, Reason: "needed by Secret/service-signer, Secret/service-server"},
				{Certificate: *certificate(newCA, "CN=service@2", newCA), Slot: "next", Trust: v1alpha1.TrustCount{Trusted: 2, Total: 3}, Reason: "needed by Secret/service-signer"},
				{Certificate: *certificate(strings.Repeat("ee", 32), "CN=alien\x1b[2J", ""), Slot: "foreign", Trust: v1alpha1.TrustCount{Total: 3}, SafeToRemove: true},
			},
			Conditions: []metav1.Condition{condition(v1alpha1.ConditionReady, true, "usable")},
		},
	}
}

func plan() *v1alpha1.RotationPlan {
	return &v1alpha1.RotationPlan{
		Target: "service-signer", Hash: strings.Repeat("0123456789abcdef", 4),
		Steps: []v1alpha1.PlanStep{
			{Stage: v1alpha1.StageDistributing, Action: "GenerateNext", Object: "Secret/service-signer", Message: "make a new CA that cannot sign yet"},
			{Stage: v1alpha1.StageDistributing, Action: "PublishAnchors", Object: "ConfigMap/service-ca-bundle", Message: "trust the old and the new CA"},
			{Stage: v1alpha1.StageReissuing, Action: "Promote", Object: "Secret/service-signer", WaitsFor: []string{"clients/client-a", "clients/client-b", "server"}, Message: "sign with the new CA; keep the old key"},
			{Stage: v1alpha1.StageRetiring, Action: "DestroyPrevious", Object: "Secret/service-signer", Message: "destroy the old key"},
		},
	}
}

func actions(s *shell) []clienttesting.Action { return s.api.Actions() }
