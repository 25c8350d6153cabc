// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodepod is what a static pod on a node is: its revisions, its mirror pod, its files on the disk of the node,
// and what an operator must know when these do not fit together. All functions are pure and values immutable: no I/O
// but over io/fs, no clock but an argument, no private key.
//
// # Revisions
//
// A revision of a static pod has a number, a content, two hashes that identify it, object names, a status ConfigMap,
// and the manifest that its pod template makes on a node.
//
// Invariants:
//
//   - Equal [Content.ContentHash] means equal content, key by key: every hashed value is preceded by its length. The
//     order of keys does not matter.
//   - Equal [Content.RestartHash] means that a running process need not restart: only Secrets that it reloads by
//     itself may differ. ConfigMaps hold trust and manifests, which are read at start, so they always count. The
//     static pods of a node share one hash: what restarts one of them restarts all.
//   - [RenderManifest] makes only what the StaticPodClass of the rollout permits (see permits). It refuses a field that
//     neither the class nor this package knows. It bounds a text before expanding it and does not read YAML aliases.
//   - [NodeCopyName] gives different nodes different names, and never a name that [CopyName] gives.
//   - [RenderManifest] yields the same bytes for the same input. The pod mounts only the directory of its own revision, as
//     a whole: so the pointer in it can be swapped under a running process.
//
// # Mirror pods
//
// [Look] finds the revision in the mirror pod and in
// the records of installations. [Prove] compares the revision's copies with its recorded hashes. Trusts and Presents
// read them.
//
// Decisions depend on content, not on numbers. A pod's restart hash identifies the files that its process read at its
// start. Only a revision with that hash counts, regardless of its number, and only while its copies have the recorded
// hashes. So a revision that was recreated with the same number and other content proves nothing.
//
// Several static pods of one revision on a node count as one. The node runs with what all of them run with; while
// they differ, nothing is known.
//
// Leaves can be newer than the manifest, because a revision with the running restart hash is installed without a new
// manifest. The process presents the newest leaves recorded as installed on this node that no other manifest has
// followed. Records are by the node's UID: a node replaced under the same name has none. These leaves prove the trust
// as well, because revisions with the same restart hash have the same trust. If an operator restores a manifest,
// leaves installed under it count only from the next restart on. Until then the older leaves are reported, which
// delays dependent steps and is harmless.
//
// # Disks
//
// A [Layout] is where things are on the disk of a node. NAME is the rollout's name, R and M are revisions, M >= R:
//
//	MANIFESTS/NAME-pod.yaml                  what kubelet runs
//	RESOURCES/NAME-pod.lock                  held by the process that writes below
//	RESOURCES/NAME-pod-R/NAME-pod.yaml       the manifest of R, which mounts this directory
//	RESOURCES/NAME-pod-R/generation-M/       trust and leaves of M together, and generation.json, which lists them
//	RESOURCES/NAME-pod-R/current             a symbolic link to generation-M: the pointer
//	RESOURCES/NAME-pod-set-aside-TIME/       what a recovery has replaced
//
// A StaticPodClass may give the manifest another name, such as etcd.yaml. If a revision brings several static pods to
// a node, each has its own manifest in both of these places. All mount the same directory, so there is one pointer
// for all of them.
//
// The package reads over io/fs and writes nothing. Installer, pruner, doctor and recovery use it and see the same
// defects. The installer accepts no defect; doctor and recovery distinguish Harmless ones.
// controller/rollout/generation installs and prunes.
//
// A file system that is passed in must not follow symbolic links below its root (controller/durable complies). No
// value has a private key, and no defect quotes a file. Values are immutable. The package has no clock and starts no
// goroutine.
//
// # Diagnosis
//
// [Diagnose] finds what is inconsistent on the disk of a node that runs a static pod with certificates. It
// tells which generations on the disk would work, and what to reissue if none does. It is for an outage of the API
// server: `certrotation doctor` prints its findings, and `certrotation recover` executes its plans.
//
// A Sighting is the result of one handshake with a peer.
//
// Rules behind everything else:
//
//   - Certificates count; names, numbers and dates of files do not. A generation works if three things hold: its
//     files are the installed ones, each pair matches and chains to the generation's own trust, and everything is
//     valid now.
//   - In use are the directory that the manifest mounts and the generation that its pointer names. Only these can
//     have errors; a defect of another generation only means that it cannot help.
//   - A quorum accepts a generation if, together with this node, a majority of members accepts its leaf and
//     presents leaves that its trust verifies. An unreachable member has accepted nothing.
//   - A re-signed authority, with the same subject and key, replaces an expired one. So nodes that know nothing
//     of each other make certificates that all of them accept. Nothing else of the trust on a disk changes.
package nodepod
