// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package browser looks at the report of kubectl certrotation in Chromium, as its reader does: at the width of a desk
// and of a telephone, in light and dark. It checks the layout, what the screenshot shows, and that the page asks for
// nothing.
//
// Its tests need Debian's chromium, and belong to the tier extended (hack/test.sh). "make pictures" has them write the
// picture in docs.
package browser
