// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/apis/document"
)

// maxSize bounds a document, in bytes. The API server accepts objects three times as large. A configuration of
// thousands of leaves is well below.
const maxSize = 512 << 10

// Decode reads one RotationConfiguration in YAML or JSON from a file. Unknown and duplicate fields are errors that name
// their path, as are a second document, a wrong kind or version, and values of another type. Nothing is defaulted, and
// the spec may be invalid: see Spec.
func Decode(data []byte) (*v1alpha1.RotationConfiguration, error) {
	data, err := document.ToJSON(data, maxSize)
	if _, places := errors.AsType[utilerrors.Aggregate](err); err != nil && !places {
		return nil, decodeError(err)
	} else if err != nil {
		return nil, err
	}
	if err := checkTypeMeta(data); err != nil {
		return nil, err
	}

	cfg := &v1alpha1.RotationConfiguration{}
	strict, err := kjson.UnmarshalStrict(data, cfg)
	if err != nil {
		return nil, undecodable(data, err)
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
	errs = append(errs, checkConstant(field.NewPath("apiVersion"), meta.APIVersion, v1alpha1.SchemeGroupVersion.String())...)
	errs = append(errs, checkConstant(field.NewPath("kind"), meta.Kind, v1alpha1.Kind)...)
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

// undecodable returns what the definition says of a document that does not decode: the decoder does not name the path
// of a duration such as "5y".
func undecodable(data []byte, cause error) error {
	errs, err := validate(data)
	if err != nil {
		return decodeError(err)
	}
	if len(errs) == 0 {
		return decodeError(cause)
	}
	return errs.ToAggregate()
}

func decodeError(err error) error {
	return utilerrors.NewAggregate([]error{fmt.Errorf("decode %s: %w", v1alpha1.Kind, err)})
}
