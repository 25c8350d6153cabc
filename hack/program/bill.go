// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

const (
	noAssertion = "NOASSERTION"
	programID   = "Package-certrotation"
	// namespaceOfBills and the hash of the program name a bill of materials.
	namespaceOfBills = "https://certrotation.dev/spdx/certrotation-"
)

// Source is what a program is built of.
type Source struct {
	Version, Commit string
	// Date of the commit.
	Date time.Time
}

// WriteBill writes what a program is made of: itself, the modules that are linked into it, and the toolchain.
func (of Source) WriteBill(program, file string) (err error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read what %s was built of: %w", program, err)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return json.Write(of.bill(info, sha256.Sum256(content)), out, json.Indent("  "))
}

func (of Source) bill(info *debug.BuildInfo, sum [sha256.Size]byte) *v2_3.Document {
	hash := hex.EncodeToString(sum[:])
	program := packageOf(programID, info.Main.Path, of.Version)
	program.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: hash}}
	program.PackageLicenseDeclared, program.PrimaryPackagePurpose = "Apache-2.0", "APPLICATION"
	program.PackageSourceInfo = "commit " + of.Commit
	doc := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: path.Base(info.Path) + " " + of.Version, DocumentNamespace: namespaceOfBills + hash,
		CreationInfo: &v2_3.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "certrotation.dev/hack/program"}}, Created: of.Date.UTC().Format(time.RFC3339),
		},
		Packages: []*v2_3.Package{program},
		Relationships: []*v2_3.Relationship{{
			RefA: common.MakeDocElementID("", "DOCUMENT"), RefB: common.MakeDocElementID("", programID), Relationship: common.TypeRelationshipDescribe,
		}},
	}
	link(doc, packageOf("Package-go", "stdlib", info.GoVersion))
	for i, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		p := packageOf("Package-module-"+strconv.Itoa(i), m.Path, m.Version)
		// The checksum of go.sum is one of a module's files, and none of SPDX's algorithms.
		p.PackageComment = m.Sum
		link(doc, p)
	}
	return doc
}

// packageOf is a Go module.
func packageOf(id, path, version string) *v2_3.Package {
	return &v2_3.Package{
		PackageSPDXIdentifier: common.ElementID(id), PackageName: path, PackageVersion: version,
		PackageDownloadLocation: noAssertion, PackageLicenseConcluded: noAssertion, PackageLicenseDeclared: noAssertion, PackageCopyrightText: noAssertion,
		PackageExternalReferences: []*v2_3.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: "pkg:golang/" + path + "@" + url.PathEscape(version),
		}},
	}
}

// link adds what is linked into the program.
func link(doc *v2_3.Document, p *v2_3.Package) {
	doc.Packages = append(doc.Packages, p)
	doc.Relationships = append(doc.Relationships, &v2_3.Relationship{
		RefA: common.MakeDocElementID("", programID), RefB: common.MakeDocElementID("", string(p.PackageSPDXIdentifier)), Relationship: common.TypeRelationshipDependsOn,
	})
}
