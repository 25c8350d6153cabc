// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"crypto/x509"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
)

// group are the authorities that rotate in lockstep. Each has a server and a client.
var group = []string{
	"ca", "ca-client", "ca-etcd", "ca-etcd-peer", "ca-front-proxy", "ca-kubelet", "ca-metrics-server", "ca-vpn",
	"ca-istio-basic-auth-server",
}

// generation is what one reconciliation deploys, by authority.
type generation map[string]struct{ server, client, bundle *corev1.Secret }

// inLockstep reconciles the group in a phase, and returns what is deployed.
func (w *world) inLockstep(state *edition.GroupRotation) generation {
	w.Helper()
	i := w.instance(WithGroupRotation(state, group...))
	out := generation{}
	for _, ca := range group {
		w.generate(i, authority(ca), InPhase(state))
		of := out[ca]
		of.server = w.generate(i, leaf("server-of-"+ca, kinds.ServerCert), SignedInPhase(state, ca))
		of.client = w.generate(i, leaf("client-of-"+ca, kinds.ClientCert), SignedInPhase(state, ca))
		of.bundle, _ = i.Get(ca)
		out[ca] = of
	}
	w.cleanup(i)
	return out
}

func (w *world) trusts(bundle, leaf *corev1.Secret) bool {
	w.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle.Data[kinds.DataKeyCertificateBundle])
	parsed, err := x509.ParseCertificate(w.certificatesOf(leaf, kinds.DataKeyCertificate)[0].DER())
	if err != nil {
		w.Fatalf("%v", err)
	}
	_, err = parsed.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: w.clock.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err == nil
}

// TestPhasesOfAGroup: the nine authorities of a shoot rotate in lockstep, twice, and abort a third rotation. Servers are restarted
// before clients, and reach the clients of the reconciliation before. Once the first phase is over, the order does not
// matter.
func TestPhasesOfAGroup(t *testing.T) {
	w, state := newWorld(t), edition.GroupRotation{}
	of := edition.Circumstances{Settled: true}
	deployed := w.inLockstep(&state)
	first := w.names()
	reconcile := func(want edition.Phase) {
		t.Helper()
		w.pass(time.Hour)
		before, was := deployed, state.Phase
		deployed = w.inLockstep(&state)
		for _, ca := range group {
			is, was := deployed[ca], before[ca]
			if !w.trusts(is.bundle, was.client) || !w.trusts(was.bundle, is.server) {
				t.Errorf("%s: new servers and the clients before refuse each other", ca)
			}
			if state.LastInitiationFinishedTime != nil && (!w.trusts(was.bundle, is.client) || !w.trusts(is.bundle, was.server)) {
				t.Errorf("%s: new clients and the servers before refuse each other", ca)
			}
		}
		w.requests()
		if w.inLockstep(&state); len(w.requests()) > 2 {
			t.Errorf("in the phase %s, a second reconciliation asks for more than lists", was)
		}
		state = state.Reconciled(of, w.clock.Now())
		if state.Phase != want {
			t.Fatalf("after %s the phase is %s, want %s", was, state.Phase, want)
		}
	}
	do := func(o edition.Operation) {
		t.Helper()
		var err error
		if state, err = state.Do(o, of, w.clock.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		do(edition.OperationStart)
		reconcile(edition.Prepared)
		do(edition.OperationComplete)
		reconcile(edition.Completing)
		reconcile(edition.Completed)
	}
	rotated := w.names()
	if slices.ContainsFunc(rotated, func(name string) bool { return slices.Contains(first, name) }) || len(rotated) != len(first) {
		t.Errorf("after two rotations there are %q, at first there were %q", rotated, first)
	}
	do(edition.OperationStart)
	reconcile(edition.Prepared)
	do(edition.OperationAbort)
	reconcile(edition.Completing)
	reconcile(edition.Completed)
	if aborted := w.names(); !slices.Equal(aborted, rotated) {
		t.Errorf("after an abort there are %q, before there were %q", aborted, rotated)
	}
}

// abortFirst begins the first rotation of the group and aborts it, and reconciles after each.
func (w *world) abortFirst(of edition.Circumstances) edition.GroupRotation {
	w.Helper()
	state := edition.GroupRotation{}
	for _, o := range []edition.Operation{edition.OperationStart, edition.OperationAbort} {
		var err error
		if state, err = state.Do(o, of, w.clock.Now()); err != nil {
			w.Fatalf("%v", err)
		}
		w.pass(time.Hour)
		w.inLockstep(&state)
	}
	return state
}

// TestAbortOfTheFirstRotation: the authorities have their first names again.
func TestAbortOfTheFirstRotation(t *testing.T) {
	w, of := newWorld(t), edition.Circumstances{Settled: true}
	w.inLockstep(&edition.GroupRotation{})
	first := w.names()
	state := w.abortFirst(of)
	for state.Phase != edition.Completed {
		state = state.Reconciled(of, w.clock.Now())
		w.inLockstep(&state)
	}
	if now := w.names(); !slices.Equal(now, first) {
		t.Errorf("there are %q, at first there were %q", now, first)
	}
}

// TestSignedInAnAbort: after an abort, a run that only signs takes the former authority from the cluster, though the
// aborted one is newer.
func TestSignedInAnAbort(t *testing.T) {
	w := newWorld(t)
	former := w.inLockstep(&edition.GroupRotation{})
	state := w.abortFirst(edition.Circumstances{Settled: true})
	i := w.instance(WithGroupRotation(&state, group...))
	late := w.generate(i, leaf("late", kinds.ServerCert), SignedByCA("ca", UseCurrentCA, LoadMissingCAFromCluster))
	if !w.trusts(former["ca"].bundle, late) {
		t.Error("it is signed by the authority that was aborted")
	}
}

func keyConfigs() map[string]kinds.Config {
	return map[string]kinds.Config{
		"service-account-key": &kinds.RSASecretConfig{Name: "service-account-key", Bits: 2048},
		"encryption-key":      &kinds.ETCDEncryptionKeySecretConfig{Name: "encryption-key", SecretLength: 32},
		"static-token":        &kinds.StaticTokenSecretConfig{Name: "static-token", Tokens: map[string]kinds.TokenConfig{"health": {Username: "health-check", UserID: "health-check"}}},
	}
}

// keys reconciles a key in a phase, and returns the editions that programs have.
func (w *world) keys(config kinds.Config, state *edition.GroupRotation) []string {
	w.Helper()
	i := w.instance(WithGroupRotation(state, config.GetName()))
	w.generate(i, config, InPhase(state))
	var out []string
	for _, secret := range KeysInPhase(i, state, config.GetName()) {
		out = append(out, secret.Name)
	}
	w.cleanup(i)
	return out
}

// TestKeysInPhase: keys rotate twice, and abort a third rotation. While replicas of two reconciliations run side by
// side, each can read what the other writes. That holds also if the record of the phase is lost.
func TestKeysInPhase(t *testing.T) {
	t.Parallel()
	for name, config := range keyConfigs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, state := newWorld(t), edition.GroupRotation{}
			of := edition.Circumstances{Settled: true}
			deploy := func() []string {
				w.pass(time.Hour)
				return w.keys(config, &state)
			}
			before := deploy()
			first, handedOut, aborted := before[0], "", false
			if len(before) != 1 {
				t.Fatalf("it begins with %q", before)
			}
			for _, operation := range []edition.Operation{
				"rotate-credentials-start", "", "", "rotate-credentials-complete", "", "",
				"rotate-credentials-start", "", "", "rotate-credentials-complete", "", "",
				"rotate-credentials-start", "", "rotate-credentials-abort", "", "",
			} {
				if operation == "" {
					state = state.KeyReconciled(of, w.clock.Now())
				} else {
					var err error
					if state, err = state.Do(operation, of, w.clock.Now()); err != nil {
						t.Fatal(err)
					}
					aborted = operation == "rotate-credentials-abort"
				}
				after := deploy()
				switch state.Phase {
				case edition.Prepared:
					handedOut = after[0]
				case edition.Completed:
					if !aborted && after[0] != handedOut {
						t.Errorf("in the phase Prepared %q was used, and then %q", handedOut, after[0])
					}
				}
				if !slices.Contains(after, before[0]) || !slices.Contains(before, after[0]) {
					t.Errorf("%s: one replica has %q, the next one %q", state.Phase, before, after)
				}
				lost := w.keys(config, &edition.GroupRotation{})
				if !slices.Contains(lost, after[0]) || !slices.Contains(after, lost[0]) || !slices.Contains(before, lost[0]) {
					t.Errorf("%s: one replica has %q, the next one %q, and %q after the loss of the record", state.Phase, before, after, lost)
				}
				before = after
			}
			if state.Phase != edition.Completed || len(before) != 1 || before[0] == first || len(w.names()) > 2 {
				t.Errorf("in the phase %s there are %q, of %q", state.Phase, before, w.names())
			}
		})
	}
}
