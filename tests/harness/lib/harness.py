"""What every harness has in common, and the four that a default run drives."""
import json
import os
import shlex

SUBTASK = 'SUBTASK'

PATCH = '''*** Begin Patch
*** Update File: notes/own.txt
@@
-first
+patched by alice
*** Update File: owned/a.txt
@@
 alpha
-beta
+patched by alice
 gamma
*** Delete File: owned/b.txt
*** End Patch'''


def put(path, content):
    """Writes a file with its folders; a dict or list as JSON."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write(content if isinstance(content, str) else json.dumps(content, indent=2) + '\n')


def merge(path, new):
    """Adds top-level keys to a JSON file, as a person's own settings would already be there."""
    try:
        with open(path) as f:
            current = json.load(f)
    except FileNotFoundError:
        current = {}
    put(path, dict(current, **new))


class Harness:
    """One agent CLI. `setup` writes what a user has before loci comes: a model, no telemetry, and the trust that this
    harness asks for. `wire` stands in for `loci connect` in runs with `--gate` and `--record`."""
    name = ''
    before = ''            # its before-tool event
    events = ()            # every event that `--record` listens to
    has_agents = True      # whether a sub-agent can be started from a script
    holds = False          # whether its user can let a hook put a command into `loci exec`
    connect_flags = ()     # what `loci connect` is told besides
    limit = 60             # seconds for one run of the CLI
    timeout_unit = 1       # hook timeouts: 1 = seconds, 1000 = milliseconds

    def program(self, cell, name=None):
        return os.path.join(cell.folder(name or self.name), 'node_modules/.bin', name or self.name)

    # Tool calls, in this harness's own names. `path` is relative to the repository.
    def write(self, cell, path, text): raise NotImplementedError
    def edit(self, cell, path, old, new): raise NotImplementedError
    def shell(self, cell, command): raise NotImplementedError
    def read(self, cell, path): raise NotImplementedError
    def patch(self, cell, text=PATCH): return None

    def typed(self, cell):
        """Turns that type into a shell which stays open; None where that is asked about, or can't be done."""
        return None

    def unhook(self, cell):
        """A command that switches hooks off in a way that works at once; None where there is none."""
        return None

    def agent(self, cell):
        """Turns of the parent that start a sub-agent and wait for it."""
        raise NotImplementedError

    def said(self, text):
        """The part of a refusal that the gate wrote: without what the harness repeats of the call."""
        return text

    def setup(self, cell): pass
    def env(self, cell): return {}
    def argv(self, cell): raise NotImplementedError
    def wire(self, cell, command, events, timeout): raise NotImplementedError


class Claude(Harness):
    name, before = 'claude', 'PreToolUse'
    events = ('PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PostToolBatch', 'UserPromptSubmit', 'SessionStart',
              'SessionEnd', 'Stop', 'SubagentStart', 'SubagentStop', 'CwdChanged', 'ConfigChange')
    holds = True
    # The tools that write, and the rest. Only the first may close when the gate is gone: nobody is kept from reading.
    writers = 'Write|Edit|MultiEdit|NotebookEdit|Bash|Monitor'

    def write(self, cell, path, text):
        return {'tool': 'Write', 'input': {'file_path': cell.path(path), 'content': text}}

    def edit(self, cell, path, old, new):
        return {'tool': 'Edit', 'input': {'file_path': cell.path(path), 'old_string': old, 'new_string': new}}

    def shell(self, cell, command):
        return {'tool': 'Bash', 'input': {'command': command, 'description': 'a command'}}

    def read(self, cell, path):
        return {'tool': 'Read', 'input': {'file_path': cell.path(path)}}

    def agent(self, cell):
        return [{'tool': 'Agent', 'input': {'description': 'a task', 'prompt': SUBTASK, 'run_in_background': False,
                                            'subagent_type': 'general-purpose'}}]

    def unhook(self, cell):
        put(cell.path('notes/off.py'), 'import os, sys, time\nos.makedirs(".claude", exist_ok=True)\n'
            'with open(os.path.join(".claude", "settings.local.json"), "w") as f:\n'
            '    f.write(\'{"disableAll%s": true}\' % "Hooks")\ntime.sleep(4)\n')
        return 'python3 notes/off.py'

    def env(self, cell):
        # IS_SANDBOX: without it Claude Code won't run as root with permission prompts off.
        return {'ANTHROPIC_BASE_URL': cell.base, 'ANTHROPIC_API_KEY': 'none', 'ANTHROPIC_MODEL': 'claude-sonnet-4-5',
                'DISABLE_TELEMETRY': '1', 'DISABLE_ERROR_REPORTING': '1', 'DISABLE_AUTOUPDATER': '1',
                'DISABLE_BUG_COMMAND': '1', 'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC': '1', 'IS_SANDBOX': '1'}

    def argv(self, cell):
        return [self.program(cell), '-p', cell.prompt, '--permission-mode', 'bypassPermissions',
                '--output-format', 'stream-json', '--verbose']

    def wire(self, cell, command, events, timeout):
        hooks = {}
        for event in events:
            hook = {'type': 'command', 'command': command(event), 'timeout': timeout}
            hooks[event] = [{'hooks': [hook]}]
        if events == (self.before,):
            hook = hooks[self.before][0]['hooks'][0]
            hooks[self.before] = [{'matcher': self.writers, 'hooks': [dict(hook, onFailure='block')]},
                                  {'matcher': '^(?!(%s)$)' % self.writers, 'hooks': [hook]}]
        merge(cell.home + '/.claude/settings.json', {'hooks': hooks})


class Codex(Harness):
    name, before = 'codex', 'PreToolUse'
    events = ('PreToolUse', 'PostToolUse', 'UserPromptSubmit', 'SessionStart', 'Stop', 'SubagentStart', 'SubagentStop')
    connect_flags = ('--trust',)
    holds = True

    def typed(self, cell):
        def line(text):
            return [{'tool': 'write_stdin', 'input': {'session_id': '{{NUMBER:session ID (\\d+)}}', 'chars': text + '\n',
                                                      'yield_time_ms': 1500}}]
        return [[{'tool': 'exec_command', 'input': {'cmd': 'bash -i', 'tty': True, 'yield_time_ms': 1500}}],
                line('echo typed by alice > owned/typed.txt'), line('echo typed by alice > notes/typed.txt'), line('exit')]

    def write(self, cell, path, text):
        body = ''.join('+%s\n' % line for line in text.splitlines())
        return {'custom': 'apply_patch', 'input': '*** Begin Patch\n*** Add File: %s\n%s*** End Patch' % (path, body)}

    def edit(self, cell, path, old, new):
        return {'custom': 'apply_patch', 'input': '*** Begin Patch\n*** Update File: %s\n@@\n-%s\n+%s\n*** End Patch'
                                                  % (path, old, new)}

    def patch(self, cell, text=PATCH):
        # As a tool, and typed into a shell: Codex carries the second one out itself, and no program runs for it.
        return [[{'custom': 'apply_patch', 'input': text}], [self.shell(cell, "apply_patch <<'EOP'\n%s\nEOP" % text)]]

    def shell(self, cell, command):
        return {'tool': 'exec_command', 'input': {'cmd': command}}

    def read(self, cell, path):
        return self.shell(cell, 'cat ' + shlex.quote(path))

    def agent(self, cell):
        return [{'tool': 'spawn_agent', 'namespace': 'multi_agent_v1', 'input': {'message': SUBTASK}},
                {'tool': 'wait_agent', 'namespace': 'multi_agent_v1', 'input': {
                    'targets': ['{{LAST:agent_id[^0-9a-f]+([0-9a-f-]{36})}}'], 'timeout_ms': 20000}}]

    def said(self, text):
        return text.split('. Command: ')[0]

    def setup(self, cell):
        put(cell.home + '/.codex/config.toml', '''model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
[analytics]
enabled = false
[otel]
exporter = "none"
[projects."%s"]
trust_level = "trusted"
''' % (cell.base, cell.repo))

    def env(self, cell):
        return {'SCRIPTED_KEY': 'none', 'CODEX_HOME': cell.home + '/.codex'}

    def argv(self, cell):
        # Hooks that nobody has approved are left out without a word: for the rig's own the flag stands for the approval.
        trust = [] if cell.job['mode'] == 'loci' else ['--dangerously-bypass-hook-trust']
        return [self.program(cell), 'exec', '--json', *trust, '--dangerously-bypass-approvals-and-sandbox', cell.prompt]

    def wire(self, cell, command, events, timeout):
        put(cell.home + '/.codex/hooks.json', {'hooks': {
            event: [{'hooks': [{'type': 'command', 'command': command(event), 'timeout': timeout}]}]
            for event in events}})


class Gemini(Harness):
    name, before, timeout_unit = 'gemini', 'BeforeTool', 1000
    events = ('BeforeTool', 'AfterTool', 'BeforeAgent', 'AfterAgent', 'SessionStart', 'SessionEnd')

    def write(self, cell, path, text):
        return {'tool': 'write_file', 'input': {'file_path': path, 'content': text}}

    def edit(self, cell, path, old, new):
        return {'tool': 'replace', 'input': {'file_path': path, 'instruction': 'change it', 'old_string': old,
                                             'new_string': new}}

    def shell(self, cell, command):
        return {'tool': 'run_shell_command', 'input': {'command': command, 'description': 'a command'}}

    def read(self, cell, path):
        return {'tool': 'read_file', 'input': {'file_path': path}}

    def agent(self, cell):
        return [{'tool': 'invoke_agent', 'input': {'agent_name': 'generalist', 'prompt': SUBTASK}}]

    def setup(self, cell):
        merge(cell.home + '/.gemini/settings.json', {
            'security': {'auth': {'selectedType': 'gemini-api-key'}, 'folderTrust': {'enabled': False}},
            'general': {'enableAutoUpdate': False, 'disableAutoUpdate': True},
            'privacy': {'usageStatisticsEnabled': False}, 'telemetry': {'enabled': False}})

    def env(self, cell):
        # Without trust for the folder Gemini CLI refuses to run without a terminal.
        return {'GEMINI_API_KEY': 'none', 'GOOGLE_GEMINI_BASE_URL': cell.base, 'GEMINI_CLI_TRUST_WORKSPACE': 'true',
                'GEMINI_TELEMETRY_ENABLED': 'false'}

    def argv(self, cell):
        return [self.program(cell), '-p', cell.prompt, '--approval-mode', 'yolo', '-m', 'gemini-2.5-pro',
                '--output-format', 'stream-json']

    def wire(self, cell, command, events, timeout):
        merge(cell.home + '/.gemini/settings.json', {'hooks': {
            event: [{'matcher': '*', 'hooks': [{'type': 'command', 'name': 'loci', 'command': command(event),
                                                'timeout': timeout * self.timeout_unit}]}] for event in events}})


class Pi(Harness):
    name, before, has_agents = 'pi', 'tool_call', False
    holds = True
    events = ('tool_call', 'tool_result', 'session_start', 'session_shutdown', 'input', 'before_agent_start',
              'agent_start')

    def write(self, cell, path, text):
        return {'tool': 'write', 'input': {'path': path, 'content': text}}

    def edit(self, cell, path, old, new):
        return {'tool': 'edit', 'input': {'path': path, 'edits': [{'oldText': old, 'newText': new}]}}

    def shell(self, cell, command):
        return {'tool': 'bash', 'input': {'command': command}}

    def read(self, cell, path):
        return {'tool': 'read', 'input': {'path': path}}

    def setup(self, cell):
        put(cell.home + '/.pi/agent/models.json', {'providers': {'scripted': {
            'baseUrl': cell.base + '/v1', 'api': 'openai-completions', 'apiKey': 'none',
            'models': [{'id': 'scripted', 'name': 'scripted', 'reasoning': False, 'input': ['text'],
                        'cost': {'input': 0, 'output': 0, 'cacheRead': 0, 'cacheWrite': 0},
                        'contextWindow': 128000, 'maxTokens': 8192}]}}})

    def env(self, cell):
        return {'PI_OFFLINE': '1', 'PI_SKIP_VERSION_CHECK': '1', 'PI_TELEMETRY': '0'}

    def argv(self, cell):
        # An extension of the user needs no approval; one of the project would.
        return [self.program(cell), '-p', '--offline', '--mode', 'json', '--model', 'scripted/scripted', cell.prompt]

    def wire(self, cell, command, events, timeout):
        cell.relay('relay-pi.ts', cell.home + '/.pi/agent/extensions/loci.ts', command, events, timeout)
