"""What a daemon may say: states of a node for the page."""
import datetime


def ago(seconds):
    then = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds)
    return then.strftime('%Y-%m-%dT%H:%M:%S.%fZ')


def device(name, health='Healthy', reason='', nodes=(), numa=(), replicas=1, holders=()):
    return {'id': name, 'health': health, 'reason': reason, 'since': ago(400), 'numa': list(numa), 'nodes': list(nodes),
            'replicas': replicas, 'holders': list(holders)}


def holder(name, pod, container='main', namespace='default'):
    return {'id': name, 'namespace': namespace, 'pod': pod, 'container': container}


def resource(name, devices, stage='attached', trouble='', next_try=None, since=7200, disagreement=''):
    healthy = sum(each['replicas'] for each in devices if each['health'] == 'Healthy')
    return {'name': name, 'entry': name.split('/')[-1], 'stage': stage, 'since': ago(since), 'trouble': trouble,
            'troubleAt': ago(90) if trouble else None, 'nextTry': next_try, 'disagreement': disagreement,
            'devices': {'healthy': healthy, 'unhealthy': sum(each['replicas'] for each in devices) - healthy,
                        'held': sum(len(each['holders']) for each in devices)},
            'list': devices}


def status(resources, **more):
    return {'version': '0.1.0', 'startedAt': ago(90000),
            'kubelet': {'present': True, 'directory': '/var/lib/kubelet/device-plugins', 'since': ago(90000), 'process': 812, 'unverified': ''},
            'configuration': {'files': ['/etc/plughost/config.yaml', '/etc/plughost/plugins.d/nvidia-gpu.yaml'],
                              'hash': '9f2c41d07be8a3f0', 'loadedAt': ago(5000), 'refusedAt': None,
                              'trialUntil': None, 'givenUpAt': None, 'givenUpWhy': ''},
            'node': 'node-a', 'drains': [], 'noDevices': [], 'holdersUnknown': '', 'resources': sorted(resources, key=lambda each: each['name']), **more}


def event(message, level='info', seconds=0, **fields):
    return {'time': ago(seconds), 'level': level, 'message': message, 'fields': fields}


def node():
    """A node as one would like to have it, with a little trouble."""
    card = '/sys/devices/pci0000:00/0000:00:1d.0/usb1/1-2: it is not there any more'
    return status([
        resource('nvidia.com/gpu', [
            device(f'GPU-8dd9c3a1-0b0c-4e1e-8f3e-2f0b9a6b1c1{n}', nodes=[f'/dev/nvidia{n}', '/dev/nvidiactl'], numa=[n // 2], replicas=4,
                   holders=[holder(f'GPU-8dd9c3a1-0b0c-4e1e-8f3e-2f0b9a6b1c1{n}::0', f'train-{n}', namespace='ml')] if n < 3 else [])
            for n in range(4)]),
        resource('example.com/serial', [
            device('A1', nodes=['/dev/ttyUSB0'], holders=[holder('A1', 'modem-0')]),
            device('FT4Q2X', 'Unhealthy', card)]),
        resource('rdma/hca', [device(f'0000:{n}b:00.0', nodes=['/dev/infiniband/uverbs0', '/dev/infiniband/rdma_cm'], numa=[n - 3])
                              for n in (3, 4)]),
        resource('example.com/fuse', [device('fuse', nodes=['/dev/fuse'], replicas=20)]),
        resource('example.com/camera', [], stage='registering', since=3),
        resource('example.com/fpga', [device('0000:65:00.0', nodes=['/dev/xclmgmt'])], stage='backing-off',
                 trouble='the kubelet refused: requested API version "v1beta1" is not supported', next_try=ago(-8), since=30),
    ], noDevices=[{'entry': 'camera', 'where': '/etc/plughost/config.yaml:4:3', 'why': 'no subsystem vide04linux (did you mean video4linux?)'}],
        drains=[{'resource': 'example.com/serial', 'device': 'FT4Q2X', 'reason': 'the cable', 'since': ago(600), 'until': ago(-7300)},
                {'resource': 'rdma/hca', 'device': '', 'reason': '', 'since': ago(600), 'until': None}])


def node_events():
    return [event('plughost 0.1.0', seconds=90000, config='/etc/plughost/config.yaml', entries='6'),
            event('attached', seconds=7200, resource='nvidia.com/gpu', devices='16'),
            event('attached', seconds=7200, resource='example.com/serial', devices='2'),
            event('a device is Unhealthy', level='warn', seconds=400, resource='example.com/serial', device='FT4Q2X',
                  reason='it is not there any more'),
            event('the kubelet refused the resource', level='error', seconds=90, resource='example.com/fpga', retry='8s')]


def large(resources, devices):
    return status([resource(f'example.com/r{n:03}', [device(f'r{n:03}-d{i:03}', nodes=[f'/dev/r{n}-{i}']) for i in range(devices)])
                   for n in range(resources)])
