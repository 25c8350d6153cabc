// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package picture draws trust domains: as a graph in DOT, Mermaid and SVG, and as a report, which is one HTML page.
//
// It knows no API and no clock: the caller says what is on a picture. Names and subjects in it may be chosen by an
// attacker. Each format escapes all texts itself: DOT and Mermaid by a list of harmless characters, SVG and HTML by
// html/template. Identifiers of nodes come from this package and the caller, never from a text.
//
// A report needs nothing from elsewhere: it has no script, no link to other pages and no external resource, and its
// content security policy forbids them.
package picture
