// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/utils/clock"
	kjson "sigs.k8s.io/json"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
)

// InstallerOptions of the command.
type InstallerOptions struct {
	nodepod.Layout
	Revision int
	NodeName string
	NodeIP   string
	// SourceDirectory holds configmaps/NAME/KEY and secrets/NAME/KEY.
	SourceDirectory string
	// PodConfigMap and PodKey locate the pod template in SourceDirectory. PodConfigMap defaults to NAME-pod.
	PodConfigMap, PodKey string
	ReloadedSecrets      []string
	// ContentHash is recorded. RestartHash must match the pod template and the mounted objects that are not reloaded.
	ContentHash, RestartHash string
	// NodeContentHash must match everything that is mounted.
	NodeContentHash string
	// Permitted is what the rollout's StaticPodClass permits the pod.
	Permitted configv1alpha1.PermittedPod
	// PermittedCompanions are NAME=JSON: what the class permits each companion.
	PermittedCompanions []string
	Timeout             time.Duration
	// TerminationLog is the file for the outcome, if it exists.
	TerminationLog string
	// Clock decides what has expired.
	Clock clock.PassiveClock

	Logs *logsapi.LoggingConfiguration
}

// NewInstallerOptions returns the defaults.
func NewInstallerOptions() *InstallerOptions {
	return &InstallerOptions{
		Layout:          Layout(""),
		SourceDirectory: "/revision",
		PodKey:          nodepod.DefaultPodKey,
		Timeout:         Timeout,
		TerminationLog:  "/dev/termination-log",
		Clock:           clock.RealClock{},
		Logs:            logs.NewOptions(),
	}
}

// Flags returns the flags in sections, as --help shows them.
func (o *InstallerOptions) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	fs := sections.FlagSet("revision")
	AddName(fs, "rollout", &o.Layout)
	fs.IntVar(&o.Revision, "revision", o.Revision, "The number of the revision.")
	fs.StringVar(&o.SourceDirectory, "source-dir", o.SourceDirectory,
		"The directory in which the objects of the revision are mounted: configmaps/NAME/KEY and secrets/NAME/KEY, with names without the number.")
	fs.StringVar(&o.PodConfigMap, "pod-configmap", o.PodConfigMap, "The ConfigMap of the pod template, which is not installed as a file. Defaults to ROLLOUT-pod.")
	fs.StringVar(&o.PodKey, "pod-key", o.PodKey, "The key of the pod template in its ConfigMap.")
	fs.StringArrayVar(&o.ReloadedSecrets, "reloaded-secret", o.ReloadedSecrets,
		"A Secret that the static pod reloads by itself: if nothing else changes, the pod is not restarted. May be repeated.")
	fs.StringVar(&o.ContentHash, "content-hash", o.ContentHash, "The hash of the whole revision, for all nodes. It is recorded on the node.")
	fs.StringVar(&o.RestartHash, "restart-hash", o.RestartHash,
		"The hash of the pod template and of all objects that are not reloaded. If the mounted objects have a different hash, nothing is installed.")

	fs.StringVar(&o.NodeContentHash, "node-content-hash", o.NodeContentHash,
		"The hash of everything that is mounted for this node. If the mounted objects have a different hash, nothing is installed.")

	fs = sections.FlagSet("class")
	fs.StringArrayVar(&o.Permitted.Images, "permit-image", o.Permitted.Images, "An image that containers of the static pod may run. May be repeated.")
	fs.StringArrayVar(&o.Permitted.HostPaths, "permit-host-path", o.Permitted.HostPaths, "A directory of the node that the static pod may mount. May be repeated.")
	fs.StringArrayVar(&o.Permitted.PriorityClassNames, "permit-priority-class", o.Permitted.PriorityClassNames, "A priority class that the static pod may have. May be repeated.")
	fs.BoolVar(&o.Permitted.HostNetwork, "permit-host-network", o.Permitted.HostNetwork, "If true, the static pod may use the network of the node.")
	fs.StringArrayVar(&o.PermittedCompanions, "permit-companion", o.PermittedCompanions,
		"What a companion may contain, as NAME=JSON with the fields of pod of a StaticPodClass. Required for each --companion.")
	fs.BoolVar(&o.Permitted.Privileged, "permit-privileged", o.Permitted.Privileged, "If true, the static pod may be root on the node.")

	fs = sections.FlagSet("node")
	fs.StringVar(&o.NodeName, "node-name", o.NodeName, "The name of the node: NODE_NAME in the pod template.")
	fs.StringVar(&o.NodeIP, "node-ip", o.NodeIP, "The IP address of the node: NODE_IP in the pod template.")
	AddDirectories(fs, &o.Layout)
	AddCompanions(fs, &o.Layout)

	fs = sections.FlagSet("run")
	AddTimeout(fs, &o.Timeout)
	fs.StringVar(&o.TerminationLog, "termination-log", o.TerminationLog, "The file to which the outcome is written as one line of JSON, if it exists.")
	logsapi.AddFlags(o.Logs, sections.FlagSet("logs"))
	return sections
}

// Complete derives options from other options.
func (o *InstallerOptions) Complete() {
	if o.PodConfigMap == "" {
		o.PodConfigMap = nodepod.TemplateName(o.Name)
	}
}

// Validate returns everything that is wrong with the options.
func (o *InstallerOptions) Validate() error {
	errs := []error{Validate(&o.Layout, o.Timeout)}
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(o.Revision < 1, "--revision is %d, want 1 or more", o.Revision)
	refuse(o.NodeName == "", "--node-name is required")
	_, err := netip.ParseAddr(o.NodeIP)
	refuse(err != nil, "--node-ip is %q, want an IP address", o.NodeIP)
	refuse(!filepath.IsAbs(o.SourceDirectory), "--source-dir is %q, want an absolute path", o.SourceDirectory)
	refuse(o.PodKey == "", "--pod-key is empty")
	refuse(o.ContentHash == "", "--content-hash is required")
	refuse(o.RestartHash == "", "--restart-hash is required: without it nothing proves that all of the revision is mounted")
	refuse(o.NodeContentHash == "", "--node-content-hash is required: without it nothing proves what is mounted")
	refuse(len(o.Permitted.Images) == 0, "--permit-image is required: without one no pod is permitted")
	permitted, err := o.companions()
	errs = append(errs, err)
	for _, c := range o.Companions {
		refuse(err == nil && permitted[c.Name] == nil, "--permit-companion=%s=JSON is required: without it the companion is not permitted", c.Name)
	}
	return errors.Join(errs...)
}

func (o *InstallerOptions) companions() (map[string]*configv1alpha1.PermittedPod, error) {
	out := map[string]*configv1alpha1.PermittedPod{}
	for _, text := range o.PermittedCompanions {
		name, encoded, _ := strings.Cut(text, "=")
		permitted := &configv1alpha1.PermittedPod{}
		strict, err := kjson.UnmarshalStrict([]byte(encoded), permitted)
		if err := errors.Join(append(strict, err)...); err != nil {
			return nil, fmt.Errorf("--permit-companion of %q: want NAME=JSON: %w", name, err)
		}
		out[name] = permitted
	}
	return out, nil
}
