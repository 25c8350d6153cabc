// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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
	guardSigner = "guard-signer"
	guardLeaf   = "guard-server"

	presetConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: guard}
spec:
  preset:
    name: webhook-server
    webhookServer:
      name: guard
      dnsNames: [localhost]
      injectInto: [{kind: ValidatingWebhookConfiguration, name: %s}]
      pods: {selector: {matchLabels: {app: guard}}, containerPort: %d}
      minimumDelay: 3s
`
	// heldFor is how long a rotation must hold. It is longer than minimumDelay.
	heldFor = 5 * time.Second
)

// guardWorld is a webhook server of two pods with the PKI of the preset. Its address leads to the pods in turn.
// There is no kubelet: the test writes the status of the pods, and serves at their addresses.
type guardWorld struct {
	*hookWorld

	pods []*hookServer
}

// TestWebhookServerPreset: a webhook that fails closed is called all the time, while its CA is rotated and its
// leaf renewed. No call fails. While the target does not request the bundle, a rotation holds and names it.
// TestWebhookIsCalledWhileItRotates of test/e2e/pods does the same on real nodes.
func TestWebhookServerPreset(t *testing.T) {
	t.Parallel()
	playWebhookServer(t, "guard", 2, 3)
}

func TestExtendedWebhookServerPreset(t *testing.T) {
	t.Parallel()
	playWebhookServer(t, "guard-extended", 10, 10)
}

// playWebhookServer takes a webhook through several CAs, and renews the leaf several times with each of them.
func playWebhookServer(t *testing.T, namespace string, cas, renewalsEach int) {
	t.Helper()
	w := &guardWorld{hookWorld: newHookWorld(t, namespace)}
	listeners := listenAsPods(t, 2)
	configure(t, w.own, namespace, fmt.Sprintf(presetConfiguration, namespace, portOf(listeners[0])))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for i, listener := range listeners {
		pod := w.pod(t, i, listener)
		running.Go(func() { pod.reload(ctx) })
	}
	w.register(t, w.balanced(t))
	calls := w.callOften(ctx, t, &running, 1, w.reviews)
	rotated := map[string]bool{w.held(t): true}
	w.renew(t, calls, renewalsEach)
	for range cas - 1 {
		rotated[w.rotate(t, guardSigner)] = true
		w.renew(t, calls, renewalsEach)
	}
	w.wantEvidence(t)
	stop()
	running.Wait()
	calls.want(t, w.reviews())
	if len(rotated) != cas {
		t.Errorf("%d CAs in %d rotations", len(rotated), cas)
	}
	for i, pod := range w.pods {
		if reviews := pod.reviews.Load(); reviews < calls.answered.Load()/4 {
			t.Errorf("pod %d was called %d times", i, reviews)
		}
	}
}

func (w *guardWorld) reviews() int64 {
	var sum int64
	for _, pod := range w.pods {
		sum += pod.reviews.Load()
	}
	return sum
}

func listenAsPods(t *testing.T, count int) []net.Listener {
	t.Helper()
	listeners := []net.Listener{listen(t, podIP(0)+":0")}
	for len(listeners) < count {
		listener, err := net.Listen("tcp", net.JoinHostPort(podIP(len(listeners)), strconv.Itoa(portOf(listeners[0]))))
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			for _, listener := range listeners {
				listener.Close()
			}
			listeners = []net.Listener{listen(t, podIP(0)+":0")}
		case err != nil:
			t.Fatal(err)
		default:
			listeners = append(listeners, listener)
		}
	}
	return listeners
}

func portOf(listener net.Listener) int { return listener.Addr().(*net.TCPAddr).Port }

// pod creates a pod with the status of a running one, and serves at its address.
func (w *guardWorld) pod(t *testing.T, number int, listener net.Listener) *hookServer {
	t.Helper()
	server := newHookServer(t, w.plane, w.namespace, guardLeaf, listener)
	eventually(t, "the leaf of the webhook is issued", server.load)
	ip := podIP(number)
	if number == 0 {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "guard"}}
		if _, err := w.client.CoreV1().ServiceAccounts(w.namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pods := w.client.CoreV1().Pods(w.namespace)
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

// member is the name of the target as a member of the relying party.
func (w *guardWorld) member() string { return "ValidatingWebhookConfiguration." + w.namespace }

func podIP(number int) string { return fmt.Sprintf("127.0.0.%d", number+1) }

// balanced forwards each connection to the next pod, as a Service does, and returns its port.
func (w *guardWorld) balanced(t *testing.T) (balancer int) {
	t.Helper()
	listener := listen(t, "127.0.0.1:0")
	var running sync.WaitGroup
	var next atomic.Int64
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			to := w.pods[int(next.Add(1))%len(w.pods)].calls
			running.Go(func() { forward(conn, to) })
		}
	})
	t.Cleanup(func() { listener.Close(); running.Wait() })
	return portOf(listener)
}

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

// register creates the webhook configuration. It fails closed and requests the bundle of the preset.
func (w *guardWorld) register(t *testing.T, port int) {
	t.Helper()
	_, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace, Annotations: map[string]string{injection.Annotation: w.namespace + "/guard-ca-bundle"}},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "guard.example.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: new(fmt.Sprintf("https://localhost:%d/", port))},
			FailurePolicy:           ptr.To(admissionregistrationv1.Fail),
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To[int32](30),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.calledFor}},
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

// ask sets the annotation with which the target requests the bundle, or removes it if value is "".
func (w *guardWorld) ask(t *testing.T, value string) {
	t.Helper()
	configurations := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	eventually(t, "the annotation is written", func(ctx context.Context) error {
		guard, err := configurations.Get(ctx, w.namespace, metav1.GetOptions{})
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

// held rotates the CA while the target does not request the bundle. The rotation must hold, however much time
// passes. held returns the fingerprint of the new CA.
func (w *guardWorld) held(t *testing.T) string {
	t.Helper()
	rotations := w.own.CertrotationV1alpha1().CertificateRotations(w.namespace)
	before, err := rotations.Get(t.Context(), guardSigner, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	leaf := w.leaf(t)
	w.ask(t, "")
	if _, err := rotations.Rotate(t.Context(), guardSigner, &v1alpha1.RotationRequest{Reason: "drill"}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var since time.Time
	eventually(t, "the rotation holds for the target", func(ctx context.Context) error {
		now, err := rotations.Get(ctx, guardSigner, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(now.Status.Blockers, func(b v1alpha1.Blocker) bool {
			return b.Member == w.member() && strings.Contains(b.Message, "asks for this bundle")
		}) {
			since = time.Time{}
			return fmt.Errorf("in the stage %s it holds for %+v", now.Status.Stage, now.Status.Blockers)
		}
		if since.IsZero() {
			since = time.Now()
		}
		if held := time.Since(since); held < heldFor {
			return fmt.Errorf("it holds since %s", held)
		}
		return nil
	})
	if w.leaf(t) != leaf {
		t.Error("the leaf was signed by a CA that the target does not hold")
	}
	w.ask(t, w.namespace+"/guard-ca-bundle")
	return w.rotated(t, guardSigner, before.Status.Certificate.Fingerprint)
}

func (w *guardWorld) leaf(t *testing.T) pki.Fingerprint {
	t.Helper()
	secret, err := w.client.CoreV1().Secrets(w.namespace).Get(t.Context(), guardLeaf, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	chain, err := certificates(secret.Data[corev1.TLSCertKey])
	if err != nil {
		t.Fatal(err)
	}
	return fingerprintOf(chain[0])
}

// renew renews the leaf several times. Before each renewal the pods present the former leaf, and the webhook was
// called with it.
func (w *guardWorld) renew(t *testing.T, calls *calls, times int) {
	t.Helper()
	for range times {
		before := w.leaf(t)
		if _, err := w.own.CertrotationV1alpha1().CertificateRotations(w.namespace).Rotate(
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
		calls.more(t, callsOfEach)
	}
}

// wantEvidence asserts that a record has the evidence of the target itself.
func (w *guardWorld) wantEvidence(t *testing.T) {
	t.Helper()
	records, err := w.own.ConfigV1alpha1().RotationRecords(w.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range records.Items {
		e := records.Items[i].Spec.Evidence
		if e != nil && e.Member == w.member() && len(e.Processes) == 1 && e.Processes[0].Kind == configv1alpha1.EvidenceCABundle && len(e.Processes[0].Trusts) > 0 {
			return
		}
	}
	t.Errorf("no record says what the target holds: %d records", len(records.Items))
}
