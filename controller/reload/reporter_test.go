// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/pki"
)

const lease = 10 * time.Minute

// world is the observed process, and an API server that accepts or refuses reports.
type world struct {
	mu      sync.Mutex
	loaded  Loaded
	blind   error
	refusal error
	// mute leaves the expiry out of the answer.
	mute bool

	tried   int
	reports []*v1alpha1.Acknowledgement
}

func (w *world) look(context.Context) (Loaded, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.loaded, w.blind
}

func (w *world) Acknowledge(_ context.Context, _ string, ack *v1alpha1.Acknowledgement, _ metav1.CreateOptions) (*v1alpha1.Acknowledgement, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tried++
	if w.refusal != nil {
		return nil, w.refusal
	}
	w.reports = append(w.reports, ack)
	out := ack.DeepCopy()
	if !w.mute {
		out.Expires = &metav1.MicroTime{Time: time.Now().Add(lease)}
	}
	return out, nil
}

func (w *world) set(change func(w *world)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w)
}

func (w *world) counts() (tried, accepted int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tried, len(w.reports)
}

func run(t *testing.T, w *world, test func(t *testing.T, r *Reporter)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := NewReporter(Server{API: w}, Member{Namespace: "ns", Signer: "signer", Party: "server", Name: "server-0", Instance: "uid"}, w.look)
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		defer running.Wait()
		defer cancel()
		synctest.Wait()
		test(t, r)
	})
}

func TestReportIsRenewedBeforeItsLeaseEnds(t *testing.T) {
	for name, mute := range map[string]bool{"the API server says when": false, "it does not": true} {
		t.Run(name, func(t *testing.T) {
			w := &world{mute: mute, loaded: Loaded{Trusts: []pki.Fingerprint{"a"}}}
			run(t, w, func(t *testing.T, r *Reporter) {
				for i := range 20 {
					if left := time.Until(r.State().Expires); left < lease/4 {
						t.Fatalf("after %d minutes %s of the lease are left", i, left)
					}
					time.Sleep(time.Minute) //nolint:forbidigo // the clock of the bubble
					synctest.Wait()
				}
				if _, accepted := w.counts(); accepted < 3 || accepted > 6 {
					t.Errorf("%d reports in two leases, want about four", accepted)
				}
			})
		})
	}
}

func TestWhatIsKnownIsNotReportedAgain(t *testing.T) {
	w := &world{loaded: Loaded{Trusts: []pki.Fingerprint{"a"}}}
	run(t, w, func(t *testing.T, r *Reporter) {
		for _, step := range []struct {
			name   string
			change func(w *world)
			want   int
		}{
			{"nothing new", func(*world) {}, 1},
			{"a new anchor", func(w *world) { w.loaded.Trusts = []pki.Fingerprint{"a", "b"} }, 2},
			{"nothing new again", func(*world) {}, 2},
			{"another leaf", func(w *world) { w.loaded.Presents = []pki.Fingerprint{"leaf"} }, 3},
			{"started again", func(w *world) { w.loaded.StartedAt = time.Now() }, 4},
			{"nothing is trusted", func(w *world) { w.loaded.Trusts = nil }, 5},
		} {
			w.set(step.change)
			r.Wake()
			synctest.Wait()
			if _, accepted := w.counts(); accepted != step.want {
				t.Errorf("%s: %d reports, want %d", step.name, accepted, step.want)
			}
		}
		if last := w.reports[len(w.reports)-1]; last.Trusts == nil {
			t.Error("that nothing is trusted is not reported")
		}
	})
}

// TestReportAtTheStartIsRepeated: kubelet learns of a container's start only after the container runs.
func TestReportAtTheStartIsRepeated(t *testing.T) {
	for name, tc := range map[string]struct {
		age  time.Duration
		want int
	}{
		"of a process that has just started": {age: time.Millisecond, want: 2},
		"of one that has run for long":       {age: time.Hour, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			synctest.Test(t, func(t *testing.T) {
				w.loaded.StartedAt = time.Now().Add(-tc.age)
				ctx, cancel := context.WithTimeout(t.Context(), lease/4)
				defer cancel()
				NewReporter(Server{API: w}, Member{Name: "server-0"}, w.look).Run(ctx)
			})
			if _, accepted := w.counts(); accepted != tc.want {
				t.Errorf("%d reports, want %d", accepted, tc.want)
			}
			if n := len(w.reports); n == 2 && w.reports[1].ObservedAt.Sub(w.reports[0].ObservedAt.Time) < time.Second {
				t.Error("it was repeated within the second of the start, which may not tell")
			}
		})
	}
}

func TestNothingIsReportedWithoutALook(t *testing.T) {
	w := &world{blind: errors.New("it does not answer")}
	run(t, w, func(t *testing.T, r *Reporter) {
		time.Sleep(time.Hour) //nolint:forbidigo // the clock of the bubble
		if tried, _ := w.counts(); tried != 0 {
			t.Errorf("%d reports, want none", tried)
		}
		if p := r.State().Problem; p == nil || p.Reason != ReasonLookFailed {
			t.Errorf("problem %v, want %s", p, ReasonLookFailed)
		}
		w.set(func(w *world) { w.blind = nil })
		time.Sleep(2 * lastRetry) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		if _, accepted := w.counts(); accepted != 1 || r.State().Problem != nil {
			t.Errorf("%d reports, problem %v, want one", accepted, r.State().Problem)
		}
	})
}

func TestReporterBacksOff(t *testing.T) {
	w := &world{refusal: apierrors.NewServiceUnavailable("starting")}
	run(t, w, func(t *testing.T, r *Reporter) {
		time.Sleep(time.Hour) //nolint:forbidigo // the clock of the bubble
		synctest.Wait()
		tried, _ := w.counts()
		if tried < 60 || tried > 180 {
			t.Errorf("%d attempts in an hour, want about two a minute", tried)
		}
		w.set(func(w *world) { w.refusal = nil })
		r.Wake()
		synctest.Wait()
		if _, accepted := w.counts(); accepted != 1 {
			t.Errorf("%d reports after it was woken, want one", accepted)
		}
	})
}

func TestProblemsSayWhatToDo(t *testing.T) {
	resource := v1alpha1.Resource("certificaterotations")
	ahead := func(d time.Duration) func() time.Duration { return func() time.Duration { return d } }
	for name, tt := range map[string]struct {
		err    error
		skew   func() time.Duration
		reason Reason
		next   string
	}{
		"no right":               {err: apierrors.NewForbidden(resource, "signer", errors.New("x")), reason: ReasonForbidden, next: "relyingParties[].reporters"},
		"no token":               {err: apierrors.NewUnauthorized("x"), reason: ReasonUnauthenticated, next: "automountServiceAccountToken"},
		"no signer":              {err: apierrors.NewNotFound(resource, "signer"), reason: ReasonNoSigner, next: "kubectl get certificaterotations -n ns"},
		"no member":              {err: apierrors.NewConflict(resource, "signer", errors.New("x")), reason: ReasonRefused, next: "party and member"},
		"not valid":              {err: apierrors.NewBadRequest("x"), reason: ReasonRefused, next: "party and member"},
		"a clock that is ahead":  {err: apierrors.NewConflict(resource, "signer", errors.New("x")), skew: ahead(5 * time.Minute), reason: ReasonClockSkewed, next: "5m0s ahead"},
		"a clock that is behind": {err: apierrors.NewUnauthorized("x"), skew: ahead(-5 * time.Minute), reason: ReasonClockSkewed, next: "5m0s behind"},
		"a clock that is right":  {err: apierrors.NewConflict(resource, "signer", errors.New("x")), skew: ahead(time.Second), reason: ReasonRefused, next: "party and member"},
		"not there":              {err: errors.New("connection refused"), reason: ReasonUnreachable, next: "kube-apiserver"},
		"not now":                {err: apierrors.NewServiceUnavailable("x"), reason: ReasonUnreachable, next: "kube-apiserver"},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReporter(Server{API: &world{refusal: tt.err}, Skew: tt.skew}, Member{Namespace: "ns", Signer: "signer", Party: "server"}, (&world{}).look)
			p := r.once(t.Context())
			if p == nil || p.Reason != tt.reason || !strings.Contains(p.Error(), tt.next) || !errors.Is(p, tt.err) {
				t.Errorf("%v, want %s with %q", p, tt.reason, tt.next)
			}
		})
	}
}

func TestPodIsKnownByItsEnvironment(t *testing.T) {
	t.Setenv(EnvNamespace, "ns")
	t.Setenv(EnvName, "server-0")
	t.Setenv(EnvUID, "")
	if _, err := Pod("signer", "server"); err == nil || !strings.Contains(err.Error(), "metadata.uid") {
		t.Errorf("%v, want that the UID lacks", err)
	}
	t.Setenv(EnvUID, "uid")
	m, err := Pod("signer", "server")
	if want := (Member{Namespace: "ns", Signer: "signer", Party: "server", Name: "server-0", Instance: "uid"}); err != nil || m != want {
		t.Errorf("%+v, %v, want %+v", m, err, want)
	}
}
