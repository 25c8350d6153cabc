// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

// planOutput plans the files that the rest of the cluster needs. They are written before anything else changes. The
// recovery of the disk can be repeated, but a reissued client leaf that was not written is lost. The output of an
// earlier recovery is moved away.
func (r *recovery) planOutput(p *Plan, source *nodepod.Candidate, m *made, v *vault) error {
	if r.OutputDirectory == "" {
		return nil
	}
	files := map[string][]byte{}
	trust := source.Files().Trust
	if len(m.anchors[trust]) == 0 {
		return fmt.Errorf("the manifest of revision %d does not say which bundle verifies the peers", source.Directory.Revision)
	}
	files["etcd-ca-bundle.crt"] = pki.EncodeCertificates(m.anchors[trust]...)
	manifests := map[string]*corev1.Secret{}
	if err := errors.Join(v.signerManifests(manifests), r.leafManifests(manifests, m, v), r.clients(p, files, manifests, m, v)); err != nil {
		return err
	}
	for secretName, secret := range manifests {
		file := "3-leaf-" + secretName
		if inventory.HoldsAuthority(secret.Data) {
			file = "1-signer-" + secretName
		}
		if err := addManifest(files, file, secret); err != nil {
			return err
		}
	}
	for _, bundle := range v.bundleManifests() {
		if err := addManifest(files, "2-bundle-"+bundle.Name, bundle); err != nil {
			return err
		}
	}
	dir := r.OutputDirectory
	p.step(func() error {
		w := r.writer()
		if r.exists(dir) {
			w.Rename(name(dir), name(dir)+"-set-aside-"+r.attempt())
		} else {
			w.MkdirAll(name(filepath.Dir(dir)))
		}
		makeTree(w, dir, files, "")
		return w.Err
	}, "write %s to %s", strings.Join(slices.Sorted(maps.Keys(files)), ", "), dir)
	return nil
}

// addManifest adds a file to the manifests. kubectl applies a directory in the order of names. The webhook requires a
// signer before its anchor, and both before the leaves.
func addManifest(files map[string][]byte, name string, object any) error {
	text, err := yaml.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode manifest %s: %w", name, err)
	}
	files[filepath.Join("manifests", name+".yaml")] = text
	return nil
}

// signerManifests adds the signers with a re-signed CA, each with all its slots.
func (v *vault) signerManifests(into map[string]*corev1.Secret) error {
	for _, signer := range v.signers {
		secret := v.secrets[signer.Name]
		if !slices.ContainsFunc(signer.Authorities, func(ca *pki.Certificate) bool { return v.resigned[ca.Fingerprint] != nil }) {
			continue
		}
		out := v.manifest(signer.Name)
		for _, slot := range inventory.SignerSlots() {
			pairs, err := slot.Pairs(secret.Data)
			if err != nil {
				return fmt.Errorf("read signer %s: %w", signer.Name, err)
			}
			for i, pair := range pairs {
				pairs[i] = v.signing(pair.Certificate)
			}
			if err := slot.Put(out.Data, pairs...); err != nil {
				return fmt.Errorf("write signer %s: %w", signer.Name, err)
			}
		}
		into[signer.Name] = out
	}
	return nil
}

// bundleManifests returns the bundles that contain a re-signed CA, with its new certificate added. It goes first: BoringSSL
// and GnuTLS choose the first anchor of a name and key, expired or not.
func (v *vault) bundleManifests() []*corev1.ConfigMap {
	var out []*corev1.ConfigMap
	for _, cm := range v.bundles {
		former := []byte(cm.Data[inventory.BundleKey])
		anchors, err := pki.ParseAnchors(former)
		if err != nil {
			// The controller reports unreadable bundles.
			continue
		}
		added := v.added(anchors.Certificates)
		if len(added) == 0 {
			continue
		}
		out = append(out, &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: v.namespace, Name: cm.Name, Annotations: consentOf(cm)},
			Data:       map[string]string{inventory.BundleKey: string(pki.EncodeAnchors(former, append(added, anchors.Certificates...)...))},
		})
	}
	return out
}

// added returns the re-signed CAs of a bundle that it lacks.
func (v *vault) added(anchors []*pki.Certificate) []*pki.Certificate {
	var out []*pki.Certificate
	for _, anchor := range anchors {
		for _, fingerprint := range slices.Sorted(maps.Keys(v.resigned)) {
			c := v.resigned[fingerprint].Certificate
			if c.SubjectHash == anchor.SubjectHash && c.PublicKeyHash == anchor.PublicKeyHash &&
				!slices.ContainsFunc(slices.Concat(anchors, out), c.Equal) {
				out = append(out, c)
			}
		}
	}
	return out
}

// leafManifests adds the leaves of this node as they are on disk now, so that the API does not restore older ones.
func (r *recovery) leafManifests(into map[string]*corev1.Secret, m *made, v *vault) error {
	for name, pair := range m.leaves {
		secret, err := v.leafManifest(name, pair, m.anchorsOf(pair))
		if err != nil {
			return err
		}
		into[name] = secret
	}
	return nil
}

// clients reissues the leaves of clients whose Secrets are known.
func (r *recovery) clients(p *Plan, files map[string][]byte, into map[string]*corev1.Secret, m *made, v *vault) error {
	for _, name := range r.ClientSecrets {
		secret := v.secrets[name]
		if secret == nil {
			p.next("There is no Secret %s/%s to make a client certificate after; its users need another one.", r.Namespace, name)
			continue
		}
		pair, err := r.client(secret, v)
		if err != nil {
			return fmt.Errorf("reissue client leaf %s/%s: %w", r.Namespace, name, err)
		}
		key, err := pair.KeyPEM()
		if err != nil {
			return fmt.Errorf("encode client leaf %s/%s: %w", r.Namespace, name, err)
		}
		files[name+".crt"], files[name+".key"] = pair.CertPEM(), key
		if into[name], err = v.leafManifest(name, pair, m.anchorsOf(pair)); err != nil {
			return err
		}
	}
	return nil
}

// client reissues a client's leaf, or keeps it if it is still good.
func (r *recovery) client(secret *corev1.Secret, v *vault) (*pki.Pair, error) {
	certs, err := pki.ParseChain(secret.Data[inventory.ActiveCertKey])
	if err != nil {
		return nil, err
	}
	leaf, ca, err := nodepod.PlanLeaf(secret.Name, certs[0], v.signers, r.now)
	if err != nil {
		return nil, err
	}
	if leaf == nil {
		return inventory.ActivePair(secret.Data)
	}
	if ca != nil {
		if err := v.resign([]nodepod.Resign{*ca}, r.now); err != nil {
			return nil, err
		}
	}
	return v.signing(leaf.Authority).Issue(leaf.Profile, r.now)
}

// anchorsOf returns the anchors of the bundle that verifies a leaf.
func (m *made) anchorsOf(leaf *pki.Pair) []*pki.Certificate {
	for _, path := range slices.Sorted(maps.Keys(m.anchors)) {
		if slices.ContainsFunc(m.anchors[path], leaf.Certificate.SignedBy) {
			return m.anchors[path]
		}
	}
	return nil
}

func (v *vault) leafManifest(name string, pair *pki.Pair, anchors []*pki.Certificate) (*corev1.Secret, error) {
	key, err := pair.KeyPEM()
	if err != nil {
		return nil, fmt.Errorf("encode the key of leaf %s: %w", name, err)
	}
	out := v.newManifest(name, corev1.SecretTypeTLS)
	out.Data[inventory.ActiveCertKey], out.Data[inventory.ActiveKeyKey] = pair.CertPEM(), key
	if len(anchors) > 0 {
		out.Data[inventory.AuthorityKey] = pki.EncodeCertificates(anchors...)
	}
	return out, nil
}

// manifest returns an empty Secret with the type of the stored one, which is immutable.
func (v *vault) manifest(name string) *corev1.Secret {
	return v.newManifest(name, v.secrets[name].Type)
}

func (v *vault) newManifest(name string, kind corev1.SecretType) *corev1.Secret {
	if kind == "" {
		kind = corev1.SecretTypeTLS
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: v.namespace, Name: name, Annotations: v.consent(name)},
		Type:       kind,
		Data:       map[string][]byte{},
	}
}
