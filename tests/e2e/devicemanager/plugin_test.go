package main

import (
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// plugin is the least device plugin there can be. Thread-safe.
type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	t         *testing.T
	directory string
	endpoint  string
	lists     chan []*pluginapi.Device
	asked     chan struct{} // holds one element for each call of Allocate
	hang      atomic.Bool   // Allocate waits for the kubelet to give up

	// leave ends a stream from the plugin's side; left says that the kubelet ended it.
	leave chan struct{}
	left  chan struct{}
}

func servePlugin(t *testing.T, directory, endpoint string, devices ...*pluginapi.Device) *plugin {
	t.Helper()
	p := &plugin{
		t: t, directory: directory, endpoint: endpoint,
		lists: make(chan []*pluginapi.Device, 1),
		asked: make(chan struct{}, 16),
		leave: make(chan struct{}),
		left:  make(chan struct{}, 1),
	}
	p.lists <- devices
	listener, err := net.Listen("unix", filepath.Join(directory, endpoint))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pluginapi.RegisterDevicePluginServer(server, p)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return p
}

// register gives the kubelet's answer.
func (p *plugin) register(resource string) error {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	connection, err := grpc.Dial("unix://"+filepath.Join(p.directory, "kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		p.t.Fatal(err)
	}
	defer connection.Close()
	_, err = pluginapi.NewRegistrationClient(connection).Register(ctx, &pluginapi.RegisterRequest{
		Version:      pluginapi.Version,
		Endpoint:     p.endpoint,
		ResourceName: resource,
	})
	return err
}

func (p *plugin) mustRegister(resource string) {
	p.t.Helper()
	if err := p.register(resource); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plugin) await(what string, signal <-chan struct{}) {
	p.t.Helper()
	select {
	case <-signal:
	case <-time.After(patience):
		p.t.Fatalf("%s never came to pass for %s", what, p.endpoint)
	}
}

func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{}, nil
}

func (p *plugin) ListAndWatch(_ *pluginapi.Empty, stream pluginapi.DevicePlugin_ListAndWatchServer) error {
	for {
		select {
		case devices := <-p.lists:
			if err := stream.Send(&pluginapi.ListAndWatchResponse{Devices: devices}); err != nil {
				return err
			}
		case <-p.leave:
			return nil
		case <-stream.Context().Done():
			p.left <- struct{}{}
			return stream.Context().Err()
		}
	}
}

func (p *plugin) Allocate(ctx context.Context, request *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	p.asked <- struct{}{}
	if p.hang.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ids, err := requestedIDs(request.ContainerRequests[0])
	if err != nil {
		return nil, err
	}
	return &pluginapi.AllocateResponse{ContainerResponses: []*pluginapi.ContainerAllocateResponse{{
		Envs:    map[string]string{"IDS": strings.Join(ids, ",")},
		Devices: []*pluginapi.DeviceSpec{{HostPath: "/dev/null", ContainerPath: "/dev/smoke", Permissions: "rw"}},
	}}}, nil
}

// requestedIDs goes through JSON, since the field's name in Go changed between Kubernetes versions.
func requestedIDs(request *pluginapi.ContainerAllocateRequest) ([]string, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	var requested struct {
		IDs []string `json:"devices_ids"`
	}
	err = json.Unmarshal(text, &requested)
	sort.Strings(requested.IDs)
	return requested.IDs, err
}

func healthy(id string) *pluginapi.Device {
	return &pluginapi.Device{ID: id, Health: pluginapi.Healthy}
}

func unhealthy(id string) *pluginapi.Device {
	return &pluginapi.Device{ID: id, Health: pluginapi.Unhealthy}
}

func onNode(device *pluginapi.Device, node int64) *pluginapi.Device {
	device.Topology = &pluginapi.TopologyInfo{Nodes: []*pluginapi.NUMANode{{ID: node}}}
	return device
}
