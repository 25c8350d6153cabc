// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CreateOptions make the API server refuse an object instead of dropping an unknown field: half a record could prove
// something never observed.
func CreateOptions(fieldManager string, dryRun []string) metav1.CreateOptions {
	return metav1.CreateOptions{FieldManager: fieldManager, DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict}
}

// UpdateOptions are the CreateOptions of an update.
func UpdateOptions(fieldManager string, dryRun []string) metav1.UpdateOptions {
	return metav1.UpdateOptions{FieldManager: fieldManager, DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict}
}

// Explain adds the next step to an API server's error about an unknown field. It returns any other error unchanged.
func Explain(err error) error {
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "unknown field") {
		return err
	}
	return fmt.Errorf("%w: the definitions in the cluster are older than this program; install those of its version (kubectl apply -k manifests/crds)", err)
}
