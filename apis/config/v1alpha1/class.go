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

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Defaults of a StaticPodClass.
const (
	DefaultResourceDirectory = "/etc/kubernetes/static-pod-resources"
	DefaultManifestDirectory = "/etc/kubernetes/manifests"
)

var byDigest = regexp.MustCompile(`^[^@\s]+@sha256:[0-9a-f]{64}$`)

// LoadClass returns the spec with its defaults, or all of its errors. Paths must be clean: they must mean the same
// to the author of the class, to the controller and to the installer on the node.
func LoadClass(spec *StaticPodClassSpec) (*StaticPodClassSpec, error) {
	out := spec.DeepCopy()
	out.ResourceDirectory = cmp.Or(out.ResourceDirectory, DefaultResourceDirectory)
	out.ManifestDirectory = cmp.Or(out.ManifestDirectory, DefaultManifestDirectory)
	at := field.NewPath("spec")
	errs := validateLabelName(out.PodName, at.Child("podName"))
	if len(out.Namespaces) == 0 {
		errs = append(errs, field.Required(at.Child("namespaces"), "without a namespace no configuration may use the class"))
	}
	if !byDigest.MatchString(out.Image) {
		errs = append(errs, field.Invalid(at.Child("image"), out.Image, "must be NAME@sha256:DIGEST: an account that can move a tag could run any program as root on the nodes"))
	}
	errs = append(errs, out.setStaticPods(at)...)
	errs = append(errs, validateDirectory(out.ResourceDirectory, at.Child("resourceDirectory"))...)
	errs = append(errs, validateDirectory(out.ManifestDirectory, at.Child("manifestDirectory"))...)
	if within(out.ResourceDirectory, out.ManifestDirectory) || within(out.ManifestDirectory, out.ResourceDirectory) {
		errs = append(errs, field.Invalid(at.Child("resourceDirectory"), out.ResourceDirectory, "must neither contain manifestDirectory nor be in it: kubelet would run its files as static pods"))
	}
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return out, nil
}

// setStaticPods sets the defaults of the static pods, and returns their errors.
func (c *StaticPodClassSpec) setStaticPods(at *field.Path) field.ErrorList {
	c.ManifestFile = cmp.Or(c.ManifestFile, defaultManifestFile(c.PodName))
	errs := validateManifestFile(c.ManifestFile, at.Child("manifestFile"))
	errs = append(errs, c.validatePod(&c.Pod, at.Child("pod"))...)
	names, files := sets.New(c.PodName), sets.New(c.ManifestFile)
	for i := range c.Companions {
		companion, at := &c.Companions[i], at.Child("companions").Index(i)
		companion.ManifestFile = cmp.Or(companion.ManifestFile, defaultManifestFile(companion.PodName))
		errs = append(errs, validateLabelName(companion.PodName, at.Child("podName"))...)
		errs = append(errs, validateManifestFile(companion.ManifestFile, at.Child("manifestFile"))...)
		errs = append(errs, c.validatePod(&companion.Pod, at.Child("pod"))...)
		if names.Has(companion.PodName) {
			errs = append(errs, field.Duplicate(at.Child("podName"), companion.PodName))
		}
		if files.Has(companion.ManifestFile) {
			errs = append(errs, field.Duplicate(at.Child("manifestFile"), companion.ManifestFile))
		}
		names.Insert(companion.PodName)
		files.Insert(companion.ManifestFile)
	}
	return errs
}

func defaultManifestFile(podName string) string { return podName + "-pod.yaml" }

// validateManifestFile accepts names of files that the kubelet reads. The kubelet ignores hidden files.
func validateManifestFile(name string, at *field.Path) field.ErrorList {
	if !strings.HasSuffix(name, ".yaml") {
		return field.ErrorList{field.Invalid(at, name, "must end in .yaml")}
	}
	return invalid(at, name, validation.IsDNS1123Subdomain(name))
}

// Companion returns the companion of that name, nil if the class does not permit it.
func (c *StaticPodClassSpec) Companion(podName string) *PermittedCompanion {
	for i := range c.Companions {
		if c.Companions[i].PodName == podName {
			return &c.Companions[i]
		}
	}
	return nil
}

// Permitted returns what the static pod of that name may contain, nil if the class does not permit it.
func (c *StaticPodClassSpec) Permitted(podName string) *PermittedPod {
	if podName == c.PodName {
		return &c.Pod
	}
	if companion := c.Companion(podName); companion != nil {
		return &companion.Pod
	}
	return nil
}

func (c *StaticPodClassSpec) validatePod(pod *PermittedPod, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(pod.Images) == 0 {
		errs = append(errs, field.Required(at.Child("images"), "a pod without an image cannot run"))
	}
	return append(errs, validateHostPaths(c, pod, at.Child("hostPaths"))...)
}

// hostPaths returns the host paths of all static pods of the class.
func (c *StaticPodClassSpec) hostPaths() []string {
	out := slices.Clone(c.Pod.HostPaths)
	for i := range c.Companions {
		out = append(out, c.Companions[i].Pod.HostPaths...)
	}
	return out
}

// validateHostPaths refuses paths that contain each other, or a directory of the installer. A pod that may write
// to one could replace the other.
func validateHostPaths(class *StaticPodClassSpec, pod *PermittedPod, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, hostPath := range pod.HostPaths {
		errs = append(errs, validateDirectory(hostPath, at.Index(i))...)
		if pod.Privileged {
			continue
		}
		others := append(class.hostPaths(), class.ResourceDirectory, class.ManifestDirectory)
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
