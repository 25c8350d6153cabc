// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import "fmt"

// Consents says whether an object with these annotations may be used for a configuration of its namespace: read for its key,
// signed with, overwritten, collected or copied. That the configuration names the object is no consent, as whoever writes a
// configuration need not be allowed to touch a Secret.
func Consents(annotations map[string]string, configuration string) bool {
	return configuration != "" && annotations[AnnotationConfiguration] == configuration
}

// NotAdopted is what the model knows of an object that a configuration names and that does not consent to it: that it is there,
// and how it gets to consent.
func NotAdopted(kind ObjectKind, o *Object, namespace, configuration string) Object {
	out := Existence(o)
	out.Problem = &Problem{
		Object: string(kind) + "/" + o.Name, Reason: ReasonNotAdopted,
		Message: fmt.Sprintf("it is there already and does not consent to RotationConfiguration/%s, so it is neither used nor changed: "+
			"run `kubectl certrotation adopt -n %s %s`, or use another name in the configuration", configuration, namespace, configuration),
	}
	return out
}

// Existence is an object of which nothing else is known than that it exists.
func Existence(o *Object) Object {
	return Object{Name: o.Name, Present: true, UID: o.UID, ResourceVersion: o.ResourceVersion, Created: o.Created}
}

// Unadopted says whether an object exists that its configuration names and that does not consent to it.
func (o *Object) Unadopted() bool { return o.Problem != nil && o.Problem.Reason == ReasonNotAdopted }

// Released says whether an edit takes the consent from an object that had given it.
func Released(before, after *Object) bool {
	return before.Present && !before.Unadopted() && after.Present && after.Unadopted()
}

// consenting gives the consent to what the actions write: an object that they make has it from its birth, and they change none
// that does not have it.
func consenting(actions []Action, configuration string) []Action {
	for i := range actions {
		action := &actions[i]
		if action.ObjectKind != SecretKind && action.ObjectKind != ConfigMapKind {
			continue
		}
		if action.Annotations == nil {
			action.Annotations = map[string]string{}
		}
		action.Annotations[AnnotationConfiguration] = configuration
	}
	return actions
}
