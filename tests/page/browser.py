"""One window of a headless chromium."""
import json
import os
import shutil
import time

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

DEADLINE = 30  # seconds for whatever has to come


def available():
    return shutil.which('chromium') is not None and shutil.which('chromedriver') is not None


class Window:
    def __init__(self):
        options = Options()
        options.binary_location = shutil.which('chromium')
        options.add_argument('--headless=new')
        options.add_argument('--disable-dev-shm-usage')
        options.add_argument('--disable-gpu')
        options.add_argument('--disable-background-networking')
        options.add_argument('--lang=en-GB')
        if os.geteuid() == 0:
            options.add_argument('--no-sandbox')  # chromium's own sandbox refuses root
        options.set_capability('goog:loggingPrefs', {'performance': 'ALL', 'browser': 'ALL'})
        self.driver = webdriver.Chrome(service=Service(shutil.which('chromedriver')), options=options)
        self.requests = []
        self.complaints = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def open(self, url):
        self.url = url
        self.desktop()
        self.driver.get(url)

    def desktop(self):
        self.size(1280, 900)
        self.scheme('light')

    def size(self, width, height, mobile=False):
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': mobile})

    def scheme(self, scheme):
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {
            'features': [{'name': 'prefers-color-scheme', 'value': scheme},
                         {'name': 'prefers-reduced-motion', 'value': 'reduce'}]})

    def js(self, script, *arguments):
        return self.driver.execute_script('return ' + script, *arguments)

    def text(self, selector='body'):
        return self.js('document.querySelector(arguments[0]).innerText', selector)

    def wait(self, what, condition):
        """Until the condition holds; what says which one did not."""
        end = time.monotonic() + DEADLINE
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f'not within {DEADLINE} s: {what}\n{self.text()[:2000]}')
            time.sleep(0.02)  # between two looks, not for the page

    def wait_for_text(self, text, selector='body'):
        self.wait(f'{text!r} in {selector}', lambda: text in (self.text(selector) or ''))

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains
        ActionChains(self.driver).send_keys(*keys).perform()

    def read_logs(self):
        """All requests, and what the console said, since the window was made."""
        for entry in self.driver.get_log('performance'):
            message = json.loads(entry['message'])['message']
            if message['method'] == 'Network.requestWillBeSent':
                self.requests.append(message['params']['request']['url'])
        self.complaints += [entry for entry in self.driver.get_log('browser') if entry['level'] in ('SEVERE', 'WARNING')]

    def picture(self, path):
        self.driver.save_screenshot(str(path))
