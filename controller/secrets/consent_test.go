// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/apifake"
)

// denial is how the API server passes on a refusal of certrotation.
func denial(invariant trust.Invariant, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: `admission webhook "guard.certrotation.dev" denied the request: ` + message,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseType(invariant), Message: message}}},
	}}
}

// TestHolds: what certrotation refuses for now is replaced by the edition before it, and the plan says why. Any other
// error stays one.
func TestHolds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refuse error
		// verb and secret name the refused write.
		verb, secret string
		options      []Option
		// held is the name that is held, "" if the run fails.
		held string
	}{
		"a CA":            {denial(trust.OneRotation, "wait"), "create", "ca", []Option{WithConfiguration("web")}, "ca"},
		"a bundle":        {denial(trust.AnchorInUse, "wait"), "create", "ca-bundle", []Option{WithConfiguration("web")}, "ca-bundle"},
		"a leaf":          {denial(trust.TrustBeforeUse, "wait"), "create", "client", []Option{WithConfiguration("web")}, "client"},
		"a deletion":      {denial(trust.AnchorInUse, "wait"), "delete", "client", []Option{WithConfiguration("web")}, "client"},
		"another rule":    {denial(trust.PairMatches, "no"), "create", "client", []Option{WithConfiguration("web")}, ""},
		"no rights":       {apierrors.NewForbidden(corev1.Resource("secrets"), "client", nil), "create", "client", []Option{WithConfiguration("web")}, ""},
		"without consent": {denial(trust.TrustBeforeUse, "wait"), "create", "client", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run := func() (edition.Plan, map[string]string, error) {
				i, made := w.instance(test.options...), map[string]string{}
				ca, err := i.Generate(w.ctx, authority("ca"), Rotate(KeepOld))
				if err != nil {
					return nil, nil, err
				}
				client, err := i.Generate(w.ctx, leaf("client", kinds.ClientCert), SignedByCA("ca"))
				if err != nil {
					return nil, nil, err
				}
				bundle, _ := i.Get("ca")
				for _, secret := range []*corev1.Secret{ca, client, bundle} {
					made[secret.Labels[edition.LabelName]] = secret.Name
				}
				err = i.Cleanup(w.ctx)
				return i.Plan().Of(edition.Hold), made, err
			}
			_, before, err := run()
			if err != nil {
				t.Fatal(err)
			}
			w.times["ca"] = begin.Add(time.Minute)
			w.api.Admit = func(r *apifake.Request) error {
				if r.Verb == test.verb && r.Object.GetLabels()[edition.LabelName] == test.secret {
					return test.refuse
				}
				return nil
			}
			held, refused, err := run()
			if test.held == "" {
				if err == nil || len(held) > 0 {
					t.Fatalf("held %s, error %v", held, err)
				}
				return
			}
			if err != nil || len(held) != 1 || held[0].Name != test.held || !strings.HasSuffix(held[0].Reason, "wait") {
				t.Fatalf("held %s, error %v", held, err)
			}
			if test.verb == "create" && refused[test.held] != before[test.held] {
				t.Errorf("%s is %s, was %s", test.held, refused[test.held], before[test.held])
			}
			w.api.Admit = nil
			held, after, err := run()
			if err != nil || len(held) > 0 || after[test.held] == before[test.held] {
				t.Errorf("allowed: held %s, %s is %s, error %v", held, test.held, after[test.held], err)
			}
		})
	}
}

// TestConsent: everything that counts gets the annotation once: of another controller, without one, and the former CA
// that nobody asks for any more. Then a run writes nothing.
func TestConsent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := func(options ...Option) {
		i := w.instance(options...)
		w.generate(i, authority("ca"), Rotate(KeepOld))
		w.generate(i, leaf("server", kinds.ServerCert), SignedByCA("ca"))
		w.cleanup(i)
	}
	run()
	w.times["ca"] = begin.Add(time.Minute)
	run()
	run(WithConfiguration("web"), WithPlanOnly())
	for _, secret := range w.stored() {
		if len(secret.Annotations) > 0 {
			t.Errorf("a plan has annotated Secret %s", secret.Name)
		}
	}
	run(WithConfiguration("web"))
	consenting := map[string]int{}
	for _, secret := range w.stored() {
		if secret.Annotations[trust.AnnotationConfiguration] == "web" {
			consenting[secret.Labels[edition.LabelName]]++
		}
	}
	if consenting["ca"] != 2 || consenting["ca-bundle"] != 1 || consenting["server"] != 1 {
		t.Errorf("these consent: %v", consenting)
	}
	writes := w.api.Writes()
	run(WithConfiguration("web"))
	if more := w.api.Writes() - writes; more > 0 {
		t.Errorf("a run after that writes %d times", more)
	}
	// Its own consent does not keep what is replaced.
	w.times["ca"] = begin.Add(2 * time.Minute)
	run(WithConfiguration("web"))
	if left := len(w.stored()); left != 4 {
		t.Errorf("there are %q", w.names())
	}
}
