// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/cmd/kubectl-certrotation/app"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/test/apifake"
)

var (
	pictureFile = flag.String("picture", "", "Where the picture of docs is written to, as PNG.")
	looksDir    = flag.String("looks", "", "A directory for all screenshots, for people who look at them.")
)

// Colours of the page in light.
var (
	blockedColour = color.RGBA{0xb3, 0x26, 0x1e, 0xff}
	nowColour     = color.RGBA{0xc2, 0x18, 0x5b, 0xff}
)

const kubeconfig = `{apiVersion: v1, kind: Config, current-context: production, contexts: [{name: production, context: {cluster: c}}]}`

// report has the command write a report, and returns its address.
func report(t *testing.T, domains ...*domain) string {
	t.Helper()
	return write(t, "report.html", []string{"report", "-A"}, domains...)
}

// write runs a command of the plugin, and returns the address of what it has printed.
func write(t *testing.T, name string, args []string, domains ...*domain) string {
	t.Helper()
	var objects []runtime.Object
	for _, d := range domains {
		objects = append(objects, d.objects...)
	}
	api := apifake.New(t, clocktesting.NewFakePassiveClock(now), objects...)
	api.Answer("certificaterotations/rotate", plan)
	dir := t.TempDir()
	config := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(config, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	var page, errOut bytes.Buffer
	code := app.Run(t.Context(), app.Config{
		Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &page, ErrOut: &errOut},
		Clock:   clocktesting.NewFakeClock(now),
		Getenv:  func(string) string { return "" },
		Client:  func(*genericclioptions.ConfigFlags) (versioned.Interface, error) { return api.Own, nil },

		TerminalWidth: func(io.Writer) int { return 0 },
	}, append(args, "--kubeconfig="+config))
	if code != 0 {
		t.Fatalf("%q exited with %d: %s", args, code, errOut.String())
	}
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return "file://" + file
}

func plan(r *apifake.Request) (runtime.Object, error) {
	switch r.Namespace {
	case "mesh":
		return nil, apierrors.NewForbidden(v1alpha1.Resource("certificaterotations/rotate"), r.Name, nil)
	case "billing":
		return nil, apierrors.NewConflict(v1alpha1.Resource("certificaterotations"), r.Name, errors.New(
			"OneRotation: a rotation of trust domain orders is in flight (stage Distributing); wait until it is Stable, or abort it"))
	}
	signer, bundle := "Secret/"+r.Name, "ConfigMap/"+strings.TrimSuffix(r.Name, "-signer")+"-ca-bundle"
	return &v1alpha1.RotationPlan{Target: r.Name, Hash: strings.Repeat("0123456789abcdef", 4), Steps: []v1alpha1.PlanStep{
		{Stage: v1alpha1.StageDistributing, Action: "GenerateNext", Object: signer, Message: "make a new CA that cannot sign yet"},
		{Stage: v1alpha1.StageDistributing, Action: "PublishAnchors", Object: bundle, Message: "trust the old and the new CA"},
		{
			Stage: v1alpha1.StageReissuing, Action: "Promote", Object: signer, Message: "sign with the new CA; keep the old key",
			WaitsFor: []string{"etcd/n1", "etcd/n2", "etcd/n3", "apiserver"},
		},
		{Stage: v1alpha1.StageRetiring, Action: "DestroyPrevious", Object: signer, Message: "destroy the old key"},
	}}, nil
}

// point is a place on the page with the colour that it must have.
type point struct{ X, Y int }

// sight is what the page says about its layout.
type sight struct {
	Title         string
	Width, Height int
	// Spilled are texts outside of the drawing or the box that has them. Overlong are elements outside of the page.
	Spilled, Overlong []string
	// Blocked are points in the badges of blocked domains, and Now points on the lines that mark now. Bars is how far
	// the passed part of each bar that has begun and not ended ends from that line, in pixels.
	Blocked, Now []point
	Bars         []float64
	// Domains and Graphs are counts.
	Domains, Graphs int
}

const look = `(() => {
  // Texts may be a pixel off: fonts are drawn on a grid.
  const edge = 1.5, all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const box = (e) => e.getBoundingClientRect();
  const outside = (inner, outer) => inner.left < outer.left - edge || inner.right > outer.right + edge ||
    inner.top < outer.top - edge || inner.bottom > outer.bottom + edge;
  const root = document.documentElement, seen = {Title: document.title || '', Width: root.scrollWidth, Height: root.scrollHeight};
  const spills = (e) => {
    const frame = e.parentNode.querySelector(':scope > rect.box');
    return outside(box(e), box(e.ownerSVGElement)) || (frame && outside(box(e), box(frame)));
  };
  const sticksOut = (e) => !e.closest('.wide') && !e.closest('svg') && (box(e).right > root.clientWidth + edge || box(e).left < -edge);
  seen.Spilled = all('svg text').filter(spills).map(e => e.textContent);
  seen.Overlong = all('body *').filter(sticksOut).map(e => e.tagName + ' ' + e.className + ' ' + e.textContent.slice(0, 40));
  seen.Blocked = all('article .badge.blocked').map(box)
    .map(b => ({X: Math.round(b.left + 5), Y: Math.round(b.top + scrollY + b.height / 2)}));
  seen.Now = all('.row svg .now').map(box)
    .map(b => ({X: Math.floor(b.left + b.width / 2), Y: Math.round(b.top + scrollY + 3)}));
  const lasting = (e) => ['.passed', '.left'].every(part => e.querySelector(part) && box(e.querySelector(part)).width > 0);
  seen.Bars = all('.row svg').filter(lasting).map(e => {
    const line = box(e.querySelector('.now'));
    return Math.abs(box(e.querySelector('.passed')).right - (line.left + line.right) / 2);
  });
  seen.Domains = all('article').length;
  seen.Graphs = all('svg.graph').length;
  return seen;
})()`

// TestExtendedReport looks at a report with several domains.
func TestExtendedReport(t *testing.T) {
	url := report(t, blocked(), healthy(), hostile(), large())
	browser := start(t)
	for _, tt := range []struct {
		width  int
		scheme string
	}{{1280, "light"}, {390, "light"}, {1280, "dark"}, {390, "dark"}} {
		t.Run(fmt.Sprintf("%d pixels, %s", tt.width, tt.scheme), func(t *testing.T) {
			browser.open(url, tt.width, tt.scheme)
			var seen sight
			browser.ask(look, &seen)
			if seen.Title != "Trust domains of all namespaces" || seen.Domains != 4 || seen.Graphs != 4 {
				t.Errorf("the page %q has %d domains and %d graphs, want 4", seen.Title, seen.Domains, seen.Graphs)
			}
			if seen.Width != tt.width {
				t.Errorf("the page is %d pixels wide, want %d", seen.Width, tt.width)
			}
			if len(seen.Spilled)+len(seen.Overlong) > 0 {
				t.Errorf("these texts spill: %q; these elements are too wide: %q", seen.Spilled, seen.Overlong)
			}
			picture, raw := browser.screenshot(tt.width, seen.Height)
			keep(t, fmt.Sprintf("report-%d-%s.png", tt.width, tt.scheme), raw)
			if tt.scheme == "dark" {
				if paper := color.RGBAModel.Convert(picture.At(2, 2)); paper != (color.RGBA{0x15, 0x18, 0x1c, 0xff}) {
					t.Errorf("the paper is %v in the dark", paper)
				}
				return
			}
			// One domain is blocked. Each CA and each leaf has a bar with the line: 5, 4, 3 and 51 of them.
			shows(t, picture, "the badge", blockedColour, seen.Blocked, 1)
			shows(t, picture, "the line of now", nowColour, seen.Now, 5+4+3+51)
			for i, off := range seen.Bars {
				if off > 1.5 {
					t.Errorf("bar %d: what has passed ends %.1f pixels from now", i, off)
				}
			}
			if len(seen.Bars) < 50 {
				t.Errorf("only %d bars have begun and not ended", len(seen.Bars))
			}
		})
	}
	if diff := cmp.Diff([]string{url, url, url, url}, browser.requests); diff != "" {
		t.Errorf("what the page asks for (-want +got):\n%s", diff)
	}
	if len(browser.complaints) > 0 {
		t.Errorf("the browser complains: %q", browser.complaints)
	}
}

// shows requires that many points, all in a colour on the screenshot.
func shows(t *testing.T, picture image.Image, what string, want color.RGBA, points []point, number int) {
	t.Helper()
	if len(points) != number {
		t.Errorf("%s is at %d places, want %d", what, len(points), number)
	}
	for _, p := range points {
		if got := color.RGBAModel.Convert(picture.At(p.X, p.Y)); got != want {
			t.Errorf("%s at %v has the colour %v, want %v", what, p, got, want)
		}
	}
}

// TestExtendedPicture makes the picture of docs: a report on two domains, of which one is blocked.
func TestExtendedPicture(t *testing.T) {
	browser := start(t)
	browser.open(report(t, blocked(), healthy()), 1280, "light")
	var seen sight
	browser.ask(look, &seen)
	picture, raw := browser.screenshot(1280, seen.Height)
	shows(t, picture, "the badge", blockedColour, seen.Blocked, 1)
	if *pictureFile != "" {
		if err := os.WriteFile(*pictureFile, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// keep writes a screenshot for people.
func keep(t *testing.T, name string, raw []byte) {
	t.Helper()
	if *looksDir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*looksDir, name), raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestExtendedDrawing looks at tree -o svg, which is a document of its own.
func TestExtendedDrawing(t *testing.T) {
	browser := start(t)
	browser.open(write(t, "tree.svg", []string{"tree", "-A", "-o", "svg"}, blocked(), hostile(), large()), 1280, "light")
	var seen sight
	browser.ask(look, &seen)
	if seen.Graphs != 1 || seen.Width != 1280 || len(seen.Spilled) > 0 {
		t.Errorf("it has %d drawings, is %d wide, and these texts spill: %q", seen.Graphs, seen.Width, seen.Spilled)
	}
	var titles int
	browser.ask(`document.querySelectorAll('text.title').length`, &titles)
	if titles != 3 {
		t.Errorf("it has the titles of %d domains, want 3", titles)
	}
	_, raw := browser.screenshot(1280, seen.Height)
	keep(t, "tree.png", raw)
}
