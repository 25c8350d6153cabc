// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"certrotation.dev/apis/document"
)

// Load expands, defaults and validates the spec of a configuration in a namespace. It does not change the spec,
// and the caller owns the result. The error is an aggregate of field errors. Their paths are in the object as it
// was written, and begin with spec.
func Load(spec *RotationConfigurationSpec, namespace string) (*RotationConfigurationSpec, error) {
	if err := Validate(spec, namespace).ToAggregate(); err != nil {
		return nil, err
	}
	expanded, err := expand(spec, namespace)
	if err != nil {
		return nil, err
	}
	SetDefaults(expanded)
	return expanded, nil
}

// maxSize bounds a document, in bytes. The API server accepts objects three times as large. A configuration of
// thousands of leaves is well below.
const maxSize = 512 << 10

// Decode reads one RotationConfiguration in YAML or JSON from a file. Objects in the cluster are decoded by the
// API server, with the schema of the CustomResourceDefinition. Unknown and duplicate fields are errors that name
// their path, as are a second document, a wrong kind or version, and durations that do not parse. Nothing is
// defaulted.
func Decode(data []byte) (*RotationConfiguration, error) {
	data, err := document.ToJSON(data, maxSize)
	if _, places := errors.AsType[utilerrors.Aggregate](err); err != nil && !places {
		return nil, decodeError(err)
	} else if err != nil {
		return nil, err
	}
	if err := checkTypeMeta(data); err != nil {
		return nil, err
	}

	cfg := &RotationConfiguration{}
	strict, err := kjson.UnmarshalStrict(data, cfg)
	if err != nil {
		if errs := checkDurations(data); len(errs) > 0 {
			return nil, errs.ToAggregate()
		}
		return nil, decodeError(err)
	}
	if errs := strictErrors(strict); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return cfg, nil
}

// checkTypeMeta checks kind and version first. Otherwise a document of another kind is reported as one with many
// unknown fields.
func checkTypeMeta(data []byte) error {
	var meta metav1.TypeMeta
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &meta); err != nil {
		return decodeError(err)
	}
	var errs field.ErrorList
	errs = append(errs, checkConstant(field.NewPath("apiVersion"), meta.APIVersion, SchemeGroupVersion.String())...)
	errs = append(errs, checkConstant(field.NewPath("kind"), meta.Kind, Kind)...)
	return errs.ToAggregate()
}

func checkConstant(path *field.Path, got, want string) field.ErrorList {
	switch got {
	case want:
		return nil
	case "":
		return field.ErrorList{field.Required(path, fmt.Sprintf("must be %q", want))}
	default:
		return field.ErrorList{field.NotSupported(path, got, []string{want})}
	}
}

func strictErrors(strict []error) field.ErrorList {
	var errs field.ErrorList
	for _, err := range strict {
		path := field.NewPath("document")
		if fieldErr, ok := errors.AsType[kjson.FieldError](err); ok {
			path = field.NewPath(fieldErr.FieldPath())
		}
		errs = append(errs, field.Forbidden(path, err.Error()))
	}
	return errs
}

func decodeError(err error) error {
	return utilerrors.NewAggregate([]error{fmt.Errorf("decode %s: %w", Kind, err)})
}

// checkDurations finds the durations of a JSON document that do not parse, such as "5y". Call it only after
// decoding has failed: the decoder reports such a value without its path.
func checkDurations(data []byte) field.ErrorList {
	var document struct {
		Spec any `json:"spec"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil
	}
	return walkDurations(document.Spec, specPath)
}

func walkDurations(value any, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			errs = append(errs, walkDurations(item, path.Index(i))...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			child := path.Child(key)
			if _, ok := durationBounds[key]; ok && value[key] != nil {
				errs = append(errs, checkDuration(child, value[key])...)
				continue
			}
			errs = append(errs, walkDurations(value[key], child)...)
		}
	}
	return errs
}

func checkDuration(path *field.Path, value any) field.ErrorList {
	text, ok := value.(string)
	if !ok {
		return field.ErrorList{field.TypeInvalid(path, fmt.Sprint(value), "must be a duration in quotes, such as \"8760h\"")}
	}
	if _, err := time.ParseDuration(text); err != nil {
		return field.ErrorList{field.Invalid(path, text, "must be a duration such as 8760h; the longest unit is the hour")}
	}
	return nil
}
