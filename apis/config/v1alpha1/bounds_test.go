// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"certrotation.dev/apis/config/definition"
)

// member is a field of an API type, with its schema in the CustomResourceDefinition.
type member struct {
	path   *field.Path
	name   string
	of     reflect.Type
	schema *schema.Structural
}

// eachField visits all fields below a type, by reflection. It does not enter types of other packages, such as
// metav1.LabelSelector.
func eachField(t *testing.T, at *field.Path, of reflect.Type, s *schema.Structural, visit func(member)) {
	t.Helper()
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() == reflect.Slice {
		if s.Items == nil {
			t.Fatalf("%s has no schema of its items", at)
		}
		eachField(t, at.Key("*"), of.Elem(), s.Items, visit)
		return
	}
	if of.Kind() != reflect.Struct || of.PkgPath() != reflect.TypeFor[RotationConfiguration]().PkgPath() {
		return
	}
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "metadata" {
			continue
		}
		child, ok := s.Properties[name]
		if !ok {
			t.Fatalf("%s: no schema", at.Child(name))
		}
		visit(member{path: at.Child(name), name: name, of: f.Type, schema: &child})
		eachField(t, at.Child(name), f.Type, &child, visit)
	}
}

// resources are the kinds of this API, by resource.
var resources = map[string]reflect.Type{
	"rotationconfigurations": reflect.TypeFor[RotationConfiguration](),
	"rotationrecords":        reflect.TypeFor[RotationRecord](),
	"staticpodclasses":       reflect.TypeFor[StaticPodClass](),
}

const (
	century = 100 * 365 * 24 * time.Hour
	year    = 365 * 24 * time.Hour
)

// between holds the minimum and the maximum of a duration.
type between struct{ least, greatest time.Duration }

// durationBounds are the bounds of every duration field, by the name of the field. Fields with the same name have
// the same bounds.
var durationBounds = map[string]between{
	// A certificate is renewed after a part of its validity: below a minute it would be renewed continuously, and a
	// verifier whose clock is off by seconds would never accept it.
	"validity":       {time.Minute, century},
	"signerValidity": {time.Minute, century},
	"leafValidity":   {time.Minute, century},
	"renewBefore":    {time.Second, century},
	"backdate":       {0, 24 * time.Hour},
	// Assumptions that replace an observation. The times that they are compared with have a resolution of a second.
	"gracePeriod":  {time.Second, year},
	"minimumDelay": {time.Second, year},
	"drain":        {time.Second, year},
	// In a record. Zero is for evidence of a kind without such a period.
	"grace": {0, year},
	// A lease must be longer than the interval between reports. A process that no longer runs must not count for
	// long.
	"lease": {time.Minute, MaxLease},
	// Below a second members would be probed continuously; above an hour a rotation in flight would seem to hang.
	"interval": {time.Second, time.Hour},
	// A worker of the controller waits that long, so one silent server may not cost more than a minute.
	"timeout":          {100 * time.Millisecond, time.Minute},
	"stageDeadline":    {time.Minute, year},
	"coalesce":         {time.Second, 10 * time.Minute},
	"installerTimeout": {10 * time.Second, time.Hour},
	"staticPodTimeout": {10 * time.Second, 24 * time.Hour},
}

// TestEveryDurationIsBounded: the rules of each duration have these bounds.
func TestEveryDurationIsBounded(t *testing.T) {
	visited := map[string]bool{}
	for resource, of := range resources {
		d, err := definition.Of(resource)
		if err != nil {
			t.Fatal(err)
		}
		eachField(t, field.NewPath(resource), of, d.Schema, func(m member) {
			if m.of != reflect.TypeFor[metav1.Duration]() && m.of != reflect.TypeFor[*metav1.Duration]() {
				return
			}
			bounds, ok := durationBounds[m.name]
			if !ok {
				t.Errorf("%s: no bounds in durationBounds", m.path)
				return
			}
			visited[m.name] = true
			rules := cel.NewValidator(m.schema, false, celconfig.PerCallLimit)
			if rules == nil {
				t.Errorf("%s: the schema has no rule, so no bounds", m.path)
				return
			}
			for value, fine := range map[time.Duration]bool{
				bounds.least: true, bounds.greatest: true, bounds.least - 1: false, bounds.greatest + 1: false,
			} {
				errs, _ := rules.Validate(t.Context(), m.path, m.schema, value.String(), nil, celconfig.RuntimeCELCostBudget)
				if (len(errs) == 0) != fine {
					t.Errorf("%s: %s: an API server says %v, want it accepted: %t", m.path, value, errs.ToAggregate(), fine)
				}
			}
		})
	}
	for name := range durationBounds {
		if !visited[name] {
			t.Errorf("durationBounds has %s, and no field is called so", name)
		}
	}
}

// TestEveryNumberAndListIsBounded excludes observedGeneration: the API server counts generations.
func TestEveryNumberAndListIsBounded(t *testing.T) {
	unbounded := []string{"rotationconfigurations.status.observedGeneration"}
	for resource, of := range resources {
		d, err := definition.Of(resource)
		if err != nil {
			t.Fatal(err)
		}
		eachField(t, field.NewPath(resource), of, d.Schema, func(m member) {
			if slices.Contains(unbounded, m.path.String()) {
				return
			}
			v := m.schema.ValueValidation
			switch m.schema.Type {
			case "integer", "number":
				if v == nil || v.Minimum == nil || v.Maximum == nil {
					t.Errorf("%s: a number without both bounds", m.path)
				}
			case "array":
				if v == nil || v.MaxItems == nil {
					t.Errorf("%s: a list without maxItems", m.path)
				}
			case "string":
				if v == nil || (v.MaxLength == nil && len(v.Enum) == 0 && v.Format == "") {
					t.Errorf("%s: a text without maxLength", m.path)
				}
			}
		})
	}
}
