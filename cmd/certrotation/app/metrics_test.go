// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"certrotation.dev/admission"
	"certrotation.dev/controller/agent"
	"certrotation.dev/controller/cabundle"
	"certrotation.dev/controller/copies"
	"certrotation.dev/controller/dial"
	"certrotation.dev/controller/etcdhealth"
	"certrotation.dev/controller/evidence"
	"certrotation.dev/controller/rollout/staticpod"
	"certrotation.dev/controller/rollout/workload"
	"certrotation.dev/controller/rotation"
	"certrotation.dev/controller/secrets"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/registry/view/projection"
	"certrotation.dev/test/apifake"
)

// boundedLabels are the labels that our metrics may have, each with what bounds its values.
var boundedLabels = map[string]string{
	"namespace":    "those with a configuration, in which the cluster's owner has opted in",
	"trust_domain": "128 of a namespace at most",
	"name":         "64 certificates of a trust domain and 256 objects with a CA bundle at most",
	"role":         "signer and leaf",
	"stage":        "five stages",
	"kind":         "the kinds of actions, those that have a CA bundle, RotationConfiguration, and those of workloads that are restarted",
	"result":       "done, conflict, error; of live checks ok, error",
	"verb":         "create, update, patch, delete",
	"resource":     "the resources that are served, written or reviewed; others are one",
	"operation":    "those of admission; others are one",
	"decision":     "allow, deny, error",
	"dry_run":      "true and false",
	"rollout":      "one of a namespace, permitted by a StaticPodClass",
	"node":         "those that run the static pod of a rollout",
	"reason":       "reasons of blockers, constants",
	"condition":    "types of conditions, constants",
	"source":       "what is read, constants",
	"slot":         "slots of a signer, constants",
	"cause":        "of failed connections, constants",
	"action":       "steps of the library, constants",
}

// described collects the descriptions of registered metrics.
type described struct {
	metrics.KubeRegistry

	all []description
}

// description of a metric. A metric that is collected at the scrape is a gauge.
type description struct {
	name, kind, help string
	labels           []string
}

func (d *described) MustRegister(all ...metrics.Registerable) {
	for _, m := range all {
		if err := d.Register(m); err != nil {
			panic(err)
		}
	}
}

func (d *described) Register(m metrics.Registerable) error {
	m.Create(nil)
	kind := "gauge"
	switch m.(type) {
	case *metrics.Counter, *metrics.CounterVec:
		kind = "counter"
	case *metrics.Histogram, *metrics.HistogramVec:
		kind = "histogram"
	}
	d.add(kind, m.Describe)
	return nil
}

func (d *described) CustomMustRegister(all ...metrics.StableCollector) {
	for _, c := range all {
		c.Create(nil, c)
		d.add("gauge", c.Describe)
	}
}

var variable = regexp.MustCompile(`fqName: "([^"]*)", help: ("(?:[^"\\]|\\.)*").*variableLabels: \{([^}]*)\}`)

func (d *described) add(kind string, describe func(chan<- *prometheus.Desc)) {
	ch := make(chan *prometheus.Desc)
	go func() {
		defer close(ch)
		describe(ch)
	}()
	for desc := range ch {
		parts := variable.FindStringSubmatch(desc.String())
		if parts == nil {
			// No known label equals the whole description, so TestMetricsHaveBoundedLabels fails.
			parts = []string{"", `""`, "", desc.String()}
		}
		help, err := strconv.Unquote(parts[2])
		if err != nil {
			panic(err)
		}
		d.all = append(d.all, description{parts[1], kind, help, strings.FieldsFunc(parts[3], func(r rune) bool { return r == ',' })})
	}
}

// quiet is an inventory without any change.
type quiet struct{ projection.Inventory }

func (quiet) OnChange(func(string)) {}

func ofThePrograms(t *testing.T) []description {
	t.Helper()
	d := &described{}
	api := apifake.New(t, clock.RealClock{})
	client, records, recorder := api.Client, api.Own.ConfigV1alpha1(), events.NewFakeRecorder(1)
	_, err := inventory.New(inventory.Clients{Core: client, Metadata: api.Metadata, Config: api.Own}, inventory.Options{Register: d.Register})
	must(t, err)
	_, err = rotation.New(rotation.Config{Client: client, Records: records, Inventory: struct{ rotation.Inventory }{}, Recorder: recorder, Metrics: d})
	must(t, err)
	_, err = copies.New(copies.Config{Client: client, Configurations: records, Inventory: struct{ copies.Inventory }{}, Recorder: recorder, Metrics: d})
	must(t, err)
	_, err = cabundle.New(cabundle.Config{
		Targets: struct{ dynamic.Interface }{}, Metadata: api.Metadata,
		Client: client, Configurations: records, Inventory: struct{ cabundle.Inventory }{}, Recorder: recorder, Metrics: d,
	})
	must(t, err)
	checker, err := etcdhealth.New(etcdhealth.Config{Client: client, Metrics: d})
	must(t, err)
	_, err = staticpod.New(staticpod.Config{Client: client, Inventory: struct{ staticpod.Inventory }{}, Quorum: checker, Recorder: recorder, Metrics: d})
	must(t, err)
	_, err = workload.New(workload.Config{
		Client: client, Own: records, Inventory: struct{ workload.Inventory }{}, Members: checker, Recorder: recorder, Metrics: d,
		Due: func(*trust.Domain, time.Time, map[trust.Workload]trust.Progress) []trust.Restart { return nil },
	})
	must(t, err)
	store := struct{ projection.Store }{}
	_, err = projection.New(projection.Config{Inventory: quiet{}, Certificates: store, Bundles: store, Register: d.Register})
	must(t, err)
	_, err = admission.New(admission.Config{Inventory: struct{ admission.Inventory }{}, Client: client, Register: d.Register})
	must(t, err)

	agent.New(agent.Config{}, d)
	dial.NewFailures().Register(d)
	evidence.NewWaits().Register(d)
	secrets.NewMetrics(d)
	return d.all
}

func TestMetricsHaveBoundedLabels(t *testing.T) {
	names := map[string]bool{}
	for _, m := range ofThePrograms(t) {
		names[m.name] = true
		for _, label := range m.labels {
			if boundedLabels[label] == "" {
				t.Errorf("%s has the label %s: say in boundedLabels what bounds its values, or leave it out", m.name, label)
			}
		}
	}
	for _, want := range []string{
		"certrotation_actions_total", "certrotation_copy_writes_total", "certrotation_cabundle_writes_total", "certrotation_quorum_voters", "certrotation_rollout_writes_total", "certrotation_workload_restarts_total",
		"certrotation_view_objects", "certrotation_reads_refused", "certrotation_admission_reviews_total", "certrotation_agent_problems",
	} {
		if !names[want] {
			t.Errorf("%s is not registered: what this test says of its package means nothing", want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
