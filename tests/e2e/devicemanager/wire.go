package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	binlogpb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/protobuf/proto"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// wireLog makes events of gRPC's binary log, which stands where messages leave and enter the process. Thread-safe.
type wireLog struct {
	out       *output
	directory string
}

// wireEvent is one step of an RPC, at the time when it happened.
type wireEvent struct {
	Event  string    `json:"event"`
	Time   time.Time `json:"time"`
	Call   uint64    `json:"call"`
	By     string    `json:"by"` // who calls: plugin or kubelet
	Method string    `json:"method,omitempty"`
	Step   string    `json:"step"`
	// Of the caller, in seconds; only with step CLIENT_HEADER, and only if it has a deadline.
	Deadline float64 `json:"deadline,omitempty"`
	// With step SERVER_TRAILER.
	Status string `json:"status,omitempty"`
	// With step CLIENT_MESSAGE of Register: what it says, and whether its endpoint accepts already.
	Request *registration `json:"request,omitempty"`
}

type registration struct {
	Version                string `json:"version"`
	Endpoint               string `json:"endpoint"`
	Resource               string `json:"resource"`
	PreStart               bool   `json:"preStart"`
	GetPreferredAllocation bool   `json:"getPreferredAllocation"`
	Accepts                bool   `json:"accepts"`
}

// logCallsFromTheStart starts this program again, since gRPC reads what to log before main begins.
func logCallsFromTheStart() {
	const filter = "GRPC_BINARY_LOG_FILTER"
	if os.Getenv(filter) != "" {
		return
	}
	if err := os.Setenv(filter, "v1beta1.Registration/*,v1beta1.DevicePlugin/*{h;m:4096},v1.PodResourcesLister/*{h}"); err != nil {
		fail(err)
	}
	program, err := os.Executable()
	if err != nil {
		fail(err)
	}
	fail(syscall.Exec(program, os.Args, os.Environ()))
}

func (w wireLog) Write(entry *binlogpb.GrpcLogEntry) error {
	event := wireEvent{
		Event: "wire",
		Time:  entry.Timestamp.AsTime(),
		Call:  entry.CallId,
		By:    "kubelet",
		Step:  strings.TrimPrefix(entry.Type.String(), "EVENT_TYPE_"),
	}
	if entry.Logger == binlogpb.GrpcLogEntry_LOGGER_SERVER {
		event.By = "plugin"
	}
	switch payload := entry.Payload.(type) {
	case *binlogpb.GrpcLogEntry_ClientHeader:
		event.Method = payload.ClientHeader.MethodName
		event.Deadline = payload.ClientHeader.Timeout.AsDuration().Seconds()
	case *binlogpb.GrpcLogEntry_Message:
		if event.By == "plugin" && entry.Type == binlogpb.GrpcLogEntry_EVENT_TYPE_CLIENT_MESSAGE {
			event.Request = w.read(payload.Message.Data)
		}
	case *binlogpb.GrpcLogEntry_Trailer:
		event.Status = payload.Trailer.StatusMessage
	}
	w.out.write(event)
	return nil
}

func (w wireLog) Close() error { return nil }

func (w wireLog) read(message []byte) *registration {
	var request pluginapi.RegisterRequest
	if err := decode(message, &request); err != nil {
		return nil
	}
	read := registration{
		Version:                request.Version,
		Endpoint:               request.Endpoint,
		Resource:               request.ResourceName,
		PreStart:               request.Options.GetPreStartRequired(),
		GetPreferredAllocation: request.Options.GetGetPreferredAllocationAvailable(),
	}
	// At once and only once: gRPC would try again.
	if connection, err := net.Dial("unix", filepath.Join(w.directory, request.Endpoint)); err == nil {
		connection.Close()
		read.Accepts = true
	}
	return &read
}

// decode reads a message as the version's API package was generated: by gogo up to 1.34, by protobuf-go after that.
func decode(message []byte, into any) error {
	switch into := into.(type) {
	case interface{ Unmarshal([]byte) error }:
		return into.Unmarshal(message)
	case proto.Message:
		return proto.Unmarshal(message, into)
	}
	return errors.New("not a protobuf message")
}
