// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/generated/openapi"
)

func servedKinds() []string {
	return []string{
		"AbortRequest", "Acknowledgement", "AuthorityInstallation", "BundleStatus", "BundleStatusList", "CertificateRotation",
		"CertificateRotationList", "RotationPlan", "RotationRequest", "SigningRequest",
	}
}

func TestNewSchemeKnowsTheGroup(t *testing.T) {
	scheme := NewScheme()
	for _, kind := range servedKinds() {
		for _, gv := range []schema.GroupVersion{certrotation.SchemeGroupVersion, v1alpha1.SchemeGroupVersion} {
			if !scheme.Recognizes(gv.WithKind(kind)) {
				t.Errorf("%s is not registered in %s", kind, gv)
			}
		}
	}
	if want, got := []schema.GroupVersion{v1alpha1.SchemeGroupVersion}, scheme.PrioritizedVersionsForGroup(v1alpha1.GroupName); !cmp.Equal(want, got) {
		t.Errorf("versions are %v, want %v", got, want)
	}
	if !scheme.Recognizes(schema.GroupVersionKind{Version: "v1", Kind: "Status"}) {
		t.Error("Status is not registered")
	}
}

func TestQualifiedNames(t *testing.T) {
	if want, got := "kind.certrotation.dev", certrotation.Kind("kind").String(); want != got {
		t.Errorf("hub Kind is %s, want %s", got, want)
	}
	if want, got := "things.certrotation.dev", certrotation.Resource("things").String(); want != got {
		t.Errorf("hub Resource is %s, want %s", got, want)
	}
	if certrotation.Kind("kind") != v1alpha1.SchemeGroupVersion.WithKind("kind").GroupKind() || certrotation.Resource("x") != v1alpha1.Resource("x") {
		t.Error("the hub and the served version are of different groups")
	}
}

func TestFieldLabels(t *testing.T) {
	common := []string{"metadata.name", "metadata.namespace", "spec.signer", "spec.trustDomain", "status.stage"}
	for _, tc := range []struct {
		kind      string
		supported []string
		refused   []string
	}{
		{kind: "CertificateRotation", supported: append([]string{"spec.role"}, common...), refused: []string{"status.phase", "spec.bundle", ""}},
		{kind: "BundleStatus", supported: common, refused: []string{"spec.role"}},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			scheme, gvk := NewScheme(), v1alpha1.SchemeGroupVersion.WithKind(tc.kind)
			for _, label := range tc.supported {
				gotLabel, gotValue, err := scheme.ConvertFieldLabel(gvk, label, "value")
				if err != nil || gotLabel != label || gotValue != "value" {
					t.Errorf("%s becomes %s=%s, %v", label, gotLabel, gotValue, err)
				}
			}
			for _, label := range tc.refused {
				if _, _, err := scheme.ConvertFieldLabel(gvk, label, "value"); err == nil {
					t.Errorf("%q is not refused", label)
				}
			}
		})
	}
}

func TestAcknowledgementDefaultsAndConverts(t *testing.T) {
	scheme := NewScheme()
	codecs := NewCodecs(scheme)
	for _, tc := range []struct {
		name, body, want string
	}{
		{name: "member of the party's name", body: `"party":"p"`, want: "p"},
		{name: "member that is given", body: `"party":"p","member":"m"`, want: "m"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			data := `{"apiVersion":"certrotation.dev/v1alpha1","kind":"Acknowledgement","trusts":["f"],` + tc.body + `}`
			obj, err := runtime.Decode(codecs.UniversalDecoder(certrotation.SchemeGroupVersion), []byte(data))
			if err != nil {
				t.Fatal(err)
			}
			want := &certrotation.Acknowledgement{Party: "p", Member: tc.want, Trusts: []string{"f"}}
			if diff := cmp.Diff(want, obj); diff != "" {
				t.Errorf("hub object (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNegotiatedSerializerOffersText(t *testing.T) {
	codecs := NewCodecs(NewScheme())
	var got []string
	for _, info := range NewNegotiatedSerializer(codecs).SupportedMediaTypes() {
		got = append(got, info.MediaType)
	}
	if want := []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML}; !cmp.Equal(want, got) {
		t.Errorf("media types are %v, want %v", got, want)
	}
	// The factory itself still has protobuf: the options of the generic server need it.
	if !slices.ContainsFunc(codecs.SupportedMediaTypes(), func(info runtime.SerializerInfo) bool {
		return info.MediaType == runtime.ContentTypeProtobuf
	}) {
		t.Error("the codec factory was changed")
	}
}

// TestOpenAPINames: kubectl explain and server-side apply find a kind by the definition name that the scheme
// derives.
func TestOpenAPINames(t *testing.T) {
	definitions := openapi.GetOpenAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef("#/" + path) })
	scheme := NewScheme()
	for _, kind := range servedKinds() {
		name, err := scheme.ToOpenAPIDefinitionName(v1alpha1.SchemeGroupVersion.WithKind(kind))
		if err != nil {
			t.Errorf("name of %s: %v", kind, err)
			continue
		}
		if want := "dev.certrotation.v1alpha1." + kind; name != want {
			t.Errorf("name of %s is %s, want %s", kind, name, want)
		}
		if definition, ok := definitions[name]; !ok || definition.Schema.Description == "" {
			t.Errorf("%s has no definition with a description", name)
		}
	}
	condition := definitions[v1alpha1.CertificateRotationStatus{}.OpenAPIModelName()].Schema.Properties["conditions"]
	if got := condition.Extensions["x-kubernetes-list-type"]; got != "map" {
		t.Errorf("list type of conditions is %v, want map", got)
	}
	if _, ok := definitions[metav1.ObjectMeta{}.OpenAPIModelName()]; !ok {
		t.Error("ObjectMeta has no definition")
	}
}
