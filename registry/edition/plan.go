// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Action is an operation on a Secret.
type Action string

// Actions. Adopt creates an edition with the data of another Secret. Hold keeps an edition that another one would have
// replaced, as certrotation has refused that for now.
const (
	Create Action = "create"
	Adopt  Action = "adopt"
	Change Action = "change"
	Keep   Action = "keep"
	Hold   Action = "hold"
	Delete Action = "delete"
)

// Step is the action on one Secret, with its reason.
type Step struct {
	Action Action
	// Name is the name of the configuration.
	Name string
	// Object is the Secret.
	Object types.NamespacedName
	// Provisional means that the object's name depends on something that is not made yet: a key, or the certificate
	// of a signer.
	Provisional bool
	Reason      string
}

// String returns the step as one line.
func (s *Step) String() string {
	object := s.Object.String()
	if s.Provisional {
		object = s.Object.Namespace + "/" + s.Name + "-*"
	}
	return fmt.Sprintf("%s %s: %s", s.Action, object, s.Reason)
}

// Plan is the actions on the Secrets of an instance.
type Plan []Step

// String returns one step a line.
func (p Plan) String() string {
	lines := make([]string, 0, len(p))
	for i := range p {
		lines = append(lines, p[i].String())
	}
	return strings.Join(lines, "\n")
}

// Sorted returns the plan in the order of its objects, independent of the order of execution.
func (p Plan) Sorted() Plan {
	out := slices.Clone(p)
	slices.SortStableFunc(out, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return out
}

// Of returns the steps with these actions.
func (p Plan) Of(actions ...Action) Plan {
	return slices.DeleteFunc(slices.Clone(p), func(s Step) bool { return !slices.Contains(actions, s.Action) })
}

// WhyCreate returns why an object must be created, given the former editions of its name, newest first.
func WhyCreate(w *Wanted, former []*Edition, renews *Edition) string {
	if len(former) == 0 {
		return "there is none yet"
	}
	newest := former[0]
	switch {
	case renews != nil:
		return "renewal of " + renews.Name + " is due"
	case newest.Labels[LabelLastRotationInitiationTime] != w.Rotation:
		return "a rotation was begun"
	case newest.Labels[LabelChecksumSigningCA] != w.signerLabel():
		return "its signer is another one"
	case newest.Labels[LabelChecksumConfig] != w.configLabel():
		return "its configuration has changed"
	}
	return newest.Name + " has another name"
}
