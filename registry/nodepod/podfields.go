// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

// fieldSet is the set of allowed fields of an object. judge checks their values.
type fieldSet struct {
	fields map[string]fieldSet
	// open means that everything below is data, such as labels.
	open bool
}

var anything = fieldSet{open: true}

// only allows the named fields, with anything below them.
func only(names ...string) fieldSet {
	out := fieldSet{fields: map[string]fieldSet{}}
	for _, name := range names {
		out.fields[name] = anything
	}
	return out
}

// with adds a field below which only some fields are allowed.
func (s fieldSet) with(name string, below fieldSet) fieldSet {
	s.fields[name] = below
	return s
}

var podFields = only("apiVersion", "kind").
	with("metadata", only("name", "namespace", "labels", "annotations")).
	with("spec", specFields)

var specFields = only(
	"hostNetwork", "hostPID", "hostIPC", "priorityClassName", "priority", "terminationGracePeriodSeconds", "tolerations",
	"restartPolicy", "dnsPolicy", "enableServiceLinks", "automountServiceAccountToken",
).
	with("securityContext", only("runAsUser", "runAsGroup", "runAsNonRoot", "supplementalGroups", "fsGroup", "seccompProfile", "appArmorProfile", "seLinuxOptions")).
	with("initContainers", containerFields).
	with("containers", containerFields).
	with("volumes", only("name").
		with("hostPath", only("path", "type")).
		with("emptyDir", only("medium", "sizeLimit")))

var containerFields = only(
	"name", "image", "imagePullPolicy", "command", "args", "workingDir", "ports", "restartPolicy",
	"terminationMessagePath", "terminationMessagePolicy",
).
	with("resources", only("limits", "requests")).
	with("env", only("name", "value").with("valueFrom", only("fieldRef", "resourceFieldRef"))).
	with("volumeMounts", only("name", "mountPath", "readOnly", "mountPropagation")).
	with("livenessProbe", probeFields).
	with("readinessProbe", probeFields).
	with("startupProbe", probeFields).
	with("lifecycle", only("stopSignal").with("postStart", handlerFields()).with("preStop", handlerFields())).
	with("securityContext", only(
		"runAsUser", "runAsGroup", "runAsNonRoot", "readOnlyRootFilesystem", "privileged", "capabilities", "allowPrivilegeEscalation",
		"procMount", "seccompProfile", "appArmorProfile", "seLinuxOptions",
	))

var probeFields = func() fieldSet {
	probe := handlerFields()
	for _, name := range []string{
		"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold", "terminationGracePeriodSeconds",
	} {
		probe.fields[name] = anything
	}
	return probe
}()

func handlerFields() fieldSet {
	return only("exec", "sleep", "httpGet", "tcpSocket", "grpc")
}
