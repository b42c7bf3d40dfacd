"""Writes tests/fixtures/chat.json and chat-templates.json: what transformers makes of chat templates.

    pip install transformers gguf
    python tests/chat_fixture.py --gguf "$(cargo xtask fetch smollm2)" --templates "$(cargo xtask fetch templates)"

The templates are written here in the manner of well-known families, so that each construct that they use is tried: loops with
`loop.first` and slices, namespaces, macros, filters, methods of Python's strings, whitespace control, exceptions. Given a GGUF, its
own template is there too. Of the templates that packages of registries carry, which are their makers', hashes are kept.
"""

import argparse
import datetime
import hashlib
import json
import pathlib

import jinja2
from transformers.utils import chat_template_utils
from transformers.utils.chat_template_utils import render_jinja_template

FIXTURES = pathlib.Path(__file__).parent / "fixtures"

TEMPLATES = {
    "chatml": """{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""",
    "chatml with a default system message": """{%- if messages[0]['role'] == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
{%- else %}
    {{- '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "headers": """{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined and false %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    "instructions": """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set ns = namespace(index=0) %}
{%- for message in loop_messages %}
    {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
        {{- raise_exception("roles must alternate") }}
    {%- endif %}
    {%- set ns.index = ns.index + 1 %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- else %}
        {{- " " + message["content"].strip() + eos_token}}
    {%- endif %}
{%- endfor %}
""",
    "without system": """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}""",
    "macros and methods": """{%- macro turn(role, text) -%}
<{{ role.upper() }}>{{ text.strip().split('\\n')[0] if '\\n' in text else text }}{{ ' ' ~ loop_count if loop_count is defined }}
{%- endmacro -%}
{% for message in messages %}
    {% set role = message.get('role') %}
{{ turn(role, message['content']) }}
{% endfor %}
{{ messages | length }} {{ messages | map(attribute='role') | join('+') }} {{ {'a': 1} | tojson }}
{%- if add_generation_prompt %}<ANSWER>{% endif %}
""",
    "dates, marked answers and loops that end early": """{%- set ns = namespace(system="none") -%}
{%- for message in messages -%}
    {%- if message.role != "system" -%}{%- continue -%}{%- endif -%}
    {%- set ns.system = message.content -%}
    {%- break -%}
{%- endfor -%}
{{ bos_token }}Today is {{ strftime_now("%d %B %Y, %H:%M") }}. {{ ns.system }} {{ tools is none }} {{ documents is defined }}
{% for message in messages %}
{% if message.role == "assistant" %}
    {%- generation %}{{ message.content }}{% endgeneration -%}
{% else %}
  {%- generation -%}
  {{ message.role }}: {{ message.content }}
  {% endgeneration %}
{% endif %}
{% endfor %}
{{ {"b": [1, 2], "a": "Brücke"} | tojson }} {{ {"b": {"c": 1}} | tojson(indent=2) }}
""",
}

CONVERSATIONS = [
    (None, "What is 2 + 2?"),
    ("Answer in one word.", "  Über die Brücke?\nDie zweite Zeile  "),
]


class FixedDate(datetime.datetime):
    """The clock of templates that write the date; the tests have the same."""

    @classmethod
    def now(cls, tz=None):
        return cls(2026, 11, 3, 14, 5, 9)


def rendered(source, system, text):
    """What transformers makes of a conversation; None where the template refuses it."""
    messages = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": text})
    try:
        rendered, _ = render_jinja_template(
            conversations=[messages], chat_template=source, add_generation_prompt=True, bos_token="<s>", eos_token="</s>"
        )
    except jinja2.exceptions.TemplateError:
        return None
    return rendered[0]


def write(path, cases):
    path.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")
    print(f"{path.name}: {len(cases)} conversations, {sum(case['rendered'] is None for case in cases)} refused")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gguf", help="a GGUF whose template is tried, too")
    parser.add_argument("--templates", type=pathlib.Path, help="the folder that `cargo xtask fetch templates` prints")
    arguments = parser.parse_args()
    chat_template_utils.datetime = FixedDate
    chat_template_utils._compile_jinja_template.cache_clear()
    templates = dict(TEMPLATES)
    if arguments.gguf:
        import gguf

        field = gguf.GGUFReader(arguments.gguf).get_field("tokenizer.chat_template")
        templates["SmolLM2"] = field.contents()
    cases = []
    for name, source in templates.items():
        config = {"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": False}, "chat_template": source}
        for system, text in CONVERSATIONS:
            case = {"name": name, "tokenizer_config": config, "system": system, "text": text}
            cases.append({**case, "rendered": rendered(source, system, text)})
    write(FIXTURES / "chat.json", cases)
    if arguments.templates:
        cases = []
        for path in sorted(arguments.templates.glob("*/*")):
            for system, text in CONVERSATIONS:
                try:
                    found = rendered(path.read_text(), system, text)
                except TypeError:
                    continue  # A template for tools alone, which breaks where there are none.
                case = {"template": str(path.relative_to(arguments.templates)), "system": system, "text": text}
                cases.append({**case, "rendered": found and hashlib.sha256(found.encode()).hexdigest()})
        write(FIXTURES / "chat-templates.json", cases)


if __name__ == "__main__":
    main()
