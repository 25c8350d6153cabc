// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"certrotation.dev/manifests"
)

// uninterrupted is for rules, which wait for nothing and whose cost is bounded.
var uninterrupted = context.Background()

// Definition is a CustomResourceDefinition with the validation of an API server. It may be used concurrently.
type Definition struct {
	// CRD is the object, in its internal version.
	CRD *apiextensions.CustomResourceDefinition
	// Schema is that of its only version.
	Schema *schema.Structural

	values validation.SchemaValidator
	rules  *cel.Validator
}

// Configurations returns the definition of RotationConfigurations. It compiles the rules when it is first called.
var Configurations = sync.OnceValues(func() (*Definition, error) { return Of("rotationconfigurations") })

// Of returns the embedded definition of a resource.
func Of(resource string) (*Definition, error) {
	data, err := manifests.Definitions.ReadFile("crds/config.certrotation.dev_" + resource + ".yaml")
	if err != nil {
		return nil, err
	}
	d, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("definition of %s: %w", resource, err)
	}
	return d, nil
}

func parse(data []byte) (*Definition, error) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	written := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, written); err != nil {
		return nil, err
	}
	scheme.Default(written)
	d := &Definition{CRD: &apiextensions.CustomResourceDefinition{}}
	if err := scheme.Convert(written, d.CRD, nil); err != nil {
		return nil, err
	}
	declared, err := apiextensions.GetSchemaForVersion(d.CRD, written.Spec.Versions[0].Name)
	if err != nil {
		return nil, err
	}
	if d.Schema, err = schema.NewStructural(declared.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	if d.values, _, err = validation.NewSchemaValidator(declared.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	d.rules = cel.NewValidator(d.Schema, true, celconfig.PerCallLimit)
	return d, nil
}

// Validate returns what is wrong with an object in JSON, ordered by path: errors of the schema or, without such, of the
// rules. Unknown fields are not reported. It fails if data is no JSON object.
func (d *Definition) Validate(data []byte) (field.ErrorList, error) {
	var content map[string]any
	if err := utiljson.Unmarshal(data, &content); err != nil {
		return nil, err
	}
	errs := validation.ValidateCustomResource(nil, content, d.values)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, d.Schema, content)...)
	if len(errs) == 0 {
		errs, _ = d.rules.Validate(uninterrupted, nil, d.Schema, content, nil, celconfig.RuntimeCELCostBudget)
	}
	// The validators walk maps in random order, and the text of the errors is compared with what was written before.
	slices.SortFunc(errs, func(a, b *field.Error) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Error(), b.Error()))
	})
	return errs, nil
}
