// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/test/apifake"
)

// utcClock is the clock of the synctest bubble, which begins at midnight of 2000-01-01 in UTC.
type utcClock struct{ clock.RealClock }

func (utcClock) Now() time.Time { return time.Now().UTC() }

// scene is a running command. Meanwhile the test changes the objects on the server.
type scene struct {
	*shell

	t    *testing.T
	stop context.CancelFunc
	code chan int
}

// begin starts a command in a synctest bubble. Time passes there only while all goroutines wait.
func begin(t *testing.T, s *shell, args ...string) *scene {
	t.Helper()
	s.clock = utcClock{}
	ctx, stop := context.WithCancel(t.Context())
	sc := &scene{shell: s, t: t, stop: stop, code: make(chan int, 1)}
	go func() { sc.code <- s.run(ctx, args...) }()
	synctest.Wait()
	return sc
}

// after lets time pass and then replaces objects.
func (sc *scene) after(d time.Duration, objects ...runtime.Object) {
	sc.t.Helper()
	<-time.After(d)
	for _, o := range objects {
		if err := sc.api.Put(o); err != nil {
			sc.t.Fatal(err)
		}
	}
	synctest.Wait()
}

var rotations = v1alpha1.SchemeGroupVersion.WithResource("certificaterotations")

func (sc *scene) exits(want int) {
	sc.t.Helper()
	if got := <-sc.code; got != want {
		sc.t.Errorf("exit code %d, want %d; errors: %s", got, want, sc.errOut.String())
	}
	sc.stop()
}

// play is a whole rotation with one late member. The changes fall between the seconds at which a terminal is
// redrawn.
func (sc *scene) play() {
	sc.after(500*time.Millisecond, signer(func(o *v1alpha1.CertificateRotation) {
		o.Status.Conditions[1] = condition(v1alpha1.ConditionProgressing, true, "")
	}))
	sc.after(time.Second, signer(distributing))
	sc.after(20*time.Second, signer(inStage(v1alpha1.StageReissuing), promoted))
	sc.after(5*time.Second, leaf("service-server", newCA))
	sc.after(5*time.Second, leaf("service-client-a", newCA))
	sc.after(0, signer(inStage(v1alpha1.StageDraining), promoted))
	sc.after(15*time.Second, signer(inStage(v1alpha1.StageRetiring), promoted))
	sc.after(time.Second, signer(promoted))
}

func rotating(t *testing.T) *shell {
	t.Helper()
	s := newShell(t, signer(), leaf("service-server", oldCA), leaf("service-client-a", oldCA))
	s.answer("rotate", plan(), nil)
	return s
}

func TestRotateWait(t *testing.T) {
	tests := []struct {
		name, golden string
		width        int
	}{
		{name: "in a pipe", golden: "progress.txt"},
		{name: "on a terminal", golden: "progress-terminal.txt", width: 60},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := rotating(t)
				s.width = tt.width
				s.environment["NO_COLOR"] = "1"
				sc := begin(t, s, "rotate", "service-signer", "--wait")
				sc.play()
				sc.exits(0)
				golden(t, tt.golden, s.out.String())
			})
		})
	}
}

func TestWaitSurvives(t *testing.T) {
	tests := []struct {
		name string
		// down is the fault of reads while the server restarts.
		down apifake.Fault
		want string
	}{
		{name: "an expired resource version"},
		{name: "a server that restarts", down: apifake.Unavailable, want: "no connection, trying again: injected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := rotating(t)
				var down atomic.Bool
				s.api.ReadFault = func(*apifake.Request) apifake.Fault {
					if down.Load() {
						return tt.down
					}
					return apifake.NoFault
				}
				sc := begin(t, s, "rotate", "service-signer", "--wait")
				down.Store(true)
				sc.after(time.Second, signer(distributing))
				s.api.Expire()
				sc.after(30 * time.Second)
				down.Store(false)
				sc.after(time.Minute)
				sc.after(time.Second, signer(promoted))
				sc.exits(0)
				got := s.out.String()
				for _, want := range []string{"Distributing: trusted 2/3", "is rotated after", tt.want} {
					if !strings.Contains(got, want) {
						t.Errorf("no %q in:\n%s", want, got)
					}
				}
			})
		})
	}
}

func TestWaitEnds(t *testing.T) {
	unready := func(o *v1alpha1.CertificateRotation) {
		o.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionReady, false, "not published")}
	}
	reissued := func(o *v1alpha1.CertificateRotation) { o.Status.Certificate.Fingerprint = strings.Repeat("dd", 32) }
	tests := []struct {
		name    string
		objects []runtime.Object
		args    string
		play    func(*scene)
		code    int
		out     string
		errOut  string
	}{
		{
			name: "leaf", objects: []runtime.Object{leaf("service-server", oldCA)}, args: "rotate service-server --wait",
			play: func(sc *scene) {
				sc.after(time.Second, leaf("service-server", oldCA, reissued, unready))
				sc.after(time.Second, leaf("service-server", oldCA, reissued))
			},
			out: "demo/service-server is reissued after 2s",
		},
		{
			name: "timeout with a blocker", objects: []runtime.Object{signer()}, args: "rotate service-signer --wait --timeout 1m",
			play: func(sc *scene) { sc.after(time.Second, signer(distributing)) },
			code: 1, errOut: "timeout-blocked.txt",
		},
		{
			name: "timeout of what never began", objects: []runtime.Object{signer()}, args: "rotate service-signer --wait --timeout 1m",
			play: func(*scene) {}, code: 1, errOut: "timeout-idle.txt",
		},
		{
			name: "timeout of what is gone", objects: []runtime.Object{signer(distributing)}, args: "wait service-signer --timeout 1m",
			play: func(sc *scene) {
				if err := sc.api.Drop(signer()); err != nil {
					sc.t.Fatal(err)
				}
			},
			code: 1, errOut: "timeout-gone.txt",
		},
		{
			name: "interrupt", objects: []runtime.Object{signer()}, args: "rotate service-signer --wait",
			play: func(sc *scene) { sc.after(time.Second, signer(distributing)); sc.stop() },
			code: 130, errOut: "interrupted.txt",
		},
		{
			name: "aborted by somebody else", objects: []runtime.Object{signer()}, args: "rotate service-signer --wait",
			play: func(sc *scene) { sc.after(time.Second, signer(distributing)); sc.after(time.Second, signer()) },
			code: 1, errOut: "aborted.txt",
		},
		{
			name: "abort", objects: []runtime.Object{signer(distributing)}, args: "abort service-signer --wait",
			play: func(sc *scene) { sc.after(3*time.Second, signer()) },
			out:  "demo/service-signer is back at its former CA after 3s: Distributing 3s",
		},
		{
			name: "abort that is too late", objects: []runtime.Object{signer(distributing)}, args: "abort service-signer --wait",
			play: func(sc *scene) { sc.after(time.Second, signer(inStage(v1alpha1.StageReissuing), promoted)) },
			code: 1, errOut: "abort-late.txt",
		},
		{
			name: "wait for what is so already", objects: []runtime.Object{signer()}, args: "wait service-signer",
			play: func(*scene) {}, out: "demo/service-signer is Stable after 0s",
		},
		{
			name: "wait for a request that is yet to begin", args: "wait service-signer",
			objects: []runtime.Object{signer(func(o *v1alpha1.CertificateRotation) {
				o.Status.Conditions[1] = condition(v1alpha1.ConditionProgressing, true, "")
			})},
			play: func(sc *scene) {
				sc.after(time.Second, signer(distributing))
				sc.after(4*time.Second, signer(promoted))
			},
			out: "demo/service-signer is Stable after 5s: to begin 1s, Distributing 4s",
		},
		{
			name: "wait for a stage", objects: []runtime.Object{signer()}, args: "wait service-signer --for stage=draining",
			play: func(sc *scene) { sc.after(time.Second, signer(inStage(v1alpha1.StageDraining))) },
			out:  "demo/service-signer is Draining after 1s",
		},
		{
			name: "wait for a condition", objects: []runtime.Object{leaf("l", oldCA, unready)}, args: "wait l --for condition=ready",
			play: func(sc *scene) { sc.after(time.Second, leaf("l", oldCA)) },
			out:  "demo/l has the condition ready=True after 1s",
		},
		{
			name: "wait for the opposite of a condition", objects: []runtime.Object{leaf("l", oldCA)}, args: "wait l --for condition=Ready=False",
			play: func(sc *scene) { sc.after(time.Second, leaf("l", oldCA, unready)) },
			out:  "demo/l has the condition Ready=False after 1s",
		},
		{
			name: "no right to list", objects: []runtime.Object{signer()}, args: "rotate service-signer --wait",
			play: func(*scene) {}, code: 1, errOut: "no-list.txt",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShell(t, tt.objects...)
				s.answer("rotate", plan(), nil)
				s.answer("abort", plan(), nil)
				if tt.errOut == "no-list.txt" {
					s.api.ReadFault = func(r *apifake.Request) apifake.Fault {
						if r.Verb == "list" {
							return apifake.Forbidden
						}
						return apifake.NoFault
					}
				}
				sc := begin(t, s, strings.Fields(tt.args)...)
				tt.play(sc)
				sc.exits(tt.code)
				if got := s.out.String(); !strings.Contains(got, tt.out) {
					t.Errorf("no %q in:\n%s", tt.out, got)
				}
				if tt.errOut != "" {
					golden(t, tt.errOut, s.errOut.String())
				}
			})
		})
	}
}

func TestRefusals(t *testing.T) {
	resource := rotations.GroupResource()
	tests := []struct {
		name, args string
		err        error
		want       []string
	}{
		{
			name: "a rotation in flight", args: "rotate service-signer",
			err:  apierrors.NewConflict(resource, "service-signer", refusal("OneRotation: a rotation of trust domain service is in flight")),
			want: []string{"error: OneRotation: a rotation of trust domain service is in flight\n", "kubectl certrotation tree -n demo service-signer"},
		},
		{
			name: "unknown name", args: "rotate nothing", err: apierrors.NewNotFound(resource, "nothing"),
			want: []string{`"nothing" not found`, "kubectl get certificaterotations -n demo"},
		},
		{
			name: "no right", args: "rotate service-signer", err: apierrors.NewForbidden(resource, "service-signer", refusal("no right to create")),
			want: []string{"forbidden", "create on certificaterotations/rotate", "kubectl auth can-i --list -n demo"},
		},
		{
			name: "a server that is down", args: "plan service-signer", err: apierrors.NewServiceUnavailable("the server is currently unable to handle the request"),
			want: []string{"unable to handle the request", "kubectl get apiservice v1alpha1.certrotation.dev"},
		},
		{
			name: "no such API", args: "plan service-signer",
			err:  apierrors.NewGenericServerResponse(http.StatusNotFound, "POST", resource, "service-signer", "404 page not found", 0, true),
			want: []string{"is not served by this cluster", "kubectl get apiservice v1alpha1.certrotation.dev"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShell(t)
			s.answer("rotate", nil, tt.err)
			if code := s.run(t.Context(), strings.Fields(tt.args)...); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			for _, want := range tt.want {
				if got := s.errOut.String(); !strings.Contains(got, want) {
					t.Errorf("no %q in:\n%s", want, got)
				}
			}
		})
	}
}

// refusal is an error with the text of a server.
type refusal string

func (r refusal) Error() string { return string(r) }
