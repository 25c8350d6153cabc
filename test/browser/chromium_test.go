// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"os/exec"
	"testing"
	"time"
)

// maxLook bounds one test's use of Chromium.
const maxLook = 2 * time.Minute

// chromium is a running browser with one page. It speaks the DevTools protocol over pipes.
type chromium struct {
	t       *testing.T
	out     *os.File
	in      *bufio.Reader
	last    int
	loaded  bool
	session string
	// requests are the addresses that the page has asked for. complaints are what it has logged.
	requests, complaints []string
}

// message of the DevTools protocol: a request, a reply or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

type object = map[string]any

func start(t *testing.T) *chromium {
	t.Helper()
	commandIn, commandOut := pipe(t)
	answerIn, answerOut := pipe(t)
	cmd := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-dev-shm-usage", "--hide-scrollbars", "--disable-background-networking", "--force-color-profile=srgb",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe")
	cmd.ExtraFiles = []*os.File{commandIn, answerOut} // Descriptors 3 and 4.
	if err := cmd.Start(); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	for _, file := range cmd.ExtraFiles {
		_ = file.Close()
	}
	if err := answerIn.SetDeadline(time.Now().Add(maxLook)); err != nil {
		t.Fatal(err)
	}
	c := &chromium{t: t, out: commandOut, in: bufio.NewReader(answerIn)}
	t.Cleanup(func() {
		c.session = ""
		c.send("Browser.close", nil)
		_ = cmd.Wait()
	})
	var target struct{ TargetID string }
	c.call("Target.createTarget", object{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	c.call("Target.attachToTarget", object{"targetId": target.TargetID, "flatten": true}, &attached)
	c.session = attached.SessionID
	for _, domain := range []string{"Page", "Network", "Log"} {
		c.call(domain+".enable", nil, nil)
	}
	return c
}

func pipe(t *testing.T) (in, out *os.File) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), out.Close() })
	return in, out
}

// call makes a request and waits for its reply.
func (c *chromium) call(method string, params, result any) {
	c.t.Helper()
	c.send(method, params)
	for {
		m := c.read()
		if m.ID != c.last {
			continue
		}
		if m.Error != nil {
			c.t.Fatalf("%s: %s", method, m.Error)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				c.t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
}

func (c *chromium) send(method string, params any) {
	c.t.Helper()
	c.last++
	raw, err := json.Marshal(message{ID: c.last, Session: c.session, Method: method, Params: params})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.out.Write(append(raw, 0)); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

// read takes the next message, and remembers what events say about the page.
func (c *chromium) read() message {
	c.t.Helper()
	raw, err := c.in.ReadBytes(0)
	if err != nil {
		c.t.Fatalf("read from chromium: %v", err)
	}
	var m message
	var event struct {
		Params struct {
			Request struct{ URL string }
			Entry   struct{ Text string }
		}
	}
	raw = bytes.TrimSuffix(raw, []byte{0})
	if err := json.Unmarshal(raw, &m); err != nil {
		c.t.Fatalf("decode %s: %v", raw, err)
	}
	if err := json.Unmarshal(raw, &event); err != nil {
		c.t.Fatalf("decode %s: %v", raw, err)
	}
	switch m.Method {
	case "Network.requestWillBeSent":
		c.requests = append(c.requests, event.Params.Request.URL)
	case "Page.loadEventFired":
		c.loaded = true
	case "Log.entryAdded":
		c.complaints = append(c.complaints, event.Params.Entry.Text)
	}
	return m
}

// open shows a page at a width, in the colours of scheme, and waits until it is complete.
func (c *chromium) open(url string, width int, scheme string) {
	c.t.Helper()
	c.call("Emulation.setDeviceMetricsOverride", object{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
	c.call("Emulation.setEmulatedMedia", object{"features": []object{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	c.loaded = false
	c.call("Page.navigate", object{"url": url}, nil)
	for !c.loaded {
		c.read()
	}
}

// ask evaluates an expression in the page, also where its content security policy permits no script.
func (c *chromium) ask(expression string, result any) {
	c.t.Helper()
	var reply struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	c.call("Runtime.evaluate", object{"expression": expression, "returnByValue": true}, &reply)
	if reply.ExceptionDetails != nil {
		c.t.Fatalf("evaluate %s: %s", expression, reply.ExceptionDetails)
	}
	if err := json.Unmarshal(reply.Result.Value, result); err != nil {
		c.t.Fatalf("evaluate %s: %v", expression, err)
	}
}

// screenshot is a picture of the page from its top down to a height.
func (c *chromium) screenshot(width, height int) (image.Image, []byte) {
	c.t.Helper()
	var reply struct{ Data []byte }
	c.call("Page.captureScreenshot", object{
		"format": "png", "captureBeyondViewport": true,
		"clip": object{"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
	}, &reply)
	picture, err := png.Decode(bytes.NewReader(reply.Data))
	if err != nil {
		c.t.Fatalf("decode the screenshot: %v", err)
	}
	if size := picture.Bounds().Size(); size != image.Pt(width, height) {
		c.t.Fatalf("the screenshot has the size %v, want %v", size, image.Pt(width, height))
	}
	return picture, reply.Data
}
