// What the CNCF's own CDI library, which container runtimes call, makes of plughost's specifications.
package cdi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

// Every specification that the other tests have made.
func TestTheLibraryReadsEverySpecification(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(os.Getenv("MADE"), "*.json"))
	if len(files) < 10 {
		t.Fatalf("%s has only %d specifications", os.Getenv("MADE"), len(files))
	}
	for _, file := range files {
		if _, err := cdi.ReadSpec(file, 0); err != nil {
			text, _ := os.ReadFile(file)
			t.Errorf("%v\n%s", err, text)
		}
	}
	t.Logf("%d specifications", len(files))
}

// plughost run with these resources, until the test ends; its directory of specifications.
func specifications(t *testing.T, resources string) string {
	directory, err := os.MkdirTemp("", "cdi") // t.TempDir's path is too long for a socket's
	if err != nil {
		t.Fatal(err)
	}
	kubelet, specs := filepath.Join(directory, "kubelet"), filepath.Join(directory, "cdi")
	if err := os.Mkdir(kubelet, 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(directory, "config.yaml")
	text := fmt.Sprintf("kubelet: {directory: %s}\ncontrol: %s/control.sock\ncdi: {directory: %s}\nresources:\n%s",
		kubelet, directory, specs, resources)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command(os.Getenv("PLUGHOST"), "run", "--config", config)
	daemon.Env = append(os.Environ(), "STATE_DIRECTORY="+directory)
	log, err := os.Create(filepath.Join(directory, "log"))
	if err != nil {
		t.Fatal(err)
	}
	daemon.Stdout, daemon.Stderr = log, log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("%s", said)
		}
		_ = os.RemoveAll(directory)
	})
	return specs
}

// What a runtime gives a container for the device, or why it starts none.
func injected(specs, device string) (*oci.Spec, error) {
	cache, err := cdi.NewCache(cdi.WithSpecDirs(specs), cdi.WithAutoRefresh(false))
	if err != nil {
		return nil, err
	}
	container := &oci.Spec{}
	_, err = cache.InjectDevices(container, device)
	return container, err
}

// The same, once plughost has written what is right.
func waitForInjected(specs, device string, right func(*oci.Spec) bool) (*oci.Spec, error) {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		container, err := injected(specs, device)
		if err == nil && right(container) || time.Now().After(end) {
			return container, err
		}
	}
}

// The container's node gets that minor number.
func waitForMinor(t *testing.T, specs, device string, minor int64) {
	t.Helper()
	has := func(container *oci.Spec) bool { return container.Linux.Devices[0].Minor == minor }
	if container, err := waitForInjected(specs, device, has); err != nil || !has(container) {
		t.Fatalf("no container gets minor %d: %v %+v", minor, err, container)
	}
}

// A device that is named by a link, as udev's by-id and by-path names are.
func TestALinkIsANodeForARuntime(t *testing.T) {
	dev := t.TempDir()
	link := filepath.Join(dev, "modem")
	lead := func(target string) {
		next := filepath.Join(dev, ".next")
		if err := os.Symlink(target, next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, link); err != nil {
			t.Fatal(err)
		}
	}
	lead("/dev/null")
	specs := specifications(t, fmt.Sprintf(
		"- {name: example.com/port, directory: {path: %s}, nodes: [{hostPath: \"{path}\", containerPath: \"/dev/{id}\"}], cdi: true}\n", dev))
	waitForMinor(t, specs, "example.com/port=modem", 3)
	lead("/dev/zero")
	waitForMinor(t, specs, "example.com/port=modem", 5)
}
