// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	configclient "certrotation.dev/generated/clientset/versioned/typed/config/v1alpha1"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/cluster"
)

const demoConfig = `
apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: web}
spec:
  trustDomains:
  - name: web
    signer: {secretName: web-signer}
    bundle: {configMapName: web-bundle}
    leaves:
    - {secretName: web-server, dnsNames: [web.svc], usages: [ServerAuth]}
    relyingParties:
    - name: clients
      verifies: {usages: [ServerAuth]}
      evidence: {kind: gracePeriod, gracePeriod: 1s}
    - name: servers
      presents: [web-server]
      verifies: {nothing: true}
      evidence: {kind: gracePeriod, gracePeriod: 1s}
  aggregate:
    secretName: all-certs
    leaves: [web-server]
    configMapName: all-bundles
    bundles: [{key: web.crt, configMapName: web-bundle}]
`

// patience is the timeout of waits. It allows for a busy machine.
const patience = 3 * time.Minute

// TestOnControlPlane runs controllers on a real API server. Each test has its own namespaces. Those of the first
// test opt in, and the other tests name theirs to the controller.
func TestOnControlPlane(t *testing.T) {
	c := cluster.ForTest(t)
	if err := c.ApplyDefinitions(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, story := range []struct {
		name string
		tell func(*testing.T, *cluster.Cluster)
	}{
		{"a rotation over a change of the leader", testRotation},
		{"writes are refused", testRefused},
		{"few rights in named namespaces", testNamedNamespaces},
	} {
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			story.tell(t, c)
		})
	}
}

// testRotation creates a trust domain and rotates it, with a change of the leader during the rotation.
func testRotation(t *testing.T, c *cluster.Cluster) {
	config := func() *Config {
		o := NewOptions()
		o.Kubeconfig, o.BindAddress = c.Kubeconfig(), "127.0.0.1:0"
		config, err := o.Config()
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	first := config()
	client := first.Client
	const namespace = "rotating"
	createNamespace(t, first, "certrotation-system", true)
	createNamespace(t, first, namespace, true)
	own := first.Own.ConfigV1alpha1()
	configure(t, first, namespace)

	stop := start(t, first)
	until(t, "the aggregate exists", func(ctx context.Context) bool {
		_, err := client.CoreV1().Secrets(namespace).Get(ctx, "all-certs", metav1.GetOptions{})
		return err == nil
	})
	for path, want := range map[string]string{"/readyz": "ok", "/livez": "ok", "/metrics": "certrotation_actions_total"} {
		if code, body := get(t, c.AdminConfig(), "https://"+first.Port.Addr().String()+path); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s answers %d and does not say %q:\n%.400s", path, code, want, body)
		}
	}
	for path, want := range map[string]int{
		"/readyz": http.StatusOK, "/livez": http.StatusOK, "/metrics": http.StatusForbidden, "/debug/pprof/heap": http.StatusForbidden, "/": http.StatusForbidden,
	} {
		if code, body := get(t, &rest.Config{}, "https://"+first.Port.Addr().String()+path); code != want || strings.Contains(body, "certrotation_") {
			t.Errorf("%s answers nobody with %d, want %d:\n%.400s", path, code, want, body)
		}
	}
	if code, _ := get(t, &rest.Config{BearerToken: "x"}, "https://"+first.Port.Addr().String()+"/metrics"); code != http.StatusUnauthorized {
		t.Errorf("/metrics answers a token that nobody gave with %d, want 401", code)
	}
	until(t, "the status says that it is ready", func(ctx context.Context) bool { return readyStatus(ctx, t, own, namespace) })
	before := signer(t, client, namespace)
	request, err := record.OfRequest(namespace, "web", &trust.Request{Kind: trust.RequestRotate, Secret: "web-signer", Reason: "test"}, "somebody")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.RotationRecords(namespace).Create(t.Context(), request, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the rotation has begun", func(context.Context) bool {
		now := signer(t, client, namespace)
		return len(now.Data[inventory.NextCertKey]) > 0 || string(now.Data[inventory.ActiveCertKey]) != string(before.Data[inventory.ActiveCertKey])
	})
	stop()

	stop = start(t, config())
	defer stop()
	until(t, "the rotation has ended", func(context.Context) bool {
		now := signer(t, client, namespace)
		return string(now.Data[inventory.ActiveCertKey]) != string(before.Data[inventory.ActiveCertKey]) &&
			now.Data[inventory.NextCertKey] == nil && now.Data[inventory.PreviousCertKey] == nil
	})
	bundle, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "web-bundle", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(bundle.Data[inventory.BundleKey], "BEGIN"); n != 1 {
		t.Errorf("%d anchors at the end, want 1", n)
	}
	until(t, "the status says that it is ready again", func(ctx context.Context) bool { return readyStatus(ctx, t, own, namespace) })
	until(t, "the request is closed", func(ctx context.Context) bool {
		_, err := own.RotationRecords(namespace).Get(ctx, request.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	until(t, "the end is an event", func(ctx context.Context) bool {
		events, err := client.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		for i := range events.Items {
			if events.Items[i].Reason == "RotationCompleted" {
				return true
			}
		}
		return false
	})
}

// readyStatus reports whether the status shows a configuration at rest.
func readyStatus(ctx context.Context, t *testing.T, own configclient.ConfigV1alpha1Interface, namespace string) bool {
	t.Helper()
	cfg, err := own.RotationConfigurations(namespace).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return meta.IsStatusConditionTrue(cfg.Status.Conditions, configv1alpha1.ConditionAccepted) &&
		meta.IsStatusConditionTrue(cfg.Status.Conditions, configv1alpha1.ConditionReady) &&
		cfg.Status.ObservedGeneration == cfg.Generation && len(cfg.Status.TrustDomains) == 1 &&
		cfg.Status.TrustDomains[0].Stage == string(trust.Stable)
}

func createNamespace(t *testing.T, c *Config, name string, managed bool) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if managed {
		ns.Labels = map[string]string{trust.LabelManaged: trust.ManagedValue}
	}
	if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// configure creates the RotationConfiguration of these tests in a namespace.
func configure(t *testing.T, c *Config, namespace string) {
	t.Helper()
	configuration, err := load.Decode([]byte(demoConfig))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Own.ConfigV1alpha1().RotationConfigurations(namespace).Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// start runs the controller. The returned function ends it as SIGTERM does.
func start(t *testing.T, c *Config) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- c.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		select {
		case err := <-result:
			if err != nil {
				t.Errorf("Run returned %v, want nil", err)
			}
		case <-time.After(patience):
			t.Fatal("Run does not end")
		}
	}
}

func signer(t *testing.T, client kubernetes.Interface, namespace string) *corev1.Secret {
	t.Helper()
	secret, err := client.CoreV1().Secrets(namespace).Get(t.Context(), "web-signer", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func until(t *testing.T, what string, done func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) { return done(ctx), nil })
	if errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("it does not come to pass that %s", what)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// get sends a request with the credentials of who, and does not verify the server.
func get(t *testing.T, who *rest.Config, url string) (int, string) {
	t.Helper()
	config := rest.CopyConfig(who)
	config.TLSClientConfig.CAData, config.TLSClientConfig.CAFile, config.TLSClientConfig.Insecure = nil, "", true
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}
