"""The loop, with a real CLI on both sides: a write is refused, the clock wakes the owner with it, and the owner's answer
arrives. Started by `run-bodies --wake` as a process of its own; reads a job, writes result.json into its folder."""
import json
import os
import re
import time

from bodies import FINAL, FIRST, MODELS, SOCKETS, Body
from cell import Broken, at_terminal, run_job
from harness import put
from model import Model

WOKEN = 'The clock has woken you'
ID = '{{LAST:([0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}) from desk}}'


class Wake(Body):
    def socket(self):
        """As the table of the bodies has it; nobody says a model on the command line of a wake."""
        name, words = self.harness.name, []
        for word in SOCKETS[name]:
            words += ['--model', MODELS[name]] if word == '{model}' and name in MODELS else [word]
        put(self.home + '/.loci/runtimes/%s.md' % name, '\n'.join(
            ['---', 'program: ' + json.dumps(self.harness.program(self)), 'headless: ' + json.dumps(words), '---', '']))

    def record(self):
        jobs = json.loads(self.loci('jobs', 'list', '--json').stdout)['jobs']
        return next(one for one in jobs if one['name'] == 'wake:bob')['record'] or {}

    def woken(self):
        """Ticks until the wake was judged; how."""
        end = time.time() + 2 * self.harness.limit
        env = dict(self.harness.env(self))
        while time.time() < end:
            done = self.loci('clock', 'once', '.', env=env)
            with open(self.root + '/clock.txt', 'ab') as log:
                log.write(done.stderr)
            record = self.record()
            if record.get('outcome') and not record.get('running'):
                return record['outcome']
            time.sleep(0.5)
        raise Broken('the wake was not judged in time')

    def run(self):
        self.make_body()
        name, owned = self.harness.name, self.repo + '/owned'
        put(owned + '/.loci/agent.md', '---\nid: bob\nruntime: %s\nwake: [delegation]\n---\nYou keep the rates.\n' % name)
        os.makedirs(self.top + '/.loci-clock/jobs')
        self.runs, why = [], []
        own = "printf 'rate 19, from the table\\n' > tax.txt && %s inbox done %s --reply 'It is in the table now.'" % (self.job['loci'], ID)
        model = Model({'turns': [[self.harness.write(self, 'owned/tax.txt', 'rate 19\n')]], 'final': FINAL,
                       'agents': {WOKEN: [[self.harness.shell(self, own)]]}})
        self.base = model.base
        self.harness.setup(self)
        self.socket()
        code, said = at_terminal([self.job['loci'], 'connect', name], self.environment(person=True), self.top)
        if code:
            raise Broken('`loci connect` ended with %s: %s' % (code, said))
        done = self.loci('run', 'agents/desk', FIRST, '--runtime', name, '--json', env=dict(self.harness.env(self)),
                         limit=2 * self.harness.limit)
        if done.returncode:
            raise Broken('`loci run` ended with %d: %s' % (done.returncode, done.stderr.decode(errors='replace')[-400:]))
        if os.path.exists(owned + '/tax.txt'):
            why.append("the write into bob's directory arrived")
        for words in (('clock', 'enroll', '.'), ('jobs', 'arm', 'wake:bob')):
            done = self.loci(*words)
            if done.returncode:
                raise Broken('`loci %s` ended with %d: %s' % (' '.join(words), done.returncode, done.stderr.decode()))
        outcome = self.woken()
        put(self.root + '/requests.json', model.requests)
        if outcome != 'success':
            why.append('the wake was judged %s' % outcome)
        if not os.path.exists(owned + '/tax.txt') or open(owned + '/tax.txt').read() != 'rate 19, from the table\n':
            why.append('bob did not write his own version')
        folder = self.repo + '/.loci/memory/inbox/new'
        mail = [open(os.path.join(folder, one)).read() for one in os.listdir(folder)] if os.path.isdir(folder) else []
        if not any(re.search(r'^from: "bob"$', text, re.M) and 'kind: reply' in text for text in mail):
            why.append('no answer from bob lies in the inbox of desk')
        if self.loci('ledger').returncode:
            why.append('something is stuck')
        why += ['lives on: ' + line for line in self.living()]
        return {'state': 'FAIL' if why else 'passed', 'why': why, 'gate': outcome, 'session': 'woken'}


if __name__ == '__main__':
    run_job(Wake)
