// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"maps"
	"slices"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/truststore"
)

// judgeKeys refuses to adopt a bundle whose programs may read another key than those that are written: they would go on
// with the anchors of today. It also refuses a key whose anchors the bundle lacks, as they would be lost.
func (j *judge) judgeKeys(b *Bundle) {
	if !b.Present || b.Unadopted() {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(b.Beside)) {
		if _, had := j.before.d.Bundle.Beside[key]; had {
			continue
		}
		written := slices.ContainsFunc(b.Stores, func(s TrustStore) bool { return s.Key == key })
		switch lost := differenceOf(b.Beside[key].Certificates, b.Anchors); {
		case !written:
			j.refuse(NeverEmpty, b.Ref(), nil, fmt.Sprintf("its key %s holds certificates, and the configuration does not name it: programs that read it would miss the next CA", key),
				"name it in additionalKeys of the bundle, or remove it if no program reads it")
		case len(lost) > 0:
			j.refuse(AnchorInUse, b.Ref(), nil, fmt.Sprintf("its key %s holds %s, which its key ca-bundle.crt lacks", key, subjectsOf(lost)),
				"add these anchors to ca-bundle.crt first")
		}
	}
}

// judgeKeystore refuses to adopt an object with a keystore, and to add one: its programs would go on with what it holds
// today, and a hash of the whole object would prove that they have loaded the rest.
func (j *judge) judgeKeystore(object string, is *Object, before, after string) {
	if after != "" && before != after && is.Present && !is.Unadopted() {
		j.refuse(ContentDecides, object, nil, fmt.Sprintf("its key %s is a keystore, which certrotation does not renew: its programs would miss the next certificate", after),
			"have certrotation keep it (additionalFormats of the bundle, keystores or additionalFormats of the leaf), or have its programs read PEM and remove the key, or leave the object to its issuer")
	}
}

// judgeStores refuses an edit that takes anchors from another key of the bundle: its programs would fail until the
// controller writes it again.
func (j *judge) judgeStores(old, b *Bundle) {
	for i := range b.Stores {
		store := &b.Stores[i]
		if store.Format != truststore.PEM {
			continue
		}
		var users []string
		lost := differenceOf(old.Beside[store.Key].Certificates, b.Beside[store.Key].Certificates)
		lost = slices.DeleteFunc(lost, func(ca *pki.Certificate) bool { return !j.before.inBundle[ca.Fingerprint] })
		for _, ca := range lost {
			users = append(users, j.before.neededBy(ca)...)
		}
		if len(users) > 0 {
			j.refuse(AnchorInUse, b.Ref(), sortedSet(users), fmt.Sprintf("its key %s would lose %s", store.Key, subjectsOf(lost)),
				"leave the key as it is: it is written with ca-bundle.crt")
		}
	}
}
