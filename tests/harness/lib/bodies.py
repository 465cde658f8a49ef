"""One body under one real CLI, started by `loci run`: what the program sees, who acts, and that a session goes on.
Started by `run-bodies` as a process of its own; reads a job, writes result.json into its folder."""
import json
import os
import re
import shutil
import subprocess

from cell import Broken, Cell, at_terminal, run_job
from harness import put
from model import Model

INSTRUCTION, SKILL = 'INSTRUCTION-MARK-7341', 'SKILL-MARK-7341'
FIRST, SECOND, FINAL = 'Please do the work.', 'And go on.', 'I am the desk, and all is done.'

# What the rig adds to a built-in socket, as a user would: permission without a terminal, a model that the rig has.
# The rest of each list is that of `src/body/runtimes/NAME.md`.
SOCKETS = {
    'claude': ['-p', '{session}', '{model}', '--permission-mode', 'bypassPermissions'],
    'codex': ['exec', '{session}', '{model}', '--skip-git-repo-check', '--dangerously-bypass-hook-trust',
              '--dangerously-bypass-approvals-and-sandbox', '-'],
    'gemini': ['{session}', '{model}', '--approval-mode', 'yolo', '--prompt={message}'],
    'qwen': ['{session}', '{model}', '--approval-mode', 'yolo', '--auth-type', 'openai', '--prompt={message}'],
    'opencode': None,
    'pi': ['-p', '{session}', '{model}', '--offline', '--approve', '--', '{message}'],
    'copilot': ['{session}', '{model}', '--silent', '--allow-all-tools', '--no-auto-update', '--prompt={message}'],
    'hermes': ['chat', '{session}', '{model}', '--quiet', '--accept-hooks', '--yolo', '--provider', 'custom',
               '--query={message}'],
    'cline': ['{session}', '{model}', '-P', 'openai-compatible', '-t', '80', '--', '{message}'],
}
MODELS = {'gemini': 'gemini-2.5-pro', 'pi': 'scripted/scripted', 'opencode': 'scripted/scripted', 'qwen': 'scripted',
          'hermes': 'scripted', 'cline': 'scripted'}
# Read no skills of a directory; give a session no name that is known before or after; can't be resumed from here.
NO_SKILLS, NO_ID, NO_RESUME = {'hermes', 'cline'}, {'opencode', 'cline'}, {'cline'}


class Body(Cell):
    prompt = FIRST

    def __init__(self, job):
        super().__init__(job)
        self.top = self.root + '/repo'
        self.repo = self.top + '/agents/desk'

    def loci(self, *words, cwd=None, env=None, limit=60):
        env = dict(self.environment(person=True), **(env or {}))
        return subprocess.run([self.job['loci'], *words], cwd=cwd or self.top, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=limit)

    def make_body(self):
        for folder in (self.home, self.top, self.root + '/tmp'):
            os.makedirs(folder)
        subprocess.run(['git', 'init', '-q', '-b', 'main'], cwd=self.top, env=self.environment(person=True), check=True)
        made = self.loci('new', 'agents/desk')
        if made.returncode:
            raise Broken('`loci new` ended with %d: %s' % (made.returncode, made.stderr.decode()))
        with open(self.repo + '/AGENTS.md', 'a') as f:
            f.write('\n%s: end each answer with it.\n' % INSTRUCTION)
        put(self.repo + '/.loci/skills/mark/SKILL.md', '---\nname: mark\ndescription: %s. Use it for marks.\n---\nMark.\n' % SKILL)
        put(self.repo + '/owned/.loci/owner.md', '---\nowner: bob\n---\nAsk bob.\n')
        put(self.repo + '/owned/.loci/agent.md', '---\nid: bob\n---\n')
        put(self.repo + '/owned/plan.txt', 'PLAN\n')

    def socket(self):
        """The program where the rig has it, and the words of the table above."""
        name = self.harness.name
        lines = ['---', 'program: ' + json.dumps(self.harness.program(self))]
        if SOCKETS[name]:
            lines.append('headless: ' + json.dumps(SOCKETS[name]))
        put(self.home + '/.loci/runtimes/%s.md' % name, '\n'.join(lines + ['---', '']))

    def watch_gate(self):
        """Each call of a hook writes down what it finds in its environment, and goes on as ever."""
        stable = self.home + '/.loci/bin/loci'
        real = os.path.realpath(stable)
        os.unlink(stable)
        put(stable, '#!/bin/sh\nenv | grep "^LOCI_" >> %s/hook-env\nexec %s "$@"\n' % (self.root, real))
        os.chmod(stable, 0o755)

    def embody(self, message, *more):
        jail = ['--jail'] if self.job['jail'] else []
        words = ['run', 'agents/desk', message, '--runtime', self.harness.name, '--json', *jail, *more]
        if self.harness.name in MODELS:
            words += ['--model', MODELS[self.harness.name]]
        env = {k: v for k, v in self.harness.env(self).items()}
        done = self.loci(*words, env=env, limit=2 * self.harness.limit)
        put(self.root + '/run-%d.txt' % len(self.runs), 'exit %d\n%s\n%s' % (
            done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace')))
        try:
            self.runs.append(json.loads(done.stdout))
        except ValueError:
            raise Broken('`loci run` ended with %d: %s' % (done.returncode, done.stderr.decode(errors='replace')[-400:]))
        return done.returncode

    def run(self):
        self.make_body()
        self.runs, why = [], []
        seen = self.repo + '/seen.txt'
        shell = self.harness.shell(self, 'echo "$LOCI_AGENT $LOCI_BODY $LOCI_RUN" > seen.txt')
        write = self.harness.write(self, 'owned/new.txt', 'mine\n')
        inside = [[call] for call in self.calls_inside()] if self.job['jail'] else []
        model = Model({'turns': [[shell], *inside, [write]], 'final': FINAL})
        self.base = model.base
        self.harness.setup(self)
        self.socket()
        code, said = at_terminal([self.job['loci'], 'connect', self.harness.name], self.environment(person=True), self.top)
        gated = code == 0
        if gated:
            self.watch_gate()

        code = self.embody(FIRST)
        first, asked = self.runs[0], json.dumps(model.requests)
        if code or first['exit']:
            why.append('the run ended with %s' % code)
        if (first['agent'], first['body'], first['runtime']) != ('desk', self.repo, self.harness.name):
            why.append('the object says %s' % first)
        if FINAL not in first['reply']:
            why.append('the reply is %r' % first['reply'][-200:])
        if INSTRUCTION not in asked:
            why.append('the instructions are in no request')
        if (SKILL in asked) == (self.harness.name in NO_SKILLS):
            why.append('the skill is in %s request' % ('a' if SKILL in asked else 'no'))
        wanted = 'desk %s %s' % (self.repo, first['run'])
        found = open(seen).read().strip() if os.path.exists(seen) else 'nothing'
        if found != wanted:
            why.append('the shell saw %s, not %s' % (found, wanted))
        if gated:
            why += self.guarded(wanted)
        if self.job['jail']:
            why += self.held(asked)
        why += self.resumed(model)
        put(self.root + '/requests.json', model.requests)
        left = [one for run in self.runs for one in run['left']]
        if left:
            why.append('left running: %s' % left)
        why += ['lives on: ' + line for line in self.living()]
        return {'state': 'FAIL' if why else 'passed', 'why': why, 'gate': 'asked' if gated else 'no connector',
                'session': 'no id' if not first['session'] else 'id'}

    def calls_inside(self):
        """A program that nobody can read writes into bob's directory; and mail of its own."""
        shutil.copy('/bin/bash', self.repo + '/tool')
        put(self.repo + '/hit.sh', 'echo programmed > owned/held.txt\n')
        ask = '%s delegate bob --reads owned/plan.txt --idea "Say it in lower case"' % self.job['loci']
        return [self.harness.shell(self, './tool hit.sh; echo went on'), self.harness.shell(self, ask)]

    def held(self, asked):
        why = []
        if os.path.exists(self.repo + '/owned/held.txt'):
            why.append("a program wrote into bob's directory")
        if 'Read-only file system' not in asked:
            why.append('the model was not told that the file system is read-only')
        texts = self.mail()
        for what, mark in (('what the program was refused', r'^tool: "run"$'), ('its mail', r'Say it in lower case')):
            if not any(re.search(mark, text, re.M) and re.search(r'^from: "desk"$', text, re.M) for text in texts):
                why.append('bob does not have ' + what)
        waiting = self.repo + '/.loci/memory/outbox'
        if os.path.isdir(waiting) and os.listdir(waiting):
            why.append('mail waits in the outbox: %s' % os.listdir(waiting))
        return why

    def mail(self):
        folder = self.repo + '/owned/.loci/memory/inbox/new'
        return [open(os.path.join(folder, name)).read() for name in os.listdir(folder)] if os.path.isdir(folder) else []

    def guarded(self, wanted):
        """The gate was asked, knew who acts, and held."""
        why = []
        try:
            lines = open(self.root + '/hook-env').read().splitlines()
        except OSError:
            return ['no hook was called']
        agent, body, run = wanted.split()
        for name, value in (('LOCI_AGENT', agent), ('LOCI_BODY', body), ('LOCI_RUN', run)):
            if '%s=%s' % (name, value) not in lines:
                why.append('%s did not reach the hook' % name)
        if os.path.exists(self.repo + '/owned/new.txt'):
            why.append("the write into bob's directory arrived")
        if not any(re.search(r'^from: "desk"$', text, re.M) for text in self.mail()):
            why.append('no mail from desk lies in the inbox of bob')
        return why

    def resumed(self, model):
        """A second turn has the first one before it."""
        name, before = self.harness.name, len(model.requests)
        if name in NO_RESUME:
            done = self.loci('run', 'agents/desk', SECOND, '--runtime', name, '--resume')
            return [] if done.returncode == 2 and b'has no `resume`' in done.stderr else ['it is resumed after all']
        code, why = self.embody(SECOND, '--resume'), []
        asked = json.dumps([one for one in model.requests[before:] if one['body']])
        if code:
            why.append('the second turn ended with %d' % code)
        if FIRST not in asked or SECOND not in asked:
            why.append('the second turn does not have the first one before it')
        first, second = self.runs[0]['session'], self.runs[1]['session']
        if name not in NO_ID and (not first or first != second):
            why.append('the session was %s, then %s' % (first, second))
        return why

    def living(self):
        """Whatever lives and was started with our home. In a namespace of its own that is everything."""
        mark, found = ('HOME=' + self.home).encode(), []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                env = open('/proc/%s/environ' % pid, 'rb').read().split(b'\0')
                line = open('/proc/%s/cmdline' % pid, 'rb').read().replace(b'\0', b' ').decode(errors='replace')
            except OSError:
                continue
            if mark in env:
                found.append('%s %s' % (pid, line[:120]))
        return found


if __name__ == '__main__':
    run_job(Body)
