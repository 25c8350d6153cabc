// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/pki"
)

const (
	guardNamespace = "guard"
	guardSigner    = "guard-signer"
	guardLeaf      = "guard-server"
	guardMember    = "ValidatingWebhookConfiguration.guard"

	presetConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: guard}
spec:
  preset:
    name: webhook-server
    webhookServer:
      name: guard
      dnsNames: [localhost]
      injectInto: [{kind: ValidatingWebhookConfiguration, name: guard}]
      pods: {selector: {matchLabels: {app: guard}}, containerPort: %d}
      minimumDelay: 1s
`
	caRotations = 2
	// renewalsEach are those of the leaf between two rotations of its CA.
	renewalsEach = 3
	// reloadLate is when a pod presents a new leaf: well after the look that the new leaf brings about. Who reloads in the middle
	// of a look, which is many connections, answers in two ways, and is not believed for a minute.
	reloadLate = 300 * time.Millisecond
	// heldFor is how long a rotation is watched that has to wait: much longer than minimumDelay.
	heldFor = 3 * time.Second
)

// guardWorld is a webhook server of two pods behind an address that leads each connection to the next of them, with the PKI of
// the preset. There is no kubelet: the test says what runs, and serves where the pods would.
type guardWorld struct {
	*hookWorld

	pods []*hookServer
}

// TestWebhookServerPreset: a webhook that fails closed is called 20 times a second, while its CA is rotated and its leaf renewed. No
// call fails. While the target is given nothing, a rotation holds and names it. On real nodes, and more often:
// TestWebhookIsCalledWhileItRotates of test/e2e/pods.
func TestWebhookServerPreset(t *testing.T) {
	w := &guardWorld{hookWorld: installWithCABundles(t, "--handshakes-per-second=1000")}
	makeNamespace(t, w.client, guardNamespace)
	makeNamespace(t, w.client, calledFor)
	port := freePort(t)
	configure(t, w.own, guardNamespace, fmt.Sprintf(presetConfiguration, port))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for i := range 2 {
		pod := w.pod(t, i, port)
		running.Go(func() { w.reloadLate(ctx, pod, reloadLate+time.Duration(i)*50*time.Millisecond) })
	}
	w.register(t, w.balanced(t, port))
	eventually(t, "the webhook is called", w.call)
	var failures []string
	calls, begun := 0, time.Now()
	running.Go(func() { calls, failures = w.callOften(ctx) })
	rotated := map[string]bool{w.held(t): true}
	renewed := w.renew(t)
	for range caRotations - 1 {
		rotated[w.rotate(t, guardNamespace, guardSigner)] = true
		renewed += w.renew(t)
	}
	w.wantEvidence(t)
	stop()
	running.Wait()
	reviews := w.pods[0].reviews.Load() + w.pods[1].reviews.Load()
	t.Logf("%d calls in %s, %d reviews; %d CAs and %d leaves", calls, time.Since(begun).Round(time.Second), reviews, len(rotated), renewed)
	if len(failures) > 0 {
		t.Errorf("%d of %d calls failed, such as: %s", len(failures), calls, failures[0])
	}
	if len(rotated) != caRotations || renewed != caRotations*renewalsEach || float64(calls) < 5*time.Since(begun).Seconds() || reviews < int64(calls) {
		t.Error("this has shown nothing")
	}
	for i, pod := range w.pods {
		if pod.reviews.Load() < int64(calls/4) {
			t.Errorf("pod %d was called %d times", i, pod.reviews.Load())
		}
	}
}

// pod makes a pod of which the API server says that it runs, and serves at its address.
func (w *guardWorld) pod(t *testing.T, number, port int) *hookServer {
	t.Helper()
	server := &hookServer{namespace: guardNamespace, secret: guardLeaf}
	eventually(t, "the leaf of the webhook is issued", func(ctx context.Context) error { return server.load(ctx, w.client) })
	ip := podIP(number)
	server.run(t, net.JoinHostPort(ip, fmt.Sprint(port)))
	if number == 0 {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "guard"}}
		if _, err := w.client.CoreV1().ServiceAccounts(guardNamespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pods := w.client.CoreV1().Pods(guardNamespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("guard-%d", number), Labels: map[string]string{"app": "guard"}},
		Spec: corev1.PodSpec{
			NodeName: "node-1", ServiceAccountName: "guard", Containers: []corev1.Container{{Name: "program", Image: "example.com/program"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "program", ContainerID: "test://" + pod.Name, Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}},
	}
	if _, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.pods = append(w.pods, server)
	return server
}

// reloadLate has a pod load its leaf so long after it has seen that there is a new one, until ctx ends.
func (w *guardWorld) reloadLate(ctx context.Context, pod *hookServer, late time.Duration) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var version string
	var seen time.Time
	for loaded := true; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// Without an answer it keeps the leaf that it has, as a server does.
		secret, err := w.client.CoreV1().Secrets(guardNamespace).Get(ctx, guardLeaf, metav1.GetOptions{})
		switch {
		case err != nil:
		case secret.ResourceVersion != version:
			version, seen, loaded = secret.ResourceVersion, time.Now(), false
		case !loaded && time.Since(seen) >= late:
			loaded = pod.load(ctx, w.client) == nil
		}
	}
}

func podIP(number int) string { return fmt.Sprintf("127.0.0.%d", number+1) }

// balanced leads each connection to the next pod, as a Service does, and returns where.
func (w *guardWorld) balanced(t *testing.T, port int) (balancer int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	var next atomic.Int64
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			to := net.JoinHostPort(podIP(int(next.Add(1))%len(w.pods)), fmt.Sprint(port))
			running.Go(func() { forward(conn, to) })
		}
	})
	t.Cleanup(func() { listener.Close(); running.Wait() })
	return listener.Addr().(*net.TCPAddr).Port
}

// forward copies both ways until either end is closed.
func forward(conn net.Conn, to string) {
	defer conn.Close()
	pod, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer pod.Close()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(conn, pod)
		conn.Close()
	})
	_, _ = io.Copy(pod, conn)
	pod.Close()
	back.Wait()
}

// register makes the webhook configuration, which fails closed and asks for the bundle of the preset.
func (w *guardWorld) register(t *testing.T, port int) {
	t.Helper()
	_, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "guard", Annotations: map[string]string{injection.Annotation: guardNamespace + "/guard-ca-bundle"}},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "guard.example.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: new(fmt.Sprintf("https://localhost:%d/", port))},
			FailurePolicy:           ptr.To(admissionregistrationv1.Fail),
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To[int32](10),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: calledFor}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// ask has the target ask for the bundle, or not.
func (w *guardWorld) ask(t *testing.T, value string) {
	t.Helper()
	configurations := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	eventually(t, "the annotation is written", func(ctx context.Context) error {
		guard, err := configurations.Get(ctx, "guard", metav1.GetOptions{})
		if err != nil {
			return err
		}
		guard.Annotations = map[string]string{}
		if value != "" {
			guard.Annotations[injection.Annotation] = value
		}
		_, err = configurations.Update(ctx, guard, metav1.UpdateOptions{})
		return err
	})
}

// held rotates the CA while the target does not ask for the bundle: a time that passes proves nothing. It returns the new CA.
func (w *guardWorld) held(t *testing.T) string {
	t.Helper()
	rotations := w.own.CertrotationV1alpha1().CertificateRotations(guardNamespace)
	before, err := rotations.Get(t.Context(), guardSigner, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	leaf := w.leaf(t)
	w.ask(t, "")
	if _, err := rotations.Rotate(t.Context(), guardSigner, &v1alpha1.RotationRequest{Reason: "drill"}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	eventually(t, "the rotation holds for the target", func(ctx context.Context) error {
		now, err := rotations.Get(ctx, guardSigner, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, b := range now.Status.Blockers {
			if b.Member == guardMember && strings.Contains(b.Message, "asks for this bundle") && time.Since(since) > heldFor {
				return nil
			}
		}
		return fmt.Errorf("in the stage %s it holds for %+v", now.Status.Stage, now.Status.Blockers)
	})
	if w.leaf(t) != leaf {
		t.Error("the leaf was signed by a CA that the target does not hold")
	}
	w.ask(t, guardNamespace+"/guard-ca-bundle")
	return w.rotated(t, guardNamespace, guardSigner, before.Status.Certificate.Fingerprint)
}

// leaf is the fingerprint of the one in the Secret.
func (w *guardWorld) leaf(t *testing.T) pki.Fingerprint {
	t.Helper()
	secret, err := w.client.CoreV1().Secrets(guardNamespace).Get(t.Context(), guardLeaf, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	chain, err := certificates(secret.Data[corev1.TLSCertKey])
	if err != nil {
		t.Fatal(err)
	}
	return fingerprintOf(chain[0])
}

// renew has the leaf renewed, each time as soon as the pods present what was issued before, and returns how often.
func (w *guardWorld) renew(t *testing.T) (renewals int) {
	t.Helper()
	for range renewalsEach {
		before := w.leaf(t)
		if _, err := w.own.CertrotationV1alpha1().CertificateRotations(guardNamespace).Rotate(
			t.Context(), guardLeaf, &v1alpha1.RotationRequest{Reason: "drill"}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the pods present a new leaf", func(context.Context) error {
			now := w.leaf(t)
			for _, pod := range w.pods {
				if now == before || fingerprintOf(pod.leaf.Load().Leaf) != now {
					return errors.New("one presents the former one")
				}
			}
			return nil
		})
		renewals++
	}
	return renewals
}

// wantEvidence: what the rotations went by is recorded of the target itself.
func (w *guardWorld) wantEvidence(t *testing.T) {
	t.Helper()
	records, err := w.own.ConfigV1alpha1().RotationRecords(guardNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range records.Items {
		e := records.Items[i].Spec.Evidence
		if e != nil && e.Member == guardMember && len(e.Processes) == 1 && e.Processes[0].Kind == configv1alpha1.EvidenceCABundle && len(e.Processes[0].Trusts) > 0 {
			return
		}
	}
	t.Errorf("no record says what the target holds: %d records", len(records.Items))
}
