// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/utils/ptr"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

const (
	hookNamespace = "hook"
	// calledFor is the namespace whose ConfigMaps the webhook reviews.
	calledFor = "called-for"
	// callEvery is how often the webhook is called.
	callEvery = 50 * time.Millisecond
	// reloadAfter is how long the server of the webhook takes to see its new leaf.
	reloadAfter = 700 * time.Millisecond

	hookConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: hook}
spec:
  trustDomains:
  - name: hook
    signer: {secretName: hook-signer}
    bundle:
      configMapName: hook-bundle
      injectInto:
      - {kind: ValidatingWebhookConfiguration, name: hook}
      - {kind: ClusterTrustBundle, name: hook}
      - {kind: ClusterTrustBundle, name: "certrotation.dev:ca-bundles:hook"}
    leaves:
    - {secretName: hook-server, ipAddresses: [127.0.0.1], usages: [ServerAuth]}
    relyingParties:
    - name: kube-apiserver
      verifies: {usages: [ServerAuth]}
      evidence: {kind: gracePeriod, gracePeriod: 8s}
    - name: server
      verifies: {nothing: true}
      presents: [hook-server]
      evidence: {kind: tlsProbe, tlsProbe: {interval: 1s, endpoints: [{address: "127.0.0.1:%d"}]}}
`
)

// hookServer is a webhook that lets everything through, with the leaf that it loaded last.
type hookServer struct {
	// namespace and secret of the leaf.
	namespace, secret string
	leaf              atomic.Pointer[tls.Certificate]
	// handshakes are those that it was asked for, and reviews the calls that it has answered.
	handshakes, reviews atomic.Int64
}

func (h *hookServer) load(ctx context.Context, client kubernetes.Interface) error {
	secret, err := client.CoreV1().Secrets(h.namespace).Get(ctx, h.secret, metav1.GetOptions{})
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return err
	}
	h.leaf.Store(&pair)
	return nil
}

// ServeHTTP implements http.Handler.
func (h *hookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	h.reviews.Add(1)
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(&review)
}

// run serves until the test ends. Each call is a handshake of its own: no connection is used twice.
func (h *hookServer) run(t *testing.T, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}}
	server.SetKeepAlivesEnabled(false)
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(tls.NewListener(listener, &tls.Config{
			MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				h.handshakes.Add(1)
				return h.leaf.Load(), nil
			},
		}))
	}()
	t.Cleanup(func() {
		server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve the webhook: %v", err)
		}
	})
}

// hookWorld is certrotation with --inject-ca-bundles, and a webhook whose PKI it keeps.
type hookWorld struct {
	*installation.Installation

	client kubernetes.Interface
	own    versioned.Interface
	server hookServer
}

// TestCABundlesFollowTheRotation: a webhook that fails closed is called all the time, by a new connection each, while its CA is
// rotated three times. No call fails, ClusterTrustBundles lose no anchor before they have the next, and everything is done with
// the rights of the manifests.
func TestCABundlesFollowTheRotation(t *testing.T) {
	w := installWithCABundles(t)
	port := freePort(t)
	makeNamespace(t, w.client, hookNamespace)
	makeNamespace(t, w.client, calledFor)
	configure(t, w.own, hookNamespace, fmt.Sprintf(hookConfiguration, port))
	eventually(t, "the leaf of the webhook is issued", func(ctx context.Context) error { return w.server.load(ctx, w.client) })
	w.server.run(t, fmt.Sprintf("127.0.0.1:%d", port))
	w.register(t, "hook", port)
	w.register(t, "uninvited", port)
	eventually(t, "both caBundles are there", w.holds(1))
	w.makeTrustBundles(t)

	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	seen := w.followTrustBundles(ctx, t, &running)
	var failures []string
	calls := 0
	running.Go(func() { w.server.reload(ctx, w.client, reloadAfter) })
	eventually(t, "the webhook is called", w.call)
	running.Go(func() { calls, failures = w.callOften(ctx) })
	rotated := map[string]bool{}
	for range 3 {
		rotated[w.rotate(t, hookNamespace, "hook-signer")] = true
		eventually(t, "the caBundles hold one anchor", w.holds(1))
		eventually(t, "so do the ClusterTrustBundles", w.trustBundlesHold)
	}
	stop()
	running.Wait()
	t.Logf("%d calls, %d handshakes, %d reviews", calls, w.server.handshakes.Load(), w.server.reviews.Load())
	if len(failures) > 0 {
		t.Errorf("%d of %d calls failed, such as: %s", len(failures), calls, failures[0])
	}
	if len(rotated) != 3 || calls < 100 || w.server.reviews.Load() < int64(calls) {
		t.Errorf("%d CAs, %d calls, %d reviews: this has shown nothing", len(rotated), calls, w.server.reviews.Load())
	}
	wantOverlap(t, *seen, len(rotated))
	w.wantNotFound(t)
	w.wantOwnBundle(t)
	w.wantUninvited(t)
}

func installWithCABundles(t *testing.T, flags ...string) *hookWorld {
	t.Helper()
	c := cluster.ForTest(t)
	in, err := installation.Prepare(c, installation.Config{Program: build(t), ControllerFlags: append(flags, "--inject-ca-bundles")})
	if err != nil {
		t.Fatal(err)
	}
	w := &hookWorld{Installation: in, server: hookServer{namespace: hookNamespace, secret: "hook-server"}}
	admin := c.AdminConfig()
	admin.QPS = -1
	if w.client, err = kubernetes.NewForConfig(admin); err != nil {
		t.Fatal(err)
	}
	if w.own, err = versioned.NewForConfig(admin); err != nil {
		t.Fatal(err)
	}
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Kubectl(t.Context(), "apply", "-f", root+"/manifests/components/ca-bundles/rbac.yaml"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*startTimeout)
	defer cancel()
	if err := in.Install(ctx); err != nil {
		t.Fatal(err)
	}
	return w
}

// register makes a webhook configuration with two webhooks, which fail closed, and asks for the bundle. Only the one that is
// called hook has rules.
func (w *hookWorld) register(t *testing.T, name string, port int) {
	t.Helper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{injection.Annotation: hookNamespace + "/hook-bundle"},
	}}
	for _, number := range []string{"one", "two"} {
		webhook := admissionregistrationv1.ValidatingWebhook{
			Name:                    number + ".hook.example",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: new(fmt.Sprintf("https://127.0.0.1:%d/%s", port, number))},
			FailurePolicy:           ptr.To(admissionregistrationv1.Fail),
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To[int32](10),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: calledFor}},
		}
		if name == "hook" {
			webhook.Rules = []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}}
		}
		configuration.Webhooks = append(configuration.Webhooks, webhook)
	}
	_, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), configuration, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// reload has the server load its leaf some time after it has changed, until ctx ends.
func (h *hookServer) reload(ctx context.Context, client kubernetes.Interface, every time.Duration) {
	for tick := time.NewTicker(every); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		// Without an answer it keeps the leaf that it has, as a server does.
		_ = h.load(ctx, client)
	}
}

// call has kube-apiserver call both webhooks.
func (w *hookWorld) call(ctx context.Context) error {
	_, err := w.client.CoreV1().ConfigMaps(calledFor).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "call-"}},
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// callOften has the webhooks called until ctx ends, and says how often that was and how it failed.
func (w *hookWorld) callOften(ctx context.Context) (calls int, failures []string) {
	tick := time.NewTicker(callEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return calls, failures
		case <-tick.C:
		}
		if err := w.call(ctx); err != nil && ctx.Err() == nil {
			failures = append(failures, err.Error())
		}
		calls++
	}
}

// holds says whether both caBundles hold the anchors of the bundle, and that these are so many.
func (w *hookWorld) holds(anchors int) func(context.Context) error {
	return func(ctx context.Context) error {
		bundle, err := w.client.CoreV1().ConfigMaps(hookNamespace).Get(ctx, "hook-bundle", metav1.GetOptions{})
		if err != nil {
			return err
		}
		hook, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "hook", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for i := range hook.Webhooks {
			held := hook.Webhooks[i].ClientConfig.CABundle
			if !bytes.Equal(held, []byte(bundle.Data[inventory.BundleKey])) || bytes.Count(held, []byte("BEGIN CERTIFICATE")) != anchors {
				return fmt.Errorf("%s holds %d anchors", hook.Webhooks[i].Name, bytes.Count(held, []byte("BEGIN CERTIFICATE")))
			}
		}
		return nil
	}
}

// rotate rotates a CA, waits for the end and returns the new one.
func (w *hookWorld) rotate(t *testing.T, namespace, signer string) string {
	t.Helper()
	rotations := w.own.CertrotationV1alpha1().CertificateRotations(namespace)
	before, err := rotations.Get(t.Context(), signer, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rotations.Rotate(t.Context(), signer, &v1alpha1.RotationRequest{Reason: "drill"}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return w.rotated(t, namespace, signer, before.Status.Certificate.Fingerprint)
}

// rotated waits until another CA than before is the only one, and returns it.
func (w *hookWorld) rotated(t *testing.T, namespace, signer, before string) string {
	t.Helper()
	rotations := w.own.CertrotationV1alpha1().CertificateRotations(namespace)
	after := ""
	eventuallyWithin(t, 2*startTimeout, "the CA is rotated", func(ctx context.Context) error {
		now, err := rotations.Get(ctx, signer, metav1.GetOptions{})
		if err != nil {
			return err
		}
		after = now.Status.Certificate.Fingerprint
		if now.Status.Stage != v1alpha1.StageStable || after == before {
			return fmt.Errorf("it is %s", now.Status.Stage)
		}
		return nil
	})
	return after
}

// wantOwnBundle: our own APIService has the bundle of the system.
func (w *hookWorld) wantOwnBundle(t *testing.T) {
	t.Helper()
	registrations, err := aggregator.NewForConfig(w.Cluster.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	service, err := registrations.ApiregistrationV1().APIServices().Get(t.Context(), "v1alpha1.certrotation.dev", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := w.client.CoreV1().ConfigMaps(systemNamespace).Get(t.Context(), "certrotation-ca-bundle", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if anchors, err := pki.ParseBundle(service.Spec.CABundle); err != nil || string(pki.EncodeCertificates(anchors...)) != bundle.Data[inventory.BundleKey] {
		t.Errorf("our APIService holds %d anchors (%v)", len(anchors), err)
	}
}

// wantUninvited: what the configuration does not name gets nothing, and an event that says so.
func (w *hookWorld) wantUninvited(t *testing.T) {
	t.Helper()
	uninvited, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "uninvited", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(uninvited.Webhooks, func(webhook admissionregistrationv1.ValidatingWebhook) bool {
		return len(webhook.ClientConfig.CABundle) > 0
	}) {
		t.Error("a target that the configuration does not name was given a caBundle")
	}
	eventually(t, "an event says why", func(ctx context.Context) error {
		list, err := w.client.EventsV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			e := &list.Items[i]
			if e.Reason == "InjectionHeld" && e.Regarding.UID == uninvited.UID && strings.Contains(e.Note, "injectInto") {
				return nil
			}
		}
		return fmt.Errorf("%d events", len(list.Items))
	})
}
