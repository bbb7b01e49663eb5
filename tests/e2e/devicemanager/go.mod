// Marks the module's root. The requirements depend on the Kubernetes version: build.sh writes
// them to a go.mod of its own and passes that with -modfile.
module plughost/tests/e2e/devicemanager

go 1.19
