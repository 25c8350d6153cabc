// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"certrotation.dev/admission"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

const (
	guarded            = "guarded"
	guardConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: service}
spec:
  preset:
    name: mtls-service
    mtlsService:
      clients: [a]
      serverAddresses: ["127.0.0.1:9443"]
`
	// The schema accepts brokenPatch, because it does not validate addresses.
	brokenPatch = `{"spec":{"preset":{"mtlsService":{"ipAddresses":["no address"]}}}}`
)

// guardedPKI is a namespace in which a rotation is in the stage Distributing.
type guardedPKI struct {
	t                     *testing.T
	client                kubernetes.Interface
	own                   versioned.Interface
	active, next, foreign *pki.Pair
}

// TestGuard makes edits that a real kube-apiserver sends to the guard.
func TestGuard(t *testing.T) {
	t.Parallel()
	plane := barePlane.use(t)
	client, own := plane.client, plane.own
	p := newGuardedPKI(t, client, own)
	view := startView(t, plane, guarded)
	p.register(t, serveGuard(t, view, client))

	server, err := client.CoreV1().Secrets(guarded).Get(t.Context(), "service-server", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secrets, configMaps := client.CoreV1().Secrets(guarded), client.CoreV1().ConfigMaps(guarded)
	configurations := own.ConfigV1alpha1().RotationConfigurations(guarded)
	updateServer := func(opts metav1.UpdateOptions, change func(*corev1.Secret)) func(context.Context) error {
		return func(ctx context.Context) error {
			s := server.DeepCopy()
			change(s)
			_, err := secrets.Update(ctx, s, opts)
			return err
		}
	}
	setBundle := func(anchors ...*pki.Pair) func(context.Context) error {
		return func(ctx context.Context) error {
			cm, err := configMaps.Get(ctx, "service-ca-bundle", metav1.GetOptions{})
			if err != nil {
				return err
			}
			cm.Data[inventory.BundleKey] = bundlePEM(anchors...)
			_, err = configMaps.Update(ctx, cm, metav1.UpdateOptions{})
			return err
		}
	}
	foreign := func(s *corev1.Secret) { s.Data = p.leaf("service-server", p.foreign).Data }

	for _, tc := range []struct {
		name string
		edit func(context.Context) error
		// denied is part of the denial, "" if the edit is allowed.
		denied string
	}{
		{name: "leaf from a foreign CA", edit: updateServer(metav1.UpdateOptions{}, foreign), denied: "TrustBeforeUse: Secret/service-server"},
		{name: "the same as a dry run", edit: updateServer(metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}, foreign), denied: "TrustBeforeUse: Secret/service-server"},
		{name: "leaf from the CA that is not trusted yet", edit: updateServer(metav1.UpdateOptions{}, func(s *corev1.Secret) {
			s.Data = p.leaf("service-server", p.next).Data
		}), denied: "TrustBeforeUse: Secret/service-server"},
		{name: "key of another certificate", edit: updateServer(metav1.UpdateOptions{}, func(s *corev1.Secret) {
			s.Data[corev1.TLSPrivateKeyKey] = p.leaf("service-server", p.active).Data[corev1.TLSPrivateKeyKey]
		}), denied: "PairMatches: Secret/service-server"},
		{name: "annotation deleted by a patch", edit: func(ctx context.Context) error {
			_, err := secrets.Patch(ctx, "service-server", types.MergePatchType,
				[]byte(`{"metadata":{"annotations":{"`+trust.AnnotationNotAfter+`":null}}}`), metav1.PatchOptions{})
			return err
		}, denied: "ContentDecides: Secret/service-server"},
		{name: "anchor removed", edit: setBundle(p.next), denied: "AnchorInUse: ConfigMap/service-ca-bundle"},
		{name: "bundle emptied", edit: setBundle(), denied: "NeverEmpty: ConfigMap/service-ca-bundle"},
		{name: "collection of ConfigMaps deleted", edit: func(ctx context.Context) error {
			return configMaps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=service-ca-bundle"})
		}, denied: "AnchorInUse: ConfigMap/service-ca-bundle"},
		{name: "signer deleted", edit: func(ctx context.Context) error {
			return secrets.Delete(ctx, "service-signer", metav1.DeleteOptions{})
		}, denied: "OneRotation: Secret/service-signer"},
		{name: "configuration deleted", edit: func(ctx context.Context) error {
			return configurations.Delete(ctx, "service", metav1.DeleteOptions{})
		}, denied: "OneRotation: RotationConfiguration/service"},
		{name: "broken configuration", edit: func(ctx context.Context) error {
			_, err := configurations.Patch(ctx, "service", types.MergePatchType, []byte(brokenPatch), metav1.PatchOptions{})
			return err
		}, denied: "spec.preset.mtlsService.ipAddresses[0]"},
		{name: "leaf without the name by which its holder is verified", edit: updateServer(metav1.UpdateOptions{}, func(s *corev1.Secret) {
			s.Data = p.leafFor("service-server", p.active, "localhost").Data
		}), denied: "TrustBeforeUse: Secret/service-server"},
		{name: "Secret of somebody else", edit: func(ctx context.Context) error {
			s := p.leaf("mine", p.foreign)
			_, err := secrets.Create(ctx, s, metav1.CreateOptions{})
			return err
		}},
		{name: "annotation of somebody else", edit: func(ctx context.Context) error {
			_, err := secrets.Patch(ctx, "service-server", types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.com/team":"x"}}}`), metav1.PatchOptions{})
			return err
		}},
		{name: "anchor added", edit: setBundle(p.active, p.next, p.foreign)},
		{name: "anchor removed of a leaf that nobody has declared", edit: setBundle(p.active, p.next), denied: "AnchorInUse: ConfigMap/service-ca-bundle"},
		{name: "that leaf deleted", edit: func(ctx context.Context) error {
			return secrets.Delete(ctx, "mine", metav1.DeleteOptions{})
		}},
		{name: "anchor removed that nothing needs", edit: setBundle(p.active, p.next)},
		{name: "leaf from the active CA", edit: func(ctx context.Context) error {
			s, err := secrets.Get(ctx, "service-server", metav1.GetOptions{})
			if err != nil {
				return err
			}
			fresh := p.leaf("service-server", p.active)
			s.Data, s.Annotations = fresh.Data, fresh.Annotations
			_, err = secrets.Update(ctx, s, metav1.UpdateOptions{})
			return err
		}},
		{name: "leaf deleted", edit: func(ctx context.Context) error {
			return secrets.Delete(ctx, "service-client-a", metav1.DeleteOptions{})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := tc.edit(t.Context())
			switch {
			case tc.denied == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.denied != "" && (err == nil || !strings.Contains(err.Error(), tc.denied)):
				t.Errorf("error %v, want a denial with %q", err, tc.denied)
			case tc.denied != "" && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err):
				t.Errorf("reason %q of %v", apierrors.ReasonForError(err), err)
			}
		})
	}

	t.Run("deletion of the namespace", func(t *testing.T) {
		if err := client.CoreV1().Namespaces().Delete(t.Context(), guarded, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the namespace is gone", func(ctx context.Context) error {
			_, err := client.CoreV1().Namespaces().Get(ctx, guarded, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("it is there: %w", err)
		})
	})
}

func newGuardedPKI(t *testing.T, client kubernetes.Interface, own versioned.Interface) *guardedPKI {
	t.Helper()
	p := &guardedPKI{t: t, client: client, own: own}
	p.active, p.next, p.foreign = p.authority("service-signer@1"), p.authority("service-signer@2"), p.authority("somebody-else")
	signer := p.secret("service-signer", p.active)
	signer.Data[inventory.NextCertKey], signer.Data[inventory.NextKeyKey] = p.next.CertPEM(), p.key(p.next)

	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: guarded, Labels: map[string]string{trust.LabelManaged: trust.ManagedValue}}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*corev1.Secret{signer, p.leaf("service-server", p.active), p.leaf("service-client-a", p.active)} {
		if _, err := client.CoreV1().Secrets(guarded).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	bundle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "service-ca-bundle", Annotations: consent}, Data: map[string]string{inventory.BundleKey: bundlePEM(p.active, p.next)}}
	if _, err := client.CoreV1().ConfigMaps(guarded).Create(t.Context(), bundle, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	configure(t, own, guarded, guardConfiguration)
	return p
}

// startView starts a view of one namespace and stops it at the end of the test.
func startView(t *testing.T, p *plane, namespace string) *inventory.Inventory {
	t.Helper()
	meta, err := metadata.NewForConfig(p.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	view, err := inventory.New(inventory.Clients{Core: p.client, Metadata: meta, Config: p.own}, inventory.Options{Namespaces: []string{namespace}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		cancel()
		view.Wait()
	})
	view.Start(ctx)
	if err := errors.Join(view.WaitForSync(ctx), view.Await(ctx, namespace)); err != nil {
		t.Fatal(err)
	}
	return view
}

// serveGuard serves a guard on its own listener, and returns how kube-apiserver reaches it.
func serveGuard(t *testing.T, view *inventory.Inventory, client kubernetes.Interface) admissionregistrationv1.WebhookClientConfig {
	t.Helper()
	handler, err := admission.New(admission.Config{Inventory: view, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	p := &guardedPKI{t: t}
	ca := p.authority("guard-ca")
	pair, err := ca.Issue(pki.Profile{
		CommonName: "guard", IPAddresses: []string{"127.0.0.1"}, Usages: []pki.Usage{pki.ServerAuth}, Key: pki.ECDSAP256, Validity: time.Hour, Backdate: time.Minute,
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	serving, err := tls.X509KeyPair(pair.CertPEM(), p.key(pair))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/validate", handler)
	s := httptest.NewUnstartedServer(mux)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{serving}, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	return admissionregistrationv1.WebhookClientConfig{URL: new(s.URL + "/validate"), CABundle: ca.CertPEM()}
}

// register registers the guard, and waits until kube-apiserver calls it. It does not exempt the user that deletes
// namespaces: the guard itself must allow that deletion.
func (p *guardedPKI) register(t *testing.T, clientConfig admissionregistrationv1.WebhookClientConfig) {
	t.Helper()
	_, err := p.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "certrotation-guard"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:         "guard.certrotation.dev",
			ClientConfig: clientConfig,
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets", "configmaps"}},
			}, {
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"config.certrotation.dev"}, APIVersions: []string{"v1alpha1"}, Resources: []string{"rotationconfigurations"}},
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: guarded}},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			TimeoutSeconds:          new(int32(30)),
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(p.t, "kube-apiserver asks the guard", func(ctx context.Context) error {
		_, err := p.own.ConfigV1alpha1().RotationConfigurations(guarded).Patch(ctx, "service", types.MergePatchType, []byte(brokenPatch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsInvalid(err) {
			return nil
		}
		return fmt.Errorf("a broken configuration: %w", err)
	})
}

func (p *guardedPKI) authority(name string) *pki.Pair {
	p.t.Helper()
	pair, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: 24 * time.Hour, Backdate: time.Minute}, time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	return pair
}

func (p *guardedPKI) leaf(name string, ca *pki.Pair) *corev1.Secret {
	p.t.Helper()
	return p.leafFor(name, ca, "localhost", "service.guarded.svc")
}

func (p *guardedPKI) leafFor(name string, ca *pki.Pair, names ...string) *corev1.Secret {
	p.t.Helper()
	pair, err := ca.Issue(pki.Profile{
		CommonName: name, DNSNames: names, Usages: []pki.Usage{pki.ServerAuth, pki.ClientAuth}, Key: pki.ECDSAP256, Validity: time.Hour, Backdate: time.Minute,
	}, time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	s := p.secret(name, pair)
	s.Data[inventory.AuthorityKey] = ca.CertPEM()
	return s
}

func (p *guardedPKI) secret(name string, pair *pki.Pair) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			trust.AnnotationNotBefore: pair.Certificate.NotBefore.Format(time.RFC3339),
			trust.AnnotationNotAfter:  pair.Certificate.NotAfter.Format(time.RFC3339),

			trust.AnnotationConfiguration: consent[trust.AnnotationConfiguration],
		}},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: pair.CertPEM(), corev1.TLSPrivateKeyKey: p.key(pair)},
	}
}

func (p *guardedPKI) key(pair *pki.Pair) []byte {
	p.t.Helper()
	pem, err := pair.KeyPEM()
	if err != nil {
		p.t.Fatal(err)
	}
	return pem
}

func bundlePEM(anchors ...*pki.Pair) string {
	var pem strings.Builder
	for _, ca := range anchors {
		pem.Write(ca.CertPEM())
	}
	return pem.String()
}
