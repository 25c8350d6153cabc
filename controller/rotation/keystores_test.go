// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2/ktesting"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/truststore"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
	"certrotation.dev/test/canary"
)

// keystoreConfig asks for keystores of both formats and a trust store of the server.
var keystoreConfig = strings.Replace(webConfig, "{secretName: web-server, dnsNames: [web.demo.svc], usages: [ServerAuth]}",
	`{secretName: web-server, dnsNames: [web.demo.svc], usages: [ServerAuth], additionalFormats: {pkcs12: {key: truststore.p12}},
       keystores: {pkcs12: {key: keystore.p12, passwordSecretRef: {name: password, key: p}}, jks: {key: keystore.jks, passwordSecretRef: {name: password, key: p}}}}`, 1)

const firstPassword, secondPassword = "the first words", "other words"

func password(value string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "password", UID: "uid-of-password", Annotations: map[string]string{trust.AnnotationConfiguration: "web"}},
		Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{"p": []byte(value)},
	}
}

func keystoreWorld(t *testing.T) (*world, *Controller) {
	t.Helper()
	w := newWorld(t, keystoreConfig)
	w.put(password(firstPassword))
	c := w.controller()
	w.settle(c)
	return w, c
}

// wantKeystores fails unless the keystores hold the pair of the server, and its trust store the anchors of ca.crt.
func wantKeystores(t *testing.T, server *corev1.Secret, password string) {
	t.Helper()
	pair, err := inventory.ActivePair(server.Data)
	if err != nil {
		t.Fatal(err)
	}
	want, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	key, certificate, _, err := pkcs12.DecodeChain(server.Data["keystore.p12"], password)
	if err != nil {
		t.Fatalf("keystore.p12: %v", err)
	}
	if !pair.Certificate.Equal(parsed(t, certificate.Raw)) || !bytes.Equal(want, encodedKey(t, key)) {
		t.Error("keystore.p12 does not have the pair of the leaf")
	}
	store := keystore.New()
	if err := store.Load(bytes.NewReader(server.Data["keystore.jks"]), []byte(password)); err != nil {
		t.Fatalf("keystore.jks: %v", err)
	}
	entry, err := store.GetPrivateKeyEntry("certificate", []byte(password))
	if err != nil {
		t.Fatalf("keystore.jks: %v", err)
	}
	if !pair.Certificate.Equal(parsed(t, entry.CertificateChain[0].Content)) || !bytes.Equal(want, pemOf(entry.PrivateKey)) {
		t.Error("keystore.jks does not have the pair of the leaf")
	}
	anchors, err := pki.ParseBundle(server.Data[inventory.AuthorityKey])
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := truststore.Encode(truststore.PKCS12, "changeit", anchors)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(trusted, server.Data["truststore.p12"]) {
		t.Errorf("truststore.p12 does not have the %d anchors of ca.crt", len(anchors))
	}
}

func parsed(t *testing.T, der []byte) *pki.Certificate {
	t.Helper()
	certificate, err := pki.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func encodedKey(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf(der)
}

func pemOf(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}) }

// TestKeystoresFollowTheLeaf: after every write of the leaf, its keystores have its pair and its trust store its anchors.
func TestKeystoresFollowTheLeaf(t *testing.T) {
	w := newWorld(t, keystoreConfig)
	w.put(password(firstPassword))
	writes := 0
	w.api.Admit = func(r *apifake.Request) error {
		if server, ok := r.Object.(*corev1.Secret); ok && server.Name == serverLeaf {
			writes++
			wantKeystores(t, server, firstPassword)
		}
		return nil
	}
	c := w.controller()
	w.settle(c)
	w.request(trust.RequestRotate, signerName)
	for range 4 {
		w.settle(c)
	}
	if stage := trust.Assess(w.domain(), w.clock.Now()).Stage; stage != trust.Stable || writes < 4 {
		t.Errorf("%s after %d writes of the leaf", stage, writes)
	}
}

// TestKeystoresAreWrittenAgain: after a foreign change, and after a change of what they are made of.
func TestKeystoresAreWrittenAgain(t *testing.T) {
	edited := func(edit func(*corev1.Secret)) func(*world) {
		return func(w *world) {
			server := w.secret(serverLeaf)
			edit(server)
			w.put(server)
		}
	}
	for name, test := range map[string]struct {
		change   func(*world)
		password string
		// former content of the leaf is listed as replaced.
		listed bool
	}{
		"edited":  {change: edited(func(s *corev1.Secret) { s.Data["keystore.p12"] = []byte("anything") })},
		"deleted": {change: edited(func(s *corev1.Secret) { delete(s.Data, "keystore.jks") }), listed: true},
		"a trust store cut down": {change: edited(func(s *corev1.Secret) {
			s.Data["truststore.p12"] = nil
		}), listed: true},
		"not named": {change: edited(func(s *corev1.Secret) { delete(s.Annotations, trust.AnnotationKeystores) })},
		"named a key of the pair": {change: edited(func(s *corev1.Secret) {
			s.Annotations[trust.AnnotationKeystores], s.Annotations[trust.AnnotationTrustStores] = "tls.key=a/b", "ca.crt,tls.crt"
		})},
		"another password": {change: func(w *world) { w.put(password(secondPassword)) }, password: secondPassword, listed: true},
		"an annotation of the password": {change: func(w *world) {
			same := password(firstPassword)
			same.Labels = map[string]string{"app": "web"}
			w.put(same)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, c := keystoreWorld(t)
			test.change(w)
			before := w.secret(serverLeaf)
			writes := w.settle(c)
			after := w.secret(serverLeaf)
			wantKeystores(t, after, stdcmp.Or(test.password, firstPassword))
			if !bytes.Equal(before.Data[inventory.ActiveCertKey], after.Data[inventory.ActiveCertKey]) || writes == 0 {
				t.Errorf("the leaf was issued again, or nothing was written: %d writes", writes)
			}
			listed := slices.Contains(contenthash.ContentOfSecret(after).Superseded, contenthash.OfSecret(before))
			if listed != test.listed {
				t.Errorf("its former content counts: %t", listed)
			}
			if writes := w.settle(c); writes > 0 {
				t.Errorf("%d writes at rest", writes)
			}
		})
	}
}

// TestKeystoresThatNobodyWants: unwanted keystores and trust stores are removed, and foreign data stay.
func TestKeystoresThatNobodyWants(t *testing.T) {
	w, c := keystoreWorld(t)
	server := w.secret(serverLeaf)
	server.Data["theirs"] = []byte("stays")
	w.put(server)
	cfg := w.configuration()
	cfg.Spec.TrustDomains[0].Leaves[0].Keystores, cfg.Spec.TrustDomains[0].Leaves[0].AdditionalFormats = nil, nil
	w.put(cfg)
	w.settle(c)
	after := w.secret(serverLeaf)
	delete(after.Data, contenthash.SupersededKey)
	want := map[string][]byte{"theirs": []byte("stays")}
	for _, key := range []string{inventory.ActiveCertKey, inventory.ActiveKeyKey, inventory.AuthorityKey} {
		want[key] = server.Data[key]
	}
	if len(after.Data) != len(want) || !bytes.Equal(after.Data["theirs"], want["theirs"]) ||
		!bytes.Equal(after.Data[inventory.ActiveKeyKey], want[inventory.ActiveKeyKey]) {
		t.Errorf("the Secret has %d keys", len(after.Data))
	}
	for _, name := range []string{trust.AnnotationKeystores, trust.AnnotationTrustStores} {
		if text, ok := after.Annotations[name]; ok {
			t.Errorf("it is still said: %s=%s", name, text)
		}
	}
}

// TestKeystoreWithoutPassword: the leaf has a problem and waits, the other leaf goes on.
func TestKeystoreWithoutPassword(t *testing.T) {
	for name, lost := range map[string]func(*world){
		"deleted": func(w *world) { w.drop(password("")) },
		"emptied": func(w *world) { w.put(password("")) },
		"without consent": func(w *world) {
			theirs := password(firstPassword)
			theirs.Annotations = nil
			w.put(theirs)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, c := keystoreWorld(t)
			server, client := w.secret(serverLeaf), w.secret(clientLeaf)
			lost(w)
			w.request(trust.RequestRotate, serverLeaf)
			w.request(trust.RequestRotate, clientLeaf)
			w.settle(c)
			if p := trust.Assess(w.domain(), w.clock.Now()).ProblemOf("Secret/" + serverLeaf); p == nil || p.Reason != trust.ReasonKeystorePassword {
				t.Errorf("problem %+v", p)
			}
			if !bytes.Equal(server.Data[inventory.ActiveCertKey], w.secret(serverLeaf).Data[inventory.ActiveCertKey]) {
				t.Error("the leaf was issued without its keystore")
			}
			if bytes.Equal(client.Data[inventory.ActiveCertKey], w.secret(clientLeaf).Data[inventory.ActiveCertKey]) {
				t.Error("the other leaf was not issued")
			}
			w.put(password(secondPassword))
			w.settle(c)
			if bytes.Equal(server.Data[inventory.ActiveCertKey], w.secret(serverLeaf).Data[inventory.ActiveCertKey]) {
				t.Error("the leaf was not issued with the password")
			}
			wantKeystores(t, w.secret(serverLeaf), secondPassword)
		})
	}
}

// TestKeystoresAdopted: a leaf with keystores of another writer is adopted, and they become ours.
func TestKeystoresAdopted(t *testing.T) {
	w, c := keystoreWorld(t)
	server := w.secret(serverLeaf)
	delete(server.Annotations, trust.AnnotationConfiguration)
	delete(server.Annotations, trust.AnnotationKeystores)
	delete(server.Annotations, trust.AnnotationTrustStores)
	server.Data["keystore.p12"] = []byte{0x30, 3, 2, 1, 3}
	w.put(server)
	w.settle(c)
	adopted := server.DeepCopy()
	adopted.Annotations[trust.AnnotationConfiguration] = "web"
	g := guard(w)
	g.admitted(server, adopted)
	if facts := inventory.ParseSecret(w.secret(serverLeaf), pki.NewCache(1)); facts.Keystore() == "" {
		t.Error("the keystore of another writer proves something")
	}
	w.settle(c)
	after := w.secret(serverLeaf)
	wantKeystores(t, after, firstPassword)
	if facts := inventory.ParseSecret(after, pki.NewCache(1)); facts.Keystore() != "" {
		t.Errorf("%s proves nothing although it is ours", facts.Keystore())
	}
}

// TestKeystoresHideTheirSecrets: no event, log, metric or annotation has a private key or a password.
func TestKeystoresHideTheirSecrets(t *testing.T) {
	var texts []string
	w := newWorld(t, keystoreConfig)
	w.put(password(firstPassword))
	c := w.controller()
	logger, ctx := ktesting.NewTestContext(t)
	logged := logger.GetSink().(ktesting.Underlier).GetBuffer()
	turn := func() {
		for range 20 {
			for _, k := range []key{{namespace: testNamespace}, {namespace: testNamespace, domain: "web"}, {namespace: testNamespace, status: true}} {
				if err := c.queue.Do(ctx, k); err != nil {
					texts = append(texts, err.Error())
				}
			}
			w.acknowledge()
			w.clock.Step(time.Second)
		}
		texts = append(texts, logged.String(), strings.Join(w.events.all, "\n"), annotationsOf(t, w))
	}
	turn()
	w.put(password(secondPassword))
	turn()
	w.drop(password(""))
	w.request(trust.RequestRotate, serverLeaf)
	turn()
	all := strings.Join(texts, "\n")
	if !strings.Contains(all, "requires its keystores anew") || !strings.Contains(all, string(trust.ReasonKeystorePassword)) {
		t.Fatalf("the keystores were not written:\n%s", all)
	}
	for _, word := range []string{firstPassword, secondPassword} {
		if strings.Contains(all, word) {
			t.Errorf("a password is told:\n%s", all)
		}
	}
	traces, err := canary.Of(w.secret(serverLeaf).Data[inventory.ActiveKeyKey])
	if err != nil {
		t.Fatal(err)
	}
	if found := canary.In([]byte(all), traces); len(found) > 0 {
		t.Errorf("the key of the leaf is told: %v", found)
	}
}

// annotationsOf returns the metadata of all Secrets and the status of the configuration, as text.
func annotationsOf(t *testing.T, w *world) string {
	t.Helper()
	list, err := w.client.CoreV1().Secrets(testNamespace).List(context.WithoutCancel(t.Context()), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := cmp.Diff(nil, w.configuration().Status)
	for i := range list.Items {
		text += cmp.Diff(nil, list.Items[i].ObjectMeta)
	}
	return text
}
