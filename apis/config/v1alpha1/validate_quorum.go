// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// restartedWorkload is a workload of a party, and where it is named.
type restartedWorkload struct {
	RestartedWorkload

	path *field.Path
}

func restartedOf(party *RelyingParty, path *field.Path) []restartedWorkload {
	if party.Evidence.WorkloadRollout == nil {
		return nil
	}
	var out []restartedWorkload
	for i, workload := range party.Evidence.WorkloadRollout.Workloads {
		out = append(out, restartedWorkload{workload, path.Child("evidence", "workloadRollout", "workloads").Index(i)})
	}
	return out
}

// quorums must run after the trust domains. A workload that several parties name is restarted once for all, so
// they must agree.
func (v *validator) quorums() {
	first := map[Workload]restartedWorkload{}
	for _, w := range v.restarted {
		at := w.path.Child("quorum")
		if w.Quorum != nil {
			v.add(validatePodEndpoint(w.Quorum.Endpoint, at.Child("endpoint"))...)
			v.quorum(w.Quorum, at)
		}
		other, named := first[w.Workload]
		if !named {
			first[w.Workload] = w
			continue
		}
		if !equality.Semantic.DeepEqual(other.Quorum, w.Quorum) {
			v.add(field.Invalid(at, w.Name, fmt.Sprintf("%s has another quorum in %s: it is restarted once for all who need it, so give it the same one wherever it is named",
				w.Kind, other.path)))
		}
	}
}

// validatePodEndpoint accepts only {pod} and a port: a name that the tenant chooses could resolve to anything.
func validatePodEndpoint(endpoint string, at *field.Path) field.ErrorList {
	form := "https://" + PodPlaceholder + ":"
	number, ok := strings.CutPrefix(endpoint, form)
	port, err := strconv.Atoi(number)
	if !ok || err != nil || len(validation.IsValidPortNum(port)) > 0 {
		return field.ErrorList{field.Invalid(at, endpoint, fmt.Sprintf("must be %sport: the members are the pods of the StatefulSet", form))}
	}
	return nil
}
