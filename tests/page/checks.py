"""What must be true of the page. Each case's docstring is its name; a case leaves nothing behind but a feeder that runs."""
import copy
import re
import time
from urllib.parse import urlsplit

from selenium.webdriver.common.keys import Keys

import states

ROWS = "[...document.querySelectorAll('#resources > li:not([hidden]) .name')].map(each => each.textContent)"
HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>\'"&amp;\u202e${1}'
# Every text against what is behind it, as WCAG 2 counts: [ratio, text] of those below 4.5.
CONTRAST = """(() => {
  const numbers = color => color.match(/[\\d.]+/g).map(Number);
  const light = color => {
    const [r, g, b] = numbers(color).slice(0, 3).map(c => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = element => {
    for (; element; element = element.parentElement) {
      const color = getComputedStyle(element).backgroundColor;
      if ((numbers(color)[3] ?? 1) === 1) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.offsetParent || element.closest('script, style')) continue;
    const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) low.push([ratio, node.data]);
  }
  return low;
})()"""


def show(window, feeder, status, events=()):
    """The page anew, with that state in it."""
    feeder.status = status
    feeder.events = list(events)
    window.open(feeder.url)
    window.wait_for_text('live', '#connection')
    # Its stream is open: what is said from now on arrives.
    window.wait('a listener', lambda: feeder.listeners)


def open_row(window, name):
    window.js("[...document.querySelectorAll('#resources > li')].find(each => each.querySelector('.name').textContent === arguments[0])"
              ".querySelector('summary').click()", name)


def inside(window, name):
    return window.js("[...document.querySelectorAll('#resources > li')].find(each => "
                     "each.querySelector('.name').textContent === arguments[0]).innerText", name)


def everything(window, feeder):
    """everything that the status has is shown"""
    show(window, feeder, states.node(), states.node_events())
    page = window.text()
    for part in ['/var/lib/kubelet/device-plugins', 'process 812', 'for 1 d', '/etc/plughost/config.yaml',
                 '/etc/plughost/plugins.d/nvidia-gpu.yaml', '9f2c41d0', '40 healthy', '1 unhealthy', '4 held', '4 of 6 resources attached',
                 'backing off', 'requested API version "v1beta1" is not supported', 'next try', 'registering', 'on node-a, version 0.1.0',
                 'no devices: no subsystem vide04linux (did you mean video4linux?)', 'drained: example.com/serial=FT4Q2X, the cable, ends in 2 h',
                 'drained: rdma/hca']:
        assert part in page, f'{part!r} is not in\n{page}'
    assert window.js('document.title') == 'node-a – plughost'
    assert window.js(ROWS) == sorted(window.js(ROWS)) and len(window.js(ROWS)) == 6
    open_row(window, 'example.com/serial')
    window.wait_for_text('FT4Q2X', '#resources')
    row = inside(window, 'example.com/serial')
    for part in ['A1', '/dev/ttyUSB0', 'default/modem-0 (main)', 'Unhealthy', 'it is not there any more', '1 healthy', '1 unhealthy', '1 held']:
        assert part in row, f'{part!r} is not in\n{row}'
    open_row(window, 'nvidia.com/gpu')
    window.wait_for_text('::0: ml/train-0 (main)', '#resources')
    assert '×4' in inside(window, 'nvidia.com/gpu')
    events = window.text('#events').splitlines()
    assert 'the kubelet refused the resource' in ' '.join(events[:4]), 'the newest is not first'
    assert 'config=/etc/plughost/config.yaml' in window.text('#events')


def trouble_is_said(window, feeder):
    """a kubelet that is gone, a failed reload and unknown holders are said in words"""
    status = states.node()
    status['kubelet'] |= {'present': False, 'process': None}
    status['configuration']['refusedAt'] = states.ago(60)
    status['holdersUnknown'] = 'the kubelet does not answer'
    show(window, feeder, status)
    page = window.text()
    for part in ['not running', 'stopped for 1 d', 'reload failed', 'A reload was refused 1 min ago',
                 'The holders are unknown: the kubelet does not answer', 'No events yet.']:
        assert part in page, f'{part!r} is not in\n{page}'


def now_is_said(window, feeder):
    """what began a moment ago is said to have begun just now"""
    status = states.status([states.resource('example.com/a', [], trouble='connect: refused', since=0)])
    status['resources'][0]['troubleAt'] = states.ago(0)
    status['configuration']['loadedAt'] = states.ago(0)
    show(window, feeder, status)
    page = window.text()
    for part in ['loaded just now', 'just now: connect: refused']:
        assert part in page, f'{part!r} is not in\n{page}'
    assert 'for now' not in page and 'now ago' not in page, page


def the_api_server_is_said(window, feeder):
    """an API server has a card where the configuration has one, with its trouble"""
    show(window, feeder, states.node())
    assert 'API server' not in window.text()
    status = states.node()
    status['apiServer'] = {'server': 'https://10.0.0.1:6443', 'identity': '/etc/kubernetes/kubelet.conf', 'node': 'node-a',
                           'heardAt': states.ago(60), 'trouble': '', 'warnings': [], 'watches': []}
    show(window, feeder, status)
    page = window.text()
    for part in ['API server', 'connected', 'https://10.0.0.1:6443 as /etc/kubernetes/kubelet.conf, node node-a, last contact 1 min ago']:
        assert part in page, f'{part!r} is not in\n{page}'
    status['apiServer']['watches'] = [{'collection': '/api/v1/nodes', 'objects': 0, 'heardAt': None, 'trouble': '403 Forbidden'}]
    show(window, feeder, status)
    page = window.text()
    for part in ['error', '403 Forbidden']:
        assert part in page, f'{part!r} is not in\n{page}'


def a_trial_is_said(window, feeder):
    """a configuration that is on trial, and one that was given up, are said in words"""
    status = states.node()
    status['configuration']['trialUntil'] = states.ago(-270)
    show(window, feeder, status)
    page = window.text()
    for part in ['on trial', 'On trial: rolls back to the former one unless it is kept, in 4 min.']:
        assert part in page, f'{part!r} is not in\n{page}'
    status['configuration'] |= {'trialUntil': None, 'givenUpAt': states.ago(60), 'givenUpWhy': 'not confirmed within 300 s'}
    feeder.set(status)
    window.wait_for_text('A configuration was rolled back 1 min ago: not confirmed within 300 s.', '#configuration')
    assert 'on trial' not in window.text().lower()


def live_changes(window, feeder):
    """a change of the status and a new event arrive by themselves, and what is open stays open"""
    status = states.node()
    show(window, feeder, status, states.node_events())
    open_row(window, 'example.com/serial')
    window.js("(document.querySelector('#resources > li').marked = true)")
    status = copy.deepcopy(status)
    serial = next(each for each in status['resources'] if each['name'] == 'example.com/serial')
    serial['list'][0] |= {'health': 'Unhealthy', 'reason': 'pulled out'}
    serial['devices'] = {'healthy': 0, 'unhealthy': 2, 'held': 1}
    status['resources'] = [each for each in status['resources'] if each['name'] != 'rdma/hca']
    status['resources'].append(states.resource('zzz.com/new', [states.device('n1')]))
    feeder.set(status)
    window.wait_for_text('pulled out', '#resources')
    assert 'zzz.com/new' in window.js(ROWS) and 'rdma/hca' not in window.js(ROWS)
    assert window.js("document.querySelector('#resources > li').marked"), 'rows were made anew'
    feeder.happen(states.event('a device is Unhealthy', 'warn', device='A1'))
    window.wait_for_text('device=A1', '#events li:first-child')


def many_events(window, feeder):
    """a thousand events are kept, fifty are drawn, the others upon request"""
    show(window, feeder, states.node(), [states.event('old', n=str(n)) for n in range(1000)])
    window.wait('events', lambda: window.js("document.querySelectorAll('#events li').length") == 50)
    for n in range(5):
        feeder.happen(states.event('new', n=str(n)))
    window.wait_for_text('n=4', '#events li:first-child')
    assert window.js("document.querySelectorAll('#events li').length") == 50
    window.js("document.querySelector('#more-events').click()")
    assert window.js("document.querySelectorAll('#events li').length") == 250
    assert window.js('events.length') == 1000


def hostile_strings(window, feeder):
    """strings of devices, pods and files are text, whatever they say"""
    bad = states.device(HOSTILE, 'Unhealthy', HOSTILE, [HOSTILE], holders=[states.holder(HOSTILE, HOSTILE, HOSTILE, HOSTILE)])
    status = states.status([states.resource('x/' + HOSTILE, [bad], stage='backing-off', trouble=HOSTILE)], version=HOSTILE, holdersUnknown=HOSTILE)
    status['kubelet'] |= {'directory': HOSTILE}
    status['configuration'] |= {'files': [HOSTILE], 'hash': HOSTILE}
    show(window, feeder, status, [states.event(HOSTILE, HOSTILE.replace(' ', ''), **{HOSTILE: HOSTILE})])
    open_row(window, 'x/' + HOSTILE)
    window.wait('its device', lambda: window.js("document.querySelectorAll('tbody tr').length") == 1)
    feeder.happen(states.event(HOSTILE))
    window.wait('two events', lambda: window.js("document.querySelectorAll('#events li').length") == 2)
    assert window.js("document.querySelectorAll('img, main script').length") == 0, 'an element came out of a string'
    assert not window.js('window.pwned')
    assert HOSTILE in window.js("document.querySelector('tbody').textContent")


def lost_connection(window, feeder):
    """a lost connection is said, what is shown is greyed, and it comes back by itself"""
    show(window, feeder, states.node())
    feeder.stop()
    window.wait_for_text('No connection to plughost', '#banner')
    window.wait_for_text('no connection', '#connection')
    assert window.js("getComputedStyle(document.querySelector('#resources').closest('.live')).opacity") == '0.55'
    assert 'example.com/serial' in window.text('#resources'), 'what was known is gone'
    feeder.status = states.status([states.resource('after.com/restart', [states.device('d')])])
    feeder.start()
    window.wait_for_text('after.com/restart', '#resources')
    window.wait_for_text('live', '#connection')
    assert window.js("document.querySelector('#banner').hidden && !document.body.classList.contains('stale')")
    assert 'example.com/serial' not in window.text('#resources')


def silence(window, feeder):
    """a daemon that is silent for too long is lost, though its connection is open"""
    page, policy = feeder.page, feeder.policy
    feeder.page = page.replace(b'kSilence = 45000', b'kSilence = 500')
    assert feeder.page != page
    # The hashes are those of the page as it is.
    feeder.policy = re.sub('script-src [^;]*', "script-src 'unsafe-inline'", policy)
    try:
        show(window, feeder, states.node())
        window.wait_for_text('No connection to plughost', '#banner')
        window.wait_for_text('live', '#connection')
    finally:
        feeder.page, feeder.policy = page, policy


def filtering(window, feeder):
    """the filter finds resources by name, device, node and pod, and the box hides what is well"""
    show(window, feeder, states.node())
    window.press('/')
    assert window.js("document.activeElement.id") == 'filter'
    for word, found in {'modem-0': ['example.com/serial'], '/dev/nvidia3': ['nvidia.com/gpu'], 'A1': ['example.com/serial', 'nvidia.com/gpu'],
                        'RDMA': ['rdma/hca'], 'nobody': []}.items():
        window.js("(document.querySelector('#filter').value = '')")
        window.press(word)
        window.wait(f'{word} filtered', lambda: window.js(ROWS) == found)
    assert window.text('#none') == 'No resource matches.'
    window.js("(document.querySelector('#filter').value = '', view.change())")
    window.js("document.querySelector('#only-trouble').click()")
    assert window.js(ROWS) == ['example.com/camera', 'example.com/fpga', 'example.com/serial']
    assert '3 of 6 shown' in window.text('#shown')
    open_row(window, 'example.com/serial')
    window.wait_for_text('FT4Q2X', '#resources')
    assert window.js("document.querySelectorAll('tbody tr').length") == 1, 'a healthy device is shown'


def scale(window, feeder):
    """512 resources with 64 devices each are shown, filtered and changed within seconds, and only open ones have rows"""
    status = states.large(512, 64)
    began = time.monotonic()
    show(window, feeder, status)
    window.wait('512 rows', lambda: window.js("document.querySelectorAll('#resources > li').length") == 512)
    shown = time.monotonic() - began
    assert window.js("document.querySelectorAll('tbody tr').length") == 0
    open_row(window, 'example.com/r300')
    window.wait('64 devices', lambda: window.js("document.querySelectorAll('tbody tr').length") == 64)
    cost = window.js("""(() => {
      const time = work => { const began = performance.now(); work(); return performance.now() - began; };
      const status = JSON.parse(JSON.stringify({resources: [...rows.values()].map(row => row.resource)}));
      const same = time(() => showResources(status.resources));
      status.resources[300].list[0].health = 'Unhealthy';
      const changed = time(() => showResources(status.resources));
      document.querySelector('#filter').value = 'r300-d000';
      return {same, changed, filtered: time(() => view.change())};
    })()""")
    assert window.js(ROWS) == ['example.com/r300']
    print(f'  512 resources, 32768 devices: shown in {shown:.1f} s; the same status again {cost["same"]:.0f} ms, '
          f'with a change {cost["changed"]:.0f} ms, filtered {cost["filtered"]:.0f} ms')
    # Generous: what must not be is a page that hangs.
    assert shown < 20 and max(cost.values()) < 3000


def many_devices(window, feeder):
    """a resource with thousands of devices is drawn in parts"""
    show(window, feeder, states.status([states.resource('example.com/many', [states.device(f'd{n:05}') for n in range(5000)])]))
    open_row(window, 'example.com/many')
    window.wait('the first part', lambda: window.js("document.querySelectorAll('tbody tr').length") == 200)
    window.js("document.querySelector('.inside button').focus()")
    window.press(Keys.ENTER)
    window.wait('the second part', lambda: window.js("document.querySelectorAll('tbody tr').length") == 400)
    assert 'd00200' in window.js("document.activeElement.textContent"), 'the keyboard lost its place'
    feeder.set(feeder.status)
    feeder.happen(states.event('and on'))
    window.wait_for_text('and on', '#events')
    assert window.js("document.querySelectorAll('tbody tr').length") == 400


def narrow(window, _):
    """at 360 pixels nothing is cut off, and nothing scrolls sideways"""
    window.size(360, 740, mobile=True)
    for summary in range(min(3, window.js("document.querySelectorAll('summary').length"))):
        window.js("(document.querySelectorAll('summary')[arguments[0]].parentElement.open = true)", summary)
    wide = window.js("""(() => {
      const wide = [...document.querySelectorAll('main *, header *')].filter(each => each.offsetParent && !each.closest('.hidden') &&
          each.getBoundingClientRect().right > 360.5);
      return [document.documentElement.scrollWidth, innerWidth, wide.map(each => each.outerHTML.slice(0, 200))];
    })()""")
    window.desktop()
    assert wide[1] == 360 and wide[0] <= 360 and not wide[2], wide


def narrow_with_long_words(window, feeder):
    """at 360 pixels the longest names break"""
    long = 'x' * 244
    status = states.status([states.resource(f'{long}/{"y" * 63}', [states.device('z' * 63, 'Unhealthy', long, ['/dev/' + long])],
                                            trouble=long)])
    status['configuration']['files'] = ['/etc/' + long]
    show(window, feeder, status, [states.event('long', **{long: long})])
    narrow(window, feeder)
    show(window, feeder, states.node(), states.node_events())
    narrow(window, feeder)


def contrast(window, _):
    """every text has a contrast of at least 4.5, in the light and in the dark"""
    backgrounds = set()
    for scheme in ('light', 'dark'):
        window.scheme(scheme)
        backgrounds.add(window.js('getComputedStyle(document.body).backgroundColor'))
        low = window.js(CONTRAST)
        assert not low, f'{scheme}: {low}'
    window.desktop()
    assert len(backgrounds) == 2, 'the dark is as light as the light'


def keyboard(window, _):
    """the keyboard reaches every control, sees where it is, and opens a resource"""
    window.js('document.activeElement.blur()')
    window.js("document.querySelectorAll('details').forEach(each => { each.open = false; })")
    wanted = ['only-trouble', 'filter'] + (['SUMMARY'] if window.js("document.querySelectorAll('summary').length") else [])
    for want in wanted:
        window.press(Keys.TAB)
        got = window.js('document.activeElement.id || document.activeElement.tagName')
        assert got == want, f'{got} instead of {want}'
        assert window.js("getComputedStyle(document.activeElement).outlineStyle") != 'none', f'{want} does not show its focus'
    if 'SUMMARY' in wanted:
        window.press(Keys.ENTER)
        window.wait('an open resource', lambda: window.js("document.activeElement.parentElement.open"))
        window.press(Keys.ENTER)


def semantics(window, _):
    """a screen reader finds its way: a language, headings in order, names for all controls"""
    assert window.js('document.documentElement.lang') == 'en'
    levels = window.js("[...document.querySelectorAll('h1, h2, h3')].map(each => +each.tagName[1])")
    assert levels[0] == 1 and levels.count(1) == 1 and all(b - a <= 1 for a, b in zip(levels, levels[1:])), levels
    assert window.js("[...document.querySelectorAll('input')].every(each => each.labels[0].textContent.trim())")
    assert window.js("[...document.querySelectorAll('section')].every(each => each.getAttribute('aria-label') || "
                     "document.getElementById(each.getAttribute('aria-labelledby')))")
    assert window.js("[...document.querySelectorAll('[role=alert], [role=status], [aria-live]')].map(each => each.id)") == [
        'connection', 'banner', 'shown'], 'what speaks up by itself is few'


def nothing_else(window, _):
    """no request went to another host, and the console has nothing to say"""
    window.read_logs()
    own = urlsplit(window.url).netloc
    others = [url for url in window.requests if urlsplit(url).scheme not in ('data', 'chrome') and urlsplit(url).netloc != own]
    assert window.requests and not others, others
    # Of a connection that was lost, the browser speaks itself.
    complaints = [each for each in window.complaints if not (own in each['message'] and 'net::ERR_' in each['message'])]
    assert not complaints, complaints


def is_shown(window, _):
    """the page comes to life"""
    window.wait_for_text('live', '#connection')
    window.wait_for_text('version', '#version')


def daemon_is_shown(window, daemon):
    """what the daemon serves is on the page, and a device that comes or goes is there at once"""
    window.wait_for_text('1 of 1 resources attached')
    assert str(daemon.plugins) in window.text() and str(daemon.configuration) in window.text()
    open_row(window, daemon.RESOURCE)
    window.wait_for_text('first', '#resources')
    daemon.add_device('second<b>')
    window.wait_for_text('second<b>', '#resources')
    daemon.remove_device('first')
    window.wait_for_text('1 unhealthy', '#resources')
    window.wait_for_text(daemon.RESOURCE, '#events')


def daemon_that_ends(window, daemon):
    """a daemon that ends is told, and one that starts again is shown"""
    daemon.end()
    window.wait_for_text('No connection to plughost', '#banner')
    daemon.start()
    window.wait_for_text('live', '#connection')
    window.wait_for_text('1 of 1 resources attached')


OF_A_DAEMON = [daemon_is_shown, daemon_that_ends]
# On the node that states.node() makes, or on whatever a daemon shows.
OF_ANY_PAGE = [is_shown, contrast, narrow, keyboard, semantics, nothing_else]
OF_MADE_STATES = [everything, trouble_is_said, now_is_said, the_api_server_is_said, a_trial_is_said, live_changes, many_events, hostile_strings, filtering, scale, many_devices,
                  lost_connection, silence, narrow_with_long_words]


def take_pictures(window, feeder, folder):
    folder.mkdir(parents=True, exist_ok=True)
    show(window, feeder, states.node(), states.node_events())
    window.size(1100, 900)
    open_row(window, 'example.com/serial')
    window.wait_for_text('FT4Q2X', '#resources')
    window.picture(folder / 'status-page-light.png')
    open_row(window, 'example.com/serial')
    window.size(360, 780, mobile=True)
    window.scheme('dark')
    window.js("window.scrollTo(0, document.querySelector('.tools').offsetTop - 8)")
    window.picture(folder / 'status-page-phone.png')
    window.desktop()
