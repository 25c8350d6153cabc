// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/controller/issuer"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

const (
	issuedCA     = "issued-ca"
	issuedServer = "issued-server"
	issuedClient = "issued-client"
)

// issuedConfig is webConfig with leaves of another issuer, and its CA.
var issuedConfig = strings.NewReplacer(
	"- name: web\n", "- name: web\n    issuer: CertManager\n",
	"{secretName: web-signer}", "{secretName: web-signer, issuedSecretName: issued-ca}",
	"{secretName: web-server,", "{secretName: web-server, issuedSecretName: issued-server,",
	"usages: [ServerAuth]}\n    - {secretName: web-client,",
	"usages: [ServerAuth], policy: {backdate: 0s}}\n    - {secretName: web-client, issuedSecretName: issued-client,",
	"commonName: client, usages: [ClientAuth]}", "commonName: client, usages: [ClientAuth], policy: {backdate: 0s}}",
).Replace(webConfig)

// certManager is an issuer like cert-manager: it replaces its CA in one write, and signs with the CA that its Secret has
// at that moment.
type certManager struct {
	*world

	// ca is the Secret that it signs with, number the CAs that it has made.
	ca     string
	number int
	// asked are the Secrets that it was asked for. answers may refuse, or delay, a request.
	asked   []string
	answers func(secret string) error
}

func newCertManager(w *world, ca string) *certManager { return &certManager{world: w, ca: ca} }

func (m *certManager) controller() *Controller {
	m.t.Helper()
	c := m.world.controller()
	c.issuer = m
	return c
}

// Request implements Issuer.
func (m *certManager) Request(_ context.Context, _, secret, _ string) error {
	m.asked = append(m.asked, secret)
	if m.answers != nil {
		if err := m.answers(secret); err != nil {
			return err
		}
	}
	if secret == m.ca {
		m.replace()
		return nil
	}
	m.issue(secret)
	return nil
}

// begin delivers the first CA and the first leaves.
func (m *certManager) begin() {
	m.t.Helper()
	m.replace()
	m.issue(issuedServer)
	m.issue(issuedClient)
}

// replace makes a CA of the same name, in one write.
func (m *certManager) replace() {
	m.t.Helper()
	m.number++
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "cert-manager's CA", Key: pki.ECDSAP256, Validity: 24 * time.Hour}, m.clock.Now())
	if err != nil {
		m.t.Fatal(err)
	}
	m.deliver(m.ca, ca)
}

func (m *certManager) issue(secret string) {
	m.t.Helper()
	ca, err := inventory.ActivePair(m.secret(m.ca).Data)
	if err != nil {
		m.t.Fatal(err)
	}
	profile := pki.Profile{CommonName: "client", Key: pki.ECDSAP256, Validity: 12 * time.Hour, Usages: []pki.Usage{pki.ClientAuth}}
	if secret == issuedServer {
		profile.CommonName, profile.DNSNames, profile.Usages = "", []string{"web.demo.svc"}, []pki.Usage{pki.ServerAuth}
	}
	leaf, err := ca.Issue(profile, m.clock.Now())
	if err != nil {
		m.t.Fatal(err)
	}
	m.deliver(secret, leaf)
}

func (m *certManager) deliver(secret string, pair *pki.Pair) {
	m.t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		m.t.Fatal(err)
	}
	m.put(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secret, Annotations: map[string]string{trust.AnnotationConfiguration: "web"}},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{"tls.crt": pair.CertPEM(), "tls.key": key},
	})
}

// issued is a settled world whose CA and leaves are cert-manager's.
func issued(t *testing.T) (*certManager, *Controller) {
	w := newWorld(t, issuedConfig)
	m := newCertManager(w, issuedCA)
	m.begin()
	c := m.controller()
	m.settles(c)
	return m, c
}

// settles also lets the back-off of requests pass.
func (m *certManager) settles(c *Controller) {
	m.t.Helper()
	for range 4 {
		m.settle(c)
		m.clock.Step(10 * time.Second)
	}
	m.settle(c)
	for _, name := range []string{signerName, serverLeaf, clientLeaf} {
		if len(m.secret(name).Data["tls.key"]) > 0 == (name == signerName && m.ca == issuedCA) {
			m.t.Errorf("Secret/%s: the keys of the CA stay with the issuer, those of leaves are taken", name)
		}
	}
}

func (m *certManager) current() pki.Fingerprint {
	m.t.Helper()
	ca, err := inventory.ActivePair(m.secret(m.ca).Data)
	if err != nil {
		m.t.Fatal(err)
	}
	return ca.Certificate.Fingerprint
}

// rotated fails unless the domain is at rest with the issuer's CA alone.
func (m *certManager) rotated() {
	m.t.Helper()
	d := m.domain()
	a := trust.Assess(d, m.clock.Now())
	if a.Stage != trust.Stable || len(d.Bundle.Anchors) != 1 || d.Bundle.Anchors[0].Fingerprint != m.current() {
		m.t.Fatalf("stage %s with %d anchors, want the CA of the issuer alone; blockers %v", a.Stage, len(d.Bundle.Anchors), a.Blockers)
	}
	for i := range d.Leaves {
		if l := &d.Leaves[i]; l.Certificate == nil || l.Certificate.Fingerprint != l.Issued.Certificate.Fingerprint || !l.Certificate.SignedBy(d.Signer.Active) {
			m.t.Errorf("Secret/%s does not have the newest pair of its issuer", l.Name)
		}
	}
}

func (m *certManager) blocked(reason trust.Reason, text string) {
	m.t.Helper()
	a := trust.Assess(m.domain(), m.clock.Now())
	is := func(b trust.Blocker) bool { return b.Reason == reason && strings.Contains(b.String(), text) }
	if !slices.ContainsFunc(a.Blockers, is) {
		m.t.Errorf("blockers %v, want %s with %q", a.Blockers, reason, text)
	}
}

// TestIssuerReplacesItsCA: cert-manager replaces its CA in one write, and renews a leaf at once. Nobody is given that leaf
// before all who verify it have loaded the CA.
func TestIssuerReplacesItsCA(t *testing.T) {
	m, c := issued(t)
	m.rotated()
	former := m.current()
	m.reports = func(p *trust.Party, _ *trust.Observation) bool { return p.Name != "servers" }
	m.replace()
	m.issue(issuedClient)
	m.settles(c)
	m.blocked(trust.ReasonHeld, "Secret/issued-client: was issued by CN=cert-manager's CA before its verifiers have loaded that CA")
	m.blocked(trust.ReasonAnchorNotLoaded, "servers")
	d := m.domain()
	if len(d.Bundle.Anchors) != 2 || d.Signer.Active.Fingerprint != former {
		t.Fatalf("%d anchors, active %s: want both, and the former one active", len(d.Bundle.Anchors), d.Signer.Active.Fingerprint)
	}
	if l := d.Leaf(clientLeaf); !l.Certificate.SignedBy(d.Signer.Active) || l.Certificate.SignedBy(d.Signer.Next) {
		t.Error("the leaf was taken before the servers have loaded its CA")
	}

	m.reports = nil
	m.settles(c)
	m.rotated()
	if want := []string{issuedServer}; !slices.Equal(m.asked, want) {
		t.Errorf("asked for %q, want %q: the other leaf was issued already", m.asked, want)
	}
}

// TestIssuerDoesNotBackdate: a leaf is taken some minutes after it was issued, when clocks that are behind have reached its
// start.
func TestIssuerDoesNotBackdate(t *testing.T) {
	w := newWorld(t, strings.ReplaceAll(issuedConfig, "backdate: 0s", "backdate: 5m"))
	m := newCertManager(w, issuedCA)
	m.begin()
	c := m.controller()
	m.settles(c)
	m.rotated()
	m.replace()
	m.settles(c)
	m.blocked(trust.ReasonGracePeriod, "Secret/issued-server: was issued a moment ago, and is taken at")
	if asked := len(m.asked); asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	m.clock.Step(5 * time.Minute)
	m.settles(c)
	m.rotated()
	m.issue(issuedServer)
	m.settle(c)
	if a := trust.Assess(m.domain(), m.clock.Now()); len(a.Blockers) > 0 || a.Recheck.After(m.clock.Now().Add(5*time.Minute)) {
		t.Errorf("a renewal at rest: blockers %v, next looked at %s", a.Blockers, a.Recheck)
	}
}

// TestIssuerReplacesItsCAAgain: a CA is replaced while its rotation is at any point.
func TestIssuerReplacesItsCAAgain(t *testing.T) {
	for name, during := range map[string]struct {
		// silent do not report the first replacement.
		silent string
		stage  trust.Stage
	}{
		"before it is trusted":   {silent: "servers", stage: trust.Distributing},
		"before leaves are had":  {stage: trust.Reissuing},
		"before the former ends": {stage: trust.Draining},
	} {
		t.Run(name, func(t *testing.T) {
			m, c := issued(t)
			var pending bool
			m.answers = func(string) error {
				if pending {
					return issuer.ErrPending
				}
				return nil
			}
			m.reports = func(p *trust.Party, o *trust.Observation) bool {
				if during.stage == trust.Draining {
					// The leaves are presented much later.
					o.Presents = nil
				}
				return p.Name != during.silent
			}
			pending = during.stage == trust.Reissuing
			m.replace()
			m.settles(c)
			if stage := trust.Assess(m.domain(), m.clock.Now()).Stage; stage != during.stage {
				t.Fatalf("stage %s, want %s", stage, during.stage)
			}
			m.replace()
			m.settles(c)
			m.replace()
			m.reports, pending = nil, false
			for range 4 {
				m.settles(c)
			}
			m.rotated()
		})
	}
}

// TestIssuerSignsWithOurCA: certrotation makes the CA. The issuer signs with the Secret of the signer, so that it signs
// with no CA before all have loaded it.
func TestIssuerSignsWithOurCA(t *testing.T) {
	w := newWorld(t, strings.Replace(issuedConfig, ", issuedSecretName: issued-ca", "", 1))
	m := newCertManager(w, signerName)
	c := m.controller()
	m.settle(c)
	m.blocked(trust.ReasonNotIssued, "Secret/issued-server: does not exist: cert-manager has not issued it yet")
	m.issue(issuedServer)
	m.issue(issuedClient)
	m.settles(c)
	m.rotated()
	former := m.current()
	m.reports = func(p *trust.Party, _ *trust.Observation) bool { return p.Name != "clients" }
	m.request(trust.RequestRotate, signerName)
	m.settles(c)
	if m.current() != former || len(m.asked) > 0 {
		t.Fatalf("the issuer signs with the next CA, and was asked for %q, before the clients have loaded it", m.asked)
	}
	m.reports = nil
	m.settles(c)
	m.rotated()
	if m.current() == former {
		t.Error("the CA was not rotated")
	}
}

// TestIssuerIsAsked tells what a person asks for.
func TestIssuerIsAsked(t *testing.T) {
	for name, secrets := range map[string]struct {
		asks string
		want []string
	}{
		"for a leaf": {serverLeaf, []string{issuedServer}},
		"for the CA": {signerName, []string{issuedCA, issuedClient, issuedServer}},
	} {
		t.Run(name, func(t *testing.T) {
			m, c := issued(t)
			m.request(trust.RequestRotate, secrets.asks)
			m.settles(c)
			m.rotated()
			if !slices.Equal(m.asked, secrets.want) {
				t.Errorf("asked for %q, want %q", m.asked, secrets.want)
			}
		})
	}
}

// TestIssuerFails: what cannot be had is named, asked for more and more seldom, and stops nothing else.
func TestIssuerFails(t *testing.T) {
	m, c := issued(t)
	m.answers = func(secret string) error {
		if secret == issuedServer {
			return &issuer.FailedError{Why: "Certificate/server: failed: no luck"}
		}
		return nil
	}
	m.replace()
	for range 10 {
		m.settles(c)
		m.clock.Step(time.Minute)
	}
	m.blocked(trust.ReasonNotIssued, "Secret/issued-server: cert-manager does not issue it since")
	m.blocked(trust.ReasonNotIssued, "no luck")
	d := m.domain()
	if !d.Leaf(clientLeaf).Certificate.SignedBy(d.Signer.Active) || d.Leaf(serverLeaf).Certificate.SignedBy(d.Signer.Active) {
		t.Error("want the other leaf alone to be of the new CA")
	}
	if asked := len(m.asked); asked > 16 {
		t.Errorf("asked %d times in 14 minutes", asked)
	}
	m.answers = nil
	m.clock.Step(lastRefusedRetry)
	m.settles(c)
	m.rotated()
}

// TestIssuedWithoutConsent: nothing is taken, or asked for, before the Secrets of the issuer consent. It says what to do.
func TestIssuedWithoutConsent(t *testing.T) {
	w := newWorld(t, issuedConfig)
	m := newCertManager(w, issuedCA)
	m.begin()
	for _, name := range []string{issuedCA, issuedServer} {
		secret := m.secret(name)
		secret.Annotations = nil
		m.put(secret)
	}
	c := m.controller()
	consents := func(name string) {
		secret := m.secret(name)
		secret.Annotations = map[string]string{trust.AnnotationConfiguration: "web"}
		m.put(secret)
		m.settle(c)
	}
	for _, name := range []string{issuedCA, issuedServer} {
		m.settle(c)
		problems := trust.Assess(m.domain(), m.clock.Now()).Problems
		is := func(p trust.Problem) bool { return p.Reason == trust.ReasonNotAdopted && p.Object == "Secret/"+name }
		if !slices.ContainsFunc(problems, is) || m.domain().Leaf(serverLeaf).Present {
			t.Errorf("problems %v, want NotAdopted of Secret/%s", problems, name)
		}
		consents(name)
	}
	m.rotated()
	if len(m.asked) > 0 {
		t.Errorf("asked for %q", m.asked)
	}
}

// TestIssuedIsUnfit: what no verifier would accept, or could sign itself, is not taken.
func TestIssuedIsUnfit(t *testing.T) {
	for name, unfit := range map[string]struct {
		profile pki.Profile
		says    string
	}{
		"another name": {pki.Profile{DNSNames: []string{"other.svc"}, Usages: []pki.Usage{pki.ServerAuth}}, `lacks the names ["web.demo.svc"]`},
		"another usage": {
			pki.Profile{DNSNames: []string{"web.demo.svc"}, Usages: []pki.Usage{pki.ClientAuth}}, "lacks the usage ServerAuth",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, c := issued(t)
			before := m.domain().Leaf(serverLeaf).Certificate.Fingerprint
			ca, err := inventory.ActivePair(m.secret(issuedCA).Data)
			if err != nil {
				t.Fatal(err)
			}
			unfit.profile.Key, unfit.profile.Validity = pki.ECDSAP256, time.Hour
			leaf, err := ca.Issue(unfit.profile, m.clock.Now())
			if err != nil {
				t.Fatal(err)
			}
			m.deliver(issuedServer, leaf)
			m.settles(c)
			m.blocked(trust.ReasonNotIssued, unfit.says)
			if m.domain().Leaf(serverLeaf).Certificate.Fingerprint != before {
				t.Error("it was taken")
			}
		})
	}
	t.Run("a CA", func(t *testing.T) {
		m, c := issued(t)
		m.put(func() *corev1.Secret {
			secret := m.secret(issuedCA)
			secret.Name = issuedServer
			secret.ResourceVersion, secret.UID = "", ""
			return secret
		}())
		m.settles(c)
		m.blocked(trust.ReasonNotIssued, "is a certificate authority and no leaf")
		if m.domain().Leaf(serverLeaf).Certificate.IsCA {
			t.Error("the key of the CA was taken")
		}
	})
}
