// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contenthash hashes the content of one Secret or ConfigMap: from the API object, or from the directory in
// which kubelet mounts it. Both hashes agree if the volume shows the whole object.
//
// Invariants:
//
//   - Equal keys with equal bytes have one hash, in a Secret, a ConfigMap (data and binaryData together) or
//     files. Names, labels, annotations and modes do not count.
//   - The length precedes every key and value, so different contents never make the same bytes.
//   - A directory is read from one generation of kubelet: its link ..data is resolved once. A mixture has no
//     hash.
//   - A content that SupersedeConfigMap or SupersedeSecret wrote lists the hashes of its predecessors, and its
//     own hash covers that list. So no content recurs, even if its anchors do: it would have to list itself. A
//     content is later than all that it lists. Those that a leaf's content lists have its certificate.
//   - Files and bytes of a directory are bounded. An entry that is not a file is an error, because no single
//     object shows it.
//
// The package is pure, except that it reads the given file system. It starts no goroutine.
package contenthash
