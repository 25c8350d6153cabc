// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// theirs are the controllers, conditions, events, metrics and annotations of cluster-etcd-operator and of
// library-go's static pod operator. docs/comparison.md must have each of them.
var theirs = []string{
	"NodeController", "RevisionController", "InstallerController", "InstallerStateController", "StaticPodStateController",
	"MissingStaticPodController", "PruneController", "BackingResourceController", "GuardController", "StartupMonitor", "CertSyncController",
	"StaticPodsAvailable", "NodeInstallerProgressing", "NodeInstallerDegraded", "NodeControllerDegraded", "RevisionControllerDegraded",
	"InstallerControllerDegraded", "InstallerPodPendingDegraded", "InstallerPodContainerWaitingDegraded", "InstallerPodNetworkingDegraded",
	"StaticPodsDegraded", "MissingStaticPodControllerDegraded", "BackingResourceControllerDegraded", "GuardControllerDegraded",
	"NodeTargetRevisionChanged", "NodeCurrentRevisionChanged", "InstallerPodFailed", "InstallerPodDisappeared", "RevisionTriggered",
	"StartingNewRevision", "RequiredInstallerResourcesMissing", "MasterNodeObserved", "MasterNodeRemoved", "MasterNodesReadyChanged",
	"MissingStaticPod", "MissingVersion", "MultipleVersions", "StaticPodInstallerCompleted", "StaticPodInstallerFailed",
	"CertificateUpdated", "CertificateUpdateFailed", "CertificateRemoved", "openshift_etcd_operator_signer_expiration_days",
	"EtcdCertSignerController", "CertRotationController", "EtcdCertCleanerController", "ResourceSyncController", "TargetConfigController",
	"EtcdEndpointsController", "EtcdMembersController", "ClusterMemberController", "ClusterMemberRemovalController",
	"BootstrapTeardownController", "EnvVarController", "ScriptController", "quorum", "installer", "prune", "render", "readyz",
	"EtcdCertSignerControllerDegraded", "ResourceSyncControllerDegraded", "EtcdMembersDegraded", "EtcdEndpointsDegraded",
	"TargetConfigControllerDegraded", "EtcdRunningInCluster", "EtcdBootstrapMemberRemoved", "StartupMonitorPodDegraded",
	"StartupMonitorPodContainerExcessiveRestartsDegraded", "StaticPodFallbackRevisionDegraded", "PruneControllerDegraded",
	"SignerUpdateRequired", "TargetUpdateRequired", "CABundleUpdateRequired", "RotationError", "EtcdCertSignerControllerUpdatingStatus",
	"SecretCreated", "SecretUpdated", "SecretCreateFailed", "SecretUpdateFailed", "etcdSignerCAExpirationWarning", "etcdSignerCAExpirationCritical",
	"openshift.io/ceo-bundle-rollout-revision", "openshift.io/ceo-delete-grace-start", "operator.openshift.io/revision-ready",
}

var (
	parityRow = regexp.MustCompile(`(?m)^\| (\x60[^|]+\x60|[a-z][^|]*) \| (\S[^|]*) \|$`)
	quoted    = regexp.MustCompile(`\x60([^\x60]+)\x60`)
	sameIn    = regexp.MustCompile(`^same\b(?:[^|]*?, in \x60([\w/]+)\x60)?`)
	ourMetric = regexp.MustCompile(`\x60(?:certrotation_rollout_)?(\w+_(?:total|seconds|revision))\x60`)
)

// rolloutCode has the parts that the page calls the same without a path.
var rolloutCode = []string{"controller/rollout/staticpod", "registry/rollout"}

// TestParity: the tables in docs/comparison.md have every part of theirs. What they call the same is in the code
// under that name. TestPathsExist checks the paths.
func TestParity(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(read(t, "docs/comparison.md"), "\n## cluster-etcd-operator, part by part\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]string{}
	for _, match := range parityRow.FindAllStringSubmatch(section, -1) {
		for _, name := range quoted.FindAllStringSubmatch(match[1], -1) {
			rows[name[1]] = match[2]
		}
	}
	for _, name := range theirs {
		if rows[name] == "" {
			t.Errorf("docs/comparison.md says nothing of %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		match := sameIn.FindStringSubmatch(rows[name])
		if match == nil {
			continue
		}
		dirs := rolloutCode
		if match[1] != "" {
			dirs = []string{match[1]}
		}
		if !strings.Contains(sources(t, dirs...), `"`+name+`"`) {
			t.Errorf("docs/comparison.md says that %s is the same here, but %v does not have it", name, dirs)
		}
	}
	_, ours, found := strings.Cut(section, "Of our own")
	metrics := ourMetric.FindAllStringSubmatch(ours, -1)
	if !found || len(metrics) == 0 {
		t.Error("docs/comparison.md names none of our own metrics")
	}
	code := sources(t, rolloutCode...)
	for _, name := range metrics {
		if !strings.Contains(code, `"`+name[1]+`"`) && !strings.Contains(code, `"certrotation_rollout_`+name[1]+`"`) {
			t.Errorf("docs/comparison.md names the metric %s, which no code has", name[1])
		}
	}
}

// sources returns the text of all Go files of directories, except tests and package comments.
func sources(t *testing.T, directories ...string) string {
	t.Helper()
	var out strings.Builder
	for _, directory := range directories {
		entries, err := os.ReadDir(filepath.Join(root, directory))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if name := entry.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && name != "doc.go" {
				out.WriteString(read(t, path.Join(directory, name)))
			}
		}
	}
	return out.String()
}
