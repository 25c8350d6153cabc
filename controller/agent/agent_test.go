// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/tls"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/controller/reload"
	"certrotation.dev/registry/pki"
	"certrotation.dev/test/kubeletvolume"
)

// TestWhatIsNotLoadedIsNotAcknowledged: the program does not reload. The agent names the problem and does not
// report what is mounted.
func TestWhatIsNotLoadedIsNotAcknowledged(t *testing.T) {
	former, next := kubeletvolume.Authority(t, "former"), kubeletvolume.Authority(t, "next")
	leaf, fresh := kubeletvolume.Leaf(t, former), kubeletvolume.Leaf(t, next)
	p := newProgram(t, leaf, former)
	run(t, p, func(c *Config) { c.Reload = p }, func(t *testing.T, w *world) {
		w.reported(t, leaf, former)
		w.shows(t, "", "acknowledged until")
		if w.asked() != 0 {
			t.Error("a program that shows what is mounted was reloaded")
		}

		p.mount(t, leaf, former, next)
		w.pass(3 * time.Minute)
		w.reported(t, leaf, former)
		w.shows(t, ReasonStillFormer, "does not list CN=next")
		w.shows(t, ReasonStillFormer, "it was told to reload, and does not show it yet")
		if w.asked() != 1 {
			t.Errorf("the program was asked %d times, want once", w.asked())
		}
		p.load(t, leaf, former, next)
		w.pass(lastLook)
		w.reported(t, leaf, former, next)
		w.shows(t, "", "")

		p.mount(t, fresh, former, next)
		w.pass(3 * time.Minute)
		w.reported(t, leaf, former, next)
		w.shows(t, ReasonStillFormer, "presents "+string(leaf.Certificate.Fingerprint))
		p.load(t, fresh, former, next)
		w.pass(lastLook)
		w.reported(t, fresh, former, next)

		p.mount(t, fresh, next)
		w.pass(3 * time.Minute)
		// The program still trusts the former anchor, so the agent reports it although it is not mounted any more.
		w.reported(t, fresh, former, next)
		w.shows(t, ReasonStillFormer, "still accepts authority "+string(former.Certificate.Fingerprint))
		p.load(t, fresh, next)
		w.pass(3 * time.Minute)
		w.reported(t, fresh, next)
		if w.asked() != 3 {
			t.Errorf("the program was asked %d times, want once for each content", w.asked())
		}
	})
}

func TestProgramThatDoesNotReloadByItself(t *testing.T) {
	former, next := kubeletvolume.Authority(t, "former"), kubeletvolume.Authority(t, "next")
	leaf := kubeletvolume.Leaf(t, former)
	p := newProgram(t, leaf, former)
	run(t, p, nil, func(t *testing.T, w *world) {
		p.mount(t, leaf, former, next)
		w.pass(time.Minute)
		w.shows(t, ReasonStillFormer, "it has not reloaded by itself")
	})
}

func TestReloadIsTriedAgain(t *testing.T) {
	former, next := kubeletvolume.Authority(t, "former"), kubeletvolume.Authority(t, "next")
	leaf := kubeletvolume.Leaf(t, former)
	p := newProgram(t, leaf, former)
	p.answers(errors.New("not now"))
	run(t, p, func(c *Config) { c.Reload = p }, func(t *testing.T, w *world) {
		p.mount(t, leaf, former, next)
		w.pass(10 * time.Minute)
		w.shows(t, ReasonReloadFailed, "not now")
		if w.asked() < 12 || w.asked() > 18 {
			t.Errorf("the program was asked %d times in ten minutes, want more and more rarely, and then once a minute", w.asked())
		}
		p.answers(nil)
		p.load(t, leaf, former, next)
		w.pass(2 * time.Minute)
		w.shows(t, "", "")
		w.reported(t, leaf, former, next)
	})
}

func TestProgramThatHasReloadedIsNotReloaded(t *testing.T) {
	former, next := kubeletvolume.Authority(t, "former"), kubeletvolume.Authority(t, "next")
	leaf := kubeletvolume.Leaf(t, former)
	p := newProgram(t, leaf, former)
	p.mount(t, leaf, former, next) // after the program has read its files
	run(t, p, func(c *Config) { c.Reload = p }, func(t *testing.T, w *world) {
		w.reported(t, leaf, former)
		if w.asked() != 1 {
			t.Errorf("a program that lags at the start of the agent was asked %d times, want once", w.asked())
		}
	})
}

// TestFilesAreReportedAfterAReload: without a handshake as proof, the agent reports only after a successful
// reload.
func TestFilesAreReportedAfterAReload(t *testing.T) {
	former, next := kubeletvolume.Authority(t, "former"), kubeletvolume.Authority(t, "next")
	leaf := kubeletvolume.Leaf(t, former)
	p := newProgram(t, leaf, former)
	p.answers(errors.New("still starting"))
	run(t, p, func(c *Config) { c.Prove, c.Reload = nil, p }, func(t *testing.T, w *world) {
		w.pass(10 * time.Minute)
		if w.last() != nil {
			t.Errorf("%+v was reported before a reload has succeeded", w.last())
		}
		w.shows(t, ReasonNotReloaded, "still starting")
		p.answers(nil)
		w.pass(2 * time.Minute)
		w.reported(t, leaf, former)
		w.shows(t, "", "")

		p.answers(errors.New("broken"))
		p.mount(t, leaf, former, next)
		w.pass(10 * time.Minute)
		w.reported(t, leaf, former)
		w.shows(t, ReasonReloadFailed, "broken")
		p.answers(nil)
		w.pass(2 * time.Minute)
		w.reported(t, leaf, former, next)
	})
}

// TestFaultsAreProblems: each fault has its reason and next step. Once it is repaired, the agent reports without a
// restart.
func TestFaultsAreProblems(t *testing.T) {
	ca, foreign := kubeletvolume.Authority(t, "ca"), kubeletvolume.Authority(t, "foreign")
	twin := kubeletvolume.Authority(t, "ca")
	leaf := kubeletvolume.Leaf(t, ca)
	resource := v1alpha1.Resource("certificaterotations")
	for name, tt := range map[string]struct {
		change     func(p *program, c *Config)
		breaks     func(t *testing.T, w *world)
		mends      func(t *testing.T, w *world)
		reason     reload.Reason
		text       string
		isReported bool
	}{
		"a wrong path": {
			change: func(_ *program, c *Config) { c.Anchors += ".none" },
			reason: ReasonFilesUnreadable, text: "ca-bundle.crt.none: no such file", isReported: false,
		},
		"a wrong file": {
			change: func(p *program, c *Config) { c.Anchors = p.secret.Path("tls.key") },
			reason: ReasonFilesUnreadable, text: "tls.key: parse certificates",
		},
		"no rights": {
			breaks: func(_ *testing.T, w *world) {
				w.refuse(apierrors.NewForbidden(resource, "signer", errors.New("no")))
			},
			mends:  func(_ *testing.T, w *world) { w.refuse(nil) },
			reason: reload.ReasonForbidden, text: "relyingParties[].reporters",
		},
		"a clock that is off": {
			change: func(_ *program, c *Config) { c.Server.Skew = func() time.Duration { return -time.Hour } },
			breaks: func(_ *testing.T, w *world) {
				w.refuse(apierrors.NewConflict(resource, "signer", errors.New("it was observed too long ago")))
			},
			mends:  func(_ *testing.T, w *world) { w.refuse(nil) },
			reason: reload.ReasonClockSkewed, text: "1h0m0s behind",
		},
		"nobody listens": {
			breaks: func(_ *testing.T, w *world) { w.stop() },
			mends:  func(_ *testing.T, w *world) { w.listen() },
			reason: ReasonServerUnreachable, text: "connection refused",
		},
		"no TLS": {
			breaks: func(_ *testing.T, w *world) { w.set(nil) },
			mends:  func(t *testing.T, w *world) { w.load(t, leaf, ca) },
			reason: ReasonServerUnreachable, text: "does not speak TLS",
		},
		"a server of somebody else": {
			breaks: func(t *testing.T, w *world) { w.load(t, kubeletvolume.Leaf(t, foreign), ca) },
			mends:  func(t *testing.T, w *world) { w.load(t, leaf, ca) },
			reason: ReasonForeignServer, text: "CN=foreign",
		},
		"a server that asks for nothing": {
			breaks: func(t *testing.T, w *world) { w.verifies(t, leaf, tls.NoClientCert) },
			mends:  func(t *testing.T, w *world) { w.load(t, leaf, ca) },
			reason: ReasonNothingListed, text: "asks for no client certificate", isReported: true,
		},
		"a server that lists nothing": {
			breaks: func(t *testing.T, w *world) { w.verifies(t, leaf, tls.RequireAnyClientCert) },
			mends:  func(t *testing.T, w *world) { w.load(t, leaf, ca) },
			reason: ReasonNothingListed, text: "lists no authorities", isReported: true,
		},
		"two authorities of one subject": {
			breaks: func(t *testing.T, w *world) {
				w.mount(t, leaf, ca, twin)
				w.load(t, leaf, ca, twin)
			},
			reason: ReasonSharedSubject, text: "CN=ca", isReported: true,
		},
		"no client certificate to present": {
			change: func(p *program, c *Config) {
				c.Prove.ClientCertificate, c.Prove.ClientKey = p.secret.Path("none.crt"), p.secret.Path("none.key")
			},
			reason: ReasonFilesUnreadable, text: "--client-certificate",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProgram(t, leaf, ca)
			run(t, p, func(c *Config) {
				if tt.change != nil {
					tt.change(p, c)
				}
			}, func(t *testing.T, w *world) {
				if tt.breaks != nil {
					tt.breaks(t, w)
					w.pass(7 * time.Minute) // a report is due in this time
				}
				w.shows(t, tt.reason, tt.text)
				if last := w.last(); tt.isReported && (last == nil || len(last.Trusts) != 0) {
					t.Errorf("%+v was reported, want that it trusts nothing that is proven", last)
				}
				if tt.mends == nil {
					return
				}
				tt.mends(t, w)
				w.pass(time.Minute)
				w.shows(t, "", "acknowledged until")
				w.reported(t, leaf, ca)
			})
		})
	}
}

// TestRestartIsNoticed: after a restart of the program, the report has a later start time.
func TestRestartIsNoticed(t *testing.T) {
	former, next := kubeletvolume.Authority(t, "former"), kubeletvolume.Authority(t, "next")
	leaf := kubeletvolume.Leaf(t, former)
	p := newProgram(t, leaf, former)
	run(t, p, nil, func(t *testing.T, w *world) {
		began := w.last().StartedAt
		// Restart between two checks of the agent.
		w.stop()
		p.mount(t, leaf, former, next)
		w.load(t, leaf, former, next)
		w.listen()
		w.pass(10 * time.Second)
		w.reported(t, leaf, former, next)
		if again := w.last().StartedAt; !again.After(began.Time) {
			t.Errorf("it started at %s, and before it was restarted at %s", again, began)
		}
	})
}

func TestClientCertificateIsPresented(t *testing.T) {
	ca := kubeletvolume.Authority(t, "ca")
	leaf := kubeletvolume.Leaf(t, ca)
	p := newProgram(t, leaf, ca)
	serving(t, p, func(t *testing.T) {
		prove := Prove{Address: "127.0.0.1:8443", ClientCertificate: p.secret.Path("tls.crt"), ClientKey: p.secret.Path("tls.key"), network: p}
		shown, err := prove.shake(t.Context())
		if err != nil || !shown.Asks || len(shown.Subjects) != 1 {
			t.Errorf("%+v, %v, want a handshake that lists one authority", shown, err)
		}
	})
}

// verifies has the server request client certificates by auth, and list no CA.
func (p *program) verifies(t *testing.T, leaf *pki.Pair, auth tls.ClientAuthType) {
	t.Helper()
	p.load(t, leaf)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.config.ClientAuth = auth
}
