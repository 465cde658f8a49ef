"""The five harnesses that `--all` adds."""
import json
import os
import shlex
import shutil
import subprocess

from harness import PATCH, SUBTASK, Harness, merge, put


class Qwen(Harness):
    name, before, timeout_unit, limit = 'qwen', 'PreToolUse', 1000, 120
    events = ('PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'UserPromptSubmit', 'Stop', 'SessionStart', 'SessionEnd',
              'SubagentStart', 'SubagentStop', 'Notification')

    def write(self, cell, path, text):
        return {'tool': 'write_file', 'input': {'file_path': cell.path(path), 'content': text}}

    def edit(self, cell, path, old, new):
        return {'tool': 'edit', 'input': {'file_path': cell.path(path), 'old_string': old, 'new_string': new}}

    def shell(self, cell, command):
        return {'tool': 'run_shell_command', 'input': {'command': command, 'is_background': False}}

    def read(self, cell, path):
        return {'tool': 'read_file', 'input': {'file_path': cell.path(path)}}

    def agent(self, cell):
        # It runs beside the parent, which has to stay until it is through.
        return [{'tool': 'agent', 'input': {'description': 'a task', 'prompt': SUBTASK,
                                            'subagent_type': 'general-purpose', 'run_in_background': False}}]

    def setup(self, cell):
        merge(cell.home + '/.qwen/settings.json', {
            'security': {'auth': {'selectedType': 'openai'}, 'folderTrust': {'enabled': False}},
            'general': {'enableAutoUpdate': False, 'disableAutoUpdate': True},
            'privacy': {'usageStatisticsEnabled': False}, 'telemetry': {'enabled': False}})

    def env(self, cell):
        return {'OPENAI_API_KEY': 'none', 'OPENAI_BASE_URL': cell.base + '/v1', 'OPENAI_MODEL': 'scripted',
                'QWEN_TELEMETRY_ENABLED': 'false'}

    def argv(self, cell):
        return [self.program(cell), '-p', cell.prompt, '--approval-mode', 'yolo', '--auth-type', 'openai',
                '-m', 'scripted', '--output-format', 'stream-json']

    def wire(self, cell, command, events, timeout):
        merge(cell.home + '/.qwen/settings.json', {'hooks': {
            event: [{'matcher': '*', 'hooks': [{'type': 'command', 'name': 'loci', 'command': command(event),
                                                'timeout': timeout * self.timeout_unit}]}] for event in events}})


class Copilot(Harness):
    name, before = 'copilot', 'preToolUse'
    events = ('preToolUse', 'postToolUse', 'postToolUseFailure', 'userPromptSubmitted', 'sessionStart', 'sessionEnd',
              'agentStop', 'subagentStart', 'subagentStop', 'errorOccurred')

    def write(self, cell, path, text):
        return {'tool': 'create', 'input': {'path': cell.path(path), 'file_text': text}}

    def edit(self, cell, path, old, new):
        return {'tool': 'edit', 'input': {'path': cell.path(path), 'old_str': old, 'new_str': new}}

    def shell(self, cell, command):
        return {'tool': 'bash', 'input': {'command': command, 'description': 'a command', 'mode': 'sync'}}

    def read(self, cell, path):
        return {'tool': 'view', 'input': {'path': cell.path(path)}}

    def patch(self, cell, text=PATCH):
        return [[{'custom': 'apply_patch', 'input': text}]]

    def agent(self, cell):
        return [{'tool': 'task', 'input': {'name': 'task', 'description': 'a task', 'prompt': SUBTASK, 'mode': 'sync',
                                           'agent_type': 'general-purpose'}}]

    def setup(self, cell):
        # Hooks of a project need this trust; the user's own, which loci writes, don't.
        merge(cell.home + '/.copilot/config.json', {'trusted_folders': [cell.repo], 'trustedFolders': [cell.repo]})

    def env(self, cell):
        # Models whose name begins like this get apply_patch, as free text, in place of create and edit.
        model = 'gpt-5.1-codex' if 'patch' in cell.scenario else 'scripted'
        return {'COPILOT_PROVIDER_BASE_URL': cell.base + '/v1', 'COPILOT_PROVIDER_TYPE': 'openai',
                'COPILOT_PROVIDER_API_KEY': 'none', 'COPILOT_MODEL': model, 'COPILOT_OFFLINE': 'true',
                'COPILOT_AUTO_UPDATE': 'false', 'COPILOT_ALLOW_ALL': '1'}

    def argv(self, cell):
        return [self.program(cell), '-p', cell.prompt, '--allow-all-tools', '--no-color', '--no-auto-update']

    def wire(self, cell, command, events, timeout):
        put(cell.home + '/.copilot/hooks/loci.json', {'version': 1, 'hooks': {
            event: [{'type': 'command', 'bash': command(event), 'timeoutSec': timeout}] for event in events}})


class OpenCode(Harness):
    name, before, limit = 'opencode', 'tool.execute.before', 90
    events = ('tool.execute.before', 'tool.execute.after', 'chat.message', 'experimental.chat.system.transform', 'event')

    def write(self, cell, path, text):
        return {'tool': 'write', 'input': {'filePath': cell.path(path), 'content': text}}

    def edit(self, cell, path, old, new):
        return {'tool': 'edit', 'input': {'filePath': cell.path(path), 'oldString': old, 'newString': new}}

    def patch(self, cell, text=PATCH):
        return [[{'tool': 'apply_patch', 'input': {'patchText': text}}]]

    def shell(self, cell, command):
        return {'tool': 'bash', 'input': {'command': command, 'description': 'a command'}}

    def read(self, cell, path):
        return {'tool': 'read', 'input': {'filePath': cell.path(path)}}

    def agent(self, cell):
        return [{'tool': 'task', 'input': {'description': 'a task', 'prompt': SUBTASK, 'subagent_type': 'general'}}]

    def setup(self, cell):
        limit = {'name': 'scripted', 'tool_call': True, 'limit': {'context': 200000, 'output': 8000}}
        # Models whose name begins like this get apply_patch in place of write and edit.
        models = {'scripted': limit, 'gpt-5-scripted': dict(limit, name='gpt-5-scripted')}
        folder = cell.home + '/.config/opencode'
        put(folder + '/opencode.json', {
            '$schema': 'https://opencode.ai/config.json', 'autoupdate': False, 'share': 'disabled',
            'model': 'scripted/scripted', 'small_model': 'scripted/scripted',
            'provider': {'scripted': {'npm': '@ai-sdk/openai-compatible', 'name': 'scripted', 'models': models,
                                      'options': {'baseURL': cell.base + '/v1', 'apiKey': 'none'}}},
            'permission': {'edit': 'allow', 'bash': 'allow', 'webfetch': 'allow'}})
        # It wants this package in every folder that may hold plugins, and without a network waits for it for ever.
        plugin = cell.folder('opencode-plugin')
        for place in (folder, cell.home + '/.opencode', cell.repo + '/.opencode'):
            os.makedirs(place, exist_ok=True)
            for file in ('package.json', 'package-lock.json'):
                shutil.copy(os.path.join(plugin, file), place)
            os.symlink(os.path.join(plugin, 'node_modules'), place + '/node_modules')
        put(cell.home + '/.npmrc', 'registry=%s/npm/\nfetch-retries=0\naudit=false\nfund=false\n' % cell.base)

    def env(self, cell):
        return {'OPENCODE_DISABLE_AUTOUPDATE': '1', 'OPENCODE_DISABLE_MODELS_FETCH': '1',
                'OPENCODE_DISABLE_LSP_DOWNLOAD': '1', 'OPENCODE_DISABLE_SHARE': '1'}

    def argv(self, cell):
        model = 'gpt-5-scripted' if 'patch' in cell.scenario else 'scripted'
        return [self.program(cell), 'run', '--format', 'json', '-m', 'scripted/' + model, cell.prompt]

    def wire(self, cell, command, events, timeout):
        cell.relay('relay-opencode.js', cell.home + '/.config/opencode/plugin/loci.js', command, events, timeout)


class Hermes(Harness):
    name, before, limit, has_agents = 'hermes', 'pre_tool_call', 120, True
    connect_flags = ('--trust',)
    events = ('pre_tool_call', 'post_tool_call', 'pre_llm_call', 'post_llm_call', 'on_session_start', 'on_session_end',
              'subagent_start', 'subagent_stop', 'pre_verify')

    def program(self, cell, name=None):
        return os.path.join(cell.folder('hermes'), 'bin/hermes')

    def write(self, cell, path, text):
        return {'tool': 'write_file', 'input': {'path': path, 'content': text}}

    def edit(self, cell, path, old, new):
        return {'tool': 'patch', 'input': {'mode': 'replace', 'path': path, 'old_string': old, 'new_string': new}}

    def patch(self, cell, text=PATCH):
        return [[{'tool': 'patch', 'input': {'mode': 'patch', 'patch': text}}]]

    def shell(self, cell, command):
        return {'tool': 'terminal', 'input': {'command': command}}

    def read(self, cell, path):
        return {'tool': 'read_file', 'input': {'path': path}}

    def agent(self, cell):
        return [{'tool': 'delegate_task', 'input': {'goal': SUBTASK, 'context': 'none'}}]

    def setup(self, cell):
        put(cell.home + '/.hermes/config.yaml', 'model:\n  default: scripted\n  provider: custom\n  base_url: %s/v1\n'
            '  api_key: none\n  context_length: 128000\ncheck_for_updates: false\n' % cell.base)

    def env(self, cell):
        # Hooks that nobody agreed to don't run: for the rig's own this variable stands for the person's yes.
        accept = {} if cell.job['mode'] == 'loci' else {'HERMES_ACCEPT_HOOKS': '1'}
        return {**accept, 'OPENAI_API_KEY': 'none', 'HERMES_DISABLE_UPDATE_CHECK': '1',
                'HERMES_YOLO_MODE': '1', 'TERMINAL_CWD': cell.repo}

    def argv(self, cell):
        accept = [] if cell.job['mode'] == 'loci' else ['--accept-hooks']
        return [self.program(cell), '-z', cell.prompt, *accept, '--yolo', '-m', 'scripted',
                '--provider', 'custom']

    def wire(self, cell, command, events, timeout):
        lines = ['hooks:\n']
        for event in events:
            lines.append('  %s:\n    - command: %s\n      timeout: %d\n' % (event, json.dumps(command(event)), timeout))
        with open(cell.home + '/.hermes/config.yaml', 'a') as f:
            f.writelines(lines)


class Cline(Harness):
    name, before, limit, has_agents = 'cline', 'PreToolUse', 90, False
    events = ('PreToolUse', 'PostToolUse', 'UserPromptSubmit', 'TaskStart', 'TaskResume', 'TaskCancel', 'TaskComplete',
              'TaskError', 'PreCompact', 'SessionStart', 'SessionShutdown')

    def write(self, cell, path, text):
        return {'tool': 'editor', 'input': {'path': cell.path(path), 'new_text': text}}

    def edit(self, cell, path, old, new):
        return {'tool': 'editor', 'input': {'path': cell.path(path), 'old_text': old, 'new_text': new}}

    def shell(self, cell, command):
        return {'tool': 'run_commands', 'input': {'commands': [command]}}

    def read(self, cell, path):
        return {'tool': 'read_files', 'input': {'files': [{'path': cell.path(path)}]}}

    def env(self, cell):
        return {'CLINE_TELEMETRY_DISABLED': '1', 'CLINE_NO_AUTO_UPDATE': '1', 'OPENAI_API_KEY': 'none',
                'OPENAI_BASE_URL': cell.base + '/v1'}

    def setup(self, cell):
        subprocess.run([self.program(cell), 'auth', '--provider', 'openai-compatible', '--apikey', 'none', '--modelid',
                        'scripted', '--baseurl', cell.base + '/v1'], env=cell.environment(), cwd=cell.repo,
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=60)

    def argv(self, cell):
        return [self.program(cell), '--json', '-P', 'openai-compatible', '-m', 'scripted', '-t', '80', cell.prompt]

    def wire(self, cell, command, events, timeout):
        # An executable named like the event. Cline waits for it as long as it takes, so it has to bound itself.
        for event in events:
            file = cell.home + '/.cline/hooks/' + event
            put(file, '#!/bin/sh\nexec timeout -k 1 %d sh -c %s\n' % (timeout, shlex.quote(command(event))))
            os.chmod(file, 0o755)
