"""Writes tests/fixtures/chat.json: what transformers makes of chat templates.

    pip install transformers gguf
    python tests/chat_fixture.py [SMOLLM2.gguf]

The templates are written here in the manner of well-known families, so that each construct that they use is tried: loops with
`loop.first` and slices, namespaces, macros, filters, methods of Python's strings, whitespace control, exceptions. Given a GGUF, its
own template is there too.
"""

import json
import pathlib
import sys

import jinja2
from transformers.utils.chat_template_utils import render_jinja_template

OUT = pathlib.Path(__file__).parent / "fixtures" / "chat.json"

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
}

CONVERSATIONS = [
    (None, "What is 2 + 2?"),
    ("Answer in one word.", "  Über die Brücke?\nDie zweite Zeile  "),
]


def main():
    templates = dict(TEMPLATES)
    if len(sys.argv) > 1:
        import gguf

        field = gguf.GGUFReader(sys.argv[1]).get_field("tokenizer.chat_template")
        templates["SmolLM2"] = field.contents()
    cases = []
    for name, source in templates.items():
        config = {"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": False}, "chat_template": source}
        for system, text in CONVERSATIONS:
            messages = [{"role": "system", "content": system}] if system else []
            messages.append({"role": "user", "content": text})
            try:
                rendered, _ = render_jinja_template(
                    conversations=[messages],
                    chat_template=source,
                    add_generation_prompt=True,
                    bos_token="<s>",
                    eos_token="</s>",
                )
                rendered = rendered[0]
            except jinja2.exceptions.TemplateError:
                rendered = None
            cases.append({"name": name, "tokenizer_config": config, "system": system, "text": text, "rendered": rendered})
    OUT.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(cases)} conversations, {sum(case['rendered'] is None for case in cases)} refused")


if __name__ == "__main__":
    main()
