// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxReporters bounds each list of accounts.
const maxReporters = 64

// everyCaller are accounts and groups that do not distinguish callers.
var everyCaller = sets.New("system:anonymous", "system:authenticated", "system:unauthenticated", "system:serviceaccounts")

// validateReporters expects at least one account.
func validateReporters(reporters *Reporters, path *field.Path) field.ErrorList {
	if reporters == nil {
		return nil
	}
	var errs field.ErrorList
	if len(reporters.Users)+len(reporters.Groups)+len(reporters.ServiceAccounts) == 0 {
		errs = append(errs, field.Required(path, "name a user, a group or a service account"))
	}
	for _, list := range []struct {
		child    string
		accounts []string
	}{{"users", reporters.Users}, {"groups", reporters.Groups}, {"serviceAccounts", reporters.ServiceAccounts}} {
		if len(list.accounts) > maxReporters {
			errs = append(errs, field.TooMany(path.Child(list.child), len(list.accounts), maxReporters))
		}
	}
	errs = append(errs, validateSet(reporters.Users, path.Child("users"), validateReporter)...)
	errs = append(errs, validateSet(reporters.Groups, path.Child("groups"), validateReporterGroup)...)
	return append(errs, validateSet(reporters.ServiceAccounts, path.Child("serviceAccounts"), validateReporterServiceAccount)...)
}

// validateReporter accepts the name of a user, in which the placeholder may occur once.
func validateReporter(name string, path *field.Path) field.ErrorList {
	return validateAccount(strings.Replace(name, MemberPlaceholder, "m", 1), name, path)
}

func validateReporterGroup(name string, path *field.Path) field.ErrorList {
	return validateAccount(name, name, path)
}

// validateReporterServiceAccount accepts the name of a ServiceAccount, in which the placeholder may occur once.
func validateReporterServiceAccount(name string, path *field.Path) field.ErrorList {
	if errs := validateReporter(name, path); len(errs) > 0 {
		return errs
	}
	return validateName(strings.Replace(name, MemberPlaceholder, "m", 1), path)
}

// validateAccount validates a name without its placeholder, and quotes it as written.
func validateAccount(name, written string, path *field.Path) field.ErrorList {
	switch {
	case written == "":
		return field.ErrorList{field.Required(path, "")}
	case len(written) > 253:
		return field.ErrorList{field.TooLong(path, written, 253)}
	case strings.ContainsAny(name, "*{}"):
		return field.ErrorList{field.Invalid(path, written,
			"there are no wildcards, and {member} is replaced once in the name of a user or a service account")}
	case everyCaller.Has(written):
		return field.ErrorList{field.Invalid(path, written, "includes every caller: leave out reporters and grant the permission by RBAC instead")}
	}
	return nil
}
