// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkDurations finds the durations of a JSON document that do not parse. It is asked only when decoding has failed:
// the decoder reports such a value, of which "5y" is the most likely, without saying where it stands.
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
