"""A model that plays a script. Loopback only, no state but the script: which turn comes next is counted from the
conversation that the harness sends along, so retries, titles, summaries and sub-agents can't get it out of step.

Speaks the four APIs that the harnesses use: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions, Gemini.

script = {"turns": [[CALL, …], …], "agents": {TEXT: turns}, "final": TEXT}
CALL = {"tool": NAME, "input": {…}} or, for a tool that takes free text, {"custom": NAME, "input": TEXT}
`agents`: other turns for a conversation whose first words hold TEXT (that is how a sub-agent is told apart).
{{LAST:regex}} in an input: group 1 of the last match in the request, for ids that only the harness knows; as a whole
value {{NUMBER:regex}}, the same as a number.
"""
import gzip
import json
import re
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def words(part):
    """All the text of a message, whatever shape the API gives it."""
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return '\n'.join(words(p) for p in part)
    if isinstance(part, dict):
        return '\n'.join(words(part[k]) for k in ('text', 'content', 'parts', 'output', 'error', 'result') if k in part)
    return ''


class Model:
    def __init__(self, script):
        self.turns = script['turns']
        self.agents = script.get('agents', {})
        self.final = script.get('final', 'All done.')
        self.requests = []
        self.ended = False    # the last word of the script has been said
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(('127.0.0.1', 0), self.handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.base = 'http://127.0.0.1:%d' % self.server.server_port

    def note(self, path, body):
        with self.lock:
            self.requests.append({'at': time.time(), 'path': path, 'body': body})
            return len(self.requests)

    def choose(self, first_words, step, body, has_tools):
        if not has_tools:
            return [{'text': 'A title'}]
        turns = self.turns
        for text, other in self.agents.items():
            if text in first_words:
                turns = other
        if step >= len(turns):
            self.ended = self.ended or turns is self.turns
            return [{'text': self.final}]
        turn = turns[step] if isinstance(turns[step], list) else [turns[step]]
        raw = json.dumps(body)

        def last(match):
            found = re.findall(json.loads('"%s"' % match.group(1)), raw)
            return json.dumps(found[-1] if found else '')[1:-1]
        def number(match):
            return last(match) or '0'
        text = re.sub(r'"\{\{NUMBER:(.*?)\}\}"', number, json.dumps(turn))
        return json.loads(re.sub(r'\{\{LAST:(.*?)\}\}', last, text))

    def handler(model):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def log_message(self, *_):
                pass

            def send(self, payload, kind, code=200):
                self.send_response(code)
                self.send_header('content-type', kind)
                self.send_header('content-length', str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def json(self, value, code=200):
                self.send(json.dumps(value).encode(), 'application/json', code)

            def events(self, events, named):
                out = ''
                for event in events:
                    if named:
                        out += 'event: %s\n' % event['type']
                    out += 'data: %s\n\n' % (event if isinstance(event, str) else json.dumps(event))
                self.send(out.encode(), 'text/event-stream')

            def do_GET(self):
                path = self.path.split('?')[0]
                model.note(path, None)
                if path.endswith('/models'):
                    return self.json({'object': 'list', 'has_more': False, 'data': [
                        {'id': 'scripted', 'object': 'model', 'type': 'model', 'display_name': 'scripted',
                         'created': 0, 'owned_by': 'rig'}], 'models': []})
                self.json({'error': {'message': 'no such page', 'type': 'not_found'}}, 404)

            def body(self):
                if 'chunked' in self.headers.get('transfer-encoding', '').lower():
                    raw = b''
                    while size := int(self.rfile.readline().split(b';')[0] or b'0', 16):
                        raw += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    raw = self.rfile.read(int(self.headers.get('content-length') or 0))
                packed = self.headers.get('content-encoding', '')
                if packed == 'gzip':
                    raw = gzip.decompress(raw)
                elif packed == 'deflate':
                    raw = zlib.decompress(raw)
                return json.loads(raw or b'{}')

            def do_POST(self):
                path = self.path.split('?')[0]
                try:
                    body = self.body()
                except (ValueError, OSError, zlib.error):
                    return self.json({'error': {'message': 'not JSON', 'type': 'bad_request'}}, 400)
                n = model.note(path, body)
                try:
                    if path.endswith('/count_tokens'):
                        self.json({'input_tokens': 1000})
                    elif ':countTokens' in path:
                        self.json({'totalTokens': 1000})
                    elif path.endswith('/messages'):
                        model.anthropic(self, n, body)
                    elif path.endswith('/responses'):
                        model.responses(self, n, body)
                    elif path.endswith('/chat/completions'):
                        model.chat(self, n, body)
                    elif 'enerateContent' in path:
                        model.gemini(self, n, body, 'stream' in path)
                    else:
                        self.json({'error': {'message': 'no such API', 'type': 'not_found'}}, 404)
                except (BrokenPipeError, ConnectionResetError):
                    pass  # the harness hung up; whatever it misses shows in the results
        return Handler

    # Each API: count the tool turns so far, take the next one, dress it.

    def anthropic(self, http, n, body):
        messages = body.get('messages', [])
        step = sum(1 for m in messages if m['role'] == 'assistant' and isinstance(m['content'], list)
                   and any(c.get('type') == 'tool_use' for c in m['content']))
        first = words([m for m in messages if m['role'] == 'user'][:1])
        blocks = []
        for k, call in enumerate(self.choose(first, step, body, bool(body.get('tools')))):
            if 'text' in call:
                blocks.append({'type': 'text', 'text': call['text']})
            else:
                blocks.append({'type': 'tool_use', 'id': 'toolu_%d_%d_%d' % (n, step, k), 'name': call['tool'],
                               'input': call['input']})
        stop = 'tool_use' if blocks[0]['type'] == 'tool_use' else 'end_turn'
        message = {'id': 'msg_%d' % n, 'type': 'message', 'role': 'assistant', 'model': body.get('model', 'scripted'),
                   'content': [], 'stop_reason': None, 'stop_sequence': None,
                   'usage': {'input_tokens': 100, 'output_tokens': 1, 'cache_creation_input_tokens': 0,
                             'cache_read_input_tokens': 0}}
        if not body.get('stream'):
            return http.json(dict(message, content=blocks, stop_reason=stop))
        events = [{'type': 'message_start', 'message': message}]
        for i, block in enumerate(blocks):
            if block['type'] == 'text':
                empty, delta = dict(block, text=''), {'type': 'text_delta', 'text': block['text']}
            else:
                empty = dict(block, input={})
                delta = {'type': 'input_json_delta', 'partial_json': json.dumps(block['input'])}
            events += [{'type': 'content_block_start', 'index': i, 'content_block': empty},
                       {'type': 'content_block_delta', 'index': i, 'delta': delta},
                       {'type': 'content_block_stop', 'index': i}]
        events += [{'type': 'message_delta', 'delta': {'stop_reason': stop, 'stop_sequence': None},
                    'usage': {'output_tokens': 20}}, {'type': 'message_stop'}]
        http.events(events, named=True)

    def responses(self, http, n, body):
        items = body.get('input', [])
        if isinstance(items, str):
            items = [{'role': 'user', 'content': items}]
        # Parallel calls of one turn share the first two numbers of their id.
        step = len({i['call_id'].rsplit('_', 1)[0] for i in items
                    if i.get('type') in ('function_call', 'custom_tool_call', 'local_shell_call')})
        first = words([i for i in items if i.get('role') == 'user'])
        has_tools = bool(body.get('tools')) or any(i.get('type') == 'additional_tools' for i in items)
        output = []
        for k, call in enumerate(self.choose(first, step, body, has_tools)):
            cid = 'call_%d_%d_%d' % (n, step, k)
            if 'text' in call:
                output.append({'type': 'message', 'id': 'msg_' + cid, 'role': 'assistant', 'status': 'completed',
                               'content': [{'type': 'output_text', 'text': call['text'], 'annotations': []}]})
            elif 'custom' in call:
                output.append({'type': 'custom_tool_call', 'id': 'ctc_' + cid, 'call_id': cid, 'name': call['custom'],
                               'input': call['input'], 'status': 'completed'})
            else:
                item = {'type': 'function_call', 'id': 'fc_' + cid, 'call_id': cid, 'name': call['tool'],
                        'arguments': json.dumps(call['input']), 'status': 'completed'}
                if 'namespace' in call:
                    item['namespace'] = call['namespace']
                output.append(item)
        usage = {'input_tokens': 100, 'input_tokens_details': {'cached_tokens': 0}, 'output_tokens': 20,
                 'output_tokens_details': {'reasoning_tokens': 0}, 'total_tokens': 120}
        reply = {'id': 'resp_%d' % n, 'object': 'response', 'created_at': int(time.time()), 'status': 'completed',
                 'model': body.get('model', 'scripted'), 'output': output, 'usage': usage, 'error': None,
                 'incomplete_details': None}
        if not body.get('stream'):
            return http.json(reply)
        events = [{'type': 'response.created', 'response': dict(reply, output=[], status='in_progress', usage=None)}]
        for i, item in enumerate(output):
            place = {'item_id': item['id'], 'output_index': i}
            if item['type'] == 'message':
                text = item['content'][0]['text']
                part = {'type': 'output_text', 'text': '', 'annotations': []}
                started = dict(item, content=[])
                middle = [dict(place, type='response.content_part.added', content_index=0, part=part),
                          dict(place, type='response.output_text.delta', content_index=0, delta=text),
                          dict(place, type='response.output_text.done', content_index=0, text=text)]
            elif item['type'] == 'function_call':
                arguments, started = item['arguments'], dict(item, arguments='')
                middle = [dict(place, type='response.function_call_arguments.delta', delta=arguments),
                          dict(place, type='response.function_call_arguments.done', arguments=arguments)]
            else:
                started, middle = item, []
            events += [{'type': 'response.output_item.added', 'output_index': i, 'item': started}, *middle,
                       {'type': 'response.output_item.done', 'output_index': i, 'item': item}]
        events.append({'type': 'response.completed', 'response': reply})
        http.events([dict(e, sequence_number=i) for i, e in enumerate(events)], named=True)

    def chat(self, http, n, body):
        messages = body.get('messages', [])
        step = sum(1 for m in messages if m['role'] == 'assistant' and m.get('tool_calls'))
        first = words([m for m in messages if m['role'] == 'user'][:2])
        calls = self.choose(first, step, body, bool(body.get('tools')))
        text = '\n'.join(c['text'] for c in calls if 'text' in c)
        tools = [dict({'type': 'custom', 'custom': {'name': c['custom'], 'input': c['input']}} if 'custom' in c else
                      {'type': 'function', 'function': {'name': c['tool'], 'arguments': json.dumps(c['input'])}},
                      index=k, id='call_%d_%d_%d' % (n, step, k))
                 for k, c in enumerate(c for c in calls if 'text' not in c)]
        end = 'tool_calls' if tools else 'stop'
        usage = {'prompt_tokens': 100, 'completion_tokens': 20, 'total_tokens': 120}
        base = {'id': 'chat_%d' % n, 'created': int(time.time()), 'model': body.get('model', 'scripted')}
        if not body.get('stream'):
            message = {'role': 'assistant', 'content': text or None}
            if tools:
                message['tool_calls'] = [{k: v for k, v in t.items() if k != 'index'} for t in tools]
            choice = {'index': 0, 'message': message, 'finish_reason': end}
            return http.json(dict(base, object='chat.completion', choices=[choice], usage=usage))

        def chunk(delta, finish=None):
            choice = {'index': 0, 'delta': delta, 'finish_reason': finish}
            return dict(base, object='chat.completion.chunk', choices=[choice])
        events = [chunk({'role': 'assistant', 'content': text})]
        if tools:
            events.append(chunk({'tool_calls': tools}))
        events += [chunk({}, end), dict(base, object='chat.completion.chunk', choices=[], usage=usage), '[DONE]']
        http.events(events, named=False)

    def gemini(self, http, n, body, stream):
        contents = body.get('contents', [])
        step = sum(1 for c in contents if c.get('role') == 'model'
                   and any('functionCall' in p for p in c.get('parts', [])))
        has_tools = any(t.get('functionDeclarations') for t in body.get('tools') or [])
        first = words([c for c in contents if c.get('role') == 'user'][:2])
        wants_json = 'json' in (body.get('generationConfig', {}).get('responseMimeType') or '')
        if wants_json and not has_tools:
            # Gemini CLI asks a small model to choose the model and who speaks next.
            parts = [{'text': json.dumps({'reasoning': 'scripted', 'next_speaker': 'user', 'model_choice': 'pro',
                                          'complexity_reasoning': 'scripted', 'complexity_score': 50})}]
        else:
            parts = [{'text': c['text']} if 'text' in c else
                     {'functionCall': {'id': 'call_%d_%d_%d' % (n, step, k), 'name': c['tool'], 'args': c['input']}}
                     for k, c in enumerate(self.choose(first, step, body, has_tools))]
        reply = {'candidates': [{'content': {'role': 'model', 'parts': parts}, 'finishReason': 'STOP', 'index': 0}],
                 'usageMetadata': {'promptTokenCount': 100, 'candidatesTokenCount': 20, 'totalTokenCount': 120},
                 'modelVersion': 'scripted', 'responseId': 'reply%d' % n}
        if stream:
            http.events([reply], named=False)
        else:
            http.json(reply)


def received(requests):
    """What the model got back, in order: [{'call', 'input', 'text'}], one entry per call, over all conversations."""
    seen = {}

    def put(key, **what):
        seen.setdefault(key, {'call': '', 'input': None, 'text': None}).update(what)
    for request in requests:
        body, last = request['body'] if isinstance(request['body'], dict) else {}, None
        for message in body.get('messages') or []:
            content = message.get('content')
            for block in content if isinstance(content, list) else []:
                if block.get('type') == 'tool_use':
                    put(block['id'], call=block['name'], input=block['input'])
                if block.get('type') == 'tool_result':
                    put(block['tool_use_id'], text=words(block))
            for call in message.get('tool_calls') or []:
                if call.get('type') == 'custom':
                    put(call['id'], call=call['custom']['name'], input=call['custom']['input'])
                else:
                    put(call['id'], call=call['function']['name'], input=call['function']['arguments'])
            if message.get('role') == 'tool':
                put(message['tool_call_id'], text=words(content))
                last = message['tool_call_id']
            elif last and words(content).startswith('<hook_context'):
                # Cline says a hook's words in a message of its own, behind the result that they belong to.
                seen[last]['text'] += '\n' + words(content)
        items = body.get('input')
        for item in items if isinstance(items, list) else []:
            if item.get('type') in ('function_call', 'custom_tool_call'):
                put(item['call_id'], call=item['name'], input=item.get('arguments', item.get('input')))
            if item.get('type') in ('function_call_output', 'custom_tool_call_output'):
                put(item['call_id'], text=words(item))
        for content in body.get('contents') or []:
            for part in content.get('parts', []):
                if 'functionCall' in part:
                    call = part['functionCall']
                    put(call.get('id'), call=call['name'], input=call.get('args'))
                if 'functionResponse' in part:
                    answer = part['functionResponse']
                    put(answer.get('id'), text=words(answer.get('response')))
    return [entry for entry in seen.values() if entry['text'] is not None]
