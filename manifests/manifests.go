// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests embeds the CustomResourceDefinitions that are installed, for programs that check objects by them.
package manifests

import "embed"

// Definitions are the files crds/GROUP_RESOURCE.yaml.
//
//go:embed crds/*_*.yaml
var Definitions embed.FS
