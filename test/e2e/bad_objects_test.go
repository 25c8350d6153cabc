// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/trust"
)

var (
	webServer = object{"Secret", "web-server"}
	webSigner = object{"Secret", "web-signer"}
	webBundle = object{"ConfigMap", "web-ca-bundle"}
)

// badObject is an object of the trust domain web that was broken by hand.
type badObject struct {
	name string
	// object is broken by writing values over its own.
	object object
	values map[string][]byte
	// opaque replaces the object by a Secret of the wrong type.
	opaque bool
	// invariant is the one by which the guard refuses the same edit.
	invariant string
	// reason and step are what the condition Degraded of the object says: what is wrong and what to do.
	reason, step string
	// affected are other objects that cannot be Ready, each for its own reason.
	affected []string
	// goesOn is a leaf of the same domain that the controller still reissues, "" if there is none.
	goesOn string
	// repair is what the message asks for.
	repair repair
}

type repair string

const (
	// restore writes the former content.
	restore repair = "restore"
	// remove deletes the object.
	remove repair = "remove"
	// nothing leaves the repair to the rotation that the message announces.
	nothing repair = "nothing"
)

func badObjects(t *testing.T) []badObject {
	t.Helper()
	later := time.Now().Add(24 * time.Hour)
	leaf, ca := selfSigned(t, "no-ca", false, later), selfSigned(t, "other-ca", true, later)
	expired := selfSigned(t, "expired-ca", true, time.Now().Add(-time.Minute))
	return []badObject{
		{
			name: "unparsable leaf", object: webServer, values: map[string][]byte{"tls.crt": []byte(garbled)},
			invariant: "PairMatches", reason: "Unparsable", step: "delete the Secret to have it reissued", goesOn: "web-client", repair: remove,
		},
		{
			name: "leaf with the key of another certificate", object: webServer, values: map[string][]byte{"tls.key": leaf.key},
			invariant: "PairMatches", reason: "KeyMismatch", step: "restore it", goesOn: "web-client", repair: restore,
		},
		{
			name: "leaf of the wrong type", object: webServer, opaque: true, values: map[string][]byte{"note": []byte("mine")},
			invariant: "PairMatches", reason: "WrongType", step: "delete it", goesOn: "web-client", repair: remove,
		},
		{
			name: "unparsable signer", object: webSigner, values: map[string][]byte{"tls.crt": []byte(garbled)},
			invariant: "PairMatches", reason: "Unparsable", step: "restore the Secret", repair: restore,
		},
		{
			name: "signer with the key of another certificate", object: webSigner, values: map[string][]byte{"tls.key": ca.key},
			invariant: "PairMatches", reason: "KeyMismatch", step: "delete it to have a new CA rotated in", repair: remove,
		},
		{
			name: "signer that is no CA", object: webSigner, values: map[string][]byte{"tls.crt": leaf.crt, "tls.key": leaf.key},
			invariant: "TrustBeforeUse", reason: "NotCA", step: "restore the Secret", repair: restore,
		},
		{
			name: "expired signer", object: webSigner, values: map[string][]byte{"tls.crt": expired.crt, "tls.key": expired.key},
			invariant: "TrustBeforeUse", reason: "Expired", step: "a new CA is made and every leaf is reissued", repair: nothing,
		},
		{
			name: "unparsable bundle", object: webBundle, values: map[string][]byte{"ca-bundle.crt": []byte(garbled)},
			invariant: "NeverEmpty", reason: "Unparsable", step: "delete the ConfigMap to have it rebuilt", repair: remove,
			// No process with this bundle would accept them.
			affected: []string{"Secret/web-signer", "Secret/web-server", "Secret/web-client"},
		},
	}
}

func (b *badObject) namespace() string {
	return "bad-" + strings.ToLower(strings.ReplaceAll(b.name, " ", "-"))
}

// spoil breaks the object. It returns the denial, if there is one.
func (b *badObject) spoil(t *testing.T, s *system, namespace string) error {
	t.Helper()
	if !b.opaque {
		return s.write(t, namespace, b.object, b.values)
	}
	// The type of a Secret is immutable, and the controller may recreate a deleted leaf first.
	consent := map[string]string{trust.AnnotationConfiguration: "main"}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: b.object.name, Annotations: consent}, Type: corev1.SecretTypeOpaque, Data: b.values}
	for {
		s.remove(t, namespace, b.object)
		_, err := s.kube.CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
}

// objectsOfWeb is the number of objects that the API shows for twoDomains.
const objectsOfWeb = 7

func TestBadObjectHarmsOnlyItself(t *testing.T) {
	t.Parallel()
	s := theSystem(t)
	before := s.lifesigns()
	t.Run("unguarded", func(t *testing.T) {
		for _, tt := range badObjects(t) {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				tt.run(t, s)
			})
		}
	})
	t.Run("guarded", func(t *testing.T) {
		const guarded = "bad-guarded"
		s.namespace(t, guarded, map[string]string{"certrotation.dev/guard": "enabled"})
		s.mustConfigure(t, guarded, twoDomains)
		s.waitHealthy(t, guarded, objectsOfWeb)
		for _, tt := range badObjects(t) {
			t.Run(tt.name, func(t *testing.T) {
				err := tt.spoil(t, s, guarded)
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tt.invariant) || !strings.Contains(err.Error(), "Safe way:") {
					t.Errorf("want a refusal by %s, got %v", tt.invariant, err)
				}
			})
		}
		s.waitHealthy(t, guarded, objectsOfWeb)
	})
	s.assertElsewhereUnharmed(t)
	s.assertAlive(t, before)
}

func (b *badObject) run(t *testing.T, s *system) {
	namespace := b.namespace()
	s.namespace(t, namespace, nil)
	s.mustConfigure(t, namespace, twoDomains)
	s.waitHealthy(t, namespace, objectsOfWeb)
	good := s.data(t.Context(), t, namespace, b.object)
	if err := b.spoil(t, s, namespace); err != nil {
		t.Fatalf("no guard should refuse this: %v", err)
	}
	bad := s.data(t.Context(), t, namespace, b.object)

	b.assertNamed(t, s, namespace)
	s.reissued(t, namespace, "other-server")
	if b.goesOn != "" {
		s.reissued(t, namespace, b.goesOn)
	}
	s.assertReadyBut(t, namespace, append(b.affected, b.object.String())...)
	s.assertElsewhereUnharmed(t)
	for key, want := range bad {
		if got := s.data(t.Context(), t, namespace, b.object)[key]; !bytes.Equal(got, want) {
			t.Errorf("%s of %s was overwritten", key, b.object)
		}
	}
	b.mend(t, s, namespace, good)
}

// assertNamed waits until the conditions of the object and an event say what is wrong and what to do.
func (b *badObject) assertNamed(t *testing.T, s *system, namespace string) {
	t.Helper()
	eventually(t, b.object.String()+" is Degraded and not Ready", func(context.Context) (bool, string) {
		v := s.verdicts(t, namespace)[b.object.String()]
		return v.degraded.Status == metav1.ConditionTrue && v.degraded.Reason == b.reason && strings.Contains(v.degraded.Message, b.step) &&
			v.ready.Status == metav1.ConditionFalse && v.ready.Reason == b.reason, v.ready.String() + v.degraded.String()
	})
	s.event(t, namespace, "ObjectProblem", b.object, b.reason, b.step)
}

func (b *badObject) mend(t *testing.T, s *system, namespace string, good map[string][]byte) {
	t.Helper()
	switch b.repair {
	case restore:
		if err := s.write(t, namespace, b.object, good); err != nil {
			t.Fatal(err)
		}
	case remove:
		s.remove(t, namespace, b.object)
	case nothing:
	}
	// If the repair is a rotation, it waits for the only relying party.
	eventually(t, namespace+" is healthy again", func(ctx context.Context) (bool, string) {
		c := s.rotation(ctx, t, namespace, webSigner.name)
		missing := s.unhealthy(t, namespace, objectsOfWeb)
		if missing == "" && c.Status.Stage == v1alpha1.StageStable {
			return true, ""
		}
		return false, fmt.Sprintf("%s, blockers %v; %s; %s", c.Status.Stage, c.Status.Blockers, missing,
			s.acknowledge(ctx, namespace, "browser", webSigner.name, webBundle.name))
	})
}

// acknowledge reports that a party has loaded the content of the bundle. It returns what went wrong, "" if
// nothing.
func (s *system) acknowledge(ctx context.Context, namespace, party, signer, bundle string) string {
	b, err := s.rot.CertrotationV1alpha1().BundleStatuses(namespace).Get(ctx, bundle, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	now := metav1.NowMicro()
	report := &v1alpha1.Acknowledgement{Party: party, Instance: "0", StartedAt: now, ObservedAt: now}
	for i := range b.Status.Anchors {
		report.Trusts = append(report.Trusts, b.Status.Anchors[i].Fingerprint)
	}
	if _, err := s.rot.CertrotationV1alpha1().CertificateRotations(namespace).Acknowledge(ctx, signer, report, metav1.CreateOptions{}); err != nil {
		return err.Error()
	}
	return ""
}

// TestEmptiedBundleIsFilledAgain checks the conditions while no controller runs, because a controller fills an
// empty bundle at once.
func TestEmptiedBundleIsFilledAgain(t *testing.T) {
	s := theSystem(t)
	const namespace = "bad-empty-bundle"
	s.namespace(t, namespace, nil)
	s.mustConfigure(t, namespace, twoDomains)
	s.waitHealthy(t, namespace, objectsOfWeb)
	good := s.data(t.Context(), t, namespace, webBundle)

	s.killController(t)
	if err := s.write(t, namespace, webBundle, map[string][]byte{"ca-bundle.crt": nil}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the bundle is not Ready", func(context.Context) (bool, string) {
		v := s.verdicts(t, namespace)[webBundle.String()]
		return v.ready.Status == metav1.ConditionFalse && v.ready.Reason == "EmptyBundle", v.ready.String()
	})
	s.assertReadyBut(t, namespace, webBundle.String(), "Secret/web-signer", "Secret/web-server", "Secret/web-client")
	s.assertElsewhereUnharmed(t)
	s.startController(t)
	s.waitHealthy(t, namespace, objectsOfWeb)
	if got := s.data(t.Context(), t, namespace, webBundle); !bytes.Equal(got["ca-bundle.crt"], good["ca-bundle.crt"]) {
		t.Error("the bundle is another one than before")
	}
}
