// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contenthash names the content of one Secret or ConfigMap by a hash: of the object as the API server has it, and of
// the directory in which kubelet shows it to a container. Both agree if the volume shows the whole object.
//
// Invariants:
//
//   - Equal keys with equal bytes have one hash, whether they are a Secret, a ConfigMap (data and binaryData together) or
//     files. Names, labels, annotations and modes do not count.
//   - Every key and every value is preceded by its length, so that different contents never make the same bytes.
//   - A directory is read from one generation of kubelet's: what its link ..data leads to is resolved once. A mixture of two
//     generations has no hash.
//   - A content that SupersedeConfigMap or SupersedeSecret has written names those before it, and the hash is over that too. So none
//     comes back, however often the same anchors do: it would have to name itself. And one that names another is later than that.
//     Those that the content of a leaf names have its certificate.
//   - A directory is bounded in files and bytes; anything but files in it is an error, as it is not what one object shows.
//
// It is pure, but for reading the file system that it is given, and starts no goroutine.
package contenthash
