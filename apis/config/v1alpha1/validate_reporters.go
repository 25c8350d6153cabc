// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// everyCaller are accounts and groups that do not distinguish callers.
var everyCaller = sets.New("system:anonymous", "system:authenticated", "system:unauthenticated", "system:serviceaccounts")

func validateReporters(reporters *Reporters, path *field.Path) field.ErrorList {
	if reporters == nil {
		return nil
	}
	errs := validateEach(reporters.Users, path.Child("users"), validateReporter)
	errs = append(errs, validateEach(reporters.Groups, path.Child("groups"), validateReporter)...)
	return append(errs, validateEach(reporters.ServiceAccounts, path.Child("serviceAccounts"), validateReporterServiceAccount)...)
}

func validateReporter(name string, path *field.Path) field.ErrorList {
	if everyCaller.Has(name) {
		return field.ErrorList{field.Invalid(path, name, "includes every caller: leave out reporters and grant the permission by RBAC instead")}
	}
	return nil
}

// validateReporterServiceAccount validates the rest of the name with a typical member.
func validateReporterServiceAccount(name string, path *field.Path) field.ErrorList {
	return validateName(strings.Replace(name, MemberPlaceholder, "m", 1), path)
}
