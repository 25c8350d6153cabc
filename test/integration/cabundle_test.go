// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/utils/ptr"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

const (
	hookNamespace = "hook"
	// callEvery is the minimum interval between calls of a webhook.
	callEvery = 50 * time.Millisecond
	// callsOfEach is the minimum number of calls after each change of a CA or a leaf.
	callsOfEach = 10

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
      evidence: {kind: gracePeriod, gracePeriod: 12s}
    - name: server
      verifies: {nothing: true}
      presents: [hook-server]
      evidence: {kind: tlsProbe, tlsProbe: {interval: 1s, endpoints: [{address: "%s"}]}}
`
)

// hookWorld is a webhook whose PKI certrotation manages, and a namespace whose ConfigMaps the webhook reviews.
type hookWorld struct {
	*plane

	namespace, calledFor string
}

func newHookWorld(t *testing.T, namespace string) *hookWorld {
	t.Helper()
	w := &hookWorld{plane: workingPlane.use(t), namespace: namespace, calledFor: namespace + "-called-for"}
	makeNamespace(t, w.client, w.namespace)
	makeNamespace(t, w.client, w.calledFor)
	return w
}

// TestCABundlesFollowTheRotation: a webhook that fails closed is called all the time, each time with a new
// connection, while its CA is rotated three times. No call fails. ClusterTrustBundles lose no anchor before they
// have the next one. The rights of the manifests are sufficient.
func TestCABundlesFollowTheRotation(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t, hookNamespace)
	probes := listen(t, "127.0.0.1:0")
	server := newHookServer(t, w.plane, hookNamespace, "hook-server", probes)
	configure(t, w.own, hookNamespace, fmt.Sprintf(hookConfiguration, probes.Addr()))
	eventually(t, "the leaf of the webhook is issued", server.load)
	w.register(t, "hook", "https://"+server.calls)
	w.register(t, "uninvited", "https://"+server.calls)
	eventually(t, "both caBundles are there", w.holds(1))
	w.makeTrustBundles(t)

	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	seen := w.followTrustBundles(ctx, t, &running)
	running.Go(func() { server.reload(ctx) })
	calls := w.callOften(ctx, t, &running, 2, server.reviews.Load)
	rotated := map[string]bool{}
	for range 3 {
		rotated[w.rotate(t, "hook-signer")] = true
		eventually(t, "the caBundles hold one anchor", w.holds(1))
		eventually(t, "so do the ClusterTrustBundles", w.trustBundlesHold)
		calls.more(t, callsOfEach)
	}
	seen.reach(t, w)
	stop()
	running.Wait()
	calls.want(t, server.reviews.Load())
	if len(rotated) != 3 {
		t.Errorf("%d CAs in three rotations", len(rotated))
	}
	seen.wantOverlap(t, len(rotated))
	w.wantNotFound(t)
	w.wantOwnBundle(t)
	w.wantUninvited(t)
}

// register creates a webhook configuration with two webhooks that fail closed, and requests the bundle. Only the
// configuration named hook has rules.
func (w *hookWorld) register(t *testing.T, name, url string) {
	t.Helper()
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{injection.Annotation: hookNamespace + "/hook-bundle"},
	}}
	for _, number := range []string{"one", "two"} {
		webhook := admissionregistrationv1.ValidatingWebhook{
			Name:                    number + ".hook.example",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: new(url + "/" + number)},
			FailurePolicy:           ptr.To(admissionregistrationv1.Fail),
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To[int32](30),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.calledFor}},
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

func (w *hookWorld) call(ctx context.Context) error {
	_, err := w.client.CoreV1().ConfigMaps(w.calledFor).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "call-"}},
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// calls counts the calls of a webhook.
type calls struct {
	answered atomic.Int64

	mu sync.Mutex
	// failed are the errors of failed calls. late are the errors of calls that timed out because the machine is
	// slow.
	failed, late []string
}

// callOften calls the webhooks until ctx ends. It starts with the first call that all webhooks review, because
// calls succeed without a webhook that kube-apiserver does not know yet.
func (w *hookWorld) callOften(ctx context.Context, t *testing.T, running *sync.WaitGroup, webhooks int64, reviews func() int64) *calls {
	t.Helper()
	eventually(t, "the webhooks are called", func(ctx context.Context) error {
		before := reviews()
		if err := w.call(ctx); err != nil {
			return err
		}
		if made := reviews() - before; made < webhooks {
			return fmt.Errorf("there were %d reviews, want %d", made, webhooks)
		}
		return nil
	})
	out := &calls{}
	running.Go(func() {
		tick := time.NewTicker(callEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := w.call(ctx); ctx.Err() == nil {
				out.note(err)
			}
		}
	})
	return out
}

func (c *calls) note(err error) {
	if err == nil {
		c.answered.Add(1)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.Contains(err.Error(), context.DeadlineExceeded.Error()) || strings.Contains(err.Error(), "TLS handshake timeout") {
		c.late = append(c.late, err.Error())
	} else {
		c.failed = append(c.failed, err.Error())
	}
}

// more waits until count more calls are answered.
func (c *calls) more(t *testing.T, count int64) {
	t.Helper()
	want := c.answered.Load() + count
	eventually(t, "the webhook answers", func(context.Context) error {
		if have := c.answered.Load(); have < want {
			return fmt.Errorf("%d calls are answered, want %d", have, want)
		}
		return nil
	})
}

// want asserts that no call has failed, and that the webhook reviewed each of them.
func (c *calls) want(t *testing.T, reviews int64) {
	t.Helper()
	t.Logf("%d calls, %d reviews, %d late", c.answered.Load(), reviews, len(c.late))
	if len(c.failed) > 0 {
		t.Errorf("%d calls failed, such as: %s", len(c.failed), c.failed[0])
	}
	if reviews < c.answered.Load() {
		t.Errorf("%d calls were answered, and %d reviewed", c.answered.Load(), reviews)
	}
}

// holds returns a check that both caBundles hold exactly the anchors of the bundle, and this number of them.
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

// rotate rotates a CA, waits for the end and returns the fingerprint of the new one.
func (w *hookWorld) rotate(t *testing.T, signer string) string {
	t.Helper()
	rotations := w.own.CertrotationV1alpha1().CertificateRotations(w.namespace)
	before, err := rotations.Get(t.Context(), signer, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rotations.Rotate(t.Context(), signer, &v1alpha1.RotationRequest{Reason: "drill"}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return w.rotated(t, signer, before.Status.Certificate.Fingerprint)
}

// rotated waits until the signer is Stable with a CA other than before, and returns its fingerprint.
func (w *hookWorld) rotated(t *testing.T, signer, before string) string {
	t.Helper()
	rotations := w.own.CertrotationV1alpha1().CertificateRotations(w.namespace)
	after := ""
	eventually(t, "the CA is rotated", func(ctx context.Context) error {
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

// wantOwnBundle asserts that our own APIService has the bundle of the system.
func (w *hookWorld) wantOwnBundle(t *testing.T) {
	t.Helper()
	registrations, err := aggregator.NewForConfig(w.AdminConfig())
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

// wantUninvited asserts that a target that the configuration does not name gets no caBundle, and that an event
// says why.
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
