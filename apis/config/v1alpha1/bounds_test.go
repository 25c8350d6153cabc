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

// TestEveryDurationIsBounded: the schema and Validate have the same bounds for each duration.
func TestEveryDurationIsBounded(t *testing.T) {
	visited := map[string]bool{}
	for resource, of := range resources {
		d := readDefinition(t, resource)
		eachField(t, field.NewPath(resource), of, d.structural, func(m member) {
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
				if errs := validateDuration(&metav1.Duration{Duration: value}, m.path, m.name); (len(errs) == 0) != fine {
					t.Errorf("%s: %s: validateDuration says %v, want it accepted: %t", m.path, value, errs.ToAggregate(), fine)
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
		d := readDefinition(t, resource)
		eachField(t, field.NewPath(resource), of, d.structural, func(m member) {
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
