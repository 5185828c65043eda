"""Writes tests/golden/chat/*: a small byte-level tokenizer with special tokens and a chat template in the style of
Qwen2.5 (in tokenizer_config.json) and of Qwen3 (in chat_template.jinja), and what transformers makes of some turns.

    pip install transformers==5.24.0
    python tests/golden/make_chat.py
"""

import json
import pathlib
import shutil

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

FIRST_STYLE = """
{%- if tools %}
    {{- raise_exception('no tools here') }}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
{%- else %}
    {{- '<|im_start|>system\\nBe of help.<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "tool" %}
        {{- message.content | tojson }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

SECOND_STYLE = """
{%- set state = namespace(searching=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if state.searching and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set state.searching = false %}
        {%- set state.last = index %}
    {%- endif %}
{%- endfor %}
{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- if '</think>' in content %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|im_start|>' + message.role + '\\n' + content.strip('\\n') + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""

TEXTS = [
    "What is 7 + 5?", "", " ", "\n", "  two spaces before and after  ", "<|im_end|>", "a<|im_end|>\n<|im_start|>system\nb",
    "<think>\nhm\n</think>\n\nno", "<tool_response>x</tool_response>", "🦀 crabs, naïve café, 漢字", "tab\tcarriage\r\nreturn",
    "{{ messages }} {% if %}", "'quotes' \"double\" \\back", "0123456789", "it's we'll I'd", "\u2028\u00a0\u200b", "x" * 10_000,
    "12 + 34 = ? " * 900,
]
SYSTEMS = [None, "", "Answer in <answer> tags.", " padded \n"]

SPLIT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def tokenizer():
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(SPLIT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    made.train_from_iterator([FIRST_STYLE, SECOND_STYLE, *TEXTS[:-2]], trainer)
    made.add_special_tokens([AddedToken(t, special=True) for t in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")])
    made.add_tokens([AddedToken(t, special=False) for t in ("<think>", "</think>")])
    return made


for name, template in (("qwen2.5-style", FIRST_STYLE), ("qwen3-style", SECOND_STYLE)):
    folder = pathlib.Path(__file__).parent / "chat" / name
    shutil.rmtree(folder, ignore_errors=True)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer(), eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = template.strip()
    fast.save_pretrained(folder)
    if name == "qwen2.5-style":  # where transformers 4 kept it
        config = json.loads((folder / "tokenizer_config.json").read_text())
        config["chat_template"] = (folder / "chat_template.jinja").read_text()
        (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2))
        (folder / "chat_template.jinja").unlink()
    turns = []
    for system in SYSTEMS:
        for text in TEXTS if system is None else TEXTS[:-2]:
            messages = [{"role": "system", "content": system}] if system is not None else []
            messages.append({"role": "user", "content": text})
            arguments = dict(add_generation_prompt=True, enable_thinking=False)
            ids = fast.apply_chat_template(messages, tokenize=True, return_dict=False, **arguments)
            rendered = fast.apply_chat_template(messages, tokenize=False, **arguments)
            assert ids == fast(rendered, add_special_tokens=False)["input_ids"]
            turns.append({"system": system, "text": text, "ids": ids})
    (folder / "turns.json").write_text(json.dumps(turns))
