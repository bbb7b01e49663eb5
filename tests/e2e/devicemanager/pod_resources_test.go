package main

import (
	"context"
	"path/filepath"
	"reflect"
	"sort"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresourcesapi "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// asking is a harness that serves pod resources, and who asks it.
type asking struct {
	*harness
	podResources string
	ctx          context.Context
}

func startAsking(t *testing.T) asking {
	t.Helper()
	directory := t.TempDir()
	socket := filepath.Join(directory, "pod-resources", "kubelet.sock")
	h := startHarness(t, filepath.Join(directory, "plugins"), "-pod-resources", socket)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return asking{h, socket, ctx}
}

// client connects anew: a connection does not outlive the kubelet's manager.
func (a asking) client() podresourcesapi.PodResourcesListerClient {
	a.t.Helper()
	connection, err := grpc.Dial("unix://"+a.podResources, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { connection.Close() })
	return podresourcesapi.NewPodResourcesListerClient(connection)
}

func (a asking) expectAllocatable(ids ...string) {
	a.t.Helper()
	answer, err := a.client().GetAllocatableResources(a.ctx, &podresourcesapi.AllocatableResourcesRequest{})
	if err != nil {
		a.t.Fatal(err)
	}
	a.expect(answer.Devices, ids)
}

func (a asking) expect(devices []*podresourcesapi.ContainerDevices, ids []string) {
	a.t.Helper()
	told := []string{}
	for _, each := range devices {
		if each.ResourceName != widget {
			a.t.Fatalf("%+v", each)
		}
		told = append(told, each.DeviceIds...)
	}
	sort.Strings(told)
	if !reflect.DeepEqual(told, append([]string{}, ids...)) {
		a.t.Fatalf("want %v, have %v", ids, told)
	}
}

func TestPodResourcesTellWhatTheManagerCounts(t *testing.T) {
	a := startAsking(t)
	attach(t, a.harness, servePlugin(t, a.directory, "a.sock", healthy("x"), unhealthy("y"), onNode(healthy("z"), 0)))
	a.expectAllocatable("x", "z")
	a.must("allocate "+widget+" 2 p", nil)
	pods, err := a.client().List(a.ctx, &podresourcesapi.ListPodResourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(pods.PodResources) != 1 || pods.PodResources[0].Name != "p" {
		t.Fatalf("%+v", pods)
	}
	a.expect(pods.PodResources[0].Containers[0].Devices, []string{"x", "z"})

	a.must("restart", nil)
	a.expectAllocatable()
}

func TestAForgottenResourceIsBackWhenItConnectsAnew(t *testing.T) {
	a := startAsking(t)
	a.mustFail("forget " + widget)
	attach(t, a.harness, servePlugin(t, a.directory, "a.sock", healthy("x")))
	a.must("forget "+widget, nil)
	a.expectAllocatable()
	expectCounts(t, a.harness, 0, 0)

	attach(t, a.harness, servePlugin(t, a.directory, "b.sock", healthy("x")))
	a.expectAllocatable("x")
}

func TestAnOldListIsKeptUntilTheResourceConnectsAnew(t *testing.T) {
	a := startAsking(t)
	p := servePlugin(t, a.directory, "a.sock", healthy("x"))
	attach(t, a.harness, p)
	a.mustFail("keep " + widget)
	p.lists <- []*pluginapi.Device{healthy("x"), healthy("y")}
	a.awaitEvent("listed", widget)
	a.must("keep "+widget, nil)
	a.expectAllocatable("x")
	for i := 0; i < 2; i++ {
		p.lists <- []*pluginapi.Device{healthy("z")}
		a.awaitEvent("swallowed", widget)
	}
	a.expectAllocatable("x")

	attach(t, a.harness, servePlugin(t, a.directory, "b.sock", healthy("z")))
	a.expectAllocatable("z")
}

func TestASwallowedListIsTheNextOneOnly(t *testing.T) {
	a := startAsking(t)
	p := servePlugin(t, a.directory, "a.sock", healthy("x"))
	attach(t, a.harness, p)
	a.must("swallow "+widget, nil)
	p.lists <- []*pluginapi.Device{healthy("x"), healthy("y")}
	if swallowed := a.awaitEvent("swallowed", widget); len(swallowed.Devices) != 2 {
		t.Fatalf("%+v", swallowed)
	}
	a.expectAllocatable("x")
	p.lists <- []*pluginapi.Device{healthy("z")}
	a.awaitEvent("listed", widget)
	a.expectAllocatable("z")
}
