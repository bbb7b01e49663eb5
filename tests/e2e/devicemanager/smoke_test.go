// The self-check: shows with a plugin of its own that the harness does what README.md says.
package main

import (
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const widget = "example.com/widget"

type nodeStatus struct {
	Capacity    map[string]int64
	Allocatable map[string]int64
	Removed     []string
}

type container struct {
	Allocations map[string]struct {
		IDs      []string
		Response struct{ Envs map[string]string }
	}
	Options struct {
		Envs    []struct{ Name, Value string }
		Devices []struct{ PathOnHost, PathInContainer, Permissions string }
	}
}

func expectCounts(t *testing.T, h *harness, capacity, allocatable int64) {
	t.Helper()
	var status nodeStatus
	h.must("capacity", &status)
	if status.Capacity[widget] != capacity || status.Allocatable[widget] != allocatable {
		t.Fatalf("want capacity %d and allocatable %d, have %+v", capacity, allocatable, status)
	}
}

func expectIDs(t *testing.T, h *harness, command string, ids ...string) {
	t.Helper()
	var started container
	h.must(command, &started)
	env := strings.Join(ids, ",")
	allocation := started.Allocations[widget]
	if !reflect.DeepEqual(allocation.IDs, ids) || allocation.Response.Envs["IDS"] != env {
		t.Fatalf("%s: want %v, have %+v", command, ids, allocation)
	}
	if len(started.Options.Envs) != 1 || started.Options.Envs[0].Value != env {
		t.Fatalf("%s: want IDS=%s, have %+v", command, env, started.Options.Envs)
	}
	if len(started.Options.Devices) != 1 || started.Options.Devices[0].PathInContainer != "/dev/smoke" {
		t.Fatalf("%s: want /dev/smoke, have %+v", command, started.Options.Devices)
	}
}

func attach(t *testing.T, h *harness, p *plugin) {
	t.Helper()
	p.mustRegister(widget)
	h.awaitEvent("connected", widget)
	h.awaitEvent("listed", widget)
}

func TestARegisteredPluginIsListedAndCounted(t *testing.T) {
	h := startHarness(t, t.TempDir())
	p := servePlugin(t, h.directory, "a.sock", healthy("x"), unhealthy("y"))
	p.mustRegister(widget)
	h.awaitEvent("connected", widget)
	listed := h.awaitEvent("listed", widget)
	if len(listed.Devices) != 2 || listed.Devices[1].ID != "y" || listed.Devices[1].Health != "Unhealthy" {
		t.Fatalf("listed: %+v", listed.Devices)
	}
	expectCounts(t, h, 2, 1)

	p.lists <- nil
	if listed := h.awaitEvent("listed", widget); listed.Devices == nil || len(listed.Devices) != 0 {
		t.Fatalf("listed: %+v", listed.Devices)
	}
	expectCounts(t, h, 0, 0)
}

func TestARefusedRegistrationIsLogged(t *testing.T) {
	h := startHarness(t, t.TempDir())
	p := servePlugin(t, h.directory, "a.sock")
	if err := p.register("no-domain"); err == nil {
		t.Fatal("registered")
	}
	h.await("the request", func(line said) bool {
		return strings.HasPrefix(line.Log.Msg, "Got registration request") && line.Log.ResourceName == "no-domain"
	})
	h.await("the refusal", func(line said) bool {
		return strings.HasPrefix(line.Log.Msg, "Bad registration request")
	})
}

func TestAPodGetsDevicesAndGivesThemBack(t *testing.T) {
	h := startHarness(t, t.TempDir())
	attach(t, h, servePlugin(t, h.directory, "a.sock", healthy("x"), healthy("y")))
	expectIDs(t, h, "allocate "+widget+" 2 first", "x", "y")

	var devices map[string]map[string]struct {
		Healthy bool
		Pod     string
	}
	h.must("devices", &devices)
	if x := devices[widget]["x"]; !x.Healthy || x.Pod != "first" {
		t.Fatalf("devices: %+v", devices)
	}
	if text := h.mustFail("allocate " + widget + " 1 second"); !strings.Contains(text, "Requested: 1, Available: 0") {
		t.Fatal(text)
	}
	h.must("free first", nil)
	devices = nil
	h.must("devices", &devices)
	if x := devices[widget]["x"]; x.Pod != "" {
		t.Fatalf("devices: %+v", devices)
	}
	expectIDs(t, h, "allocate "+widget+" 2 second", "x", "y")
}

func TestHintsNameTheNodesThatHaveDevices(t *testing.T) {
	h := startHarness(t, t.TempDir(), "-numa", "0,1", "-topology-policy", "single-numa-node")
	attach(t, h, servePlugin(t, h.directory, "a.sock", onNode(healthy("x"), 0), onNode(healthy("y"), 1)))
	var hints map[string][]struct {
		Nodes     []int
		Preferred bool
	}
	h.must("hints "+widget+" 2 p", &hints)
	if len(hints[widget]) != 1 || !reflect.DeepEqual(hints[widget][0].Nodes, []int{0, 1}) {
		t.Fatalf("hints: %+v", hints)
	}
	if text := h.mustFail("allocate " + widget + " 2 p"); !strings.HasPrefix(text, "TopologyAffinityError") {
		t.Fatal(text)
	}
}

func TestAHangingAllocateHidesNothingAndEndsWithTheKubelet(t *testing.T) {
	h := startHarness(t, t.TempDir())
	p := servePlugin(t, h.directory, "a.sock", healthy("x"))
	p.hang.Store(true)
	attach(t, h, p)
	hanging := h.send("allocate " + widget + " 1 p")
	p.await("Allocate", p.asked)
	expectCounts(t, h, 1, 1)
	h.must("stop", nil)
	if answer := h.awaitAnswer(hanging); !strings.HasPrefix(answer.Error, "UnexpectedAdmissionError") {
		t.Fatalf("%+v", answer)
	}
}

func TestPodsKeepTheirDevicesOverARestart(t *testing.T) {
	h := startHarness(t, t.TempDir())
	first := servePlugin(t, h.directory, "a.sock", healthy("x"), healthy("y"))
	attach(t, h, first)
	expectIDs(t, h, "allocate "+widget+" 2 p", "x", "y")

	h.must("restart", nil)
	first.await("the stream's end", first.left)
	if started := h.awaitEvent("started", ""); started.Kubelet != 2 {
		t.Fatalf("%+v", started)
	}
	expectCounts(t, h, 0, 0)
	expectIDs(t, h, "options p", "x", "y")

	second := servePlugin(t, h.directory, "b.sock", healthy("x"), healthy("y"))
	attach(t, h, second)
	expectCounts(t, h, 2, 2)
	expectIDs(t, h, "allocate "+widget+" 2 p", "x", "y")
	if calls := len(first.asked) + len(second.asked); calls != 1 {
		t.Fatalf("%d calls of Allocate", calls)
	}
}

func TestPodsKeepTheirDevicesWhenTheProcessIsKilled(t *testing.T) {
	h := startHarness(t, t.TempDir())
	first := servePlugin(t, h.directory, "a.sock", healthy("x"))
	attach(t, h, first)
	expectIDs(t, h, "allocate "+widget+" 1 p", "x")

	h.kill()
	first.await("the stream's end", first.left)
	if connection, err := net.Dial("unix", h.socket()); err == nil {
		connection.Close()
		t.Fatal("a killed kubelet still accepts")
	}
	if _, err := os.Lstat(h.socket()); err != nil {
		t.Fatal("a killed kubelet leaves a stale socket: ", err)
	}

	h = startHarness(t, h.directory)
	if _, err := os.Lstat(filepath.Join(h.directory, "a.sock")); !os.IsNotExist(err) {
		t.Fatal("a kubelet that starts empties its directory: ", err)
	}
	attach(t, h, servePlugin(t, h.directory, "b.sock", healthy("x")))
	if text := h.mustFail("allocate " + widget + " 1 other"); !strings.Contains(text, "Available: 0") {
		t.Fatal(text)
	}
	expectIDs(t, h, "allocate "+widget+" 1 p", "x")
}

func TestTheEndOfAStaleStreamTakesTheNewOneWithItTo136(t *testing.T) {
	h := startHarness(t, t.TempDir())
	old := servePlugin(t, h.directory, "old.sock", healthy("x"))
	attach(t, h, old)
	replacement := servePlugin(t, h.directory, "new.sock", healthy("x"))
	attach(t, h, replacement)
	expectCounts(t, h, 1, 1)

	close(old.leave)
	if servesPodsAPI { // such a kubelet knows a stream by its socket
		h.awaitEvent("disconnected", widget)
		expectCounts(t, h, 1, 1)
		return
	}
	replacement.await("the stream's end", replacement.left)
	h.awaitEvent("disconnected", widget)
	expectCounts(t, h, 1, 0)
}

func TestTheTestCanEndAndDoubleStreams(t *testing.T) {
	h := startHarness(t, t.TempDir())
	p := servePlugin(t, h.directory, "a.sock", healthy("x"))
	attach(t, h, p)
	h.must("double "+widget, nil)
	h.awaitEvent("doubling", widget)
	h.awaitEvent("connected", widget)
	expectCounts(t, h, 1, 1)

	h.must("drop "+widget, nil)
	p.await("the older stream's end", p.left)
	if servesPodsAPI {
		h.awaitEvent("disconnected", widget)
		expectCounts(t, h, 1, 1)
		return
	}
	p.await("the newer stream's end", p.left)
	h.awaitEvent("ending", widget)
	h.awaitEvent("disconnected", widget)
	h.mustFail("drop " + widget)

	p.lists <- []*pluginapi.Device{healthy("x")}
	attach(t, h, p)
	h.must("cancel "+widget, nil)
	p.await("the stream's end", p.left)
	expectCounts(t, h, 1, 0)
}

func TestTheTestCanRefuseAndAsk(t *testing.T) {
	h := startHarness(t, t.TempDir())
	p := servePlugin(t, h.directory, "a.sock", healthy("x"))
	h.must("refuse "+widget, nil)
	if err := p.register(widget); err == nil {
		t.Fatal("registered")
	}
	h.must("accept "+widget, nil)
	h.mustFail("call " + widget + " allocate x")
	attach(t, h, p)
	h.must("call "+widget+" allocate x", nil)
	h.must("validate "+widget, nil)
	h.mustFail("validate no-domain")
}

func TestAWrongCommandIsAnErrorAndNothingElse(t *testing.T) {
	h := startHarness(t, t.TempDir())
	for _, command := range []string{"dance", "allocate", "allocate a/b p", "allocate a/b none p", "options nobody", "free nobody", "start"} {
		h.mustFail(command)
	}
	h.must("quit", nil)
	h.awaitEvent("stopped", "")
}
