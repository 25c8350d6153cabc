// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

// page is what an HTML page has.
type page struct {
	text     string
	elements []string
	// addresses are the values of attributes that name something to load or to go to. handlers are attributes with
	// script or style.
	addresses, handlers []string
	policy              string
}

func parsePage(t *testing.T, text string) *page {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	p := &page{}
	for n := range root.Descendants() {
		switch {
		case n.Type == html.TextNode && n.Parent.Data != "style":
			p.text += n.Data + "\n"
		case n.Type == html.ElementNode:
			p.element(n)
		}
	}
	return p
}

func (p *page) element(n *html.Node) {
	p.elements = append(p.elements, n.Data)
	for _, a := range n.Attr {
		switch {
		case slices.Contains([]string{"href", "src", "action", "data", "srcset", "poster", "background"}, a.Key):
			p.addresses = append(p.addresses, a.Val)
		case a.Key == "style", strings.HasPrefix(a.Key, "on"):
			p.handlers = append(p.handlers, a.Key)
		case n.Data == "meta" && a.Key == "content" && strings.HasPrefix(a.Val, "default-src"):
			p.policy = a.Val
		}
	}
}

func TestReport(t *testing.T) {
	injected := leaf(`x"><script>alert(1)</script>`, oldCA, func(o *v1alpha1.CertificateRotation) {
		o.Status.Certificate.Subject = "CN=</style></svg><img src=x onerror=alert(2)>]]>\u202e"
	})
	forbidden := apierrors.NewForbidden(v1alpha1.Resource("certificaterotations/rotate"), "service-signer", errors.New("no"))
	conflict := apierrors.NewConflict(v1alpha1.Resource("certificaterotations"), "service-signer", errors.New("another rotation is in flight"))
	tests := []struct {
		name    string
		objects []runtime.Object
		plan    *v1alpha1.RotationPlan
		refusal error
		want    []string
	}{
		{name: "of a domain with everything", objects: append(domain(), injected), plan: plan(), want: []string{
			"Trust domains of namespace demo", "demo/service", "Distributing for 2m, deadline in 58m", "2026-03-01T12:00:00Z",
			"CN=service@1", "CN=service@2", `CN=alien\u001b[2J`, "service-server", "service-client-a", "service-client-b", "service-client-c",
			"server", "client-a", "client-b", "tlsProbe", "acknowledgement", "does not trust, acknowledgement",
			"has not loaded CN=service@2: make it reload its trust bundle and acknowledge",
			"no certificate", "Secret/service-client-c does not exist", "expired 3h ago", "expires in 364d", "service-client-b: signed by an unknown CA, expires in 364d",
			"GenerateNext", "DestroyPrevious", "clients/client-a, clients/client-b, server", plan().Hash,
			`x"><script>alert(1)</script>`, `CN=</style></svg><img src=x onerror=alert(2)>]]>\u202e, signed by active, cccccccccccc`,
		}},
		{name: "without the right to plan", objects: domain(), refusal: forbidden, want: []string{
			"No plan: the report was made without the right to create certificaterotations/rotate in the namespace demo.",
		}},
		{name: "when the server has no plan", objects: domain(), refusal: conflict, want: []string{"No plan: another rotation is in flight"}},
		{name: "of what people have decided", objects: other(), plan: plan(), want: []string{
			"verifies nothing", "waived until 2026-03-02T12:00:00Z by ada: INC-7: host is gone", "unknown", "has last acknowledged 3h ago",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShell(t, tt.objects...)
			s.answer("rotate", tt.plan, tt.refusal)
			args := []string{"report"}
			if tt.objects[0].(*v1alpha1.CertificateRotation).Namespace != "demo" {
				args = append(args, "-A")
			}
			p := parsePage(t, s.ok(t, args...))
			lines := strings.Split(p.text, "\n")
			for _, want := range tt.want {
				if !slices.Contains(lines, want) {
					t.Errorf("no text is %q", want)
				}
			}
			p.needsNothing(t)
		})
	}
}

// needsNothing requires that a page cannot load or run anything.
func (p *page) needsNothing(t *testing.T) {
	t.Helper()
	for _, element := range []string{"script", "img", "link", "iframe", "object", "form", "base", "foreignobject", "use", "image"} {
		if slices.Contains(p.elements, element) {
			t.Errorf("it has an element %s", element)
		}
	}
	for _, address := range p.addresses {
		if !strings.HasPrefix(address, "#domain-") {
			t.Errorf("it has the address %q", address)
		}
	}
	if len(p.handlers) > 0 {
		t.Errorf("it has the attributes %q", p.handlers)
	}
	if want := "default-src 'none'; style-src 'unsafe-inline'; img-src data:"; p.policy != want {
		t.Errorf("its policy is %q, want %q", p.policy, want)
	}
}

func TestReportChangesNothing(t *testing.T) {
	s := newShell(t, domain()...)
	s.answer("rotate", plan(), nil)
	s.ok(t, "report")
	if options := s.posted(t, "rotate").CreateOptions; !slices.Equal(options.DryRun, []string{"All"}) {
		t.Errorf("the request has the options %v, want a dry run", options)
	}
}

func TestReportRefused(t *testing.T) {
	tests := []struct {
		name    string
		args    []string
		rotate  error
		objects []runtime.Object
		code    int
		want    string
	}{
		{name: "another format", args: []string{"-o", "pdf"}, code: 1, want: `unknown output format "pdf": use html, or tree -o json for a program`},
		{name: "a name in all namespaces", args: []string{"-A", "x"}, code: 1, want: "a name and --all-namespaces cannot be combined"},
		{name: "nothing", want: "No trust domains found in namespace demo."},
		{name: "no connection", objects: domain(), rotate: errors.New("connection refused"), code: 1, want: "rotate demo/service-signer: connection refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShell(t, tt.objects...)
			if tt.rotate != nil {
				s.answer("rotate", (*v1alpha1.RotationPlan)(nil), tt.rotate)
			}
			if code := s.run(t.Context(), append([]string{"report"}, tt.args...)...); code != tt.code || s.out.Len() > 0 {
				t.Errorf("it exited with %d, want %d, and printed %q", code, tt.code, s.out.String())
			}
			if !strings.Contains(s.errOut.String(), tt.want) {
				t.Errorf("it says %q, want %q", s.errOut.String(), tt.want)
			}
		})
	}
}
