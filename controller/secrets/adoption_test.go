// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/controller/secrets/kinds"
	"certrotation.dev/registry/edition"
)

// shoot is the controller of a hosted control plane. It has three authorities and secrets of the other kinds.
type shoot struct {
	// of are the options of an authority. They tell its phase.
	of map[string][]GenerateOption
	// options are those of its instances.
	options []Option
	// completed is the former authority that its bundle does not have any more.
	completed string
}

func rsaAuthority(name string) *kinds.CertificateSecretConfig {
	return &kinds.CertificateSecretConfig{Name: name, CommonName: name, CertType: kinds.CACert}
}

func rsaLeaf(name string, of kinds.CertType) *kinds.CertificateSecretConfig {
	return &kinds.CertificateSecretConfig{Name: name, CommonName: name, DNSNames: []string{name}, CertType: of, SkipPublishingCACertificate: true}
}

// leaves with the authority that signs each, and its option.
var leaves = []struct {
	config *kinds.CertificateSecretConfig
	ca     string
	option []SignedByCAOption
}{
	{rsaLeaf("kube-apiserver", kinds.ServerCert), "ca", nil},
	{rsaLeaf("gardener-resource-manager", kinds.ServerCert), "ca", []SignedByCAOption{UseCurrentCA}},
	{rsaLeaf("kube-scheduler", kinds.ClientCert), "ca-client", nil},
	{rsaLeaf("kube-apiserver-kubelet", kinds.ClientCert), "ca-client", []SignedByCAOption{UseOldCA}},
	{rsaLeaf("etcd-peer", kinds.ServerClientCert), "ca-etcd", nil},
	{rsaLeaf("kubelet", kinds.ServerCert), "ca-kubelet", nil},
	{rsaLeaf("kube-apiserver-to-node", kinds.ClientCert), "ca-kubelet", nil},
	{rsaLeaf("metrics-server", kinds.ServerCert), "ca-metrics-server", []SignedByCAOption{UseCurrentCA}},
}

// authorities of a shoot.
var authorities = []string{"ca", "ca-client", "ca-etcd", "ca-kubelet", "ca-metrics-server"}

var (
	serviceAccountKey = &kinds.RSASecretConfig{Name: "service-account-key", Bits: 4096}
	plains            = []kinds.Config{
		&kinds.RSASecretConfig{Name: "ssh-keypair", Bits: 4096, UsedForSSH: true},
		&kinds.BasicAuthSecretConfig{Name: "observability-ingress", Format: "normal", Username: "admin", PasswordLength: 32},
		&kinds.ETCDEncryptionKeySecretConfig{Name: "kube-apiserver-etcd-encryption-key", SecretLength: 32},
		&kinds.StaticTokenSecretConfig{Name: "kube-apiserver-static-token", Tokens: map[string]kinds.TokenConfig{"health": {Username: "health-check"}}},
		&kinds.VPNTLSAuthConfig{Name: "vpn-seed-tlsauth"},
		&kinds.KubeconfigSecretConfig{Name: "kubeconfig", ContextName: "shoot"},
	}
	// The certificate of an administrator with a kubeconfig, and a Secret with nothing but the authority of clients.
	adminConfig = &kinds.ControlPlaneSecretConfig{
		Name: "admin", KubeConfigRequests: []kinds.KubeConfigRequest{{ClusterName: "shoot", APIServerHost: "api"}},
		CertificateSecretConfig: &kinds.CertificateSecretConfig{CommonName: "admin", CertType: kinds.ClientCert},
	}
	untyped   = &kinds.CertificateSecretConfig{Name: "client-authority"}
	plainData = map[string]map[string][]byte{
		"ssh-keypair":                        {"id_rsa": []byte("a"), "id_rsa.pub": []byte("b")},
		"observability-ingress":              {"username": []byte("admin"), "password": []byte("p"), "auth": []byte("admin:x")},
		"kube-apiserver-etcd-encryption-key": {"key": []byte("key1"), "secret": []byte("MDEyMzQ1Njc4OTAxMjM0NQ==")},
		"kube-apiserver-static-token":        {"static_tokens.csv": []byte("t,health-check,health-check,")},
		"vpn-seed-tlsauth":                   {"vpn.tlsauth": []byte("k")},
		"kubeconfig":                         {"kubeconfig": []byte("k")},
	}
)

// reconcile generates everything and cleans up.
func (s *shoot) reconcile(w *world) *Instance {
	w.Helper()
	i := w.instance(s.options...)
	for _, name := range authorities {
		w.generate(i, rsaAuthority(name), append([]GenerateOption{Persist(), Rotate(KeepOld)}, s.of[name]...)...)
	}
	for _, one := range leaves {
		w.generate(i, one.config, SignedByCA(one.ca, one.option...))
	}
	w.generate(i, adminConfig, SignedByCA("ca"))
	w.generate(i, untyped, SignedByCA("ca-client"))
	w.generate(i, serviceAccountKey, Rotate(KeepOld))
	for _, config := range plains {
		w.generate(i, config)
	}
	w.cleanup(i)
	return i
}

// verifies fails unless each leaf chains to the bundle of its authority.
func (w *world) verifies(i *Instance, what string) {
	w.Helper()
	for _, one := range leaves {
		secret, _ := i.Get(one.config.Name)
		bundle, _ := i.Get(one.ca)
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(bundle.Data["bundle.crt"])
		parsed, err := x509.ParseCertificate(w.certificatesOf(secret, "tls.crt")[0].DER())
		if err != nil {
			w.Fatalf("%v", err)
		}
		if _, err := parsed.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: w.clock.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			w.Fatalf("%s: %s: %v", what, one.config.Name, err)
		}
	}
}

// gardenersNamespace returns a namespace with authorities in all phases. ca was never rotated, ca-client and ca-kubelet
// are between the two phases of their first rotation, ca-metrics-server is being completed, and ca-etcd was rotated
// twice. The key of service accounts is in a rotation.
func gardenersNamespace(t *testing.T, equal bool) (*world, *shoot) {
	w := newWorld(t)
	g := &gardener{world: w, created: begin.Add(-30 * day), equal: equal}
	rotated := strconv.FormatInt(begin.Add(-5*day).Unix(), 10)
	ca := g.authority(rsaAuthority("ca"), "", true)
	etcd := g.authority(rsaAuthority("ca-etcd"), rotated, false)
	newKey := g.plain(serviceAccountKey, rotated, map[string][]byte{"id_rsa": keyPEM(smallKeys()[0])})
	client := g.authority(rsaAuthority("ca-client"), rotated, false)
	formerClient := g.authority(rsaAuthority("ca-client"), "", true)
	kubelet := g.authority(rsaAuthority("ca-kubelet"), rotated, false)
	formerKubelet := g.authority(rsaAuthority("ca-kubelet"), "", true)
	metrics := g.authority(rsaAuthority("ca-metrics-server"), rotated, false)
	formerMetrics := g.authority(rsaAuthority("ca-metrics-server"), "", true)
	oldKey := g.plain(serviceAccountKey, "", map[string][]byte{"id_rsa": keyPEM(smallKeys()[1])})
	if !equal {
		// The former editions are older.
		for _, secret := range []*corev1.Secret{formerClient, formerKubelet, formerMetrics, oldKey} {
			secret.CreationTimestamp.Time = begin.Add(-40 * day)
			w.put(secret)
		}
	}
	g.bundle("ca", ca)
	g.bundle("ca-etcd", etcd)
	g.bundle("ca-client", client, formerClient)
	g.bundle("ca-kubelet", kubelet, formerKubelet)
	g.bundle("ca-metrics-server", metrics)
	g.bundle("service-account-key", newKey, oldKey)
	g.leaf(leaves[0].config, "ca", ca)
	g.leaf(leaves[1].config, "ca", ca)
	g.leaf(leaves[2].config, "ca-client", client)
	g.leaf(leaves[3].config, "ca-client", formerClient)
	g.leaf(leaves[4].config, "ca-etcd", etcd)
	g.leaf(leaves[5].config, "ca-kubelet", formerKubelet)
	g.leaf(leaves[6].config, "ca-kubelet", kubelet)
	g.leaf(leaves[7].config, "ca-metrics-server", metrics)
	g.controlPlane(adminConfig, "ca", ca)
	g.leaf(untyped, "ca-client", client)
	for _, config := range plains {
		g.plain(config, "", plainData[config.GetName()])
	}
	return w, &shoot{
		of:        map[string][]GenerateOption{"ca": {IgnoreConfigChecksumForCASecretName()}, "ca-metrics-server": {IgnoreOldSecrets()}},
		completed: formerMetrics.Name,
	}
}

// TestGardenersNamespace: a namespace of Gardener is taken over without a write, except that the end of a completed
// authority goes on. A rotation in progress can be completed, and a new one works.
func TestGardenersNamespace(t *testing.T) {
	t.Parallel()
	noRecord := []Option{WithGroupRotation(&edition.GroupRotation{}, "ca", "ca-client", "ca-etcd", "ca-kubelet", "ca-metrics-server", "service-account-key")}
	for _, tt := range []struct {
		name    string
		equal   bool
		options []Option
	}{
		{name: "as it was"},
		{name: "restored, with equal times of creation", equal: true},
		{name: "as a group without a record", options: noRecord},
		{name: "restored, as a group without a record", equal: true, options: noRecord},
		{name: "as a group without a record and without renewal", options: append(noRecord, WithoutAutomaticSecretRenewal())},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, s := gardenersNamespace(t, tt.equal)
			s.options = tt.options
			before := w.names()
			w.requests()
			i := s.reconcile(w)
			if got := w.requests(); !slices.Equal(got, []string{"list secrets", "list pods", "delete secrets"}) {
				t.Fatalf("it was taken over with %q:\n%s", got, i.Plan())
			}
			if got := i.Plan().Of(edition.Create, edition.Adopt, edition.Change, edition.Delete); objectNames(got) != s.completed || len(i.Plan()) != len(before) {
				t.Fatalf("%d steps for %d secrets; not kept are\n%s", len(i.Plan()), len(before), got)
			}
			w.verifies(i, "taken over")
			s.options = nil
			rotateFromThere(t, w, s)
		})
	}
}

// rotateFromThere completes the rotation of ca-client, and then runs one of ca.
func rotateFromThere(t *testing.T, w *world, s *shoot) {
	t.Helper()
	// The second phase of ca-client drops the old CA.
	s.of["ca-client"] = []GenerateOption{IgnoreOldSecrets()}
	s.settles(t, w, "ca-client is completed", 1)
	// In the first phase of ca both CAs are trusted, and its clients would get leaves of the new one. Servers
	// follow in the second phase.
	w.pass(time.Hour)
	w.times["ca"] = w.clock.Now()
	s.of["ca"] = nil
	former := s.settles(t, w, "ca is prepared", 2)
	w.pass(time.Hour)
	s.of["ca"] = []GenerateOption{IgnoreOldSecrets()}
	s.settles(t, w, "ca is completed", 1)
	for name, secret := range w.stored() {
		if secret.Labels["name"] == "ca" && former[name] == nil {
			t.Errorf("the second phase has made the authority %s", name)
		}
	}
	// ca-kubelet and the key of service accounts are still in a rotation.
	if count := len(w.stored()); count != 2*len(authorities)+1+len(leaves)+2+3+len(plains) {
		t.Errorf("there are %d secrets: %q", count, w.names())
	}
}

// settles reconciles once, checks that a second reconciliation writes nothing, and returns the stored Secrets.
func (s *shoot) settles(t *testing.T, w *world, what string, anchors int) map[string]*corev1.Secret {
	t.Helper()
	i := s.reconcile(w)
	w.verifies(i, what)
	name := "ca"
	if what == "ca-client is completed" {
		name = "ca-client"
	}
	bundle, _ := i.Get(name)
	if got := len(w.certificatesOf(bundle, "bundle.crt")); got != anchors {
		t.Errorf("%s: %d anchors, want %d", what, got, anchors)
	}
	w.requests()
	again := s.reconcile(w)
	if got := w.requests(); !slices.Equal(got, []string{"list secrets"}) {
		t.Errorf("%s: a second reconciliation asks for %q:\n%s", what, got, again.Plan())
	}
	return w.stored()
}

// TestRestored: numbered editions keep their order when a restore makes all creation times equal.
func TestRestored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var made []string
	for n := range 3 {
		w.times["user"] = begin.Add(time.Duration(n) * time.Second)
		made = append(made, w.generate(w.instance(), password("user")).Name)
	}
	for _, secret := range w.stored() {
		secret.CreationTimestamp.Time = begin
		w.put(secret)
	}
	w.has(made...)
	// The times of rotations are lost too.
	w.times = map[string]time.Time{}
	i := w.instance()
	current := w.generate(i, password("user"), Rotate(KeepOld))
	old, _ := i.Get("user", Old)
	if current.Name != made[2] || old == nil || old.Name != made[1] {
		t.Errorf("current %s, old %v; they were made as %q", current.Name, old, made)
	}
	if got := fmt.Sprint(objectNames(i.Plan().Of(edition.Create))); got != "" {
		t.Errorf("it has made %s", got)
	}
}
