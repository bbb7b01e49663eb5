"""A plughost of the test's own, with a stand-in kubelet."""
import pathlib
import shutil
import socket
import subprocess
import tempfile


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Daemon:
    RESOURCE = 'example.com/gopher'

    def __init__(self, program):
        self.program = program
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='plughost-'))
        self.plugins = self.folder / 'plugins'
        self.devices = self.folder / 'gophers'
        self.configuration = self.folder / 'config.yaml'
        port = free_port()
        self.url = f'http://127.0.0.1:{port}/'
        self.plugins.mkdir(mode=0o750)
        self.devices.mkdir()
        self.add_device('first')
        self.configuration.write_text(
            f'kubelet: {{directory: {self.plugins}, podResources: {self.folder}/pods.sock}}\n'
            f'listen: 127.0.0.1:{port}\ncontrol: {self.folder}/control.sock\n'
            f'resources: [{{name: {self.RESOURCE}, directory: {{path: {self.devices}}}}}]\n')

    def __enter__(self):
        self.kubelet = subprocess.Popen([f'{self.program}-kubelet', '--plugin-directory', self.plugins, '--pod-resources',
                                         self.folder / 'pods.sock', '--json', '--stay'],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.start()
        return self

    def __exit__(self, *_):
        self.end()
        self.kubelet.terminate()
        self.kubelet.wait()
        shutil.rmtree(self.folder)

    def add_device(self, name):
        (self.devices / name).touch()

    def remove_device(self, name):
        (self.devices / name).unlink()

    def start(self):
        """Until it has said that it is ready to be shown."""
        run = [self.program, 'run', '--config', self.configuration, '--state-directory', self.folder / 'state']
        self.process = subprocess.Popen(run, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if 'attached' in line:
                break
        # What it says from now on must not fill the pipe.
        self.drain = subprocess.Popen(['cat'], stdin=self.process.stderr, stdout=subprocess.DEVNULL)

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.drain.wait()
        self.process.stderr.close()
