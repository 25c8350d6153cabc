// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/cluster"
)

// twoDomains has a domain that the tests break, and one that must stay unaffected.
const twoDomains = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: main}
spec:
  trustDomains:
  - name: web
    signer: {secretName: web-signer}
    bundle: {configMapName: web-ca-bundle}
    leaves:
    - {secretName: web-server, usages: [ServerAuth], dnsNames: [web.example]}
    - {secretName: web-client, usages: [ClientAuth], commonName: client}
    relyingParties:
    - {name: browser, evidence: {kind: acknowledgement}}
    - {name: nobody, verifies: {nothing: true}, presents: [web-server, web-client], evidence: {kind: none, reason: no process runs in this test}}
  - name: other
    signer: {secretName: other-signer}
    bundle: {configMapName: other-ca-bundle}
    leaves: [{secretName: other-server, usages: [ServerAuth], dnsNames: [other.example]}]
    relyingParties:
    - {name: browser, evidence: {kind: acknowledgement}}
    - {name: nobody, verifies: {nothing: true}, presents: [other-server], evidence: {kind: none, reason: no process runs in this test}}
`

// object is a Secret or a ConfigMap of a namespace, or the object of an event.
type object struct{ kind, name string }

func (o object) String() string { return o.kind + "/" + o.name }

func (s *system) data(ctx context.Context, t *testing.T, namespace string, o object) map[string][]byte {
	t.Helper()
	var err error
	data := map[string][]byte{}
	switch o.kind {
	case "Secret":
		var secret *corev1.Secret
		if secret, err = s.kube.CoreV1().Secrets(namespace).Get(ctx, o.name, metav1.GetOptions{}); err == nil {
			maps.Copy(data, secret.Data)
		}
	case "ConfigMap":
		var cm *corev1.ConfigMap
		if cm, err = s.kube.CoreV1().ConfigMaps(namespace).Get(ctx, o.name, metav1.GetOptions{}); err == nil {
			for key, value := range cm.Data {
				data[key] = []byte(value)
			}
		}
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatalf("get %s of namespace %s: %v", o, namespace, err)
	}
	return data
}

// write changes values of an existing object. It returns the denial, if there is one.
func (s *system) write(t *testing.T, namespace string, o object, values map[string][]byte) error {
	t.Helper()
	if o.kind == "Secret" {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			secret, err := s.kube.CoreV1().Secrets(namespace).Get(t.Context(), o.name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			maps.Copy(secret.Data, values)
			_, err = s.kube.CoreV1().Secrets(namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
			return err
		})
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		cm, err := s.kube.CoreV1().ConfigMaps(namespace).Get(t.Context(), o.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for key, value := range values {
			cm.Data[key] = string(value)
		}
		_, err = s.kube.CoreV1().ConfigMaps(namespace).Update(t.Context(), cm, metav1.UpdateOptions{})
		return err
	})
}

// remove deletes an object. The object may not exist.
func (s *system) remove(t *testing.T, namespace string, o object) {
	t.Helper()
	var err error
	if o.kind == "Secret" {
		err = s.kube.CoreV1().Secrets(namespace).Delete(t.Context(), o.name, metav1.DeleteOptions{})
	} else {
		err = s.kube.CoreV1().ConfigMaps(namespace).Delete(t.Context(), o.name, metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatalf("delete %s of namespace %s: %v", o, namespace, err)
	}
}

// namespace makes a managed namespace, and deletes it at the end of the test.
func (s *system) namespace(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{trust.LabelManaged: trust.ManagedValue}}}
	maps.Copy(ns.Labels, labels)
	if _, err := s.kube.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create namespace %s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := s.kube.CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete namespace %s: %v", name, err)
		}
	})
}

func configuration(t *testing.T, text string) *configv1alpha1.RotationConfiguration {
	t.Helper()
	cfg, err := load.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// configure creates a configuration in a namespace. It returns the denial, if there is one.
func (s *system) configure(t *testing.T, namespace, text string) error {
	t.Helper()
	_, err := s.rot.ConfigV1alpha1().RotationConfigurations(namespace).Create(t.Context(), configuration(t, text), metav1.CreateOptions{})
	return err
}

func (s *system) mustConfigure(t *testing.T, namespace, text string) {
	t.Helper()
	if err := s.configure(t, namespace, text); err != nil {
		t.Fatalf("configure namespace %s: %v", namespace, err)
	}
}

// reconfigure changes an existing configuration. It returns the denial, if there is one.
func (s *system) reconfigure(ctx context.Context, namespace, name string, change func(*configv1alpha1.RotationConfigurationSpec)) error {
	configurations := s.rot.ConfigV1alpha1().RotationConfigurations(namespace)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		cfg, err := configurations.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(&cfg.Spec)
		_, err = configurations.Update(ctx, cfg, metav1.UpdateOptions{})
		return err
	})
}

type verdict struct{ ready, degraded metav1.Condition }

// verdicts returns the conditions that the API shows for a namespace ("" for all), by Secret/name and
// ConfigMap/name.
func (s *system) verdicts(t *testing.T, namespace string) map[string]verdict {
	t.Helper()
	out := map[string]verdict{}
	put := func(key string, conditions []metav1.Condition) {
		var v verdict
		if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); c != nil {
			v.ready = *c
		}
		if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionDegraded); c != nil {
			v.degraded = *c
		}
		out[key] = v
	}
	certificates, err := s.rot.CertrotationV1alpha1().CertificateRotations(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list certificaterotations: %v", err)
	}
	bundles, err := s.rot.CertrotationV1alpha1().BundleStatuses(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatalf("list bundlestatuses: %v", err)
	}
	prefix := func(in string) string {
		if namespace == metav1.NamespaceAll {
			return in + "/"
		}
		return ""
	}
	for i := range certificates.Items {
		put(prefix(certificates.Items[i].Namespace)+"Secret/"+certificates.Items[i].Name, certificates.Items[i].Status.Conditions)
	}
	for i := range bundles.Items {
		put(prefix(bundles.Items[i].Namespace)+"ConfigMap/"+bundles.Items[i].Name, bundles.Items[i].Status.Conditions)
	}
	return out
}

// unhealthy returns "" if a namespace has exactly this number of objects, all Ready and none Degraded. Otherwise
// it returns what is missing.
func (s *system) unhealthy(t *testing.T, namespace string, objects int) string {
	t.Helper()
	all := s.verdicts(t, namespace)
	var missing []string
	if len(all) != objects {
		missing = append(missing, fmt.Sprintf("%d objects of %d", len(all), objects))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if v := all[name]; v.ready.Status != metav1.ConditionTrue || v.degraded.Status != metav1.ConditionFalse {
			missing = append(missing, fmt.Sprintf("%s: %s; %s", name, v.ready.Message, v.degraded.Message))
		}
	}
	return strings.Join(missing, "; ")
}

func (s *system) waitHealthy(t *testing.T, namespace string, objects int) {
	t.Helper()
	eventually(t, namespace+" is healthy", func(context.Context) (bool, string) {
		missing := s.unhealthy(t, namespace, objects)
		return missing == "", missing
	})
}

// assertReadyBut asserts that all objects of a namespace except the named ones are Ready.
func (s *system) assertReadyBut(t *testing.T, namespace string, but ...string) {
	t.Helper()
	for name, v := range s.verdicts(t, namespace) {
		if v.ready.Status != metav1.ConditionTrue && !slices.Contains(but, name) {
			t.Errorf("%s of namespace %s is not Ready: %s: %s", name, namespace, v.ready.Reason, v.ready.Message)
		}
	}
}

// assertElsewhereUnharmed asserts that the namespaces of the installation and of the samples are not affected.
func (s *system) assertElsewhereUnharmed(t *testing.T) {
	t.Helper()
	for _, namespace := range []string{demo, "openshift-etcd", "certrotation-system"} {
		s.assertReadyBut(t, namespace)
	}
}

// lifesigns returns the process ids of the system, for assertAlive.
func (s *system) lifesigns() map[string]int {
	return map[string]int{s.Controller.Name(): s.Controller.Pid(), s.Serve.Name(): s.Serve.Pid()}
}

// assertAlive asserts that the processes are the same as before and that none has panicked.
func (s *system) assertAlive(t *testing.T, before map[string]int) {
	t.Helper()
	for _, p := range []*cluster.Process{s.Controller, s.Serve} {
		if !p.Running() || p.Pid() != before[p.Name()] {
			t.Errorf("%s has ended or is another process", p.Name())
		}
		log, err := os.ReadFile(p.LogFile())
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"panic:", "Observed a panic", "goroutine 1 ["} {
			if bytes.Contains(log, []byte(word)) {
				t.Errorf("the log of %s has %q", p.Name(), word)
			}
		}
	}
}

func (s *system) event(t *testing.T, namespace, reason string, o object, contains ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("an event %s on %s of namespace %s", reason, o, namespace), func(ctx context.Context) (bool, string) {
		events, err := s.kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		var seen []string
		for i := range events.Items {
			e := &events.Items[i]
			if e.InvolvedObject.Kind != o.kind || e.InvolvedObject.Name != o.name || e.Reason != reason {
				continue
			}
			if !slices.ContainsFunc(contains, func(text string) bool { return !strings.Contains(e.Message, text) }) {
				return true, ""
			}
			seen = append(seen, e.Message)
		}
		return false, strings.Join(seen, "; ")
	})
}

// reissued deletes a leaf and waits for its successor, which shows that the controller continues to work.
func (s *system) reissued(t *testing.T, namespace, leaf string) {
	t.Helper()
	o := object{"Secret", leaf}
	ready := func(context.Context) (bool, string) {
		v := s.verdicts(t, namespace)[o.String()]
		return v.ready.Status == metav1.ConditionTrue, v.ready.Message
	}
	eventually(t, namespace+"/"+leaf+" is Ready", ready)
	before := s.data(t.Context(), t, namespace, o)
	s.remove(t, namespace, o)
	eventually(t, namespace+"/"+leaf+" is reissued", func(ctx context.Context) (bool, string) {
		now := s.data(ctx, t, namespace, o)
		return now != nil && !bytes.Equal(now["tls.crt"], before["tls.crt"]), "the same leaf or none"
	})
	eventually(t, namespace+"/"+leaf+" is Ready again", ready)
}
