// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/nodepod"
)

// recoveredPrefix marks the hashes of recovered content, so that they match no revision of the API.
const recoveredPrefix = "recovered-"

// planReissue reissues everything that has expired, based on the newest generation with intact content.
func (r *recovery) planReissue(ctx context.Context) (*Plan, error) {
	source, err := r.source()
	if err != nil {
		return nil, err
	}
	if err := refuseRunning(ctx, source.Manifest, r.dataDirectory()); err != nil {
		return nil, fmt.Errorf("reissue after generation %s: %w", source.ID(), err)
	}
	found, err := r.stored()
	if err != nil {
		return nil, err
	}
	v, err := newVault(r.Namespace, found.secrets)
	if err != nil {
		return nil, err
	}
	v.bundles = found.bundles
	reissue, err := nodepod.PlanReissue(source.Generation, v.signers, r.now)
	if err != nil {
		return nil, fmt.Errorf("reissue after generation %s: %w", source.ID(), err)
	}
	if reissue.NothingToDo() {
		return nil, fmt.Errorf("generation %s works by itself and nothing in it has expired: there is nothing to reissue", source.ID())
	}
	return r.describeReissue(source, reissue, v, max(found.latest, r.latest()))
}

// source returns the generation in use if its content is intact, or else the newest intact one.
func (r *recovery) source() (*nodepod.Candidate, error) {
	intact := nodepod.Intact(r.disk)
	if len(intact) == 0 {
		return nil, errors.New("no generation on this disk is whole: bring one back from a backup of " + r.ResourceDirectory +
			", or make this node anew and let it join")
	}
	if at := slices.IndexFunc(intact, func(c nodepod.Candidate) bool { return r.inUse(&c) }); at >= 0 {
		return &intact[at], nil
	}
	return &intact[0], nil
}

// objects are what a reissue reads of the API.
type objects struct {
	secrets []*corev1.Secret
	bundles []*corev1.ConfigMap
	// latest is the highest revision in the API, or 0 if unknown.
	latest int
}

// stored reads the given files, or etcd's data.
func (r *recovery) stored() (*objects, error) {
	d, err := newDecoder()
	if err != nil {
		return nil, err
	}
	out := &objects{}
	for _, file := range r.SecretFiles {
		found, err := d.secretFile(file)
		if err != nil {
			return nil, fmt.Errorf("read Secrets: %w", err)
		}
		out.secrets = append(out.secrets, found...)
	}
	if len(r.SecretFiles) > 0 {
		return out, nil
	}
	dir := r.dataDirectory()
	if dir == "" {
		return nil, errors.New("the manifest does not say where etcd's data is: give --data-dir, or the Secrets of the signers with --secret-file")
	}
	data, err := openEtcdData(dir)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	if out.secrets, err = d.storedSecrets(data, r.EtcdPrefix, r.Namespace); err != nil {
		return nil, err
	}
	if out.bundles, err = d.storedBundles(data, r.EtcdPrefix, r.Namespace); err != nil {
		return nil, err
	}
	out.latest, err = latestRevision(data, r.EtcdPrefix, r.Namespace)
	return out, err
}

// latestRevision returns the highest revision in the API, or 0 if there is none.
func latestRevision(data *etcdData, prefix, namespace string) (int, error) {
	statuses, err := data.newest(stored(prefix, "configmaps", namespace) + strings.TrimSuffix(nodepod.StatusName(0), "0"))
	latest := 0
	for key := range statuses {
		if n, ok := nodepod.ParseStatusName(path.Base(key)); ok {
			latest = max(latest, n)
		}
	}
	return latest, err
}

func (r *recovery) describeReissue(source *nodepod.Candidate, reissue *nodepod.Reissue, v *vault, number int) (*Plan, error) {
	p := &Plan{}
	for _, again := range reissue.Resign {
		p.Steps = append(p.Steps, fmt.Sprintf("re-sign the CA %s of Secret %s/%s, which expired at %s: same key, same subject",
			again.Certificate.Subject, r.Namespace, again.Secret, stamp(again.Certificate.NotAfter)))
	}
	for _, leaf := range reissue.Leaves {
		p.Steps = append(p.Steps, fmt.Sprintf("reissue the leaf %s, which expired at %s, for another %s", leaf.Name, stamp(leaf.Expired), leaf.Profile.Validity))
	}
	for _, trust := range reissue.Trust {
		for _, ca := range trust.Dropped {
			p.Steps = append(p.Steps, fmt.Sprintf("leave the anchor %s out of %s: it expired at %s and its key is lost", ca.Subject, trust.Path, stamp(ca.NotAfter)))
		}
	}
	made, err := makeGeneration(source.Generation, reissue, v, r.now)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(r.ResourceDirectory, r.DirectoryName(number))
	tree, err := r.tree(source, made, number)
	if err != nil {
		return nil, err
	}
	if err := r.planOutput(p, source, made, v); err != nil {
		return nil, err
	}
	p.step(func() error { return r.installDirectory(dir, tree, number) }, "write generation %d/%d to %s", number, number, dir)
	p.putManifest(r, &nodepod.Directory{Revision: number, Path: dir})
	r.explainReissue(p)
	return p, nil
}

// latest returns the highest number of a directory or generation on this disk.
//
// A recovery reuses the number of the latest revision on disk or in the API. The API continues counting from there,
// and a new number would later collide with a revision of other content and stop its installer. The installer refuses
// the reused number itself, which is right: its content in the API has expired.
func (r *recovery) latest() int {
	last := 1
	for _, d := range r.disk.Directories {
		last = max(last, d.Revision)
	}
	for _, g := range r.disk.Generations() {
		last = max(last, g.Number)
	}
	return last
}

// tree returns the files of a revision's directory: its manifest and its only generation. The pointer is a link and
// not included.
func (r *recovery) tree(source *nodepod.Candidate, m *made, number int) (map[string][]byte, error) {
	text, err := nodepod.ReadFile(r.root, name(source.Manifest.Path), nodepod.MaxManifestBytes)
	if err != nil {
		return nil, err
	}
	now := &nodepod.Record{Revision: number, Node: source.Record.Node, Files: nodepod.Hashes(m.files), RecoveredFrom: source.ID()}
	listed, err := json.Marshal(now.Files)
	if err != nil {
		return nil, err
	}
	now.ContentHash = recoveredPrefix + nodepod.Hash(listed)
	now.RestartHash = recoveredPrefix + nodepod.Hash(append(listed, text...))
	tree := map[string][]byte{}
	dir := nodepod.GenerationName(number)
	for file, data := range m.files {
		tree[path.Join(dir, file)] = data
	}
	if tree[r.ManifestName()], err = moveManifest(text, r.Name, source.Directory.Revision, number, now.RestartHash); err != nil {
		return nil, fmt.Errorf("make the manifest of revision %d: %w", number, err)
	}
	tree[path.Join(dir, nodepod.RecordName)], err = now.Encode()
	return tree, err
}

func (r *recovery) explainReissue(p *Plan) {
	p.next("Run the same command on every other member. Each works alone: re-signed authorities keep key and subject, so all of them accept each other.")
	p.next("Start kubelet (systemctl start kubelet): it starts etcd from the new manifest. It serves when a majority of the members is back: `certrotation doctor` probes the peers.")
	if r.OutputDirectory == "" {
		p.next("Nothing was written for the API server (--output-dir was empty).")
		return
	}
	out := r.OutputDirectory
	p.next("Give the kube-apiserver of this node %s (--etcd-cafile) and the pair %s, .key (--etcd-certfile, --etcd-keyfile), and restart it.",
		filepath.Join(out, "etcd-ca-bundle.crt"), filepath.Join(out, "etcd-client.crt"))
	p.next("As soon as the API serves, before the certrotation controller runs: `kubectl apply --server-side --force-conflicts --field-manager=certrotation-recover -f %s`, so that "+
		"API and disk agree. Do this with the output of every node; the signers are the same in all of them. Until then the API knows the "+
		"expired signer only. A controller that runs leaves it alone while it sees, by a tlsProbe, members that were recovered, and says so.", filepath.Join(out, "manifests"))
	p.next("Then the controller reissues what else has expired and brings a revision of its own to the nodes, one at a time.")
	p.next("%s and %s hold private keys: remove them when the cluster is healthy.", out, r.asideDirectory())
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
