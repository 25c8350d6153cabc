// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func plainShell(t testing.TB) *shell {
	t.Helper()
	s := newShell(t)
	s.api = nil
	return s
}

// checked runs check with JSON output and returns the findings as "Kind place".
func checked(t *testing.T, code int, args ...string) []string {
	t.Helper()
	s := plainShell(t)
	if got := s.run(t.Context(), append([]string{"check", "-o", "json"}, args...)...); got != code {
		t.Fatalf("exit code %d, want %d: %s%s", got, code, s.errOut.String(), s.out.String())
	}
	var report checkReport
	if err := json.Unmarshal(s.out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for i := range report.Findings {
		f := &report.Findings[i]
		if f.Message == "" {
			t.Errorf("%s says nothing", f.Kind)
		}
		place := f.Object
		if place == "" {
			place = filepath.Base(f.File)
		}
		if f.Key != "" {
			place += " " + f.Key
		}
		out = append(out, string(f.Kind)+" "+place)
	}
	slices.Sort(out)
	return out
}

// certManager is a namespace as cert-manager fills it: leaves with ca.crt, an intermediate, an ACME leaf without CA.
func certManager(t testing.TB) checkedFiles {
	t.Helper()
	root := makeCA(t, "root")
	middle := makeCertificate(t, root, "middle", ofCA)
	public := makeCertificate(t, makeCA(t, "R11"), "shop", ofServer("shop.example.com"))
	web := makeCertificate(t, root, "web", ofServer("web.demo.svc"))
	deep := makeCertificate(t, middle, "deep", ofServer("deep.demo.svc"))
	hook := makeCertificate(t, root, "hook", ofServer("hook.demo.svc"))
	return checkedFiles{"demo.yaml": manifestOf(t,
		checkedSecret("demo", "root", root.cert, root.keyPEM, root),
		checkedSecret("demo", "web", web.cert, web.keyPEM, root),
		checkedSecret("demo", "deep", certificatesOf(deep, middle), deep.keyPEM, root),
		checkedSecret("demo", "shop", public.cert, public.keyPEM),
		checkedSecret("demo", "hook", hook.cert, hook.keyPEM, root),
		checkedWebhook("hook", root),
	)}
}

func checkedWebhook(service string, cas ...*made) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: service},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "a.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{
			CABundle: certificatesOf(cas...), Service: &admissionregistrationv1.ServiceReference{Name: service, Namespace: "demo"},
		}}},
	}
}

// kubeadmPKI is /etc/kubernetes as kubeadm makes it.
func kubeadmPKI(t testing.TB) checkedFiles {
	t.Helper()
	ca, etcd, front := makeCA(t, "kubernetes"), makeCA(t, "etcd-ca"), makeCA(t, "front-proxy-ca")
	out := checkedFiles{
		"pki/sa.pub": []byte("-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----\n"), "pki/sa.key": ca.keyPEM,
		"manifests/etcd.yaml": []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: etcd}\n"),
	}
	put := func(name string, m *made) { out["pki/"+name+".crt"], out["pki/"+name+".key"] = m.cert, m.keyPEM }
	put("ca", ca)
	put("front-proxy-ca", front)
	put("etcd/ca", etcd)
	put("apiserver", makeCertificate(t, ca, "kube-apiserver", ofServer("kubernetes", "10.96.0.1")))
	put("apiserver-kubelet-client", makeCertificate(t, ca, "kube-apiserver-kubelet-client", ofClient))
	put("apiserver-etcd-client", makeCertificate(t, etcd, "kube-apiserver-etcd-client", ofClient))
	put("front-proxy-client", makeCertificate(t, front, "front-proxy-client", ofClient))
	put("etcd/server", makeCertificate(t, etcd, "node-1", ofServer("localhost", "127.0.0.1")))
	out["admin.conf"] = kubeconfigOf(ca, makeCertificate(t, ca, "kubernetes-admin", ofClient))
	return out
}

func kubeconfigOf(ca, client *made) []byte {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {server: 'https://x', certificate-authority-data: %s}\nusers:\n- name: u\n  user: {client-certificate-data: %s, client-key-data: %s}\n",
		encode(ca.cert), encode(client.cert), encode(client.keyPEM))
}

// openShift is the dump of a namespace: a signer, a bundle of two generations, targets without ca.crt, in a List.
func openShift(t testing.TB) checkedFiles {
	t.Helper()
	former, signer := makeCA(t, "openshift_signer@1700000000"), makeCA(t, "openshift_signer@1710000000")
	serving := makeCertificate(t, signer, "10.0.0.1", ofServer("10.0.0.1", "localhost"))
	client := makeCertificate(t, former, "client", ofClient)
	return checkedFiles{"dump.json": listOf(t,
		checkedSecret("openshift-etcd", "signer", signer.cert, signer.keyPEM),
		checkedConfigMap("openshift-etcd", "bundle", "ca-bundle.crt", append([]byte("# openshift_signer\n"), certificatesOf(signer, former)...)),
		checkedSecret("openshift-etcd", "serving", serving.cert, serving.keyPEM),
		checkedSecret("openshift-etcd", "client", client.cert, client.keyPEM),
		checkedConfigMap("openshift-etcd", "empty", "ca-bundle.crt", nil),
		checkedConfigMap("openshift-etcd", "config", "config.yaml", []byte("pem: |\n  -----BEGIN CERTIFICATE-----\n  quoted\n")),
	)}
}

func listOf(t testing.TB, objects ...any) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// chart is what helm template prints: many documents, some without certificates, a CA made by genCA.
func chart(t testing.TB) checkedFiles {
	t.Helper()
	ca := makeCA(t, "chart-ca")
	server := makeCertificate(t, ca, "chart", ofServer("chart", "chart.demo.svc"))
	text := append([]byte("---\n# Source: chart/templates/empty.yaml\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\n"),
		manifestOf(t, checkedSecret("demo", "chart", server.cert, server.keyPEM, ca), checkedWebhook("chart", ca))...)
	return checkedFiles{"rendered.yaml": text, "values.yaml": []byte("replicas: 1\n"), "truststore.jks": {0xfe, 0xed, 0, 0}}
}

// twoOfOneName are two PKIs whose CAs have one name, in a directory and in a namespace.
func twoOfOneName(t testing.TB) checkedFiles {
	t.Helper()
	out, objects := checkedFiles{}, []any{}
	for _, pki := range []string{"first", "second"} {
		ca := makeCA(t, "ca")
		server := makeCertificate(t, ca, pki, ofServer(pki+".demo.svc"))
		out["pki/"+pki+"-ca.crt"], out["pki/"+pki+".crt"], out["pki/"+pki+".key"] = ca.cert, server.cert, server.keyPEM
		objects = append(objects, checkedSecret("demo", pki, server.cert, server.keyPEM), checkedConfigMap("demo", pki, "ca-bundle.crt", ca.cert))
	}
	out["demo.yaml"] = manifestOf(t, objects...)
	return out
}

func TestCheckHealthy(t *testing.T) {
	for name, files := range map[string]func(testing.TB) checkedFiles{
		"cert-manager": certManager, "kubeadm": kubeadmPKI, "OpenShift": openShift, "a chart": chart, "two CAs of one name": twoOfOneName,
	} {
		t.Run(name, func(t *testing.T) {
			if got := checked(t, 0, "--fail-on=warning", "-f", files(t).write(t)); len(got) > 0 {
				t.Errorf("found %q", got)
			}
		})
	}
}

// TestCheckPlanted has 24 faults of 17 kinds in the four layouts.
func TestCheckPlanted(t *testing.T) {
	ca, other := makeCA(t, "ca"), makeCA(t, "other")
	issued := func(name string, edit ...func(*x509.Certificate)) *made {
		return makeCertificate(t, ca, name, func(c *x509.Certificate) {
			ofServer(name + ".demo.svc")(c)
			for _, e := range edit {
				e(c)
			}
		})
	}
	secretOf := func(name string, m *made, cas ...*made) any {
		return checkedSecret("demo", name, m.cert, m.keyPEM, cas...)
	}
	overdue := issued("overdue", func(c *x509.Certificate) { c.NotAfter = testNow.AddDate(0, 0, -1) })
	mismatch, cut := issued("mismatch"), issued("cut")
	foreign := makeCertificate(t, other, "foreign", ofServer("foreign.demo.svc"))
	stranger := makeCertificate(t, makeCA(t, "nowhere"), "stranger", ofServer("stranger.demo.svc"))
	short := makeCertificate(t, nil, "short", func(c *x509.Certificate) { ofCA(c); c.NotAfter = testNow.AddDate(0, 1, 0) })
	weak := makeOf(t, weakRSA(t), ca, "weak", ofServer("weak.demo.svc"))
	hooked := makeCertificate(t, other, "hooked", ofServer("hooked.demo.svc"))
	both := makeCertificate(t, nil, "both", func(c *x509.Certificate) { ofCA(c); ofServer("both.demo.svc")(c) })
	byBoth := makeCertificate(t, both, "by-both", ofServer("by-both.demo.svc"))
	oldSigner, newSigner := makeCA(t, "gen@1"), makeCA(t, "gen@2")
	served := makeCertificate(t, newSigner, "served", ofServer("served.os.svc"))
	renewed, sameName := makeCA(t, "one-name"), makeCA(t, "one-name")
	byRenewed := makeCertificate(t, renewed, "by-renewed", ofServer("by-renewed.same.svc"))
	sha1 := issued("sha1", func(c *x509.Certificate) { c.SignatureAlgorithm = x509.ECDSAWithSHA1 })
	expiredCA := makeCertificate(t, nil, "expired-ca", func(c *x509.Certificate) { ofCA(c); c.NotAfter = testNow.Add(-1) })

	files := checkedFiles{"demo.yaml": manifestOf(t,
		secretOf("ca", ca), secretOf("other", other), secretOf("both", both), secretOf("by-both", byBoth, both),
		secretOf("overdue", overdue, ca),
		secretOf("soon", issued("soon", func(c *x509.Certificate) { c.NotAfter = testNow.AddDate(0, 0, 3) }), ca),
		secretOf("early", issued("early", func(c *x509.Certificate) { c.NotBefore = testNow.AddDate(0, 0, 3) }), ca),
		checkedSecret("demo", "mismatch", mismatch.cert, ca.keyPEM, ca),
		checkedSecret("demo", "garbled", issued("garbled").cert, []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), ca),
		checkedSecret("demo", "cut", cut.cert[:100], cut.keyPEM, ca),
		secretOf("foreign", foreign, ca), secretOf("stranger", stranger, ca),
		secretOf("nameless", makeCertificate(t, ca, "nameless", ofServer()), ca),
		secretOf("address", issued("address", func(c *x509.Certificate) { c.DNSNames = append(c.DNSNames, "10.0.0.9") }), ca),
		secretOf("weak", weak, ca), secretOf("sha1", sha1, ca),
		secretOf("short", short), secretOf("outlives", makeCertificate(t, short, "outlives", ofServer("outlives.demo.svc")), short),
		secretOf("hooked", hooked, other), checkedWebhook("hooked", ca),
		checkedConfigMap("demo", "repeated", "ca-bundle.crt", certificatesOf(ca, ca)),
		checkedConfigMap("demo", "with-key", "ca-bundle.crt", append(slices.Clone(ca.cert), ca.keyPEM...)),
		checkedConfigMap("demo", "with-leaf", "ca-bundle.crt", certificatesOf(ca, issued("pinned"))),
	), "os.json": listOf(t,
		checkedConfigMap("os", "stale", "ca-bundle.crt", oldSigner.cert), checkedSecret("os", "served", served.cert, served.keyPEM),
		checkedSecret("os", "signer", newSigner.cert, newSigner.keyPEM), checkedConfigMap("os", "dead", "ca.crt", expiredCA.cert),
		checkedConfigMap("same", "fresh", "ca-bundle.crt", renewed.cert), checkedConfigMap("same", "former", "ca-bundle.crt", sameName.cert),
		checkedSecret("same", "by-renewed", byRenewed.cert, byRenewed.keyPEM),
	)}
	kubeadm := kubeadmPKI(t)
	regenerated := makeCA(t, "kubernetes")
	kubeadm["pki/ca.crt"], kubeadm["pki/ca.key"] = regenerated.cert, regenerated.keyPEM
	kubeadm["admin.conf"] = kubeconfigOf(regenerated, makeCertificate(t, regenerated, "kubernetes-admin", ofClient))
	kubeadm["pki/etcd/server.key"] = ca.keyPEM

	got := checked(t, 1, "-f", files.write(t), "-f", kubeadm.write(t))
	want := []string{
		"AddressAsName Secret/address tls.crt", "AnchorMissing ConfigMap/former ca-bundle.crt", "AnchorMissing ConfigMap/stale ca-bundle.crt", "AnchorMissing Secret/foreign ca.crt",
		"AnchorMissing ValidatingWebhookConfiguration/hooked webhooks.a.example.com", "CAAsServer Secret/both tls.crt",
		"Expired ConfigMap/dead ca.crt", "Expired Secret/overdue tls.crt", "ExpiresSoon Secret/soon tls.crt",
		"KeyInBundle ConfigMap/with-key ca-bundle.crt", "KeyMismatch Secret/mismatch tls.crt", "KeyMismatch server.crt",
		"LeafInBundle ConfigMap/with-leaf ca-bundle.crt", "NoNames Secret/nameless tls.crt", "NotYetValid Secret/early tls.crt",
		"OutlivesSigner Secret/outlives tls.crt", "RepeatedAnchor ConfigMap/repeated ca-bundle.crt",
		"UnknownSigner Secret/stranger tls.crt", "UnknownSigner apiserver-kubelet-client.crt", "UnknownSigner apiserver.crt",
		"UnreadableCertificate Secret/cut tls.crt", "UnreadableKey Secret/garbled tls.crt", "WeakKey Secret/weak tls.crt",
		"WeakSignature Secret/sha1 tls.crt",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestCheckOutput has golden files of a sample whose names and dates do not change.
func TestCheckOutput(t *testing.T) {
	ca := makeCA(t, "ca")
	web := makeCertificate(t, ca, "web", func(c *x509.Certificate) { ofServer("web.demo.svc")(c); c.NotAfter = testNow.AddDate(0, 0, 3) })
	api := makeCertificate(t, ca, "api\x1b[2J", ofServer())
	directory := checkedFiles{"demo.yaml": manifestOf(t,
		checkedSecret("demo", "web", web.cert, ca.keyPEM, ca), checkedSecret("demo", "api", api.cert, api.keyPEM, ca))}.write(t)
	for format, file := range map[string]string{"text": "check.txt", "json": "check.json", "sarif": "check.sarif", "junit": "check.xml"} {
		t.Run(format, func(t *testing.T) {
			s := plainShell(t)
			if code := s.run(t.Context(), "check", "-f", directory, "-o", format); code != 1 {
				t.Errorf("exit code %d: %s", code, s.errOut.String())
			}
			golden(t, file, strings.ReplaceAll(s.out.String(), directory, "DIR"))
		})
	}
}
