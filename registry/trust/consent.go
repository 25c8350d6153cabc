// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import "fmt"

// Consents reports whether a configuration of the namespace may use an object with these annotations: read its key,
// sign with it, overwrite, collect or copy it. Naming the object in the configuration is no consent, as the author of
// a configuration need not have access to Secrets.
func Consents(annotations map[string]string, configuration string) bool {
	return configuration != "" && annotations[AnnotationConfiguration] == configuration
}

// NotAdopted returns what the model knows of an object that a configuration names and that does not consent to it:
// its existence, and how to adopt it.
func NotAdopted(kind ObjectKind, o *Object, namespace, configuration string) Object {
	out := Existence(o)
	out.Problem = &Problem{
		Object: string(kind) + "/" + o.Name, Reason: ReasonNotAdopted,
		Message: fmt.Sprintf("it is there already and does not consent to RotationConfiguration/%s, so it is neither used nor changed: "+
			"run `kubectl certrotation adopt -n %s %s`, or use another name in the configuration", configuration, namespace, configuration),
	}
	return out
}

// Existence is an object without anything but its existence.
func Existence(o *Object) Object {
	return Object{Name: o.Name, Present: true, UID: o.UID, ResourceVersion: o.ResourceVersion, Created: o.Created}
}

// Unadopted reports whether an object exists that its configuration names and that does not consent to it.
func (o *Object) Unadopted() bool { return o.Problem != nil && o.Problem.Reason == ReasonNotAdopted }

// Released reports whether an edit removes the consent of an object.
func Released(before, after *Object) bool {
	return before.Present && !before.Unadopted() && after.Present && after.Unadopted()
}

// consenting adds the consent to what the actions write. New objects have it from their creation. Objects without
// consent are never written.
func consenting(actions []Action, configuration string) []Action {
	for i := range actions {
		action := &actions[i]
		if action.ObjectKind != SecretKind && action.ObjectKind != ConfigMapKind || action.Kind == RequestIssuance {
			continue
		}
		if action.Annotations == nil {
			action.Annotations = map[string]string{}
		}
		action.Annotations[AnnotationConfiguration] = configuration
	}
	return actions
}
