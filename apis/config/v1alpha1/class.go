// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Defaults of a StaticPodClass.
const (
	DefaultResourceDirectory = "/etc/kubernetes/static-pod-resources"
	DefaultManifestDirectory = "/etc/kubernetes/manifests"
)

var byDigest = regexp.MustCompile(`^[^@\s]+@sha256:[0-9a-f]{64}$`)

// LoadClass returns the spec with its defaults, or everything that is wrong with it. Paths have to be clean, because
// they must mean the same to the author of the class, to the controller and to the installer on the node.
func LoadClass(spec *StaticPodClassSpec) (*StaticPodClassSpec, error) {
	out := spec.DeepCopy()
	out.ResourceDirectory = cmp.Or(out.ResourceDirectory, DefaultResourceDirectory)
	out.ManifestDirectory = cmp.Or(out.ManifestDirectory, DefaultManifestDirectory)
	at := field.NewPath("spec")
	errs := validateLabelName(out.PodName, at.Child("podName"))
	if len(out.Namespaces) == 0 {
		errs = append(errs, field.Required(at.Child("namespaces"), "nobody may use the class"))
	}
	if !byDigest.MatchString(out.Image) {
		errs = append(errs, field.Invalid(at.Child("image"), out.Image, "must be NAME@sha256:DIGEST: whoever can move a tag could run as root on the nodes"))
	}
	errs = append(errs, validateDirectory(out.ResourceDirectory, at.Child("resourceDirectory"))...)
	errs = append(errs, validateDirectory(out.ManifestDirectory, at.Child("manifestDirectory"))...)
	if within(out.ResourceDirectory, out.ManifestDirectory) || within(out.ManifestDirectory, out.ResourceDirectory) {
		errs = append(errs, field.Invalid(at.Child("resourceDirectory"), out.ResourceDirectory, "must neither contain manifestDirectory nor be in it: kubelet would run its files as static pods"))
	}
	if len(out.Pod.Images) == 0 {
		errs = append(errs, field.Required(at.Child("pod", "images"), "a pod without an image cannot run"))
	}
	errs = append(errs, validateHostPaths(out, at.Child("pod", "hostPaths"))...)
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return out, nil
}

// validateHostPaths refuses paths that contain each other, or a directory of the installer: a pod that may write to one
// could replace the other.
func validateHostPaths(class *StaticPodClassSpec, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, hostPath := range class.Pod.HostPaths {
		errs = append(errs, validateDirectory(hostPath, at.Index(i))...)
		if class.Pod.Privileged {
			continue
		}
		others := append(slices.Clone(class.Pod.HostPaths), class.ResourceDirectory, class.ManifestDirectory)
		for _, other := range others {
			if other != hostPath && within(other, hostPath) {
				errs = append(errs, field.Invalid(at.Index(i), hostPath, fmt.Sprintf("contains %s: a pod that may write to one could replace the other", other)))
			}
		}
		for _, own := range []string{class.ResourceDirectory, class.ManifestDirectory} {
			if within(hostPath, own) {
				errs = append(errs, field.Invalid(at.Index(i), hostPath, fmt.Sprintf("is in %s, which belongs to the installer", own)))
			}
		}
	}
	return errs
}

func validateDirectory(directory string, at *field.Path) field.ErrorList {
	if !path.IsAbs(directory) || path.Clean(directory) != directory || directory == "/" || strings.ContainsFunc(directory, unprintable) {
		return field.ErrorList{field.Invalid(at, directory, "must be an absolute path without . or .. or a slash at its end")}
	}
	return nil
}

// within reports whether a clean path is a directory or lies below it.
func within(name, directory string) bool {
	return name == directory || strings.HasPrefix(name, strings.TrimSuffix(directory, "/")+"/")
}

func unprintable(r rune) bool { return r < ' ' || r == 0x7f }
