"""One cell of the table: one run of one real CLI in a home and a project of its own. Started by `run` as a process of
its own, where it can be in its own network and process namespace; reads a job, writes result.json into its folder."""
import ctypes
import fcntl
import hashlib
import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

import judge
import record
import scenarios
from harness import Claude, Codex, Gemini, Pi, put
from harness_more import Cline, Copilot, Hermes, OpenCode, Qwen
from model import Model, received

HARNESSES = {h.name: h for h in (Claude(), Codex(), Gemini(), Pi(), Qwen(), Copilot(), OpenCode(), Hermes(), Cline())}
LIB = os.path.dirname(os.path.abspath(__file__))
SLOW = 45          # seconds that a slow gate takes: far over any timeout that a relay should have
LINGER = 20        # how long a CLI may stay after the model's last word, before it is ended
LINGERED = -999    # stands for its exit code then; no fault of the gate, so it fails nothing
HOOK_TIMEOUT = 5   # of the relays that the rig itself writes


class Cell:
    prompt = 'Please do the work.'

    def __init__(self, job):
        self.job = job
        self.harness = HARNESSES[job['harness']]
        self.scenario = job['scenario']
        self.root = job['folder']
        self.home = self.root + '/home'
        self.repo = self.root + '/repo'
        self.base = ''

    def path(self, relative):
        return os.path.join(self.repo, relative)

    def folder(self, program):
        return os.path.join(self.job['cache'], '%s-%s' % (program, self.job['versions'][program]))

    def environment(self, person=False):
        """A clean one: nothing of whoever runs the rig gets in, no key, no proxy, no running agent's marks. `person`:
        as in a shell of the user, without what the harness is started with."""
        node = os.path.join(self.folder('node'), 'node_modules', self.job['node'], 'bin')
        env = {'HOME': self.home, 'PATH': node + ':/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', 'LANG': 'C.UTF-8',
               'TZ': 'UTC', 'TERM': 'dumb', 'NO_COLOR': '1', 'USER': 'dev', 'SHELL': '/bin/bash',
               'TMPDIR': self.root + '/tmp', 'GIT_CONFIG_NOSYSTEM': '1', 'DO_NOT_TRACK': '1',
               'NODE_DISABLE_COMPILE_CACHE': '1'}
        if not self.job['namespace']:
            # The next best thing to having no network: a proxy that nobody listens on, for all but the model.
            env.update(HTTP_PROXY='http://127.0.0.1:9', HTTPS_PROXY='http://127.0.0.1:9', NO_PROXY='127.0.0.1,localhost')
        return env if person else dict(env, **self.harness.env(self))

    def relay(self, file, target, command, events, timeout):
        with open(os.path.join(LIB, file)) as f:
            text = f.read()
        put(target, text.replace('__COMMANDS__', json.dumps({e: command(e) for e in events}))
            .replace('__TIMEOUT_MS__', str(timeout * 1000)))

    # ---- the project

    def make_project(self):
        """Alice's body, and in it a directory that bob owns, with a link to it from outside."""
        for folder in (self.home, self.repo, self.root + '/tmp'):
            os.makedirs(folder)
        put(self.path('.loci/agent.md'), '---\nid: alice\n---\nAlice keeps the project.\n')
        put(self.path('notes/own.txt'), 'first\n')
        put(self.path('owned/.loci/owner.md'), '---\nowner: bob\n---\nAsk bob.\n')
        put(self.path('owned/.loci/agent.md'), '---\nid: bob\n---\nBob keeps this directory.\n')
        for name, text in scenarios.OWNED.items():
            put(self.path('owned/' + name), text)
        os.symlink('owned', self.path('link-to-owned'))

    def commit(self):
        env = self.environment(person=True)
        for words in ('init -q -b main', 'add -A', '-c user.name=dev -c user.email=dev@example.invalid commit -qm start'):
            subprocess.run(['git', *words.split()], cwd=self.repo, env=env, check=True, stdin=subprocess.DEVNULL)

    def owned_bytes(self):
        """Digest of each file of bob's directory, his mail excepted: that is where the delegation arrives."""
        digests = {}
        for folder, folders, files in os.walk(self.path('owned')):
            if folder == self.path('owned/.loci'):
                folders[:] = [f for f in folders if f != 'memory']
            for name in files:
                path = os.path.join(folder, name)
                with open(path, 'rb') as f:
                    digests[os.path.relpath(path, self.repo)] = hashlib.sha256(f.read()).hexdigest()
        return digests

    def inbox(self):
        """The messages in bob's inbox, each as {'file', 'id', 'from', …} from its front matter."""
        folder, found = self.path('owned/.loci/memory/inbox/new'), []
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, name), encoding='utf-8', errors='replace') as f:
                text = f.read()
            head = re.match(r'---\n(.*?)\n---\n', text, re.S)
            fields = dict(re.findall(r'^(\w+): *["\']?(.*?)["\']?$', head.group(1), re.M)) if head else {}
            found.append(dict(fields, file=name, text=text))
        return found

    def in_trail(self, file):
        """Whether a step of the session's trail names a file: the relay after a call was asked as well."""
        for folder, _, files in os.walk(self.home + '/.local/state/loci'):
            for name in files:
                with open(os.path.join(folder, name), errors='replace') as f:
                    if 'trail' in folder + name and self.path(file) in f.read():
                        return True
        return False

    # ---- the gate

    def connect(self):
        """Puts the gate before the tools: loci's own verb, or with `--gate` and `--record` a stand-in for it."""
        job, stable = self.job, self.home + '/.loci/bin/loci'
        if job['mode'] == 'ungated':
            return
        if job['mode'] == 'record':
            script = shlex.join([sys.executable, os.path.join(LIB, 'record.py'), self.root + '/rec'])
            return self.harness.wire(self, lambda e: '%s %s' % (script, e), self.harness.events, HOOK_TIMEOUT)
        if job['mode'] == 'gate':
            put(stable, '#!/bin/sh\nexec %s "$@"\n' % job['gate'])
            os.chmod(stable, 0o755)
            command = '%s gate --for %s' % (shlex.quote(stable), self.harness.name)
            self.harness.wire(self, lambda e: command, (self.harness.before,), HOOK_TIMEOUT)
        else:
            code, said = at_terminal([job['loci'], 'connect', self.harness.name, *self.harness.connect_flags],
                                     self.environment(person=True), self.repo)
            put(self.root + '/connect.txt', 'exit %s\n%s' % (code, said))
            if code != 0:
                raise Broken('`loci connect %s` ended with %s: %s' % (self.harness.name, code, said.strip()[-300:]))
        if self.scenario in scenarios.FAILURES:
            self.break_gate(stable)

    def break_gate(self, stable):
        """Everything but the gate goes on as before, so that only its failure is seen."""
        if not os.path.exists(stable):
            raise Broken('nothing at ~/.loci/bin/loci to break')
        real = self.root + '/real-loci'
        if os.path.islink(stable):
            os.symlink(os.path.realpath(stable), real)
            os.unlink(stable)
        else:
            os.rename(stable, real)
        fault = {'missing': None, 'killed': 'kill -9 $$', 'slow': 'sleep %d; exec "$real" "$@"' % SLOW,
                 'garbage-in': 'printf \'{"tool_name": \' | "$real" "$@"; exit $?',
                 'garbage-out': 'cat > /dev/null; echo "this is no JSON"; exit 0'}[self.scenario]
        if fault:
            put(stable, '#!/bin/sh\nreal=%s\n[ "$1" = gate ] || exec "$real" "$@"\n%s\n' % (shlex.quote(real), fault))
            os.chmod(stable, 0o755)

    # ---- the run

    def run(self):
        self.make_project()
        if self.job['mode'] == 'record':
            scenario = record.scenario(self.harness, self)
        else:
            scenario = scenarios.build(self.scenario, self.harness, self)
        if scenario is None:
            return {'state': '–'}
        model = Model(scenario.script())
        self.base = model.base
        self.harness.setup(self)
        if self.scenario in ('program', 'typed') and self.harness.name == 'codex':
            # It takes another input only with leave to run it, which its user gives here.
            put(self.home + '/.loci/config.yaml', 'rewrite: [codex]\n')
        self.commit()
        self.connect()
        before = self.owned_bytes()
        started = time.time()
        with open(self.root + '/stdout', 'wb') as out, open(self.root + '/stderr', 'wb') as err:
            cli = subprocess.Popen(self.harness.argv(self), cwd=self.repo, env=self.environment(), stdout=out, stderr=err,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
            # A broken gate may be waited for, once for each call.
            code = self.wait(cli, model, self.harness.limit + (4 * SLOW if self.scenario == 'slow' else 0))
        seconds = time.time() - started
        end_descendants()
        put(self.root + '/requests.json', model.requests)
        run = judge.Run(code, received(model.requests), before, self.owned_bytes(), self.inbox(), self)
        if self.job['mode'] == 'record':
            result = {'state': 'recorded', 'payloads': record.collect(self)}
        elif self.scenario in scenarios.FAILURES:
            result = judge.failure(run)
        elif self.job['mode'] == 'ungated':
            result = judge.ungated(run, scenario)
        else:
            result = judge.gated(run, scenario)
            if self.job['mode'] == 'loci' and self.scenario == 'own' and not self.in_trail('notes/new.txt'):
                result = {'state': 'FAIL', 'why': result['why'] + ['the write is not in the trail: no relay after the call']}
        return dict(result, seconds=seconds, code=code, received=run.received)


    def wait(self, cli, model, limit):
        """The exit code, or in words why there is none."""
        started = time.time()
        while time.time() - started < limit:
            try:
                return cli.wait(1)
            except subprocess.TimeoutExpired:
                pass
            if model.ended and time.time() - model.requests[-1]['at'] > LINGER:
                code = LINGERED  # seen of Qwen Code: all said and done, and the process stays
                break
        else:
            code = 'no end within %d s' % limit
        os.killpg(cli.pid, signal.SIGKILL)
        cli.wait()
        return code


class Broken(Exception):
    """The cell can't be run; the reason is for the reader of the table."""


def at_terminal(argv, env, cwd, limit=60):
    """Runs a verb as a person does, at a (pseudo) terminal, saying yes if it asks: connecting is a person's act."""
    parent, child = pty.openpty()
    proc = subprocess.Popen(argv, env=env, cwd=cwd, stdin=child, stdout=child, stderr=child, start_new_session=True,
                            preexec_fn=lambda: fcntl.ioctl(child, 0x540E, 0))  # TIOCSCTTY: it is the controlling one
    os.close(child)
    os.write(parent, b'y\n')
    said, end = b'', time.time() + limit
    while time.time() < end:
        if select.select([parent], [], [], 0.2)[0]:
            try:
                said += os.read(parent, 65536)
            except OSError:  # the other side is closed
                break
        elif proc.poll() is not None:
            break
    else:
        os.killpg(proc.pid, signal.SIGKILL)
    code = proc.wait()
    os.close(parent)
    return code, said.decode(errors='replace').replace('\r\n', '\n')


def end_descendants():
    """Ends what the CLI left behind, and nothing else: we are the reaper of all that descends from us."""
    for _ in range(50):
        parents = {}
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open('/proc/%s/stat' % pid) as f:
                    parents[int(pid)] = int(f.read().rsplit(')', 1)[1].split()[1])
            except OSError:
                pass
        mine, more = {os.getpid()}, True
        while more:
            more = {p for p, parent in parents.items() if parent in mine} - mine
            mine |= more
        left = mine - {os.getpid()}
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.02)


def loopback_up():
    """A new network namespace has a loopback device that is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        ask = struct.pack('16sh14x', b'lo', 0)
        flags = struct.unpack('16sh14x', fcntl.ioctl(s, 0x8913, ask))[1]               # SIOCGIFFLAGS
        fcntl.ioctl(s, 0x8914, struct.pack('16sh14x', b'lo', flags | 1))               # SIOCSIFFLAGS, IFF_UP


def run_job(cell):
    """Reads the job, runs a cell of this class for it, writes what came of it, and leaves nothing running."""
    with open(sys.argv[1]) as f:
        job = json.load(f)
    if job['namespace']:
        loopback_up()
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans come to us

    def stop(*_):
        end_descendants()
        os._exit(2)
    signal.signal(signal.SIGTERM, stop)
    try:
        result = cell(job).run()
    except Broken as e:
        result = {'state': 'FAIL', 'why': [str(e)]}
    except subprocess.TimeoutExpired as e:
        result = {'state': 'FAIL', 'why': ['no end within %d s: %s' % (e.timeout, ' '.join(e.cmd[1:4]))]}
    put(os.path.join(job['folder'], 'result.json'), result)
    end_descendants()
    return job, result


def main():
    job, result = run_job(Cell)
    if not job['keep'] and result['state'] != 'FAIL':
        for name in ('home', 'repo', 'tmp', 'rec'):
            shutil.rmtree(os.path.join(job['folder'], name), ignore_errors=True)


if __name__ == '__main__':
    main()
