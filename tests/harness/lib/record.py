"""Records what a harness hands to a hook, with neutral names. As a program: the hook that does it."""
import json
import os
import re
import sys

LONG = 600  # longer texts are a harness's own words and no part of the contract; so are these
OWN_PATCH = '''*** Begin Patch
*** Add File: notes/added.txt
+added
*** Update File: notes/own.txt
@@
-first
+patched
*** End Patch'''
PROMPTS = ('systemPrompt', 'systemPromptOptions')


def hook(folder, event):
    raw = sys.stdin.read()
    os.makedirs(folder, exist_ok=True)
    # Hooks of one event can run side by side: exclusive creation finds each its own number.
    for n in range(1, 1000):
        try:
            with open('%s/%03d.json' % (folder, n), 'x') as f:
                json.dump({'event': event, 'hook_cwd': os.getcwd(), 'stdin': raw}, f)
            return
        except FileExistsError:
            pass


def scenario(h, cell):
    """All tools in turn, in alice's own files; with `record-patch` the patch tools, which some harnesses give to other
    models, and calls that fail."""
    from scenarios import Scenario
    if cell.scenario == 'record-patch':
        patch = h.patch(cell, OWN_PATCH)
        return Scenario((patch or []) + [[h.shell(cell, 'ls missing')], [h.read(cell, 'notes/missing.txt')]])
    turns = [[h.read(cell, 'notes/own.txt')], [h.write(cell, 'notes/new.txt', 'new\n')],
             [h.edit(cell, 'notes/own.txt', 'first', 'second')], [h.shell(cell, 'echo hi > notes/typed.txt')]]
    agents = {}
    if h.has_agents:
        from harness import SUBTASK
        turns += [[call] for call in h.agent(cell)]
        agents = {SUBTASK: [[h.write(cell, 'notes/sub.txt', 'sub\n')]]}
    return Scenario(turns, agents=agents)


def collect(cell):
    """{file name: payload}, the first of each kind; a payload of a sub-agent is a kind of its own."""
    folder, found = cell.root + '/rec', {}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, name)) as f:
            got = json.load(f)
        try:
            stdin = json.loads(got['stdin'])
        except ValueError:
            continue
        pre = stdin.get('preToolUse') or stdin.get('postToolUse') or {}
        tool = stdin.get('tool_name') or stdin.get('toolName') or pre.get('toolName') or ''
        event = stdin.get('hook_event_name') if got['event'] == 'event' else got['event']
        key = event + ('-' + re.sub(r'\W+', '_', tool) if tool else '')
        if cell.scenario == 'record-patch':
            key += '.more'
        if sub_agent(stdin):
            key += '.agent'
        found.setdefault(key + '.json', scrub(cell, {
            'cli': cell.harness.name, 'version': cell.job['versions'][cell.harness.name], 'event': event,
            'hook_cwd': got['hook_cwd'], 'stdin': stdin}))
    return found


def sub_agent(stdin):
    """Whether the payload itself says that a sub-agent is at work. (Cline names an agent always, and its parent.)"""
    if 'parent_agent_id' in stdin:
        return bool(stdin['parent_agent_id'])
    if str((stdin.get('extra') or {}).get('task_id')).startswith('sa-'):  # hermes
        return True
    return bool(stdin.get('agent_id') or stdin.get('agentId'))


def scrub(cell, payload):
    ids = {}

    def number(match):
        return ids.setdefault(match.group(0), '00000000-0000-4000-8000-%012d' % (len(ids) + 1))

    def text(s):
        for path, name in ((cell.repo, '/home/dev/project'), (cell.home, '/home/dev'), (cell.root, '/home/dev/run'),
                           (cell.job['cache'], '/opt/harness')):
            s = s.replace(path, name).replace(re.sub(r'[^A-Za-z0-9]', '-', path), re.sub(r'[^A-Za-z0-9]', '-', name))
        s = re.sub(r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', number, s)
        s = re.sub(r'20\d\d-\d\d-\d\dT\d\d([:-])\d\d(?:[:-]\d\d)?(?:\.\d+)?',
                   lambda m: '2026-01-01T00{0}00{0}00'.format(m.group(1)), s)
        s = re.sub(r'20\d{6}_\d{6}_[0-9a-f]{6}', '20260101_000000_000000', s)
        s = re.sub(r'(ses|msg|prt)_[0-9A-Za-z]{20,}', number, s)
        s = re.sub(r'/20\d\d/\d\d/\d\d/', '/2026/01/01/', s)
        return s if len(s) <= LONG else s[:200] + '…'

    def walk(value):
        if isinstance(value, dict):
            return {k: '…' if k in PROMPTS else walk(v) for k, v in value.items()}
        if isinstance(value, list):
            return [walk(v) for v in value]
        return text(value) if isinstance(value, str) else value
    return walk(payload)


def keys(value, at=''):
    """The names in a payload, as paths; what stands in a list counts once."""
    if isinstance(value, dict):
        return {at + k for k in value}.union(*(keys(v, at + k + '.') for k, v in value.items()))
    if isinstance(value, list):
        return set().union(*(keys(v, at + '[].') for v in value))
    return set()


def compare(payloads, folder):
    """Lines that say where today's payloads have other names than the recorded ones."""
    lines = []
    for name, payload in sorted(payloads.items()):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            lines.append('%s: not among the fixtures' % name)
            continue
        with open(path) as f:
            old = keys(json.load(f)['stdin'])
        new = keys(payload['stdin'])
        # What stands in these depends on what was called before, not on the version.
        old, new = ({k for k in names if not k.startswith(('tool_calls.', 'background_tasks.'))} for names in (old, new))
        lines += ['%s: new %s' % (name, k) for k in sorted(new - old)]
        lines += ['%s: gone %s' % (name, k) for k in sorted(old - new)]
    return lines


if __name__ == '__main__':
    hook(sys.argv[1], sys.argv[2])
