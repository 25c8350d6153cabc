// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/generated/informers/externalversions"
	configlisters "certrotation.dev/generated/listers/config/v1alpha1"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/cluster"
)

const (
	webServerName    = "web.demo.svc"
	webConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: web}
spec:
  trustDomains:
  - name: web
    signer: {secretName: web-signer}
    bundle: {configMapName: web-bundle}
    leaves:
    - {secretName: web-server, dnsNames: [` + webServerName + `], usages: [ServerAuth]}
    - {secretName: web-client-a, commonName: client-a, usages: [ClientAuth]}
    - {secretName: web-client-b, commonName: client-b, usages: [ClientAuth]}
    relyingParties:
    - {name: server, verifies: {usages: [ClientAuth]}, presents: [web-server], evidence: {kind: acknowledgement}}
    - {name: client-a, verifies: {usages: [ServerAuth]}, presents: [web-client-a], evidence: {kind: acknowledgement}}
    - {name: client-b, verifies: {usages: [ServerAuth]}, presents: [web-client-b], evidence: {kind: acknowledgement}}
`
	aggregateConfiguration = `  aggregate:
    secretName: all-certs
    leaves: [web-server, web-client-a, web-client-b]
    configMapName: all-bundles
    bundles: [{key: web.crt, configMapName: web-bundle}]
`
)

type plot struct {
	namespace string
	// aggregated means that an aggregate collects the leaves and the bundle. A separate worker writes the
	// aggregate.
	aggregated bool
	// eager members load news at once, while the controller still works. Other members lag behind: they load one
	// thing at a time, when the controller can do nothing without them.
	eager bool
	fault fault
	// at is the number of the write that meets the fault, from 1.
	at int
	// statuses means that the fault meets writes of statuses instead of the other writes. A separate worker writes
	// the statuses.
	statuses bool
}

// ordered reports whether the writes that meet faults always have the same order.
func (p *plot) ordered() bool { return !p.aggregated && !p.statuses }

// story is one trust domain from nothing through a full rotation. It has its own namespace and its own controller.
type story struct {
	*fleet

	t          *testing.T
	proxy      *faultProxy
	controller *cluster.Process
	admin      *rest.Config
	secrets    corev1listers.SecretNamespaceLister
	configMaps corev1listers.ConfigMapNamespaceLister

	configurations configlisters.RotationConfigurationNamespaceLister
	records        configlisters.RotationRecordNamespaceLister

	// changed holds one entry if the namespace has changed since the last look.
	changed chan struct{}
}

func (p *plane) newStory(t *testing.T, told plot) *story {
	t.Helper()
	out := &story{
		fleet: newFleet(told.namespace, p.client, p.own), t: t,
		proxy: newFaultProxy(t, p.AdminConfig(), told), admin: p.AdminConfig(), changed: make(chan struct{}, 1),
	}
	out.watch()
	makeNamespace(t, p.client, told.namespace)
	configuration := webConfiguration
	if told.aggregated {
		configuration += aggregateConfiguration
	}
	configure(t, p.own, told.namespace, configuration)
	out.startController(p.program)
	return out
}

func (s *story) startController(program string) {
	s.t.Helper()
	dir := s.t.TempDir()
	s.controller = cluster.NewProcess(cluster.ProcessConfig{
		Name: "controller", Path: program, Dir: dir,
		Args: []string{
			"controller", "--kubeconfig", s.proxy.kubeconfig(s.t, dir), "--leader-elect=false", "--inject-ca=false",
			"--metrics-bind-address=127.0.0.1:0", "--allowed-cidrs=127.0.0.0/8",
			// Other stories run in parallel, with controllers of their own.
			"--namespaces=" + s.namespace,
		},
	})
	s.proxy.kill = func() error { return errors.Join(s.controller.Kill(), s.controller.Start()) }
	// Kill the controller before the proxy closes, because the proxy waits for the controller's watches.
	s.t.Cleanup(func() {
		if err := s.controller.Kill(); err != nil {
			s.t.Errorf("kill the controller: %v", err)
		}
	})
	if err := s.controller.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// watch follows the objects of the namespace, bypassing the proxy.
func (s *story) watch() {
	s.t.Helper()
	core := informers.NewSharedInformerFactoryWithOptions(s.client, 0, informers.WithNamespace(s.namespace))
	own := externalversions.NewSharedInformerFactoryWithOptions(s.own, 0, externalversions.WithNamespace(s.namespace))
	s.secrets = core.Core().V1().Secrets().Lister().Secrets(s.namespace)
	s.configMaps = core.Core().V1().ConfigMaps().Lister().ConfigMaps(s.namespace)
	s.configurations = own.Config().V1alpha1().RotationConfigurations().Lister().RotationConfigurations(s.namespace)
	s.records = own.Config().V1alpha1().RotationRecords().Lister().RotationRecords(s.namespace)
	changed := func() {
		select {
		case s.changed <- struct{}{}:
		default:
		}
	}
	for _, informer := range []cache.SharedIndexInformer{
		core.Core().V1().Secrets().Informer(), core.Core().V1().ConfigMaps().Informer(),
		own.Config().V1alpha1().RotationConfigurations().Informer(), own.Config().V1alpha1().RotationRecords().Informer(),
	} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { changed() },
			UpdateFunc: func(any, any) { changed() },
			DeleteFunc: func(any) { changed() },
		}); err != nil {
			s.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	s.t.Cleanup(func() {
		cancel()
		core.Shutdown()
		own.Shutdown()
	})
	core.Start(ctx.Done())
	own.Start(ctx.Done())
	core.WaitForCacheSync(ctx.Done())
	own.WaitForCacheSync(ctx.Done())
}

// rootCA is the ConfigMap that kube-controller-manager eventually makes in each namespace.
const rootCA = "kube-root-ca.crt"

// now returns the cached objects of the namespace, without rootCA.
func (s *story) now() objects {
	out := objects{
		secrets: listed(s.t, s.secrets.List), configMaps: listed(s.t, s.configMaps.List),
		configurations: listed(s.t, s.configurations.List), records: listed(s.t, s.records.List),
	}
	delete(out.configMaps, rootCA)
	return out
}

func listed[T metav1.Object](t *testing.T, list func(labels.Selector) ([]T, error)) map[string]T {
	t.Helper()
	all, err := list(labels.Everything())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]T{}
	for _, o := range all {
		out[o.GetName()] = o
	}
	return out
}

// assess builds and assesses the trust domain. The last result is the number of actions and blockers of the
// aggregates.
func (o objects) assess(namespace string) (*trust.Domain, *trust.Assessment, int) {
	sources := &inventory.Sources{Namespace: namespace}
	for name, secret := range o.secrets {
		sources = sources.WithSecret(name, secret)
	}
	for name, configMap := range o.configMaps {
		sources = sources.WithConfigMap(name, configMap)
	}
	for name, configuration := range o.configurations {
		sources = sources.WithConfiguration(name, configuration)
	}
	for name, remembered := range o.records {
		sources = sources.WithRecord(name, remembered)
	}
	n := inventory.Build(sources)
	if n == nil || n.Domain("web") == nil {
		return nil, nil, 0
	}
	d, left := n.Domain("web"), 0
	leaves := map[string]*trust.Leaf{}
	for i := range d.Leaves {
		leaves[d.Leaves[i].Name] = &d.Leaves[i]
	}
	for _, aggregate := range n.Aggregates {
		actions, blockers := trust.AssessAggregate(aggregate, leaves, map[string]*trust.Bundle{d.Bundle.Name: &d.Bundle})
		left += len(actions) + len(blockers)
	}
	return d, trust.Assess(d, time.Now()), left
}

// settle lets the members work until the domain is at rest. Then it has a CA other than before, which is the only
// anchor of its bundle, and nothing is left to do.
func (s *story) settle(before string) objects {
	s.t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		o := s.now()
		d, a, left := o.assess(s.namespace)
		worked, err := false, s.verify(o)
		if err == nil && (s.proxy.eager || a == nil || len(a.Actions) == 0) {
			worked, err = s.step(s.t.Context(), o)
			err = errors.Join(err, s.verify(o))
		}
		if err != nil {
			s.t.Fatalf("%v\n%s", err, s.describe(o))
		}
		if worked {
			continue
		}
		if left == 0 && rests(d, a, before) && o.ready() {
			return o
		}
		select {
		case <-s.changed:
		case <-timeout.C:
			s.t.Fatalf("it does not come to rest\n%s", s.describe(o))
		}
	}
}

func rests(d *trust.Domain, a *trust.Assessment, before string) bool {
	if d == nil || d.Signer.Active == nil || string(d.Signer.Active.Fingerprint) == before {
		return false
	}
	for i := range d.Leaves {
		if d.Leaves[i].Certificate == nil {
			return false
		}
	}
	for _, m := range a.Members {
		if !m.Trusted || !m.Delivered {
			return false
		}
	}
	return a.Stage == trust.Stable && len(a.Actions)+len(a.Blockers)+len(a.Problems)+len(d.Requests) == 0 && len(d.Bundle.Anchors) == 1
}

// ready reports whether the configuration is Ready and its trust domain Stable.
func (o objects) ready() bool {
	configuration := o.configurations["web"]
	if configuration == nil {
		return false
	}
	domains := configuration.Status.TrustDomains
	return meta.IsStatusConditionTrue(configuration.Status.Conditions, configv1alpha1.ConditionReady) &&
		len(domains) == 1 && domains[0].Stage == string(trust.Stable)
}

func (s *story) active(o objects) string {
	s.t.Helper()
	d, _, _ := o.assess(s.namespace)
	return string(d.Signer.Active.Fingerprint)
}

func (s *story) request() {
	s.t.Helper()
	asked, err := record.OfRequest(s.namespace, "web", &trust.Request{Kind: trust.RequestRotate, Secret: "web-signer", Reason: "test"}, "person")
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.own.ConfigV1alpha1().RotationRecords(s.namespace).Create(s.t.Context(), asked, metav1.CreateOptions{FieldManager: "person"}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) annotate(secret, value, annotation string) {
	s.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotation, value)
	_, err := s.client.CoreV1().Secrets(s.namespace).Patch(s.t.Context(), secret, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "person"})
	if err != nil {
		s.t.Fatal(err)
	}
}

// writes returns the number of writes of the controller, and how many of them were stored.
func (s *story) writes() (all, stored int) {
	s.t.Helper()
	writes, stored, err := s.proxy.written()
	if err == nil {
		err = s.controller.Err()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return len(writes), stored
}

// describe returns the progress of the story, for a failure.
func (s *story) describe(o objects) string {
	writes, stored, err := s.proxy.written()
	_, a, left := o.assess(s.namespace)
	log, logErr := os.ReadFile(s.controller.LogFile())
	return fmt.Sprintf("objects %v %v %v, ready %t\nassessment %+v, %d left for aggregates\nwrites %q, %d stored, %v\nlog %v\n%s",
		slices.Sorted(maps.Keys(o.secrets)), slices.Sorted(maps.Keys(o.configMaps)), slices.Sorted(maps.Keys(o.records)), o.ready(),
		a, left, writes, stored, err, logErr, log)
}
